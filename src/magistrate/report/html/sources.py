"""The runs and files that a report is about: measured, with the samples that it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from magistrate.metrics.columns import NOTHING, SPLIT
from magistrate.metrics.intervals import NO_RATE, Rate
from magistrate.metrics.ranking.battles import BattleCollector
from magistrate.report.html.texts import seen
from magistrate.report.html.worst import Chosen, choose
from magistrate.report.judged import judged_run, read_judged
from magistrate.store.run import Run, open_run

if TYPE_CHECKING:
    from magistrate.metrics.columns import Outcomes, PairColumns
    from magistrate.metrics.ranking.battles import Battles
    from magistrate.metrics.ranking.ranking import ModelRanking
    from magistrate.metrics.reliability import Reliability
    from magistrate.metrics.selective import Point
    from magistrate.report.evaluation_others import RankedEvaluation, SingleEvaluation
    from magistrate.report.evaluation_pairs import PairEvaluation
    from magistrate.report.judged import AnyPath, Judged, Reading
    from magistrate.store.manifest import RunManifest

_REASONS = 8
_LONGEST_REASON = 300
Reason = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Source:
    """One judge over one input."""

    name: str
    """Tells the runs of a report apart: the judge's name, with the run's where two share it."""
    judged: Judged
    manifest: RunManifest | None
    """None for files of other tools."""
    pairs: PairEvaluation | None
    singles: SingleEvaluation | None
    ranked: RankedEvaluation | None
    """Of samples of three answers and more."""
    calibration: Reliability | None
    """None without confidence or labels."""
    kept: tuple[Point, ...]
    """Share right of the surest pairs, at several coverages; empty without confidence or labels."""
    over_best: Rate
    """Judge minus the best rule without a judge, on the same decisive pairs; in [-1, 1]."""
    ranking: ModelRanking | None
    """Of the models that have names; None without a battle between two of them."""
    reasons: tuple[Reason, ...]
    """The most frequent reasons of readings that are not ``ok``: status, reason, how many."""
    shown: tuple[tuple[Chosen, Reading], ...]
    """Samples to look at, the most telling first."""

    @property
    def statuses(self) -> tuple[Outcomes, ...]:
        """Status of every sample, by kind: pairs, single answers, three answers and more."""
        judged = self.judged
        return (
            judged.pairs.status,
            judged.singles.status,
            judged.ranked.status[judged.ranked.size > 2],
        )


@dataclass(frozen=True, slots=True)
class Given:
    """One judge as it was named."""

    paths: tuple[Path, ...]
    """Its run folder, or the files in which another tool keeps its judgments."""
    judge: str | None = None
    """Whose judgments to take from files of several judges."""
    format: str | None = None
    """Name of the files' format; found out where there is none."""


def read_sources(
    groups: Sequence[Given], labels: AnyPath | None, samples: int
) -> tuple[Source, ...]:
    """Read and measure runs and files.

    Args:
        groups: The judges.
        labels: A test set whose labels replace those of the runs.
        samples: How many samples to show of each.

    Raises:
        InputError: A file cannot be read or holds no judgments.
        RunError: A folder is not a run, or is damaged.
    """
    read = [_read(given, labels, samples) for given in groups]
    judges = [one.judged.judge for one in read]
    sources: list[Source] = []
    for given, one in zip(groups, read, strict=True):
        name = one.judged.judge
        if judges.count(name) > 1:
            name = f"{name} ({given.paths[0].resolve().name})"
        sources.append(_measure(one, _unlike(name, sources)))
    return tuple(sources)


@dataclass(frozen=True, slots=True)
class _Read:
    judged: Judged
    manifest: RunManifest | None
    battles: Battles
    reasons: tuple[Reason, ...]
    shown: tuple[tuple[Chosen, Reading], ...]


class _Look:
    """Takes from readings what the columns of a judge lack."""

    def __init__(self) -> None:
        self.battles = BattleCollector()
        self._reasons: Counter[tuple[str, str]] = Counter()

    def add(self, reading: Reading) -> None:
        """Look at one sample."""
        sample, judgments, decision = reading
        self.battles.add(sample, decision)
        for judgment in judgments:
            if judgment.status != "ok":
                reason = (judgment.error or "no reason given")[:_LONGEST_REASON]
                self._reasons[judgment.status, reason] += 1

    def reasons(self) -> tuple[Reason, ...]:
        """Return the most frequent reasons."""
        ranked = sorted(self._reasons.items(), key=lambda item: (-item[1], item[0]))
        return tuple((status, reason, n) for (status, reason), n in ranked[:_REASONS])


