"""Tables as HTML, as Markdown and as CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import TYPE_CHECKING

from magistrate.metrics.intervals import NO_RATE, Rate
from magistrate.report.html.blocks import (
    Cell,
    Column,
    Table,
    bounds_words,
    rate_words,
    value_words,
    words_of,
)
from magistrate.report.html.markup import Element, element, text_of
from magistrate.report.html.texts import seen

if TYPE_CHECKING:
    from markupsafe import Markup

_LONG = 30
"""Rows from which on a table scrolls within the page."""


def html_table(table: Table, *, sortable: bool = True) -> Markup:
    """Return a table as HTML; sortable ones can be sorted where the page's script runs."""
    from markupsafe import Markup

    table = _telling(table)
    head = element("tr")
    for place, column in enumerate(table.columns):
        kind = _kind(table, place)
        head.append(element("th", seen(column.name), scope="col", class_=kind, dir="auto"))
    body = element("tbody")
    for row in table.rows:
        line = element("tr")
        for place, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
            line.append(_cell(column, cell, _kind(table, place), is_head=place == 0))
        body.append(line)
    made = element(
        "table",
        element("caption", seen(table.caption), class_="hidden"),
        element("thead", head),
        body,
        class_="sortable" if sortable and len(table.rows) > 1 else None,
    )
    long = " long" if len(table.rows) > _LONG else ""
    box = element(
        "div",
        made,
        class_=f"scroll{long}",
        tabindex="0",
        role="region",
        aria_label=seen(table.caption),
    )
    return Markup(text_of(box))  # noqa: S704 (escaped by ElementTree)


def markdown_table(table: Table) -> str:
    """Return a table in Markdown; what stands in cells cannot end them, nor be markup."""
    table = _telling(table)
    lines = ["| " + " | ".join(markdown_text(column.name) for column in table.columns) + " |"]
    rule = ["---:" if _is_number(table, place) else "---" for place in range(len(table.columns))]
    lines.append("| " + " | ".join(rule) + " |")
    for row in table.rows:
        cells = (
            markdown_text(cell_words(column, cell))
            for column, cell in zip(table.columns, row, strict=True)
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def csv_text(table: Table) -> str:
    """Return a table as CSV: full digits, a rate as four columns, nothing where no number is."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names: list[str] = []
    for place, column in enumerate(table.columns):
        name = seen(column.name).strip()
        if _has_rates(table, place):
            names += [name, f"{name} n", f"{name} low", f"{name} high"]
        else:
            names.append(name)
    writer.writerow(_not_a_formula(name) for name in names)
    for row in table.rows:
        cells: list[object] = []
        for place, cell in enumerate(row):
            if isinstance(cell, Rate):
                cells += [cell.value, cell.n, cell.low, cell.high]
            elif _has_rates(table, place):
                cells += [cell, None, None, None]
            else:
                cells.append(_not_a_formula(seen(cell).strip()) if isinstance(cell, str) else cell)
        writer.writerow("" if cell is None else cell for cell in cells)
    return out.getvalue()


def cell_words(column: Column, cell: Cell) -> str:
    """Return a cell as it is read."""
    if cell is None:
        return "–"
    if isinstance(cell, Rate):
        return "–" if cell.value is None else rate_words(cell, column.unit)
    if isinstance(cell, str):
        return seen(cell)
    if isinstance(cell, int):
        return f"{cell:,}"
    return words_of(cell, column.unit)


def _telling(table: Table) -> Table:
    """Return a table without columns that tell a reader nothing.

    That is: the name of the run where there is only one, and columns without a single number.
    """
    kept = [
        place
        for place, column in enumerate(table.columns)
        if any(_is_known(row[place]) for row in table.rows)
        and (column.name != "run" or len({row[place] for row in table.rows}) > 1)
    ]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
    )


def _is_known(cell: Cell) -> bool:
    return cell is not None and cell != NO_RATE


def _cell(column: Column, cell: Cell, kind: str | None, *, is_head: bool) -> Element:
    if isinstance(cell, str):
        tag, scope = ("th", "row") if is_head else ("td", None)
        if kind == "rates":
            return element(tag, element("span", seen(cell), class_="value"), class_=kind)
        indent = "indent" if is_head and cell.startswith("  ") else None
        look = indent if is_head else "text"
        return element(tag, seen(cell), scope=scope, class_=look, dir="auto")
    if cell is None or (isinstance(cell, Rate) and cell.value is None):
        return element("td", element("span", "–", class_="value"), class_=kind)
    if isinstance(cell, Rate):
        return element(
            "td",
            element("span", value_words(cell, column.unit), class_="value"),
            " ",
            element("span", bounds_words(cell, column.unit), class_="bounds"),
            " ",
            element("span", f"n = {cell.n:,}", class_="n"),
            class_="rates",
            data_value=repr(cell.value),
        )
    words = cell_words(column, cell)
    if kind == "rates":
        words_cell: Element | str = element("span", words, class_="value")
        return element("td", words_cell, class_=kind, data_value=repr(cell))
    return element("td", words, class_=kind, data_value=repr(cell))


def _kind(table: Table, place: int) -> str | None:
    """Return how a column is set: numbers under each other, rates with their intervals, text."""
    if _has_rates(table, place):
        return "rates"
    return "num" if _is_number(table, place) else None


def markdown_text(text: str) -> str:
    """Escape what Markdown, or HTML within it, would read as markup."""
    out = seen(text)
    for character in "\\`*_[]<>|#~&":
        out = out.replace(character, f"\\{character}")
    return out


def _not_a_formula(text: str) -> str:
    """Return a text that a spreadsheet does not take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def _is_number(table: Table, place: int) -> bool:
    return all(not isinstance(row[place], str) for row in table.rows)


def _has_rates(table: Table, place: int) -> bool:
    return any(isinstance(row[place], Rate) for row in table.rows)
