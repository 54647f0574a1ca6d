"""Parquet, row by row: what has no form in JSON becomes text, and never costs the whole file.

Dates, times and durations become ISO 8601, decimals and categories their text, bytes the text that
they hold; the same inside lists and structures. A column that cannot be read at all is empty, with
a notice; a stretch of the file that cannot be read is a bad row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Row
from magistrate.formats.encoding import decode
from magistrate.formats.jsonvalues import FileContext

if TYPE_CHECKING:
    import polars as pl

_BATCH = 10_000


def read_parquet(path: Path, context: FileContext) -> Iterator[Row | BadRow]:
    """Read rows as dicts from column to a value that has a form in JSON.

    Raises:
        InputError: The file is no Parquet, or its end (where the columns are listed) is damaged.
    """
    import polars as pl

    faults = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
    try:
        frame = pl.scan_parquet(path)
        schema = frame.collect_schema()
        length = frame.select(pl.len()).collect().item()
    except faults as error:
        raise InputError(
            f"{context.file}: the Parquet file cannot be read ({_line(error)})"
        ) from error
    columns = {name: _column(name, dtype) for name, dtype in schema.items()}
    nested = [name for name, dtype in schema.items() if _needs_python(dtype)]
    for start in range(0, length, _BATCH):
        # A slice reads the row groups that it touches and no others.
        part = frame.slice(start, _BATCH)
        try:
            batch = part.select(columns.values()).collect()
            rows: Iterable[dict[str, Any]] = batch.iter_rows(named=True)
            if nested:  # here a value may have no form in Python, which shows only now
                rows = batch.rows(named=True)
        except (*faults, ValueError, OverflowError) as error:
            readable = _readable_columns(part, columns, context, start + 1)
            if readable is None:
                last = min(start + _BATCH, length)
                reason = f"rows {start + 1:,} to {last:,} cannot be read ({_line(error)})"
                yield context.bad(start + 1, reason)
                continue
            rows = readable
        for number, row in enumerate(rows, start=start + 1):
            for name in nested:
                row[name] = _plain(row[name], _Teller(context, name, number))
            yield Row(number, row)


def _readable_columns(
    part: pl.LazyFrame, columns: Mapping[str, pl.Expr], context: FileContext, row: int
) -> list[dict[str, Any]] | None:
    """Read a stretch of the file column by column; None if none of them can be read."""
    import polars as pl

    found: dict[str, list[Any]] = {}
    for name, column in columns.items():
        try:
            found[name] = part.select(column).collect().to_series().to_list()
        except (
            pl.exceptions.PolarsError,
            pl.exceptions.PanicException,
            ValueError,
            OverflowError,
        ) as error:
            context.log.add(
                "left-out",
                f"column {name!r} cannot be read and is left empty ({_line(error)})",
                file=context.file,
                row=row,
            )
    if not found:
        return None
    length = len(next(iter(found.values())))
    empty = [None] * length
    ordered = [found.get(name, empty) for name in columns]
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*ordered, strict=True)]


def _column(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return the expression that reads a column, as text where JSON has no such type."""
    import polars as pl

    column = pl.col(name)
    if dtype.is_temporal():
        return column.dt.to_string("iso:strict")
    if dtype.is_decimal() or isinstance(dtype, pl.Categorical | pl.Enum):
        return column.cast(pl.String)
    return column


def _needs_python(dtype: pl.DataType) -> bool:
    import polars as pl

    known = dtype.is_numeric() or dtype.is_temporal()
    return not known and not isinstance(
        dtype, pl.String | pl.Boolean | pl.Null | pl.Categorical | pl.Enum
    )


class _Teller:
    """Notes what was odd about one cell."""

    def __init__(self, context: FileContext, column: str, row: int) -> None:
        self._context = context
        self._column = column
        self._row = row

    def __call__(self, kind: str, what: str) -> None:
        message = f"column {self._column!r} holds {what}"
        self._context.log.add(kind, message, file=self._context.file, row=self._row)


def _plain(value: Any, tell: Callable[[str, str], None]) -> Any:
    """Return a value in the types that JSON has.

    >>> _plain({"day": date(2024, 1, 2), "parts": [b"x", timedelta(hours=36)]}, print)
    {'day': '2024-01-02', 'parts': ['x', 'P1DT12H']}
    """
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, bytes):
        return _text(value, tell)
    if isinstance(value, Mapping):
        return {str(key): _plain(part, tell) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, tell) for part in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration(value)
    if isinstance(value, Decimal):
        return str(value)
    tell("left-out", f"a value of type {type(value).__name__}, which was left out")
    return None


def _text(data: bytes, tell: Callable[[str, str], None]) -> str | None:
    """Return bytes as the text they hold; what is no text (a picture, say) is left out."""
    text, valid = decode(data)
    if valid:
        return text
    if b"\0" in data:
        tell("left-out", "bytes that are no text, which were left out")
        return None
    tell("encoding", "bytes that are not UTF-8, kept as they are (judges see \ufffd for each)")
    return text


def _duration(value: timedelta) -> str:
    """Return ISO 8601's form of a duration.

    >>> _duration(timedelta(days=2, hours=1, seconds=5.5)), _duration(-timedelta(seconds=1))
    ('P2DT1H5.5S', '-PT1S')
    """
    sign, value = ("-", -value) if value < timedelta(0) else ("", value)
    minutes, seconds = divmod(value.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{value.microseconds:06}".rstrip("0") if value.microseconds else ""
    clock = f"{hours}H" if hours else ""
    clock += f"{minutes}M" if minutes else ""
    if seconds or fraction or not (clock or value.days):
        clock += f"{seconds}{fraction}S"
    days = f"{value.days}D" if value.days else ""
    return f"{sign}P{days}{'T' if clock else ''}{clock}"


def _line(error: BaseException) -> str:
    """Return the first line of an error: the rest is about the library's own query plan."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
