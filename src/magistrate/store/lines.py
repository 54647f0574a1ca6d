"""Files of one record a line."""

from __future__ import annotations

from collections.abc import Iterator
from errno import EISDIR
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import ValidationError

from magistrate.errors import RunDamagedError, what_is_needed
from magistrate.records import Record, from_json_line, to_json_line

R = TypeVar("R", bound=Record)

HOW_TO_MEND = (
    "restore it from a copy, or judge anew: into another folder with --out, or into this one with "
    "--start-over, which moves what is there to a folder beside it"
)


def to_line(record: Record) -> bytes:
    """Return a record as one line of JSON, newline included."""
    return to_json_line(record) + b"\n"


def iterate_lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Yield (number from 1, place in bytes, line with its newline); a missing file has none.

    Raises:
        RunDamagedError: The path is a folder, or the system does not let it be read.
    """
    if not path.exists():
        return
    offset = 0
    with open_to_read(path) as file:
        for number, line in enumerate(file, 1):
            yield number, offset, line
            offset += len(line)


def open_to_read(path: Path) -> BinaryIO:
    """Open a file of a run.

    Raises:
        RunDamagedError: It is missing, is a folder, or the system does not let it be read.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(EISDIR, "it is a folder, not a file")
        return path.open("rb")
    except FileNotFoundError:
        raise RunDamagedError(f"{path} is missing; {HOW_TO_MEND}") from None
    except OSError as error:
        raise RunDamagedError(f"{path} cannot be read: {error.strerror}; {HOW_TO_MEND}") from error


def read_records(kind: type[R], path: Path) -> Iterator[R]:
    """Yield the records of a file; a missing file has none.

    Raises:
        RunDamagedError: The file cannot be read, or a line is not such a record; the message
            names file and line.
    """
    for number, _, line in iterate_lines(path):
        try:
            yield from_json_line(kind, line)
        except ValueError as error:
            raise RunDamagedError(
                f"{path}, line {number}: not a {kind.__name__.lower()}: {describe(error)}; "
                f"see 'magistrate runs verify {path.parent}'"
            ) from error


def shorter_than_the_run(path: Path, found: int, known: int) -> RunDamagedError:
    """Return the error for a file of samples that lost some."""
    what = f"holds {found} samples" if found else "is empty"
    return RunDamagedError(f"{path} {what}, and the run has {known}; {HOW_TO_MEND}")


def describe(error: ValueError) -> str:
    """Return in one line why a line could not be read."""
    if not isinstance(error, ValidationError):
        return str(error)
    return "; ".join(
        f"{'.'.join(map(str, problem['loc'])) or 'line'}: {what_is_needed(problem)}"
        for problem in error.errors(include_url=False, include_input=False)[:3]
    )
