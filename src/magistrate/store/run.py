"""A run as its readers see it: samples, judgments and decisions of a folder, as streams."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from magistrate.formats.base import BadRow, Notice
from magistrate.judging.merge import decide, merge_judgments
from magistrate.judging.plan import Plan
from magistrate.records import Decision, Judgment, Sample
from magistrate.store.folder import RunFolder
from magistrate.store.index import JudgmentReader, last_judgments, read_index
from magistrate.store.lines import open_to_read, read_records, shorter_than_the_run
from magistrate.store.manifest import RunManifest, read_manifest


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run. Reading it needs no lock: a run that is being written can be looked at."""

    path: Path
    """The run's folder."""
    manifest: RunManifest
    """``run.json`` as it was when the run was opened."""

    @property
    def folder(self) -> RunFolder:
        """The names of the run's files."""
        return RunFolder(self.path)

    @property
    def plan(self) -> Plan:
        """Which readings the run makes of each sample, and their keys."""
        return plan_of(self.manifest)

    def samples(self) -> Iterator[Sample]:
        """Yield the samples in the sequence of the input.

        Raises:
            RunDamagedError: ``samples.jsonl`` is missing, not readable or shorter than the run.
        """
        path, count = self.folder.samples, 0
        open_to_read(path).close()  # other files of a run may be missing, this one never
        for sample in read_records(Sample, path):
            count += 1
            yield sample
        if count < self.manifest.samples:
            raise shorter_than_the_run(path, count, self.manifest.samples)

    def judgments(self) -> Iterator[Judgment]:
        """Yield the last judgment of every reading, in the sequence in which they were made.

        Raises:
            RunDamagedError: A line is not a judgment.
        """
        path = self.folder.judgments
        return last_judgments(path, read_index(path))

    def decisions(self) -> Iterator[Decision]:
        """Yield a decision per sample in the sequence of the input.

        Samples that lack a judgment (the run is not complete) have none. The decisions are made
        from the judgments; ``decisions.parquet`` holds the same for other programs.

        Raises:
            RunDamagedError: A line is not a judgment or a sample, or a file cannot be read.
        """
        path = self.folder.judgments
        with closing(JudgmentReader(path, read_index(path))) as reader:
            yield from decide(self.plan, self.samples(), reader.get, self.manifest.calibration)

    def readings(
        self, rows: Container[int] | None = None
    ) -> Iterator[tuple[Sample, tuple[Judgment, ...], Decision | None]]:
        """Yield every sample with its judgments and its decision, in the sequence of the input.

        The decision is None while a judgment of the sample is missing.

        Args:
            rows: Places of the only samples that are wanted, from 0; all by default.

        Raises:
            RunDamagedError: As :meth:`decisions`.
        """
        path, plan = self.folder.judgments, self.plan
        with closing(JudgmentReader(path, read_index(path))) as reader:
            for row, sample in enumerate(self.samples()):
                if rows is not None and row not in rows:
                    continue
                keys = plan.keys_of(sample)
                known = tuple(found for key in keys if (found := reader.get(key)) is not None)
                decision = None
                if len(known) == len(keys):
                    decision = merge_judgments(row, sample, known, self.manifest.calibration)
                yield sample, known, decision

    def bad_rows(self) -> Iterator[BadRow]:
        """Yield the rows of the input that could not be used."""
        return read_records(BadRow, self.folder.bad_rows)

    def notices(self) -> Iterator[Notice]:
        """Yield what the user should know of the input and of the last resume."""
        return read_records(Notice, self.folder.notices)


def open_run(path: str | Path) -> Run:
    """Open a run folder to read it.

    Raises:
        RunError: The folder is not a run.
        RunDamagedError: Its ``run.json`` is not readable.
    """
    folder = RunFolder(Path(path))
    return Run(folder.path, read_manifest(folder.manifest))


def plan_of(manifest: RunManifest) -> Plan:
    """Return the plan of a stored run."""
    settings = manifest.settings
    return Plan(manifest.judge_id, manifest.reads_alone, settings.orders, settings.repeats)
