"""Text and tables that stay readable where there is little room.

A table that does not fit at all gives way to another layout, instead of losing a column.

A path or a model's name that is wider than its column is one word to a terminal, which would cut it
in the middle of a name: ``runs/first-t`` / ``ry``. Here it breaks after ``/`` where it can, else
after a hyphen, dot or the like, and only a name that is too wide by itself is cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.text import Text

_WORD = re.compile(r"\S+")
_FIRST_CHOICE = frozenset("/\\")
_SECOND_CHOICE = frozenset("-_.,:;=@#+|")
NARROWEST = 8
"""Columns that a broken word may be squeezed into."""
_WIDE = 10_000


class Wrapped:
    """A text for a column of a table, or alone on a line."""

    def __init__(self, text: str | Text) -> None:
        """Take the text, harmless already."""
        self.text = text if isinstance(text, Text) else Text(text)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """Ask for as much room as the text itself; any word can be broken."""
        wanted = Measurement.get(console, options, self.text)
        return Measurement(min(wanted.minimum, NARROWEST), wanted.maximum)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw it in the room that there is."""
        places = break_places(self.text.plain, options.max_width)
        yield Text("\n").join(self.text.divide(places)) if places else self.text


class Fitting:
    """A table, or what is shown instead where the table does not fit."""

    def __init__(self, table: RenderableType, narrow: RenderableType, slack: int) -> None:
        """Take both.

        Args:
            table: Drawn where there is room.
            narrow: Drawn where there is not.
            slack: By how many columns the table can be narrower than it is at its widest.
        """
        self._table = table
        self._narrow = narrow
        self._slack = slack

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Draw the one that fits."""
        # Measured in all the room there could be: in less, columns already count as squeezed.
        widest = Measurement.get(console, options.update(max_width=_WIDE), self._table).maximum
        yield self._table if widest - self._slack <= options.max_width else self._narrow


def slack(texts: Iterable[str]) -> int:
    """Return by how many columns a column of texts that can be broken may be narrower."""
    return max(0, max((cell_len(text) for text in texts), default=0) - NARROWEST)


def break_places(text: str, width: int) -> list[int]:
    """Return where words wider than ``width`` columns are to be broken.

    >>> break_places("see runs/first-try/run.json", 10)
    [9, 19]
    """
    return [
        word.start() + place
        for word in _WORD.finditer(text)
        if cell_len(word[0]) > width
        for place in _places_in(word[0], max(1, width))
    ]


def _places_in(word: str, width: int) -> Iterator[int]:
    start = 0
    while cell_len(word[start:]) > width:
        end = start + _fitting(word[start:], width)
        for separators in (_FIRST_CHOICE, _SECOND_CHOICE):
            after = [i + 1 for i in range(start, end) if word[i] in separators]
            if after:
                end = after[-1]
                break
        yield end
        start = end


def _fitting(text: str, width: int) -> int:
    """Return how many characters fit into so many columns, at least one."""
    used = 0
    for count, character in enumerate(text):
        used += cell_len(character)
        if used > width:
            return max(1, count)
    return len(text)