@dataclass(frozen=True, slots=True)
class _WatchedRun(Run):
    """A run whose readings are looked at as they go by, so that it is read once."""

    look: _Look

    def readings(self, rows: Container[int] | None = None) -> Iterator[Reading]:
        """Yield what the run yields."""
        for reading in Run.readings(self, rows):
            self.look.add(reading)
            yield reading


def _read(given: Given, labels: AnyPath | None, samples: int) -> _Read:
    look, paths = _Look(), given.paths
    if len(paths) == 1 and paths[0].is_dir():
        run = open_run(paths[0])
        manifest: RunManifest | None = run.manifest
        watched = _WatchedRun(run.path, run.manifest, look)
        # Of a run only the samples to show are fetched again; labels of a file come with samples.
        judged = judged_run(watched, labels=labels, keep_samples=labels is not None)
    else:
        manifest = None
        judged = read_judged(
            *paths, labels=labels, judge=given.judge, format=given.format, keep_samples=True
        )
        for reading in judged.samples:
            look.add(reading)
    chosen = choose(judged.pairs, samples)
    rows = {one.row for one in chosen}
    if judged.samples or not rows:
        found = {row: judged.samples[row] for row in rows}
    else:
        found = dict(zip(sorted(rows), run.readings(rows), strict=True))
    shown = tuple((one, found[one.row]) for one in chosen)
    return _Read(judged, manifest, look.battles.result(), look.reasons(), shown)


def _measure(read: _Read, name: str) -> Source:
    from magistrate.metrics.ranking.ranking import rank_models
    from magistrate.report.evaluation_others import evaluate_ranked, evaluate_singles
    from magistrate.report.evaluation_pairs import evaluate_pairs

    judged = read.judged
    pairs = evaluate_pairs(
        judged.pairs,
        by=("category", "language"),
        reads_alone=judged.reads_alone,
        has_texts=judged.has_texts,
    )
    return Source(
        name=name,
        judged=judged,
        manifest=read.manifest,
        pairs=pairs,
        singles=evaluate_singles(judged.singles),
        ranked=evaluate_ranked(judged.ranked),
        calibration=_calibration(judged),
        kept=_kept(judged),
        over_best=_over_best(judged, pairs),
        ranking=rank_models(read.battles) if len(read.battles) else None,
        reasons=read.reasons,
        shown=read.shown,
    )


def _calibration(judged: Judged) -> Reliability | None:
    from magistrate.metrics.reliability import measure_reliability

    pairs = _with_confidence(judged)
    return measure_reliability(pairs.confidence, pairs.said == pairs.gold, pairs.question)


def _kept(judged: Judged) -> tuple[Point, ...]:
    from magistrate.metrics.selective import accuracy_curve

    pairs = _with_confidence(judged)
    return accuracy_curve(pairs.confidence, pairs.said == pairs.gold, pairs.question)


def _with_confidence(judged: Judged) -> PairColumns:
    """Return the labelled pairs that have a decision and say how sure it is."""
    import numpy as np

    pairs = judged.pairs
    known = pairs.ok & (pairs.gold != NOTHING) & (pairs.gold != SPLIT)
    return pairs.take(known & ~np.isnan(pairs.confidence))


def _over_best(judged: Judged, found: PairEvaluation | None) -> Rate:
    """Compare the judge with the best rule, pair by pair."""
    import numpy as np

    from magistrate.metrics.paired import compare_paired
    from magistrate.report.evaluation_pairs import decisive_points, longer

    columns = judged.pairs
    chosen = columns.take(columns.ok & (np.abs(columns.gold.astype(int)) == 1))
    rules = {row.name: row.decisive.value for row in found.baselines[1:]} if found else {}
    if not len(chosen) or not rules:
        return NO_RATE
    gold = chosen.gold.astype(int)
    outcomes = {
        "longer wins": longer(chosen),
        "first wins": np.ones_like(gold),
        # On average a coin earns what a tie earns, and so does a class that never decides.
        "random": np.zeros_like(gold),
        "majority class": np.full_like(gold, _majority(columns.gold[columns.ok])),
    }
    best = max(rules, key=lambda name: rules[name] or 0.0)
    judge, rule = (decisive_points(gold, said) for said in (chosen.said, outcomes[best]))
    return compare_paired(judge, rule, chosen.question).difference


def _majority(gold: Outcomes) -> int:
    return max((0, 1, -1), key=lambda code: int((gold == code).sum()))


def _unlike(name: str, sources: Sequence[Source]) -> str:
    taken = {source.name for source in sources}
    tried, number = seen(name), 1
    while tried in taken:
        number += 1
        tried = f"{seen(name)} ({number})"
    return tried
