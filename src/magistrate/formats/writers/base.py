"""What a writer is, what it reports, and files that appear whole or not at all."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from magistrate.errors import InputError
from magistrate.formats.base import Notice
from magistrate.formats.columns import listed
from magistrate.formats.notices import NoticeLog
from magistrate.formats.source import STDIN
from magistrate.records import Record, Sample

MAX_SKIPPED_KEPT = 1000
"""Skipped samples kept with their reasons; later ones are only counted."""


class Skipped(Record):
    """A sample that the format cannot hold."""

    place: int
    """The sample's place in what was given, from 1."""
    id: str | None
    reason: str


class WriteReport(Record):
    """What was written and what was not."""

    path: str
    to: str
    """Name of the format."""
    written: int
    skipped_count: int
    skipped: tuple[Skipped, ...]
    """The first 1,000 samples that were left out, with the reasons."""
    notices: tuple[Notice, ...]
    """What the format has no place for, such as rubrics."""


@dataclass(frozen=True, slots=True)
class RowFormat:
    """A format that is a sequence of JSON objects, one per sample."""

    name: str
    summary: str
    row: Callable[[Sample, int], dict[str, Any]]
    """From a sample and its place (from 1) to an object.

    Raises RowError with the reason for a sample that the format cannot hold.
    """
    array: bool = False
    """Whether the format's own files are JSON arrays and not JSON Lines."""
    holds: frozenset[str] = frozenset()
    """Optional parts of a sample (as :func:`parts` names them) that are written."""


class Tally:
    """Counts while samples are written."""

    def __init__(self, to: str, holds: frozenset[str], *, strict: bool = False) -> None:
        self.to = to
        self.holds = holds
        self.strict = strict
        self.written = 0
        self.skipped_count = 0
        self._skipped: list[Skipped] = []
        self.log = NoticeLog()

    def any_written(self) -> bool:
        """Whether anything was written."""
        return self.written > 0

    def skip(self, sample: Sample, place: int, reason: str) -> None:
        """Note a sample that is left out.

        Raises:
            InputError: The user was strict.
        """
        if self.strict:
            name = f" ({sample.source_id})" if sample.source_id is not None else ""
            raise InputError(
                f"sample {place}{name} cannot be written as '{self.to}': {reason}; "
                f"without --strict it is left out and listed"
            )
        self.skipped_count += 1
        if len(self._skipped) < MAX_SKIPPED_KEPT:
            self._skipped.append(Skipped(place=place, id=sample.source_id, reason=reason))

    def wrote(self, sample: Sample, place: int) -> None:
        """Note a sample that is written, and what of it is not."""
        self.written += 1
        for part in parts(sample):
            if part not in self.holds:
                what = part
                if part == OTHER_FIELDS:
                    what = f"the fields {listed(list(sample.meta))}"
                self.log.add("not-written", f"'{self.to}' has no place for {what}", row=place)

    def report(self, path: str) -> WriteReport:
        """Return what happened."""
        return WriteReport(
            path=path,
            to=self.to,
            written=self.written,
            skipped_count=self.skipped_count,
            skipped=tuple(self._skipped),
            notices=self.log.notices(),
        )


OTHER_FIELDS = "other fields"
"""What only the file knew, in ``Sample.meta``."""

ALL_PARTS = frozenset(
    {"reference", "rubric", "context", "images", "category", "language", "id", "preference"}
    | {"scores", "ranking", "named labels", "soft labels", "reasons", "annotators"}
    | {"several annotators", "dialogues", "answers over several turns", OTHER_FIELDS}
)


def parts(sample: Sample) -> Iterator[str]:
    """Name the optional parts that a sample has."""
    fields = {
        "reference": sample.reference,
        "rubric": sample.rubric,
        "context": sample.context,
        "images": sample.images,
        "category": sample.category,
        "language": sample.language,
        "id": sample.source_id,
        "preference": any(g.preference is not None for g in sample.gold),
        "scores": any(g.scores is not None for g in sample.gold),
        "ranking": any(g.ranking is not None for g in sample.gold),
        "named labels": any(g.label is not None for g in sample.gold),
        "soft labels": any(g.probability_second is not None for g in sample.gold),
        "reasons": any(g.reasons for g in sample.gold),
        "annotators": any(g.annotator is not None for g in sample.gold),
        "several annotators": len(sample.gold) > 1,
        "dialogues": not isinstance(sample.question, str),
        "answers over several turns": any(answer.turns for answer in sample.answers),
        OTHER_FIELDS: sample.meta,
    }
    return (name for name, value in fields.items() if value)


def _always() -> bool:
    return True


@contextmanager
def new_file(path: str, keep: Callable[[], bool] = _always) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name only when it is complete.

    A name that ends in ``.gz`` is compressed; ``-`` is standard output.

    Args:
        path: The name.
        keep: Asked at the end. If it says no, nothing happened: there is no new file, and one of
            that name stays as it was.

    Raises:
        InputError: The folder does not exist, or the file cannot be written.
    """
    if path == STDIN:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = place_for(path)
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=_draft_prefix(target))
    except OSError as error:
        raise cannot_write(path, error) from error
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as raw:
            if target.suffix == ".gz":
                # No name and no time in the header: equal content gives equal files.
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                    yield cast("IO[bytes]", packed)
            else:
                yield raw
        if keep():
            give_usual_mode(draft)
            draft.replace(target)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def new_folder(path: str, keep: Callable[[], bool] = _always) -> Iterator[Path]:
    """Make a folder that takes its name only when its content is complete; ``keep`` as above.

    Raises:
        InputError: It exists and is not empty, or it cannot be written.
    """
    target = place_for(path)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{path} exists already; this format is a folder: name a new one")
    try:
        draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=_draft_prefix(target)))
    except OSError as error:
        raise cannot_write(path, error) from error
    try:
        yield draft
        if keep():
            if target.exists():
                target.rmdir()
            draft.chmod(0o777 & ~_umask())
            draft.replace(target)
    except OSError as error:
        raise cannot_write(path, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def place_for(path: str) -> Path:
    """Return a path to write to; a mistyped folder is told and not made.

    Raises:
        InputError: The folder that it is to stand in does not exist.
    """
    target = Path(path)
    if not path or not target.name:
        raise InputError(f"'{path}' names no file to write")
    try:
        missing = not target.parent.exists()
    except OSError as error:
        raise cannot_write(path, error) from error
    if missing:
        raise InputError(
            f"{path} cannot be written: there is no folder {target.parent}; "
            f"make it first (mkdir -p), or correct the path"
        )
    return target


def _draft_prefix(target: Path) -> str:
    # Only the start: with the draft's random part a long name would become too long.
    return f".{target.name[:40]}."


def give_usual_mode(draft: Path) -> None:
    """Give a temporary file, which only its owner may read, the mode of ordinary new files."""
    draft.chmod(0o666 & ~_umask())


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def cannot_write(path: str, error: OSError) -> InputError:
    """Return the error that says why a file cannot be written."""
    return InputError(f"{path} cannot be written: {error.strerror or error}")
