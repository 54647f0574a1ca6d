"""A cascade replayed: what it would have done at every budget, and what it can promise.

    report = replay_cascade("runs/cheap", "runs/strong", labels="testset.json", budgets=(0.5,))
    report.replay.points[0].accuracy

With a target agreement and a risk, thresholds are chosen on labelled calibration pairs so that the
decisions that are kept agree with people that often, or nothing is decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from magistrate.cascade.replay import Replay, replay
from magistrate.cascade.tiers import Tiers
from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.records import Record
from magistrate.report.cascade_join import JudgeFacts, ReadTiers, read_tiers
from magistrate.report.cascade_promise import Promised, make_promise, promise_notices
from magistrate.report.cascade_sources import SourceRow, compare_sources
from magistrate.report.judged import AnyPath

DEFAULT_BUDGETS = (0.5,)

Scale = Literal["as told", "ranks"]
Truth = Literal["people", "last judge"]


class CascadeReport(Record):
    """A cascade replayed over stored decisions."""

    judges: tuple[JudgeFacts, ...]
    pairs: int
    scale: Scale
    """Whether judges share a threshold on confidence as they tell it, or on its ranks within each,
    since they tell it in different ways."""
    decisive: bool
    """Whether only pairs count where people prefer one answer."""
    truth: Truth
    """Who says what is right: people, or where nobody labelled a pair the last judge."""
    replay: Replay
    target: float | None = None
    """Agreement to reach."""
    promised: Promised | None = None
    """None unless asked for."""
    sources: tuple[SourceRow, ...] = ()
    """The first judge's sources of confidence compared, where asked for."""
    notices: tuple[Notice, ...] = ()
    bad: tuple[BadRow, ...] = ()
    bad_rows: int = 0


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How judges are read; see :func:`magistrate.report.cascade_join.read_tiers`."""

    confidence: str | Sequence[str] | None = None
    prices: Mapping[str, float] | None = None
    judge: str | Sequence[str] | None = None
    format: str | Sequence[str] | None = None

    def read(self, paths: Sequence[AnyPath], labels: AnyPath | None) -> ReadTiers:
        """Read the judges."""
        return read_tiers(
            *paths,
            labels=labels,
            confidence_sources=self.confidence,
            prices=self.prices,
            judge=self.judge,
            format=self.format,
        )


@dataclass(frozen=True, slots=True)
class PromiseOptions:
    """What to promise, and by which pairs."""

    target: float | None = None
    """Agreement with people, from 0 to 1."""
    risk: float | None = None
    """Probability that the promise does not hold; None promises nothing."""
    calibrate_on: Sequence[AnyPath] = ()
    """Labels of a part of the pairs, or a run or file of other pairs for each judge; by default all
    pairs that have a label."""
    one_per_question: bool = False
    """Use one calibration pair of each question, so that they are independent."""

    def __post_init__(self) -> None:
        """Check that the numbers are shares, and that all that is needed is there."""
        if self.target is not None and not 0 < self.target < 1:
            raise InputError(f"the target agreement is {self.target:g}; give a share such as 0.85")
        if self.risk is not None and not 0 < self.risk < 1:
            raise InputError(f"the risk is {self.risk:g}; give a probability such as 0.1")
        if self.target is None and (self.risk is not None or self.calibrate_on):
            raise InputError(
                "--risk and --calibrate-on belong to --target-agreement; give that too"
            )
        if self.risk is None and self.calibrate_on:
            raise InputError(
                "--calibrate-on chooses thresholds that keep a promise; say with which probability "
                "it may be broken (--risk 0.1)"
            )


def replay_cascade(
    *paths: AnyPath,
    labels: AnyPath | None = None,
    budgets: tuple[float, ...] = (),
    max_costs: tuple[float, ...] = (),
    promise: PromiseOptions | None = None,
    decisive: bool = False,
    sources: bool = False,
    reading: ReadOptions | None = None,
) -> CascadeReport:
    """Replay a cascade over stored judgments of two judges or more, the cheapest first.

    Args:
        paths: A run folder or file for each judge.
        labels: Labels, where they do not come with the judgments.
        budgets: Shares of pairs that may be asked of the last judge; a half by default.
        max_costs: Budgets in US dollars for all pairs.
        promise: What to reach or to promise.
        decisive: Count only pairs where people prefer one answer.
        sources: Compare the first judge's sources of confidence.
        reading: How judges are read.

    Raises:
        InputError: A file cannot be read; a promise is asked for without labels; or a number is
            wrong.
        RunError: A folder is not a run, or is damaged.
    """
    how, asked = reading or ReadOptions(), promise or PromiseOptions()
    found = how.read(paths, labels)
    truth: Truth = "people" if found.tiers.gold is not None else "last judge"
    labelled = found if truth == "people" else replace(found, tiers=_by_last(found.tiers))
    tiers = _counted(labelled.tiers, decisive)
    scale = _scale(found.judges)
    given = budgets or (() if max_costs else DEFAULT_BUDGETS)
    measured = replay(
        tiers.by_rank() if scale == "ranks" else tiers,
        given,
        max_costs=max_costs,
        target=asked.target,
    )
    promised = None
    if asked.target is not None and asked.risk is not None:
        promised = _promised(found, paths, asked, asked.target, asked.risk, decisive, how)
    rows: tuple[SourceRow, ...] = ()
    if sources:
        rows = compare_sources(labelled, (given or DEFAULT_BUDGETS)[0], decisive=decisive)
    return CascadeReport(
        judges=found.judges,
        pairs=len(found.tiers),
        scale=scale,
        decisive=decisive,
        truth=truth,
        replay=measured,
        target=asked.target,
        promised=promised,
        sources=rows,
        notices=(
            *found.notices,
            *_truth_notice(truth, found),
            *_scale_notice(scale, found),
            *promise_notices(promised),
        ),
        bad=found.bad,
        bad_rows=found.bad_rows,
    )


def cascade_json(found: CascadeReport) -> dict[str, Any]:
    """Return the report for programs, with what the budgets give beside the baselines in front."""
    measured = found.replay
    baselines = {
        "cheapest": measured.alone[0].model_dump(mode="json"),
        "dearest": measured.alone[-1].model_dump(mode="json"),
        "surest_cheap": measured.surest_cheap.model_dump(mode="json"),
    }
    at = [
        {
            "budget": point.budget,
            "max_cost": point.max_cost,
            "agreement": point.accuracy.model_dump(mode="json"),
            "random": point.random,
            "oracle": point.oracle,
            **baselines,
            "gap_closed": point.gap_closed.model_dump(mode="json"),
            "like_last": point.like_last,
            "asked": list(point.asked),
            "cost": point.cost,
            "threshold": point.threshold,
            "n": measured.n,
        }
        for point in measured.points
    ]
    return {"at": at, **found.model_dump(mode="json")}


def _by_last(tiers: Tiers) -> Tiers:
    """Return tiers whose truth is what the last judge says."""
    return replace(tiers, gold=tiers.said[:, -1])


def _truth_notice(truth: Truth, found: ReadTiers) -> tuple[Notice, ...]:
    if truth == "people":
        return ()
    message = (
        f"no pair has a label, so here what {found.judges[-1].judge} says counts as right; give "
        f"labels of people with --labels"
    )
    return (Notice(kind="no-labels", message=message),)


def _counted(tiers: Tiers, decisive: bool) -> Tiers:
    """Return the pairs that count: where asked, without those that people call a tie."""
    return tiers if tiers.gold is None or not decisive else tiers.take(tiers.gold != 0)


def _scale(judges: Sequence[JudgeFacts]) -> Scale:
    """Return on what judges share a threshold: several cheap judges need one scale."""
    cheap = judges[:-1]
    alike = len(cheap) == 1 or all(judge.is_probability for judge in cheap)
    return "as told" if alike else "ranks"


def _scale_notice(scale: Scale, found: ReadTiers) -> tuple[Notice, ...]:
    if scale == "as told":
        return ()
    told = ", ".join(f"{judge.judge} by {judge.confidence}" for judge in found.judges[:-1])
    message = (
        f"confidence is told in ways that do not compare ({told}), so the shared threshold is on "
        f"ranks: 0.7 settles the surest 30 % of a judge's decisions"
    )
    return (Notice(kind="ranks", message=message),)


def _promised(
    found: ReadTiers,
    paths: Sequence[AnyPath],
    asked: PromiseOptions,
    target: float,
    risk: float,
    decisive: bool,
    how: ReadOptions,
) -> Promised:
    """Find calibration pairs and pairs to be judged, and make the promise."""
    import numpy as np

    given, tiers = asked.calibrate_on, found.tiers
    if len(given) < 2:
        source = how.read(paths, given[0]) if given else found
        name = f"the pairs labelled in {given[0]}" if given else "all pairs with a label"
        calibrates = source.tiers.labelled
        judges = ~calibrates
    elif len(given) == len(paths):
        source, name = how.read(given, None), ", ".join(map(str, given))
        calibrates, judges = source.tiers.labelled, np.ones(len(tiers), dtype=bool)
    else:
        raise InputError(
            f"--calibrate-on is given {len(given)} times for {len(paths)} judges; give one file of "
            f"labels, or a run or file for each judge in their sequence"
        )
    # Thresholds that were chosen on a pair cannot promise anything of it.
    known = {one for one, is_one in zip(found.pair_ids, judges, strict=True) if is_one} - {None}
    judged_too = np.array([one in known for one in source.pair_ids], dtype=bool)
    apart, left_out = calibrates & ~judged_too, int((calibrates & judged_too).sum())
    if left_out and not apart.any():
        raise InputError(
            f"all {left_out:,} calibration pairs are among the pairs to be judged; what is chosen "
            f"on them promises nothing of them: give --calibrate-on other pairs"
        )
    return make_promise(
        _counted(source.tiers.take(apart), decisive),
        _counted(tiers.take(judges), decisive) if judges.any() else None,
        target,
        risk,
        calibrated_on=name,
        left_out=left_out,
        one_per_question=asked.one_per_question,
    )
