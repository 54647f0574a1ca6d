"""CSV and TSV, row by row: quotes, line breaks inside cells, NUL characters, ragged rows.

The dialect (delimiter, and whether and how cells are quoted) is the one that reads the beginning
of the file with the fewest broken rows. A quote that is never closed costs its own row only:
reading goes on at the line after the one where the broken row began.
"""

from __future__ import annotations

import csv
import io
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Row
from magistrate.formats.columns import listed
from magistrate.formats.encoding import decode
from magistrate.formats.jsonrows import MAX_ROW_BYTES
from magistrate.formats.jsonvalues import FileContext, ascii_quote

DELIMITERS = "\t,;|"
_HEAD_ROWS = 500


@dataclass(frozen=True, slots=True)
class Dialect:
    """How cells are told apart."""

    delimiter: str
    quoting: int
    """``csv.QUOTE_MINIMAL`` or ``csv.QUOTE_NONE``."""
    escape: str | None = None
    """A character that takes the next one literally; then quotes are not doubled."""
    skip_space: bool = False

    def reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Return a csv reader that refuses malformed quoting instead of guessing."""
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quoting=self.quoting,  # type: ignore[arg-type]
            quotechar='"',
            escapechar=self.escape,
            doublequote=self.escape is None,
            skipinitialspace=self.skip_space,
            strict=True,
        )


class _Lines(Iterator[str]):
    """Decoded lines that remember which of them the current row has taken, to give them back."""

    def __init__(self, stream: IO[bytes], context: FileContext) -> None:
        self._stream = stream
        self._context = context
        self._returned: deque[str] = deque()
        self.taken: list[str] = []
        self.row = 0

    def __next__(self) -> str:
        if self._returned:
            line = self._returned.popleft()
        else:
            data = self._stream.readline(MAX_ROW_BYTES)
            if not data:
                raise StopIteration
            line, valid = decode(data)
            if not valid:
                self._context.log.add(
                    "encoding",
                    "bytes that are not UTF-8 were kept as they are (judges see \ufffd for each)",
                    file=self._context.file,
                    row=self.row or None,
                )
        self.taken.append(line)
        return line

    def give_back(self) -> None:
        """Hand out again all lines of the current row but its first."""
        self._returned.extendleft(reversed(self.taken[1:]))
        self.taken.clear()


def find_dialect(head: str) -> Dialect | None:
    r"""Return the dialect of a file by its beginning; None if its header has one column only.

    >>> find_dialect("a\tb\n1\t2\n").delimiter
    '\t'
    >>> find_dialect("no columns here\n") is None
    True
    """
    header = next((line for line in head.split("\n") if line.strip()), "")
    found = [d for d in DELIMITERS if d in header]
    if not found:
        return None
    # A tab in a header is never prose; among the others the most frequent one is the delimiter.
    delimiter = "\t" if "\t" in found else max(found, key=header.count)
    skip_space = header.count(delimiter + " ") == header.count(delimiter)
    candidates = [
        Dialect(delimiter, csv.QUOTE_MINIMAL, skip_space=skip_space),
        Dialect(delimiter, csv.QUOTE_MINIMAL, "\\", skip_space=skip_space),
        Dialect(delimiter, csv.QUOTE_NONE, skip_space=skip_space),
    ]
    if delimiter != "\t":
        candidates.pop()
    return min(candidates, key=lambda d: _broken_rows(head, d))


def _broken_rows(head: str, dialect: Dialect) -> int:
    """Count the rows at the beginning of a file that a dialect cannot read as the header says."""
    _allow_long_cells()
    reader = dialect.reader(io.StringIO(head, newline="\n"))
    width, broken = 0, 0
    for _ in range(_HEAD_ROWS):
        try:
            cells = next(reader)
        except StopIteration:
            break
        except csv.Error:
            broken += 1
            continue
        width = width or len(cells)
        broken += bool(cells) and len(cells) != width
    return broken


def read_delimited(
    stream: IO[bytes], dialect: Dialect, context: FileContext
) -> Iterator[Row | BadRow]:
    """Read rows as dicts from column to cell text; the row number leaves the header out.

    Raises:
        InputError: Two columns have one name.
    """
    _allow_long_cells()
    lines = _Lines(stream, context)
    reader = dialect.reader(lines)
    columns = _header(reader, context)
    while True:
        lines.taken.clear()
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            lines.row += 1
            yield context.bad(lines.row, f"malformed quoting ({error}) near {_start(lines)}")
            lines.give_back()
            continue
        if not cells:
            continue
        lines.row += 1
        if len(columns) > 1 and not any(cell.strip(" \0\r") for cell in cells):
            context.log.add("blank-row", "blank, so passed over", file=context.file, row=lines.row)
            continue
        if len(cells) != len(columns):
            yield context.bad(
                lines.row,
                f"{len(cells)} cells where the header has {len(columns)} columns, "
                f"near {_start(lines)}",
            )
            continue
        yield Row(lines.row, dict(zip(columns, cells, strict=True)))


def _header(reader: Iterator[list[str]], context: FileContext) -> list[str]:
    names: list[str] = []
    while not names:
        try:
            names = [name.strip() for name in next(reader)]
        except StopIteration:
            return names
        except csv.Error as error:
            raise InputError(f"{context.file}: the header row is malformed ({error})") from error
    names = [name or f"column_{place}" for place, name in enumerate(names, start=1)]
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise InputError(
            f"{context.file}: the header names {listed(twice)} twice; rename one of them "
            f"(the columns are {listed(names)})"
        )
    return names


def _start(lines: _Lines) -> str:
    return ascii_quote(lines.taken[0].rstrip("\r\n")[:40]) if lines.taken else "the end of the file"


def _allow_long_cells() -> None:
    # The limit of the csv module is global and, at 128 KiB, shorter than some answers.
    if csv.field_size_limit() < MAX_ROW_BYTES:
        csv.field_size_limit(MAX_ROW_BYTES)
