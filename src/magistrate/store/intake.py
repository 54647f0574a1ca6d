"""The input on its way into a run folder: normalised, hashed, and compared on a resume."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from magistrate.errors import InputError, RunDamagedError
from magistrate.formats.base import BadRow, Notice
from magistrate.ids import file_sha256
from magistrate.judging.plan import Plan
from magistrate.records import Record, Sample
from magistrate.store.asked import line_of
from magistrate.store.compare import compare_samples
from magistrate.store.disk import NewFile, write_atomically, writing
from magistrate.store.folder import RunFolder
from magistrate.store.lines import to_line
from magistrate.store.manifest import InputFile, RunManifest, describe_input


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
        refuse: Callable[[Sample], str | None] = lambda _: None,
    ) -> None:
        """Take the input.

        Args:
            source: The samples.
            plan: Which readings each gets.
            limit: At most so many are read.
            strict: Whether a bad row is an error.
            refuse: Says in words why a sample is an error, or None.
        """
        self._source = source
        self._plan = plan
        self._limit = limit
        self._strict = strict
        self._refuse = refuse
        self._digest = hashlib.sha256()
        self._texts: set[bytes] = set()
        self.samples = 0
        self.with_images = 0
        """Samples that have images."""
        self.readings = 0
        """Readings planned: samples of equal text are read once."""
        self.limit_shrank = False
        """Whether the run had more samples than the limit lets through, and the same ones."""
        self.changes: tuple[Notice, ...] = ()
        """What was taken over into an existing run."""

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
        with NewFile(folder.samples) as file:
            for _, line in self._lines():
                file.write(line)
            self._check_not_empty()
            file.put_in_place()
        self._write_remarks(folder)

    def match(self, folder: RunFolder, known: RunManifest, *, take_over: bool) -> str | None:
        """Compare with the samples of an existing run.

        Args:
            folder: The run.
            known: Its ``run.json``.
            take_over: Whether what no judgment depends on is taken over into the run: samples
                beyond its own, labels, models' names. False only looks.

        Returns:
            What differs, in words; None when the run can go on with this input.

        Raises:
            RunDamagedError: ``samples.jsonl`` is missing, or not what ``run.json`` says.
            RunError: The disk is full or the folder cannot be written.
        """
        comparison = compare_samples(
            self._lines(), folder.samples, known.samples, take_over=take_over
        )
        if comparison.difference is not None:
            if file_sha256(folder.samples) != known.samples_sha256:
                raise RunDamagedError(
                    f"{folder.samples} is neither this input nor what {folder.manifest.name} "
                    f"remembers: it was changed after the run began; restore it, or choose "
                    f"another folder with --out"
                )
            self.limit_shrank = comparison.is_shorter and self.samples == self._limit
            return comparison.difference
        if take_over:
            self.changes = tuple(comparison.notices())
            self._check_not_empty()
            self._write_remarks(folder)
        return None

    def read(self) -> Iterator[Sample]:
        """Yield the samples, and write nothing.

        Raises:
            InputError: There is nothing to judge, or a row is bad and the user was strict.
        """
        for sample, _ in self._lines():
            yield sample
        self._check_not_empty()

    def _lines(self) -> Iterator[tuple[Sample, bytes]]:
        for sample in islice(self._source, self._limit):
            if self._strict:
                self._check_strict()
            self.samples += 1
            self.with_images += bool(getattr(sample, "images", ()))
            line = line_of(sample, self.samples)
            if (reason := self._refuse(sample)) is not None:
                raise InputError(f"{self._place()}: {reason}")
            self._digest.update(line)
            text = bytes.fromhex(sample.text_id)
            if text not in self._texts:
                self._texts.add(text)
                self.readings += self._plan.count(len(sample.answers))
            yield sample, line
        self._texts.clear()  # the judging that follows needs the memory
        if self._strict:
            self._check_strict()

    def _place(self) -> str:
        """Return where the last sample came from."""
        where = getattr(self._source, "where", None)
        return f"{where.file}, row {where.row}" if where else f"sample {self.samples}"

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


def _write_list(path: Path, records: Sequence[Record]) -> None:
    """Write records one a line; no records, no file."""
    if records:
        write_atomically(path, b"".join(map(to_line, records)))
    else:
        with writing(path):
            path.unlink(missing_ok=True)
