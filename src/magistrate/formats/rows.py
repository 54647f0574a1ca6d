"""Any file as a stream of rows: the arrangement is found from the content, not from the name.

JSON arrays, JSON objects of rows, JSON Lines (also with several values on a line, or one value
over several lines), CSV and TSV, XML, Parquet, each plain or gzipped, from a file, a pipe or ``-``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Any, Literal, cast

from magistrate.errors import InputError
from magistrate.formats import jsonrows
from magistrate.formats.base import BadRow, Row
from magistrate.formats.delimited import Dialect, find_dialect, read_delimited
from magistrate.formats.encoding import LineEnds, decode
from magistrate.formats.jsonvalues import FileContext, ascii_quote, parse_all
from magistrate.formats.notices import NoticeLog
from magistrate.formats.parquet import read_parquet
from magistrate.formats.source import HEAD_BYTES, Damage, Source
from magistrate.formats.xmlrows import is_xml, read_xml

Container = Literal[
    "json array", "json object", "json lines", "json values", "csv", "tsv", "xml", "parquet"
]
"""How a file arranges its rows."""

WRAPPERS = frozenset(
    {"data", "rows", "examples", "instances", "items", "samples", "results", "annotations"}
)
"""Names under which a JSON object may keep the array of rows."""

_BY_LINES = frozenset({"json lines", "csv", "tsv"})
"""Containers where a row that is cut off may look whole."""

_FIRST_LINES = 200
_RowReader = Callable[[IO[bytes], FileContext], Iterator[Row | BadRow]]

_ROW_WORDS = ("question", "instruction", "prompt", "answer", "output", "response", "text", "chosen")
"""Parts of field names: an object that has one among its keys is a row, not a table of rows."""


class Rows:
    """The rows of one file, which can be read again and again.

    Args:
        source: The file.

    Raises:
        InputError: The file is empty, binary or of an unknown kind.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.container: Container
        self._read: _RowReader | None = None
        if source.is_parquet():
            self.container = "parquet"
            return
        source.check_text()
        try:
            self.container, self._read = _arrangement(source)
        except InputError as error:
            raise _with_damage(error, source) from error

    def read(self, log: NoticeLog) -> Iterator[Row | BadRow]:
        """Read the file from the start; what is odd but readable is noted in ``log``.

        Packed data that is damaged is read up to there; then a bad row says so.
        """
        context = FileContext(self.source.name, log)
        last: Row | BadRow | None = None
        for row in self._rows(context):
            if last is not None:
                yield last
            last = row
        if self.source.damage is not None:
            yield from self._damaged(last, self.source.damage, context)
        elif last is not None:
            yield last

    def _damaged(
        self, last: Row | BadRow | None, damage: Damage, context: FileContext
    ) -> Iterator[Row | BadRow]:
        """Yield the last row, and a bad row for the damage after it (or in it)."""
        if isinstance(last, BadRow):
            yield context.bad(last.row, f"{damage.reason} ({last.reason})")
        elif last is not None and damage.cuts_a_line and self.container in _BY_LINES:
            yield context.bad(last.number, f"{damage.reason}; the row may be incomplete")
        else:
            if last is not None:
                yield last
            yield context.bad(last.number + 1 if last else 1, damage.reason)

    def _rows(self, context: FileContext) -> Iterator[Row | BadRow]:
        if self._read is None:
            path = self.source.seekable_path()
            try:
                yield from read_parquet(path, context)
            except InputError as error:
                raise _with_damage(error, self.source) from error
            return
        with self.source.open_text() as stream:
            yield from self._read(stream, context)


def _with_damage(error: InputError, source: Source) -> InputError:
    """Add to an error that the packed data is damaged, which is the likely cause."""
    return InputError(f"{error} ({source.damage.reason})") if source.damage else error


def _arrangement(source: Source) -> tuple[Container, _RowReader]:
    data = source.head()
    complete = len(data) < HEAD_BYTES
    if is_xml(data):
        return "xml", read_xml
    # Old spreadsheets end lines with a carriage return alone.
    if b"\r" in data.rstrip(b"\r") and b"\n" not in data:
        container, read = _arrangement_of(
            data.replace(b"\r", b"\n"), source.name, complete=complete
        )
        if container in _BY_LINES:
            return container, partial(_read_other_line_ends, read)
    return _arrangement_of(data, source.name, complete=complete)


def _read_other_line_ends(
    read: _RowReader, stream: IO[bytes], context: FileContext
) -> Iterator[Row | BadRow]:
    yield from read(io.BufferedReader(cast("io.RawIOBase", LineEnds(stream))), context)


