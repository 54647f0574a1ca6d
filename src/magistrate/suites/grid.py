"""Tables of rates: laid out for the terminal, and as Markdown, from the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.intervals import Rate
from magistrate.report.text import harmless

if TYPE_CHECKING:
    from rich.console import RenderableType

    from magistrate.report.layout import Layout

Cell = str | int | Rate | None
"""A text, a count, a rate, or nothing."""

Kind = Literal["text", "count", "share", "difference"]

NOTHING = "–"


@dataclass(frozen=True, slots=True)
class Column:
    """How a column of a table is written."""

    header: str
    kind: Kind = "share"
    """``share``: a rate in per cent; ``difference``: the same with its sign."""
    bare: bool = False
    """On the terminal without its interval, for want of room; Markdown has it all the same."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table with its caption and the notes below it."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


Form = Literal["brackets", "dashes", "whole"]
"""How an interval is written: ``[38.7, 78.1]``, ``38.7–78.1``, or in whole per cent ``39–78``."""


def text_of(cell: Cell, column: Column) -> str:
    """Return a cell in words.

    >>> text_of(Rate(value=0.5, n=10, low=0.25, high=0.75), Column("share"))
    '50.0 [25.0, 75.0]'
    >>> text_of(Rate(value=0.5, n=10), Column("gap", "difference"))
    '+50.0'
    """
    return " ".join(filter(None, parts_of(cell, column)))


def parts_of(cell: Cell, column: Column, form: Form = "brackets") -> tuple[str, str]:
    """Return a cell in words, and its interval, empty where it has none.

    >>> rate = Rate(value=-0.02, n=10, low=-0.251, high=0.2)
    >>> parts_of(rate, Column("gap", "difference"), "whole")
    ('-2.0', '-25 to +20')
    """
    if cell is None:
        return NOTHING, ""
    if isinstance(cell, int):
        return f"{cell:,}", ""
    if isinstance(cell, str):
        return harmless(cell), ""
    if cell.value is None:
        return NOTHING, ""
    said = _number(cell.value, column.kind)
    if cell.low is None or cell.high is None:
        return said, ""
    low, high = (
        _number(end, column.kind, 0 if form == "whole" else 1) for end in (cell.low, cell.high)
    )
    if form == "brackets":
        return said, f"[{low}, {high}]"
    return said, f"{low} to {high}" if column.kind == "difference" else f"{low}–{high}"


def markdown(grid: Grid) -> str:
    """Return the table as Markdown; text from data can neither add a cell nor be taken for HTML."""
    lines = [f"**{_plain(grid.caption)}**", ""]
    lines.append("| " + " | ".join(_plain(column.header) for column in grid.columns) + " |")
    marks = ("---" if column.kind == "text" else "---:" for column in grid.columns)
    lines.append("|" + "|".join(marks) + "|")
    for row in grid.rows:
        cells = (
            _plain(text_of(cell, column)) for cell, column in zip(row, grid.columns, strict=True)
        )
        lines.append("| " + " | ".join(cells) + " |")
    lines += [f"\n{_plain(note)}" for note in grid.notes]
    return "\n".join(lines) + "\n"


def rendered(grid: Grid) -> RenderableType:
    """Return the table for a terminal.

    Every interval stands below its value. With less room it is written shorter, and headers take
    several lines; only where that is still too wide is each row told as a few lines.
    """
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from magistrate.report.layout import CLOSE_GAP, NO_GAP, WIDE_GAP, Layouts
    from magistrate.report.wrap import Wrapped

    lines: list[RenderableType] = []
    for row in grid.rows:
        pairs = list(zip(row, grid.columns, strict=True))
        lines.append(Wrapped(text_of(*pairs[0])))
        said = (f"{c.header} {text_of(v, c)}" for v, c in pairs[1:] if v is not None and v != "")
        lines.append(Padding(Text(", ".join(said)), (0, 0, 0, 2)))
    layouts = [
        _layout(grid, "brackets", WIDE_GAP),
        _layout(grid, "dashes", CLOSE_GAP),
        _layout(grid, "whole", CLOSE_GAP),
        _layout(grid, "whole", NO_GAP),
    ]
    notes = [Text(f"{note}", style="dim") for note in grid.notes]
    return Group(Text(grid.caption), Layouts(layouts, Group(*lines)), *notes)


def _layout(grid: Grid, form: Form, gap: int) -> Layout:
    from magistrate.report.layout import LaidColumn, Layout

    is_wide = form == "brackets"
    columns = []
    for place, column in enumerate(grid.columns):
        is_text = column.kind == "text"
        cells = []
        for row in grid.rows:
            value, interval = parts_of(row[place], column, form)
            cells.append(value if column.bare or not interval else f"{value}\n{interval}")
        header = column.header if is_wide or is_text else column.header.replace(" ", "\n")
        columns.append(LaidColumn(header, tuple(cells), breaks=is_text, right=not is_text))
    return Layout(tuple(columns), gap)


def _number(value: float, kind: Kind, decimals: int = 1) -> str:
    sign = "+" if kind == "difference" else ""
    return f"{100 * value:{sign}.{decimals}f}"


def _plain(text: str) -> str:
    for sign, shown in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|")):
        text = text.replace(sign, shown)
    return text


def without_empty(grid: Grid, names: Sequence[str]) -> Grid:
    """Return the table without those columns, of the ones named, that say nothing in any row."""
    kept = [
        place
        for place, column in enumerate(grid.columns)
        if column.header not in names or any(row[place] not in (None, "") for row in grid.rows)
    ]
    return Grid(
        grid.caption,
        tuple(grid.columns[place] for place in kept),
        tuple(tuple(row[place] for place in kept) for row in grid.rows),
        grid.notes,
    )
