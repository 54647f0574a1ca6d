"""Points with intervals over an axis, joined by lines."""

from __future__ import annotations

from magistrate.report.html.blocks import Curve, Line
from magistrate.report.html.markup import Element, element, marker

_WIDTH, _HEIGHT, _BARS = 440.0, 250.0, 44.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 14.0, 14.0, 44.0
_APART = 7.0
"""Pixels between the points of two lines at one place, so that both are seen."""


def draw_curve(plot: Curve) -> Element:
    """Return the key, the plot and the bars of counts under it."""
    key = element("p", class_="key")
    for line in plot.lines:
        symbol = element(
            "svg", marker(line.tone, "8", 7), width="16", height="14", aria_hidden="true"
        )
        key.append(element("span", symbol, f" {line.name}"))
    bars = _BARS if plot.counts else 0.0
    height = _TOP + _HEIGHT + bars + _BOTTOM
    drawing = element("svg", viewBox=f"0 0 {_WIDTH:.0f} {height:.0f}", class_="curve")
    _vertical_axis(drawing, plot)
    _horizontal_axis(drawing, plot, _TOP + _HEIGHT + bars)
    if plot.diagonal:
        drawing.append(
            element("line", x1=_x(0), y1=_y(0), x2=_x(1), y2=_y(1), class_="level diagonal")
        )
    if plot.level is not None:
        y = _y(plot.level)
        drawing.append(element("line", x1=_x(0), x2=_x(1), y1=y, y2=y, class_="level"))
    for place, line in enumerate(plot.lines):
        _line(drawing, line, (place - (len(plot.lines) - 1) / 2) * _APART)
    if plot.counts:
        _counts(drawing, plot)
    return element("div", key, drawing, class_="curve-box")


def _vertical_axis(drawing: Element, plot: Curve) -> None:
    for step in range(0, 101, 25):
        y = _y(step / 100)
        drawing.append(element("line", x1=_x(0), x2=_x(1), y1=y, y2=y, class_="grid"))
        drawing.append(
            element("text", f"{step} %", x=_LEFT - 8, y=y + 4, text_anchor="end", class_="tick")
        )
    middle = _TOP + _HEIGHT / 2
    drawing.append(
        element(
            "text",
            plot.y_axis,
            x="13",
            y=middle,
            text_anchor="middle",
            transform=f"rotate(-90 13 {middle:.0f})",
            class_="axis-text",
        )
    )


def _horizontal_axis(drawing: Element, plot: Curve, bottom: float) -> None:
    drawing.append(element("line", x1=_x(0), x2=_x(1), y1=bottom, y2=bottom, class_="axis-line"))
    for place, text in plot.ticks:
        drawing.append(
            element("text", text, x=_x(place), y=bottom + 16, text_anchor="middle", class_="tick")
        )
    drawing.append(
        element(
            "text",
            plot.x_axis,
            x=_x(0.5),
            y=bottom + 36,
            text_anchor="middle",
            class_="axis-text",
        )
    )


def _line(drawing: Element, line: Line, shift: float) -> None:
    known = [point for point in line.points if point.rate.value is not None]
    path = " ".join(
        f"{_x(point.x) + shift:.1f},{_y(point.rate.value or 0.0):.1f}" for point in known
    )
    group = element("g", class_=f"tone-{line.tone}")
    if len(known) > 1:
        group.append(element("polyline", points=path, class_="trace"))
    for point in known:
        rate = point.rate
        x, y = _x(point.x) + shift, _y(rate.value or 0.0)
        mark = element("g", element("title", point.tip), class_="hot")
        if rate.low is not None and rate.high is not None:
            mark.append(
                element("line", x1=x, x2=x, y1=_y(rate.low), y2=_y(rate.high), class_="whisker")
            )
        mark.append(element("circle", cx=x, cy=y, r="13", class_="reach"))
        mark.append(marker(line.tone, x, y))
        group.append(mark)
    drawing.append(group)


def _counts(drawing: Element, plot: Curve) -> None:
    most = max(count for _, _, count in plot.counts)
    base = _TOP + _HEIGHT + _BARS
    for start, end, count in plot.counts:
        if not count:
            continue
        tall = max(1.0, (_BARS - 8) * count / most)
        bar = element(
            "rect",
            element("title", f"{count:,} pairs"),
            x=_x(start) + 1,
            y=base - tall,
            width=max(1.0, _x(end) - _x(start) - 2),
            height=tall,
            class_="count",
        )
        drawing.append(bar)
    drawing.append(
        element("text", "pairs", x=_LEFT - 8, y=base - 8, text_anchor="end", class_="tick")
    )


def _x(place: float) -> float:
    return _LEFT + place * (_WIDTH - _LEFT - _RIGHT)


def _y(value: float) -> float:
    return _TOP + (1 - value) * _HEIGHT
