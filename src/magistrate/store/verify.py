"""Check a run folder against itself."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from pathlib import Path

from magistrate.errors import RunDamagedError
from magistrate.ids import file_sha256
from magistrate.records import STATUSES, Judgment, Sample, from_json_line
from magistrate.store.coherence import TieGap, contradictions
from magistrate.store.decisions import are_current, read_decisions
from magistrate.store.index import is_torn, judgment_of
from magistrate.store.lines import describe, iterate_lines
from magistrate.store.run import Run, open_run, plan_of

CASCADE_ENGINE = "cascade"
"""Engine of the run in which a cascade's decisions stand."""

MAX_FINDINGS = 100
"""Findings listed; of more only the number is told."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something in a run folder that contradicts something else there."""

    file: str
    """Name of the file in the folder."""
    problem: str
    line: int | None = None
    """From 1; None when the whole file is meant."""

    def __str__(self) -> str:
        """``file, line: problem``."""
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{place}: {self.problem}"


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """The outcome of :func:`verify_run`."""

    path: Path
    samples: int
    """Samples read."""
    judgments: int
    """Readings with a judgment."""
    missing: int
    """Planned readings without one: the run is not complete."""
    failures: int
    """Readings whose last judgment is not ``ok``; a resume makes them again."""
    findings: tuple[Finding, ...]
    """Contradictions; none in a sound run. At most a hundred are listed."""
    findings_count: int
    notes: tuple[str, ...]
    """What is worth knowing and no contradiction."""

    @property
    def ok(self) -> bool:
        """Whether nothing contradicts anything."""
        return not self.findings_count


def verify_run(path: str | Path) -> VerifyReport:
    """Check hashes and counts, that every judgment belongs to a sample of the run, and its content.

    Reads only; a run that is being written shows what its process did not finish yet.

    Raises:
        RunError: The folder is not a run.
        RunDamagedError: Its ``run.json`` is not readable.
    """
    return _Verification(open_run(path)).report()


