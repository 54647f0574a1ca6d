"""A matrix as a table whose cells are coloured: it reads, copies and prints as a table."""

from __future__ import annotations

from magistrate.report.html.blocks import Matrix
from magistrate.report.html.markup import Element, breaking, element
from magistrate.report.html.texts import seen

_STEPS = 10


def draw_matrix(plot: Matrix, title: str) -> Element:
    """Return the table."""
    head = element("tr", element("td", *_corner(plot.corner), class_="corner"))
    for name in plot.columns:
        head.append(element("th", *breaking(seen(name)), scope="col", dir="auto"))
    body = element("tbody")
    for name, shares, texts in zip(plot.rows, plot.shares, plot.texts, strict=True):
        row = element("tr", element("th", *breaking(seen(name)), scope="row", dir="auto"))
        for value, (large, small) in zip(shares, texts, strict=True):
            row.append(
                element(
                    "td",
                    element("b", large),
                    element("span", small, class_="small") if small else None,
                    class_=_shade(value, diverging=plot.diverging),
                )
            )
        body.append(row)
    table = element(
        "table",
        element("caption", title, class_="hidden"),
        element("thead", head),
        body,
        class_="matrix" + (" wide" if len(plot.columns) > 6 else ""),
    )
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=title)


def _corner(text: str) -> list[Element | str]:
    """Return what rows and columns are on lines of their own."""
    rows, arrow, columns = text.partition(" ↓ ")
    return [f"{rows} ↓", element("br"), columns] if arrow else [text]


def _shade(value: float | None, *, diverging: bool) -> str:
    if value is None:
        return "empty"
    if not diverging:
        return f"heat-{round(_STEPS * value)}"
    step = round(_STEPS * abs(2 * value - 1))
    return f"{'high' if value >= 0.5 else 'low'}-{step}"
