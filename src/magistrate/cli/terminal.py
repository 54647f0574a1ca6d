"""Where a command writes: the result to standard output, all else to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magistrate.cli.exits import print_json, show_message
from magistrate.report.text import counted, harmless

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from magistrate.formats.base import BadRow, Notice

WIDTH_OF_FILES = 120
"""Columns when standard output is a file or a pipe."""

ASCII_STAND_INS = str.maketrans({"─": "-", "–": "-", "…": "..."})
"""For output in an encoding that lacks the table's own characters."""

SHOWN_ROWS = 5
"""How many bad rows and notices are shown; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """Prints results, and notes unless the user wants it quiet."""

    as_json: bool = False
    quiet: bool = False

    def note(self, text: str) -> None:
        """Say something beside the result."""
        if not self.quiet:
            show_message(text)

    def table(self, renderable: RenderableType) -> None:
        """Print the result for people; nothing when the result is JSON.

        In a file or a pipe lines have no colour and no blanks at their end.
        """
        if self.as_json:
            return
        console = stdout_console()
        if console.is_terminal:
            console.print(renderable)
        else:
            from magistrate.report.table import plain_text

            text = plain_text(renderable, console.width)
            utf = console.encoding.startswith("utf")
            print(text if utf else text.translate(ASCII_STAND_INS))

    def facts(self, rows: Iterable[tuple[str, str]]) -> None:
        """Print names and values in two columns; nothing when the result is JSON."""
        if not self.as_json:
            from magistrate.report.table import facts_table

            self.table(facts_table(rows))

    def line(self, text: str) -> None:
        """Print lines of the result as they are; nothing when the result is JSON."""
        if not self.as_json:
            print("\n".join(map(harmless, text.split("\n"))))

    def markdown(self, text: str) -> None:
        """Print a Markdown text: laid out on a terminal, as it is elsewhere."""
        if self.as_json:
            return
        text = "\n".join(map(harmless, text.split("\n")))
        console = stdout_console()
        if console.is_terminal:
            from rich.markdown import Markdown

            console.print(Markdown(text, hyperlinks=False))
        else:
            print(text)

    def json(self, value: dict[str, Any]) -> None:
        """Print the result for programs; nothing unless JSON was asked for."""
        if self.as_json:
            print_json(value)

    def notices(self, notices: Iterable[Notice], *, result: bool = False) -> None:
        """Say what should be known about the input: the first few, and how many more."""
        say = self.line if result else self.note
        lines = [f"note: {notice.message}" for notice in notices]
        for line in lines[:SHOWN_ROWS]:
            say(line)
        if len(lines) > SHOWN_ROWS:
            say(f"note: and {counted(len(lines) - SHOWN_ROWS, 'more note')}; --json has them all")

    def bad_rows(
        self, bad: Iterable[BadRow], total: int, list_file: Path | None, *, result: bool = False
    ) -> None:
        """Say which rows could not be used: how many, the first few, and where all are listed.

        Args:
            bad: The bad rows.
            total: How many there are.
            list_file: Where all are listed; None when they are nowhere but here.
            result: Whether this is the result that was asked for, rather than a note beside it.
        """
        if not total:
            return
        say = self.line if result else self.note
        say(f"{counted(total, 'bad row')} could not be used:")
        for row in islice(bad, SHOWN_ROWS):
            say(f"  {row.file}, row {row.row}: {row.reason}")
        where = f"all are listed in {list_file}" if list_file else "--json has them all"
        if total > SHOWN_ROWS:
            say(f"  and {total - SHOWN_ROWS:,} more; {where}")
        elif list_file:
            say(f"  {where}")


def stdout_console() -> Console:
    """Return a console on standard output; no colour unless it is a terminal."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDTH_OF_FILES
    return console


def stderr_is_terminal() -> bool:
    """Whether a bar can be drawn on standard error."""
    return sys.stderr.isatty()
