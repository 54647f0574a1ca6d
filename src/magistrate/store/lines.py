"""Files of one record a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from magistrate.errors import RunDamagedError
from magistrate.records import Record, from_json_line, to_json_line

R = TypeVar("R", bound=Record)


def to_line(record: Record) -> bytes:
    """Return a record as one line of JSON, newline included."""
    return to_json_line(record) + b"\n"


def iterate_lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield (number from 1, place in bytes, line with its newline); a missing file has none."""
    if not path.exists():
        return
    offset = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            yield number, offset, line
            offset += len(line)


def read_records(kind: type[R], path: Path) -> Iterator[R]:
    """Yield the records of a file; a missing file has none.

    Raises:
        RunDamagedError: A line is not such a record; the message names file and line.
    """
    for number, _, line in iterate_lines(path):
        try:
            yield from_json_line(kind, line)
        except ValueError as error:
            raise RunDamagedError(
                f"{path}, line {number}: not a {kind.__name__.lower()}: {describe(error)}; "
                f"see 'magistrate runs verify {path.parent}'"
            ) from error


def describe(error: ValueError) -> str:
    """Return in one line why a line could not be read."""
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'line'}: {problem['msg']}"
        for problem in error.errors(include_url=False, include_input=False)[:3]
    )
