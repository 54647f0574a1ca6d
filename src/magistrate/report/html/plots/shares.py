"""One bar a row, split into parts that add up to all."""

from __future__ import annotations

from magistrate.report.html.blocks import Shares, share
from magistrate.report.html.markup import Element, breaking, element, percent_of
from magistrate.report.html.texts import seen

_HEIGHT = 26
_ROOM_FOR_TEXT = 0.08
"""Parts smaller than this carry no text; the numbers are in the tip and in the table."""


def draw_shares(plot: Shares) -> Element:
    """Return the key and the bars."""
    key = element("p", class_="key")
    for name, tone in plot.parts:
        key.append(element("span", element("i", class_=f"swatch tone-{tone}"), f" {name}"))
    drawn = element("div", key, class_="forest shares")
    for label, counts in plot.rows:
        total = sum(counts)
        drawing = element("svg", width="100%", height=_HEIGHT, class_="forest-plot")
        start = 0.0
        for (name, tone), count in zip(plot.parts, counts, strict=True):
            part = count / total if total else 0.0
            if not part:
                continue
            drawing.append(_part(f"{seen(label)}: {name}", tone, start, part, count))
            start += part
        drawn.append(
            element(
                "div",
                element("span", *breaking(seen(label)), class_="forest-label", dir="auto"),
                drawing,
                element(
                    "span", element("span", f"n = {total:,}", class_="n"), class_="forest-value"
                ),
                class_="forest-row",
                data_of=label,
            )
        )
    return drawn


def _part(name: str, tone: str, start: float, part: float, count: int) -> Element:
    group = element(
        "g",
        element("title", f"{name}: {share(part)} ({count:,})"),
        element(
            "rect",
            x=percent_of(start),
            y="2",
            width=percent_of(part),
            height=_HEIGHT - 4,
            class_="part",
        ),
        class_=f"tone-{tone}",
    )
    if part >= _ROOM_FOR_TEXT:
        group.append(
            element(
                "text",
                f"{100 * part:.0f} %",
                x=percent_of(start + part / 2),
                y=_HEIGHT / 2 + 4,
                text_anchor="middle",
                class_="part-text",
            )
        )
    return group
