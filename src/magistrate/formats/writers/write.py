"""The one door through which samples are written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import chain
from os import PathLike, fspath
from typing import IO

from magistrate.errors import FormatError, InputError, nearest_of
from magistrate.formats.base import RowError
from magistrate.formats.sniff import LIST
from magistrate.formats.source import STDIN
from magistrate.formats.writers.base import (
    ALL_PARTS,
    RowFormat,
    Tally,
    WriteReport,
    new_file,
    place_for,
)
from magistrate.formats.writers.mtbench import NAME as MTBENCH
from magistrate.formats.writers.mtbench import write_mtbench
from magistrate.formats.writers.rows import ROW_FORMATS
from magistrate.formats.writers.table import write_table
from magistrate.records import Sample, to_json_line

SAMPLES = "samples"

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".jsonl": SAMPLES,
    ".ndjson": SAMPLES,
    ".json": SAMPLES,
}
_BY_NAME = {row_format.name: row_format for row_format in ROW_FORMATS}
_ALPACA_EVAL = "alpaca-eval"


def targets() -> dict[str, str]:
    """Return the formats that can be written, each with a line on what it is."""
    return {
        SAMPLES: "magistrate's own samples, with nothing left out (JSON Lines)",
        **{row_format.name: row_format.summary for row_format in ROW_FORMATS},
        _ALPACA_EVAL: "AlpacaEval outputs or annotations, by the answers of the first sample",
        MTBENCH: "MT-bench folder: questions, answers by model, labels as pair judgments",
        "csv": "comma-separated table: question, answer1, answer2, label, ...",
        "tsv": "tab-separated table",
        "parquet": "the same table as Parquet",
    }


def target_for(path: str, to: str | None = None) -> str:
    """Return the format to write: ``to``, or what the path's ending says.

    Raises:
        FormatError: The format is unknown, or the ending says nothing.
    """
    known = targets()
    if to is not None:
        if to in known:
            return to
        if to == LIST:
            listed = "".join(f"\n  {name}: {summary}" for name, summary in known.items())
            raise FormatError(f"these formats are written:{listed}")
        raise FormatError(f"cannot write '{to}'; {nearest_of(to, known, '--to list')}")
    name = path.removesuffix(".gz")
    for suffix, target in _SUFFIXES.items():
        if name.endswith(suffix):
            return target
    raise FormatError(
        f"the name {path} does not say which format to write; end it in "
        f"{', '.join(_SUFFIXES)}, or name the format with --to (--to list lists them)"
    )


def write_samples(
    samples: Iterable[Sample],
    path: str | PathLike[str],
    to: str | None = None,
    *,
    strict: bool = False,
) -> WriteReport:
    """Write samples to a file, which takes its name only when it is complete.

    If not one sample can be written there is no file, and one of that name stays as it was.

    Args:
        samples: What to write; may be a stream that is larger than memory.
        path: File to write (a folder for ``mt-bench``); ``.gz`` at the end compresses, ``-`` is
            standard output.
        to: Name of a format (:func:`targets`); by default the path's ending decides.
        strict: Stop at the first sample that the format cannot hold, instead of listing it.

    Returns:
        What was written, what could not be and why, and what the format has no place for.

    Raises:
        FormatError: The format is unknown.
        InputError: The file cannot be written, or a sample does not fit and ``strict`` is set.
    """
    name = fspath(path)
    target = target_for(name, to)
    if name != STDIN:
        place_for(name)  # before anything is read: a table is written only at the end
    if target == MTBENCH:
        _check_names_folder(name)
        return write_mtbench(samples, name, strict=strict)
    if target in ("csv", "tsv", "parquet"):
        return write_table(samples, name, target, strict=strict)  # type: ignore[arg-type]
    if target == SAMPLES:
        return _write_own(samples, name)
    if target == _ALPACA_EVAL:
        target, samples = _which_alpaca_eval(samples)
    return _write_rows(samples, name, _BY_NAME[target], strict=strict)


def _check_names_folder(name: str) -> None:
    """Refuse the name of a file for what becomes a folder.

    Raises:
        InputError: It is one, or is standard output.
    """
    ending = next((end for end in (*_SUFFIXES, ".txt", ".gz") if name.endswith(end)), None)
    if ending is not None:
        raise InputError(
            f"'{MTBENCH}' is written as a folder of several files, and {name} is the name of a "
            f"file; name a folder, such as {name.removesuffix('.gz').removesuffix(ending)}"
        )
    if name == STDIN:
        raise InputError(f"'{MTBENCH}' is written as a folder; name one, standard output is none")


def _which_alpaca_eval(samples: Iterable[Sample]) -> tuple[str, Iterable[Sample]]:
    stream = iter(samples)
    first = next(stream, None)
    if first is None:
        return "alpaca-eval-outputs", ()
    single = len(first.answers) == 1
    return f"alpaca-eval-{'outputs' if single else 'annotations'}", chain([first], stream)


def _write_own(samples: Iterable[Sample], path: str) -> WriteReport:
    tally = Tally(SAMPLES, ALL_PARTS)
    with new_file(path, tally.any_written) as file:
        lines = _Lines(file, array=path.removesuffix(".gz").endswith(".json"))
        for place, sample in enumerate(samples, start=1):
            lines.add(to_json_line(sample))
            tally.wrote(sample, place)
        lines.end()
    return tally.report(path)


def _write_rows(
    samples: Iterable[Sample], path: str, row_format: RowFormat, *, strict: bool
) -> WriteReport:
    tally = Tally(row_format.name, row_format.holds, strict=strict)
    plain = path.removesuffix(".gz")
    array = plain.endswith(".json") or (row_format.array and not plain.endswith(".jsonl"))
    with new_file(path, tally.any_written) as file:
        lines = _Lines(file, array=array)
        for line in _encoded(samples, row_format, tally):
            lines.add(line)
        lines.end()
    return tally.report(path)


def _encoded(samples: Iterable[Sample], row_format: RowFormat, tally: Tally) -> Iterator[bytes]:
    for place, sample in enumerate(samples, start=1):
        try:
            row = row_format.row(sample, place)
        except RowError as error:
            tally.skip(sample, place, str(error))
            continue
        yield _to_json(row)
        tally.wrote(sample, place)


def _to_json(row: dict[str, object]) -> bytes:
    """Return JSON in UTF-8, or in ASCII where a lone surrogate must be escaped."""
    text = json.dumps(row, ensure_ascii=False, default=str)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(row, default=str).encode()


class _Lines:
    """JSON Lines, or a JSON array with an element a line."""

    def __init__(self, file: IO[bytes], *, array: bool) -> None:
        self._file = file
        self._array = array
        self._count = 0

    def add(self, line: bytes) -> None:
        if self._array:
            self._file.write(b",\n" if self._count else b"[\n")
        self._file.write(line if self._array else line + b"\n")
        self._count += 1

    def end(self) -> None:
        if self._array and self._count:
            self._file.write(b"\n]\n")
