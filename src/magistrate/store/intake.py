"""The input on its way into a run folder: normalised, hashed, and compared on a resume."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from magistrate.errors import InputError, RunDamagedError
from magistrate.formats.base import BadRow, Notice
from magistrate.ids import file_sha256
from magistrate.judging.plan import Plan
from magistrate.records import Record, Sample, from_json_line
from magistrate.store.disk import (
    flush_to_disk,
    put_in_place,
    temporary_path,
    write_atomically,
    writing,
)
from magistrate.store.folder import RunFolder
from magistrate.store.lines import to_line
from magistrate.store.manifest import InputFile, describe_input

_SHOWN_CHARACTERS = 60


class Intake:
    """One pass over the input; afterwards it knows what the input was.

    The input may be a plain iterable of samples, or a reader of files, which also lists bad rows
    and notices.
    """

    def __init__(
        self,
        source: Iterable[Sample],
        plan: Plan,
        *,
        limit: int | None = None,
        strict: bool = False,
    ) -> None:
        """Take the input, of which at most ``limit`` samples are read."""
        self._source = source
        self._plan = plan
        self._limit = limit
        self._strict = strict
        self._digest = hashlib.sha256()
        self._texts: set[bytes] = set()
        self.samples = 0
        self.readings = 0
        """Readings planned: samples of equal text are read once."""

    @property
    def sha256(self) -> str:
        """Hash of the normalised lines so far."""
        return self._digest.hexdigest()

    @property
    def bad(self) -> Sequence[BadRow]:
        """Rows that the reader could not use."""
        bad: Sequence[BadRow] = getattr(self._source, "bad", ())
        return bad

    @property
    def notices(self) -> Sequence[Notice]:
        """What the reader noticed."""
        notices: Sequence[Notice] = getattr(self._source, "notices", ())
        return notices

    @property
    def bad_count(self) -> int:
        """Number of such rows; more than are listed where there are very many."""
        count: int = getattr(self._source, "bad_count", len(self.bad))
        return count

    @property
    def inputs(self) -> tuple[InputFile, ...]:
        """The files that the samples came from; none for samples that the caller made."""
        paths: Sequence[str] = getattr(self._source, "paths", ())
        questions: str | None = getattr(self._source, "questions", None)
        return (
            *(describe_input(path, getattr(self._source, "format", None)) for path in paths),
            *(describe_input(path, "questions") for path in (questions,) if path is not None),
        )

    @property
    def reading(self) -> dict[str, Any]:
        """How those files were read."""
        return dict(getattr(self._source, "settings", {}))

    def write(self, folder: RunFolder) -> None:
        """Write a new run's ``samples.jsonl`` and what goes with it.

        Raises:
            InputError: There is nothing to judge, or a row is bad and the user was strict.
            RunError: The disk is full or the folder cannot be written.
        """
        temporary = temporary_path(folder.samples)
        try:
            with writing(folder.samples), temporary.open("wb") as file:
                for line in self._lines():
                    file.write(line)
                flush_to_disk(file.fileno())
            self._check_not_empty()
            with writing(folder.samples):
                put_in_place(temporary, folder.samples)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        self._write_remarks(folder)

    def match(self, folder: RunFolder, known_sha256: str, *, take_over: bool) -> str | None:
        """Compare with the samples of an existing run.

        Args:
            folder: The run.
            known_sha256: Hash of its ``samples.jsonl`` according to ``run.json``.
            take_over: Whether samples beyond the run's own are added to it, and its lists of bad
                rows and notices renewed. False only looks.

        Returns:
            What differs, in words; None when the run can go on with this input.

        Raises:
            RunDamagedError: ``samples.jsonl`` is not what ``run.json`` says.
            RunError: The disk is full or the folder cannot be written.
        """
        lines = self._lines()
        difference, first_new = _compare(lines, folder.samples)
        if difference is not None:
            if file_sha256(folder.samples) != known_sha256:
                raise RunDamagedError(
                    f"{folder.samples} is neither this input nor what {folder.manifest.name} "
                    f"remembers: it was changed after the run began; restore it, or choose "
                    f"another folder with --out"
                )
            return difference
        if not take_over:
            return None
        if first_new is not None:
            self._extend(folder.samples, first_new, lines)
        self._check_not_empty()
        self._write_remarks(folder)
        return None

    def _lines(self) -> Iterator[bytes]:
        for sample in islice(self._source, self._limit):
            if self._strict:
                self._check_strict()
            line = to_line(sample)
            self._digest.update(line)
            self.samples += 1
            text = bytes.fromhex(sample.text_id)
            if text not in self._texts:
                self._texts.add(text)
                self.readings += self._plan.count(len(sample.answers))
            yield line
        if self._strict:
            self._check_strict()

    def _check_strict(self) -> None:
        if self.bad:
            first = self.bad[0]
            raise InputError(
                f"{first.file}, row {first.row}: {first.reason}; mend the row, "
                f"or run without --strict to judge the good rows and list the bad ones"
            )

    def _check_not_empty(self) -> None:
        if self.samples:
            return
        if not self.bad:
            raise InputError("the input holds no samples; there is nothing to judge")
        first = self.bad[0]
        raise InputError(
            f"the input holds no usable sample; all {self.bad_count} rows are bad, the first one "
            f"is {first.file}, row {first.row}: {first.reason}"
        )

    def _write_remarks(self, folder: RunFolder) -> None:
        _write_list(folder.bad_rows, self.bad)
        _write_list(folder.notices, self.notices)

    def _extend(self, path: Path, first_new: bytes, rest: Iterable[bytes]) -> None:
        """Append samples: to a copy, which then takes the file's place."""
        temporary = temporary_path(path)
        try:
            with writing(path):
                shutil.copyfile(path, temporary)
                with temporary.open("ab") as file:
                    file.write(first_new)
                    for line in rest:
                        file.write(line)
                    flush_to_disk(file.fileno())
                put_in_place(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def _compare(lines: Iterator[bytes], path: Path) -> tuple[str | None, bytes | None]:
    """Return (difference in words or None, the first line beyond the stored ones or None)."""
    row = 0
    with path.open("rb") as stored:
        for line in lines:
            row += 1
            known = stored.readline()
            if not known:
                return None, line
            if known != line:
                return f"sample {row}: {_difference(known, line)}", None
        left = sum(1 for _ in stored)
    if left:
        return f"the run has {row + left} samples, the input has {row}", None
    return None, None


def _difference(known: bytes, line: bytes) -> str:
    """Say in which field two samples differ first."""
    try:
        old, new = from_json_line(Sample, known), from_json_line(Sample, line)
    except ValueError:
        return "the run's own line cannot be read"
    for field in Sample.model_fields:
        if getattr(old, field) != getattr(new, field):
            return f"{field} is {_show(old, field)} in the run, {_show(new, field)} in the input"
    return "it is written differently"


def _show(sample: Sample, field: str) -> str:
    text = repr(getattr(sample, field))
    return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."


def _write_list(path: Path, records: Sequence[Record]) -> None:
    """Write records one a line; no records, no file."""
    if records:
        write_atomically(path, b"".join(map(to_line, records)))
    else:
        with writing(path):
            path.unlink(missing_ok=True)
