"""Tables of rates: laid out for the terminal, and as Markdown, from the same cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.intervals import Rate
from magistrate.report.text import harmless

if TYPE_CHECKING:
    from rich.console import RenderableType

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


def text_of(cell: Cell, column: Column, *, interval: bool = True) -> str:
    """Return a cell in words.

    >>> text_of(Rate(value=0.5, n=10, low=0.25, high=0.75), Column("share"))
    '50.0 [25.0, 75.0]'
    >>> text_of(Rate(value=0.5, n=10), Column("gap", "difference"))
    '+50.0'
    """
    if cell is None:
        return NOTHING
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, str):
        return harmless(cell)
    if cell.value is None:
        return NOTHING
    said = _number(cell.value, column.kind)
    if not interval or cell.low is None or cell.high is None:
        return said
    return f"{said} [{_number(cell.low, column.kind)}, {_number(cell.high, column.kind)}]"


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
    """Return the table for a terminal; where it is too wide, each row as a few lines."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from magistrate.report.table import plain_table
    from magistrate.report.wrap import NARROWEST, Fitting, Wrapped, slack

    table = plain_table()
    for column in grid.columns:
        if column.kind == "text":
            table.add_column(column.header, overflow="fold", min_width=NARROWEST)
        else:
            table.add_column(column.header, justify="right", no_wrap=True)
    lines: list[RenderableType] = []
    for row in grid.rows:
        pairs = list(zip(row, grid.columns, strict=True))
        table.add_row(*(_cell(cell, column) for cell, column in pairs))
        lines.append(Wrapped(text_of(*pairs[0])))
        said = (f"{c.header} {text_of(v, c)}" for v, c in pairs[1:] if v is not None and v != "")
        lines.append(Padding(Text(", ".join(said)), (0, 0, 0, 2)))
    room = sum(
        slack(text_of(row[place], column) for row in grid.rows)
        for place, column in enumerate(grid.columns)
        if column.kind == "text"
    )
    notes = [Text(f"{note}", style="dim") for note in grid.notes]
    return Group(Text(grid.caption), Fitting(table, Group(*lines), room), *notes)


def _cell(cell: Cell, column: Column) -> RenderableType:
    from rich.text import Text

    from magistrate.report.wrap import Wrapped

    if column.kind == "text":
        return Wrapped(text_of(cell, column))
    said = text_of(cell, column, interval=not column.bare)
    return Text(said.replace(" [", "\n["), justify="right")


def _number(value: float, kind: Kind) -> str:
    return f"{100 * value:+.1f}" if kind == "difference" else f"{100 * value:.1f}"


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
