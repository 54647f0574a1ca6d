"""What all studies share: the judge, the data, the folder, and one run per set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from magistrate.formats.base import Notice
from magistrate.judging.judge import Judge
from magistrate.metrics.columns import PairCollector, PairColumns
from magistrate.report.text import counted, shortened
from magistrate.store.manifest import RunManifest, read_manifest
from magistrate.store.progress import Progress
from magistrate.store.run import Run
from magistrate.store.running import judge as judge_into_run
from magistrate.suites.asking import OpenedJudge
from magistrate.suites.drawing import Drawn, draw
from magistrate.suites.manifest import DataSet, Manifest

RUN_FILE = "run.json"
_LONGEST_REASON = 160


class Watcher(Protocol):
    """What looks on while a set is judged."""

    def __call__(self, progress: Progress) -> None:
        """See how far the run is."""
        ...

    def notice(self, notice: Notice) -> None:
        """Hear what the user should know at once."""
        ...


Watch = Callable[[str], AbstractContextManager[Watcher]]
"""Makes a watcher of one run, given its name such as ``fairness/llmbar-natural``."""


class _Nobody:
    def __call__(self, progress: Progress) -> None:
        """Look away."""

    def notice(self, notice: Notice) -> None:
        """Do not listen; the run's folder keeps it."""


def unwatched(_: str) -> AbstractContextManager[Watcher]:
    """Return a watcher that says nothing."""
    return nullcontext(_Nobody())


@dataclass
class Bench:
    """One call of ``bench``: everything a study needs to judge a set."""

    opened: OpenedJudge
    manifest: Manifest
    out: Path
    limit: int | None = None
    """Samples per set, drawn by seed; None for all."""
    seed: int = 0
    max_cost: float | None = None
    """US dollars that all runs under ``out`` may cost together."""
    watch: Watch = unwatched
    start_over: bool = False
    """Move runs that are there aside, once each."""
    _drawn: dict[str, Drawn] = field(default_factory=dict)
    _begun: set[Path] = field(default_factory=set)

    def drawn(self, data: DataSet) -> Drawn:
        """Return the set's samples in the sequence of the draw; the limit is applied later.

        Raises:
            InputError: A file cannot be read, or holds other things than the manifest says.
        """
        name = data.entry.name
        if name not in self._drawn:
            self._drawn[name] = draw(data, self.seed)
        return self._drawn[name]

    def run(self, study: str, name: str, samples: Drawn, judge: Judge | None = None) -> Run:
        """Judge the samples into ``out/study/name``, or go on with the run that is there.

        A run that was made with a larger limit is used as it is.

        Raises:
            MagistrateError: As :func:`magistrate.judge` says; what was judged is kept.
        """
        folder = self.out / study / name
        anew = self.start_over and folder not in self._begun
        self._begun.add(folder)
        with self.watch(f"{study}/{name}") as watcher:
            return judge_into_run(
                samples,
                judge or self.opened.judge,
                folder,
                limit=self.limit if anew else self._limit(folder, len(samples)),
                start_over=anew,
                max_cost=self._left_for(folder),
                on_progress=watcher,
                on_notice=watcher.notice,
            )

    def _limit(self, folder: Path, available: int) -> int | None:
        if self.limit is None:
            return None
        known = _manifest(folder / RUN_FILE)
        return max(self.limit, min(known.samples, available)) if known else self.limit

    def _left_for(self, folder: Path) -> float | None:
        if self.max_cost is None:
            return None
        others = (path for path in self.out.glob(f"*/*/{RUN_FILE}") if path.parent != folder)
        spent = sum(known.cost for path in others if (known := _manifest(path)))
        return max(0.0, self.max_cost - spent)


@dataclass(frozen=True, slots=True)
class ReadPairs:
    """What a run says of its pairs."""

    columns: PairColumns
    truncated: int
    """Pairs that the judge read shortened."""
    failure: str | None
    """The most frequent reason of readings that are not ok, in words; None where all are."""


def read_pairs(run: Run) -> ReadPairs:
    """Read a run's pairs.

    Raises:
        RunDamagedError: A file of the run cannot be read.
    """
    collector, truncated = PairCollector(), 0
    reasons: Counter[tuple[str, str]] = Counter()
    for row, (sample, judgments, decision) in enumerate(run.readings()):
        collector.add(row, sample, judgments, decision)
        truncated += decision is not None and decision.truncated
        for judgment in judgments:
            if judgment.status != "ok":
                reasons[judgment.status, judgment.error or "no reason given"] += 1
    return ReadPairs(collector.result(), truncated, _most_frequent(reasons))


def _most_frequent(reasons: Counter[tuple[str, str]]) -> str | None:
    if not reasons:
        return None
    ((status, error), count), total = reasons.most_common(1)[0], reasons.total()
    shown = shortened(" ".join(error.split()), _LONGEST_REASON)
    return f"{count:,} of {counted(total, 'reading')} that are not ok: {status}, {shown}"


def _manifest(path: Path) -> RunManifest | None:
    return read_manifest(path) if path.is_file() else None
