"""A dot with its interval per row: the shape of agreement, of categories and of rankings.

Rows are laid out by the page, so labels wrap and long ones keep their room; the drawing in each row
is as wide as there is room, in percentages of it.
"""

from __future__ import annotations

from magistrate.metrics.intervals import Rate
from magistrate.report.html.blocks import (
    Bar,
    Group,
    Intervals,
    bounds_words,
    number,
    signed,
    value_words,
)
from magistrate.report.html.markup import Element, breaking, element, marker, percent_of
from magistrate.report.html.plots.scale import ticks
from magistrate.report.html.texts import seen


def draw_intervals(plot: Intervals) -> Element:
    """Return the rows and their axis."""
    drawn = element("div", class_="forest")
    for group in plot.groups:
        drawn.append(_group(plot, group))
    drawn.append(_axis(plot))
    return drawn


def _group(plot: Intervals, group: Group) -> Element:
    block = element("div", class_="forest-group", data_of=group.of or None)
    if group.title:
        block.append(element("p", seen(group.title), class_="forest-title", dir="auto"))
    for bar in group.bars:
        block.append(_row(plot, bar))
    return block


def _row(plot: Intervals, bar: Bar) -> Element:
    rate = bar.rate
    drawing = _canvas(plot)
    tip = f"{seen(bar.label)}: {value_words(rate, plot.unit)} {bounds_words(rate, plot.unit)}"
    marks = element("g", element("title", f"{tip}, n = {rate.n:,}"), class_=f"tone-{bar.tone}")
    # The whole row answers to the pointer, not the few pixels of the dot alone.
    marks.append(element("rect", x="0", y="0", width="100%", height="100%", class_="reach"))
    marks.extend(_whisker(plot, rate))
    if rate.value is not None:
        marks.append(marker(bar.tone, percent_of(_place(plot, rate.value)), "50%"))
    drawing.append(marks)
    value = element(
        "span",
        element("b", value_words(rate, plot.unit)),
        " ",
        element("span", bounds_words(rate, plot.unit), class_="bounds"),
        " ",
        element("span", f"n = {rate.n:,}", class_="n"),
        element("span", seen(bar.note), class_="bar-note") if bar.note else None,
        class_="forest-value",
    )
    cell = element("div", drawing, class_="forest-cell")
    label = element(
        "span", *breaking(seen(bar.label)), class_=f"forest-label tone-{bar.tone}", dir="auto"
    )
    return element("div", label, cell, value, class_="forest-row")


def _whisker(plot: Intervals, rate: Rate) -> list[Element]:
    """Return the interval; an open end runs to the end of the axis and has no cap."""
    if rate.low is None and rate.high is None:
        return []
    x1, x2 = (
        percent_of(edge if end is None else _place(plot, end))
        for end, edge in ((rate.low, 0.0), (rate.high, 1.0))
    )
    drawn = [element("line", x1=x1, x2=x2, y1="50%", y2="50%", class_="whisker")]
    for end, x in ((rate.low, x1), (rate.high, x2)):
        shape = element("path", d="M0-5V5" if end is not None else "M0 0", class_="cap")
        drawn.append(element("svg", shape, x=x, y="50%", overflow="visible"))
    return drawn


def _axis(plot: Intervals) -> Element:
    drawing = element("svg", width="100%", height=20, class_="forest-plot forest-ticks")
    for tick in ticks(plot.low, plot.high):
        place = _place(plot, tick)
        anchor = "start" if place < 0.02 else "end" if place > 0.98 else "middle"
        text = _tick(plot, tick)
        drawing.append(
            element("text", text, x=percent_of(place), y=14, text_anchor=anchor, class_="tick")
        )
    name = element("span", plot.axis, class_="axis-name")
    return element("div", drawing, name, class_="forest-row forest-axis")


def _tick(plot: Intervals, tick: float) -> str:
    if plot.unit == "percent":
        return f"{100 * tick:.0f}\u00a0%"
    return signed(tick, 0) if plot.unit == "points" else number(tick)


def _canvas(plot: Intervals) -> Element:
    drawing = element("svg", width="100%", height="100%", class_="forest-plot")
    for tick in ticks(plot.low, plot.high):
        x = percent_of(_place(plot, tick))
        drawing.append(element("line", x1=x, x2=x, y1="0", y2="100%", class_="grid"))
    for value, name in plot.marks:
        x = percent_of(_place(plot, value))
        line = element("line", x1=x, x2=x, y1="0", y2="100%", class_="level")
        line.append(element("title", name))
        drawing.append(line)
    return drawing


def _place(plot: Intervals, value: float) -> float:
    span = plot.high - plot.low
    return min(1.0, max(0.0, (value - plot.low) / span)) if span > 0 else 0.5