class _Verification:
    """One pass over a run; collects findings."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._folder = run.folder
        self._manifest = run.manifest
        self._plan = plan_of(run.manifest)
        self._findings: list[Finding] = []
        self._count = 0
        self._notes: list[str] = []
        self._samples = 0
        self._planned: set[bytes] = set()
        self._last: dict[bytes, str] = {}
        """Key to the status of its last judgment."""
        self._lines = 0
        self._digest = hashlib.sha256()
        self._tie_gap = TieGap()
        self._knows_samples = False
        self._knows_judgments = False
        self._other_names: Counter[str] = Counter()
        """Names of the judge on judgments, other than the one in ``run.json``."""

    def report(self) -> VerifyReport:
        self._check_manifest()
        self._check_samples()
        self._check_judgments()
        self._check_seal()
        self._check_counts()
        self._note_names()
        self._check_history()
        if not self._count:
            self._check_decisions()
        statuses = Counter(self._last.values())
        return VerifyReport(
            path=self._run.path,
            samples=self._samples,
            judgments=len(self._last),
            missing=len(self._planned - self._last.keys()),
            failures=len(self._last) - statuses["ok"],
            findings=tuple(self._findings),
            findings_count=self._count,
            notes=tuple(self._notes),
        )

    def _find(self, file: Path, problem: str, line: int | None = None) -> None:
        self._count += 1
        if len(self._findings) < MAX_FINDINGS:
            self._findings.append(Finding(file.name, problem, line))

    def _check_manifest(self) -> None:
        manifest = self._manifest
        if manifest.judge.id != manifest.judge_id:
            self._find(
                self._folder.manifest,
                f"judge_id is {manifest.judge_id}, the judge described there has id "
                f"{manifest.judge.id}: one of them was changed",
            )

    def _check_samples(self) -> None:
        path, manifest = self._folder.samples, self._manifest
        if (problem := _unusable(path, may_be_empty=not manifest.samples)) is not None:
            self._find(path, f"{problem}, and the run has {manifest.samples} samples")
            return
        self._knows_samples = True
        if (found := file_sha256(path)) != manifest.samples_sha256:
            self._find(
                path,
                f"its SHA-256 is {found}, {self._folder.manifest.name} has "
                f"{manifest.samples_sha256}: the file was changed",
            )
        for number, _, line in iterate_lines(path):
            self._samples += 1
            try:
                sample = from_json_line(Sample, line)
            except ValueError as error:
                self._find(path, f"not a sample: {describe(error)}", number)
                continue
            self._planned.update(map(bytes.fromhex, self._plan.keys_of(sample)))
        self._compare("samples", self._samples, manifest.samples)
        self._compare("readings", len(self._planned), manifest.readings)

    def _check_judgments(self) -> None:
        path = self._folder.judgments
        if path.is_dir():
            self._find(path, "a folder is in the place of the file")
            return
        self._knows_judgments = True
        torn: list[int] = []
        for number, _, line in iterate_lines(path):
            self._digest.update(line)
            if is_torn(line):
                torn.append(number)
                continue
            for earlier in torn:
                self._find(path, "not a whole line, and whole lines follow", earlier)
            torn.clear()
            self._lines += 1
            try:
                judgment = judgment_of(line)
            except ValueError as error:
                self._find(path, f"not a judgment: {describe(error)}", number)
                continue
            problems = (*self._problems_of(judgment), *self._content_problems(judgment, number))
            for problem in problems:
                self._find(path, problem, number)
            if not problems and judgment.judge != self._manifest.judge.name:
                self._other_names[judgment.judge] += 1
            self._last[bytes.fromhex(judgment.key)] = judgment.status
        if torn:
            self._notes.append(
                f"{path.name}, line {torn[0]}: half written at the end of the file; the next "
                f"resume drops it and judges anew what it held"
            )

    def _problems_of(self, judgment: Judgment) -> Iterator[str]:
        if self._knows_samples and bytes.fromhex(judgment.key) not in self._planned:
            yield f"key {judgment.key} belongs to no sample, order and repeat of this run"
        elif self._plan.key_of(judgment.sample_id, judgment.order, judgment.repeat) != judgment.key:
            yield "key, sample_id, order and repeat do not belong together"
        if self._last.get(bytes.fromhex(judgment.key)) == "ok":
            yield f"key {judgment.key} has an ok judgment on an earlier line: it was judged twice"

    def _content_problems(self, judgment: Judgment, number: int) -> Iterator[str]:
        found = tuple(contradictions(judgment))
        yield from found
        # One that contradicts itself says nothing of the others.
        if not found and (problem := self._tie_gap.add(judgment, number)) is not None:
            yield problem

    def _check_seal(self) -> None:
        """Compare the journal with the hash that the last process left."""
        sealed, found = self._manifest.judgments_sha256, self._digest.hexdigest()
        if sealed is not None and self._knows_judgments and found != sealed:
            self._find(
                self._folder.judgments,
                f"its SHA-256 is {found}, {self._folder.manifest.name} has {sealed}: the file was "
                f"changed after the last command had ended",
            )

    def _check_history(self) -> None:
        """What was changed once stays a finding, though the run was sealed anew since."""
        if changed := self._manifest.judgments_changed:
            self._find(
                self._folder.judgments,
                f"a resume found it changed by something other than a command that judges "
                f"({_times(changed)}) and went on with what it held; nobody can tell what the "
                f"judge had said: begin anew with --start-over, unless the change was yours",
            )
        if repaired := self._manifest.judgments_repaired:
            self._notes.append(
                f"lines of {self._folder.judgments.name} had been lost, added or damaged; the run "
                f"made good for them ({_times(repaired)})"
            )

    def _note_names(self) -> None:
        """A judge is what its id says; a resume may call it by another name.

        In a cascade's run each judgment has the name of the judge that decided.
        """
        if self._other_names and self._manifest.judge.engine != CASCADE_ENGINE:
            names = ", ".join(f"'{name}'" for name, _ in self._other_names.most_common(3))
            self._notes.append(
                f"{self._folder.judgments.name}: {self._other_names.total()} lines call the judge "
                f"{names} where {self._folder.manifest.name} has '{self._manifest.judge.name}'; "
                f"their keys say that it is the same judge"
            )

    def _check_counts(self) -> None:
        manifest = self._manifest
        if not self._knows_judgments:
            return
        missing = len(self._planned - self._last.keys())
        if manifest.state == "running":
            self._notes.append(
                f"{self._folder.manifest.name} says that a process is at work; if none is, it was "
                f"killed, and the same judge command goes on and brings the counts up to date"
            )
            return
        counts = Counter(self._last.values())
        for status in STATUSES:
            self._compare(f"judgments.{status}", counts[status], manifest.judgments.get(status, 0))
        self._compare("lines", self._lines, manifest.lines)
        if manifest.state == "complete" and missing:
            self._find(self._folder.judgments, f"{missing} readings of a complete run are missing")

    def _compare(self, name: str, found: int, stated: int) -> None:
        if found != stated:
            self._find(self._folder.manifest, f"{name} is {stated}, and {found} were found")

    def _check_decisions(self) -> None:
        path = self._folder.decisions
        if not path.exists():
            return
        if not are_current(self._run):
            self._notes.append(f"{path.name} is older than the judgments; a resume renews it")
            return
        try:
            stored = read_decisions(path)
            for row, (known, made) in enumerate(zip_longest(stored, self._run.decisions()), 1):
                if known != made:
                    self._find(path, "not what the judgments give; delete the file", row)
        except RunDamagedError as error:
            self._find(path, str(error))


def _unusable(path: Path, *, may_be_empty: bool) -> str | None:
    """Say what is in the place of a file that must hold something; None when it does.

    A judge of a cascade that was never asked has no samples.
    """
    if path.is_dir():
        return "a folder is in the place of the file"
    if not path.exists():
        return "the file is missing"
    return None if may_be_empty or path.stat().st_size else "the file is empty"


def _times(moments: Sequence[datetime]) -> str:
    return ", ".join(f"{moment:%Y-%m-%d %H:%M} UTC" for moment in moments[-3:])
