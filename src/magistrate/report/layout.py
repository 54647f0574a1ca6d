"""Tables in several widths: of the layouts that are given, the first that fits is drawn.

Names may be broken between words, never within one; numbers are not broken at all. So a layout
either fits as it is meant, or the next one is taken.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from magistrate.report.wrap import NARROWEST, Wrapped

_PIECE = re.compile(r"[^\s/\\\-_.,:;=@#+|]*[/\\\-_.,:;=@#+|]|[^\s/\\\-_.,:;=@#+|]+")
"""What stays together: a word, or a part of a name up to a sign after which it may be broken."""
_LONGEST_PIECE = 16
"""Columns; what is longer is cut where it must be."""
WIDE_GAP = 3
CLOSE_GAP = 2
NO_GAP = 1
"""Columns between two columns: the one that divides them, and room beside it."""


@dataclass(frozen=True, slots=True)
class LaidColumn:
    """A column as it is to be drawn; lines of a cell are divided by line breaks."""

    header: str
    cells: tuple[str, ...]
    breaks: bool = False
    """Whether it may be narrower than its widest line: a column of names or words."""
    right: bool = False
    """Whether it ends in one line, as numbers do."""

    @property
    def widest(self) -> int:
        """Columns that it fills when nothing is broken."""
        texts = (self.header, *self.cells)
        return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)

    @property
    def narrowest(self) -> int:
        """Columns that it needs."""
        if not self.breaks:
            return self.widest
        pieces = (cell_len(one) for text in (self.header, *self.cells) for one in _pieces(text))
        return min(self.widest, max(NARROWEST, min(_LONGEST_PIECE, max(pieces, default=0))))


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to draw a table."""

    columns: tuple[LaidColumn, ...]
    gap: int = WIDE_GAP
    """Columns between two columns: 3, 2 or 1."""
    bold: frozenset[int] = frozenset()
    """Rows that stand out."""

    @property
    def narrowest(self) -> int:
        """Columns that it needs in all."""
        between = self.gap * (len(self.columns) - 1)
        return sum(column.narrowest for column in self.columns) + between


class Layouts:
    """A table that is drawn in the first of several layouts that fits."""

    def __init__(self, layouts: Sequence[Layout], otherwise: RenderableType) -> None:
        """Take the layouts, the best first, and what is shown where none fits."""
        self._layouts = tuple(layouts)
        self._otherwise = otherwise

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the one that fits."""
        for layout in self._layouts:
            if layout.narrowest <= options.max_width:
                yield _drawn(layout, options.max_width)
                return
        yield self._otherwise


def _drawn(layout: Layout, room: int) -> Table:
    from rich import box

    left, right = int(layout.gap >= WIDE_GAP), int(layout.gap >= CLOSE_GAP)
    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        header_style="bold",
        padding=(0, right, 0, left),
    )
    for column, width in zip(layout.columns, _widths(layout, room), strict=True):
        header = Wrapped(column.header) if column.breaks else Text(column.header)
        table.add_column(header, width=width, justify="right" if column.right else "left")
    for place in range(len(layout.columns[0].cells)):
        cells = (
            Wrapped(column.cells[place]) if column.breaks else Text(column.cells[place])
            for column in layout.columns
        )
        table.add_row(*cells, style="bold" if place in layout.bold else None)
    return table


def _widths(layout: Layout, room: int) -> list[int]:
    """Return each column's width: what it needs, then what is left to the one that lacks most."""
    widths = [column.narrowest for column in layout.columns]
    lacks = [column.widest - width for column, width in zip(layout.columns, widths, strict=True)]
    for _ in range(room - layout.narrowest):
        most = max(range(len(lacks)), key=lacks.__getitem__)
        if lacks[most] == 0:
            break
        widths[most] += 1
        lacks[most] -= 1
    return widths


def _pieces(text: str) -> list[str]:
    """Return the parts of a text that stay together.

    >>> _pieces("mean of pair-reasons")
    ['mean', 'of', 'pair-', 'reasons']
    """
    return _PIECE.findall(text)