def _arrangement_of(data: bytes, name: str, *, complete: bool) -> tuple[Container, _RowReader]:
    head = data.lstrip(b" \t\r\n\0\x1e")
    lines = _whole_lines(head, complete=complete)
    first = head[:1]
    is_one_line = complete and len(lines) == 1
    if not (is_one_line and first in b"[{") and _mostly_json(lines, first):
        return "json lines", jsonrows.read_lines
    if first == b"[":
        return "json array", jsonrows.read_array
    if first == b"{":
        return _object_arrangement(head)
    dialect = find_dialect(decode(data)[0] if complete else _text_of_lines(data))
    if dialect is None:
        raise InputError(
            f"{name}: neither JSON nor a table: the first line is "
            f"{ascii_quote(decode(lines[0])[0][:60] if lines else '')}, which has no "
            f"columns; needed: JSON, JSON Lines, CSV or TSV with a header row, XML, or Parquet"
        )
    return _delimited(dialect)


def _delimited(dialect: Dialect) -> tuple[Container, _RowReader]:
    container: Container = "tsv" if dialect.delimiter == "\t" else "csv"

    def read(stream: IO[bytes], context: FileContext) -> Iterator[Row | BadRow]:
        return read_delimited(stream, dialect, context)

    return container, read


def _whole_lines(head: bytes, *, complete: bool) -> list[bytes]:
    """Return the first lines that are not blank, without one that may be cut by the window."""
    lines = head.split(b"\n", 4 * _FIRST_LINES)
    if not complete or len(lines) > 4 * _FIRST_LINES:
        lines.pop()
    return [line for line in lines if line.strip(b" \t\r\0")][:_FIRST_LINES]


def _text_of_lines(data: bytes) -> str:
    cut = data.rfind(b"\n")
    return decode(data[: cut + 1] if cut >= 0 else data)[0]


def _mostly_json(lines: list[bytes], first: bytes) -> bool:
    """Whether at least half of the first lines are JSON each: one broken line changes nothing."""
    structured = scalars = 0
    context = FileContext("", NoticeLog())
    for line in lines:
        if first == b"[" and line.rstrip().endswith(b","):
            continue  # an element of an array that is written one element a line
        try:
            values = parse_all(line, context, 0)
        except ValueError:
            continue
        if any(isinstance(value, dict | list) for value in values):
            structured += 1
        elif len(values) == 1:  # two and more are the cells of a table without letters
            scalars += 1
    if structured:
        return 2 * (structured + scalars) >= len(lines)
    return bool(lines) and scalars == len(lines) and first not in b"[{"


def _object_arrangement(head: bytes) -> tuple[Container, _RowReader]:
    """Tell a table of rows by key from rows that are objects over several lines."""
    end = jsonrows.value_end(head, 0)
    if end < 0:
        return _large_object(head)
    if head[end:].strip(b" \t\r\n\0"):
        return "json values", jsonrows.read_values
    try:
        whole = json.loads(decode(head[:end])[0], strict=False)
    except (ValueError, RecursionError):
        return "json values", jsonrows.read_values
    return _single_object(whole)


def _large_object(head: bytes) -> tuple[Container, _RowReader]:
    """Decide by the value that the window cuts: the ones before it are small."""
    at = 1
    while (quote := head.find(b'"', at)) >= 0 and (key_end := jsonrows.value_end(head, quote)) > 0:
        value = len(head) - len(head[key_end:].lstrip(b" \t\r\n:"))
        end = jsonrows.value_end(head, value)
        if 0 < end < len(head):
            at = end
            continue
        name = decode(head[quote + 1 : key_end - 1])[0]
        if head[value : value + 1] == b"{":
            return "json object", jsonrows.read_keyed
        if head[value : value + 1] == b"[" and name.lower() in WRAPPERS:
            return "json object", partial(jsonrows.read_wrapped, name=name)
        break
    return "json values", jsonrows.read_values


def _single_object(whole: dict[str, Any]) -> tuple[Container, _RowReader]:
    values = list(whole.values())
    if values and all(isinstance(value, dict) for value in values):
        return "json object", jsonrows.read_keyed
    tables = [key for key, value in whole.items() if _is_table(value)]
    if len(tables) == 1 and tables[0].lower() in WRAPPERS:
        return "json object", partial(jsonrows.read_wrapped, name=tables[0])
    is_row = any(word in key.lower() for key in whole for word in _ROW_WORDS)
    if len(values) > 1 and not is_row and all(isinstance(value, str) for value in values):
        return "json object", jsonrows.read_keyed
    return "json values", jsonrows.read_values


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)
