"""Any file as a stream of rows: the arrangement is found from the content, not from the name.

JSON arrays, JSON objects of rows, JSON Lines (also with several values on a line, or one value
over several lines), CSV and TSV, Parquet, each plain or gzipped, from a file, a pipe or ``-``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

from magistrate.errors import InputError
from magistrate.formats import jsonrows
from magistrate.formats.base import BadRow, Row
from magistrate.formats.delimited import Dialect, find_dialect, read_delimited
from magistrate.formats.encoding import decode
from magistrate.formats.jsonrows import FileContext
from magistrate.formats.notices import NoticeLog
from magistrate.formats.source import HEAD_BYTES, Source

Container = Literal[
    "json array", "json object", "json lines", "json values", "csv", "tsv", "parquet"
]
"""How a file arranges its rows."""

WRAPPERS = frozenset(
    {"data", "rows", "examples", "instances", "items", "samples", "results", "annotations"}
)
"""Names under which a JSON object may keep the array of rows."""

_FIRST_LINES = 200
_PARQUET_BATCH = 10_000
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
        self.container, self._read = _arrangement(source)

    def read(self, log: NoticeLog) -> Iterator[Row | BadRow]:
        """Read the file from the start; what is odd but readable is noted in ``log``."""
        context = FileContext(self.source.name, log)
        if self._read is None:
            yield from _read_parquet(self.source.seekable_path(), self.source.name)
            return
        with self.source.open_text() as stream:
            yield from self._read(stream, context)


def _arrangement(source: Source) -> tuple[Container, _RowReader]:
    data = source.head()
    complete = len(data) < HEAD_BYTES
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
            f"{source.name}: neither JSON nor a table: the first line is "
            f"{jsonrows.ascii_quote(decode(lines[0])[0][:60] if lines else '')}, which has no "
            f"columns; needed: JSON, JSON Lines, CSV or TSV with a header row, or Parquet"
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
            values = jsonrows.parse_all(line, context, 0)
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


def _read_parquet(path: Path, name: str) -> Iterator[Row]:
    import polars as pl
    import polars.selectors as cs

    try:
        frame = pl.scan_parquet(path)
        length = frame.select(pl.len()).collect().item()
        frame = frame.with_columns(
            (cs.temporal() | cs.decimal() | cs.categorical()).cast(pl.String)
        )
        for start in range(0, length, _PARQUET_BATCH):
            # A slice reads the row groups that it touches and no others.
            batch = frame.slice(start, _PARQUET_BATCH).collect()
            for number, row in enumerate(batch.iter_rows(named=True), start=start + 1):
                yield Row(number, row)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{name}: the Parquet file cannot be read ({error})") from error
