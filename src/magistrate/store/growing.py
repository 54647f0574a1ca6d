"""A run whose samples come while it is judged: one judge of a cascade.

On the disk it is an ordinary run folder. Samples are on the disk before they are judged, each text
once, in the sequence in which they came; so it resumes, verifies and reads as any run does. Several
threads may judge at once, each its own samples.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias, cast

from magistrate._version import __version__
from magistrate.errors import RunDamagedError
from magistrate.formats.base import Notice
from magistrate.judging.chunk import Manner
from magistrate.judging.judge import Judge
from magistrate.judging.merge import merge_judgments
from magistrate.judging.plan import Plan
from magistrate.judging.stream import judge_samples
from magistrate.records import Decision, Judgment, Sample, from_json_line
from magistrate.store.claim import claimed_folder
from magistrate.store.decisions import write_decisions
from magistrate.store.disk import write_atomically, writing
from magistrate.store.folder import RunFolder
from magistrate.store.index import JudgmentReader
from magistrate.store.journal import Journal
from magistrate.store.lines import HOW_TO_MEND, open_to_read, shorter_than_the_run, to_line
from magistrate.store.manifest import (
    RunManifest,
    RunSettings,
    State,
    bring_up_to_date,
    read_manifest,
    write_manifest,
)
from magistrate.store.mismatch import judge_differences, mismatch, setting_differences
from magistrate.store.run import Run, open_run
from magistrate.store.seal import checked

SECONDS_BETWEEN_MANIFESTS = 5.0

_Batches: TypeAlias = Generator[list[Judgment], None, None]


class GrowingRun:
    """A run folder that takes further samples until it is closed."""

    def __init__(
        self, folder: RunFolder, judge: Judge, journal: Journal, manifest: RunManifest
    ) -> None:
        """Take what :func:`growing_run` made ready."""
        self.folder = folder
        self.judge = judge
        self.plan = Plan.of(
            judge, orders=manifest.settings.orders, repeats=manifest.settings.repeats
        )
        self.notices: list[Notice] = []
        self._journal = journal
        self._manifest = manifest
        self._lock = threading.Lock()
        self._digest = hashlib.sha256()
        self._texts: set[bytes] = set()
        self._saved_at = self._counted_until = time.monotonic()
        self._seconds = 0.0
        self._load()

    @property
    def cost(self) -> float:
        """US dollars that all its judgments took, failed and repeated ones included."""
        return self._journal.index.totals.cost

    @property
    def seconds(self) -> float:
        """Time spent judging, earlier processes included."""
        return self._manifest.seconds + self._seconds

    @property
    def samples(self) -> int:
        """Distinct texts that it has."""
        return len(self._texts)

    def take(self, samples: Iterable[Sample]) -> int:
        """Add the samples whose text it does not have; return how many those are.

        Raises:
            RunError: The disk is full or the folder cannot be written.
        """
        with self._lock:
            lines, readings = [], 0
            for sample in samples:
                text = bytes.fromhex(sample.text_id)
                if text not in self._texts:
                    self._texts.add(text)
                    lines.append(to_line(sample))
                    readings += self.plan.count(len(sample.answers))
            if lines:
                data = b"".join(lines)
                with writing(self.folder.samples), self.folder.samples.open("ab") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                self._digest.update(data)
                self._manifest = self._manifest.model_copy(
                    update={
                        "samples": len(self._texts),
                        "samples_sha256": self._digest.hexdigest(),
                        "readings": self._manifest.readings + readings,
                    }
                )
                # Known to run.json before one of them is judged: what stands behind these lines
                # after a crash was never judged, and is dropped.
                self._save("running")
            return len(lines)

    def judge_these(self, samples: Iterable[Sample], manner: Manner) -> _Batches:
        """Make the missing judgments of samples that were taken; yield them once they are kept.

        Raises:
            EngineError: The engine cannot go on; what was judged is kept.
            CostLimitError: The next request could pass the limit; as above.
            RunError: The disk is full or the folder cannot be written.
        """
        settings = self._manifest.settings
        batches = judge_samples(
            self.judge,
            samples,
            orders=settings.orders,
            repeats=settings.repeats,
            done=self._journal,
            manner=manner,
        )
        begun = time.monotonic()
        with closing(cast(_Batches, batches)):
            for batch in batches:
                with self._lock:
                    self._journal.append(batch)
                    now = time.monotonic()
                    self._worked(begun, now)
                    begun = now
                    if now - self._saved_at > SECONDS_BETWEEN_MANIFESTS:
                        self._save("running")
                yield batch

    def is_missing(self, key: str) -> bool:
        """Whether a reading is still to be made, or to be made again."""
        return key not in self._journal

    def known(self) -> Iterator[tuple[Sample, tuple[Judgment, ...], Decision]]:
        """Yield its samples that need no further reading, with their judgments and decision."""
        reader = JudgmentReader(self.folder.judgments, self._journal.index)
        with closing(reader):
            for sample in self._samples():
                keys = self.plan.keys_of(sample)
                if all(key in self._journal for key in keys):
                    found = tuple(one for key in keys if (one := reader.get(key)) is not None)
                    yield sample, found, self.merged(0, sample, found)

    def merged(self, row: int, sample: Sample, judgments: Sequence[Judgment]) -> Decision:
        """Return the decision that all judgments of a sample make."""
        return merge_judgments(row, sample, judgments, self.judge.calibration)

    def reader(self) -> JudgmentReader:
        """Return what reads its judgments by key; close it."""
        return JudgmentReader(self.folder.judgments, self._journal.index)

    def close(self) -> Run:
        """Bring all of the folder up to date, and return the run. It can be gone on with."""
        with self._lock:
            whole = len(self._journal.index) >= self._manifest.readings
            self._journal.flush()
            self._save("complete" if whole else "stopped")
        run = open_run(self.folder.path)
        write_decisions(run)
        return run

    def _worked(self, begun: float, now: float) -> None:
        """Count time in which at least one thread was judging, once."""
        self._seconds += max(0.0, now - max(begun, self._counted_until))
        self._counted_until = max(self._counted_until, now)

    def _save(self, state: State) -> None:
        self._saved_at = time.monotonic()
        manifest = bring_up_to_date(self._manifest, self._journal.index, state)
        write_manifest(
            self.folder.manifest,
            manifest.model_copy(update={"seconds": self._manifest.seconds + self._seconds}),
        )

    def _samples(self) -> Iterator[Sample]:
        with open_to_read(self.folder.samples) as file:
            for number, line in enumerate(file, 1):
                try:
                    yield from_json_line(Sample, line)
                except ValueError as error:
                    raise RunDamagedError(
                        f"{self.folder.samples}, line {number}: not a sample; {HOW_TO_MEND}"
                    ) from error

    def _load(self) -> None:
        """Read the samples that are there, and drop what was never judged."""
        path, known = self.folder.samples, self._manifest.samples
        if known == 0:
            write_atomically(path, b"")
        size = lines = 0
        with open_to_read(path) as file:
            for line in file:
                if lines == known:
                    break
                lines += 1
                size += len(line)
                self._digest.update(line)
        if lines < known:
            raise shorter_than_the_run(path, lines, known)
        with writing(path):
            os.truncate(path, size)
        self._texts = {bytes.fromhex(sample.text_id) for sample in self._samples()}


@contextmanager
def growing_run(path: Path, judge: Judge, settings: RunSettings) -> Iterator[GrowingRun]:
    """Begin a run without samples, or take up the one there; it is closed at the end.

    Raises:
        RunLockedError: Another process is writing to it.
        RunMismatchError: It is of another judge or has other settings.
        RunDamagedError: Its files contradict each other.
        RunError: The folder holds other things, or cannot be written.
    """
    with claimed_folder(path, judge.spec.name) as folder:
        manifest = _taken_up(folder, judge, settings)
        with Journal(folder.judgments, retry=settings.retry) as journal:
            manifest, notices = checked(manifest, journal.index, folder)
            run = GrowingRun(folder, judge, journal, manifest)
            run.notices += [*notices, *journal.notices]
            yield run


def _taken_up(folder: RunFolder, judge: Judge, settings: RunSettings) -> RunManifest:
    if not folder.holds_run():
        now = datetime.now(UTC)
        manifest = RunManifest(
            tool_version=__version__,
            judge=judge.spec,
            judge_id=judge.spec.id,
            reads_alone=judge.family.reads_alone,
            calibration=judge.calibration,
            settings=settings,
            samples_sha256=hashlib.sha256().hexdigest(),
            samples=0,
            readings=0,
            started=now,
            updated=now,
        )
        write_atomically(folder.samples, b"")
        write_manifest(folder.manifest, manifest)
        return manifest
    known = read_manifest(folder.manifest)
    differences = [
        *judge_differences(known.judge, judge.spec),
        *setting_differences(known.settings, settings),
    ]
    if differences:
        raise mismatch(folder.path, known, differences)
    return known.model_copy(
        update={
            "tool_version": __version__,
            "calibration": judge.calibration,
            "settings": settings,
        }
    )
