"""Thresholds for a promised agreement with people, from labelled pairs that all judges read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING

from magistrate.cascade.calibration import DRIFT_N, drift, quantiles_of
from magistrate.cascade.guarantee import ASSUMPTION, Guarantee, Promise, guarantee
from magistrate.cascade.live_money import Purse
from magistrate.cascade.live_tiers import Ended, Event, Tier, sureness
from magistrate.cascade.tiers import Tiers
from magistrate.errors import InputError
from magistrate.formats.base import Notice
from magistrate.judging.calibration import Calibration
from magistrate.judging.judge import Judge
from magistrate.metrics.columns import PairCollector
from magistrate.metrics.confidence import DEFAULT_SOURCE
from magistrate.records import Sample
from magistrate.store.growing import GrowingRun

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEWEST_KEPT = 10
"""Labelled pairs that an estimated threshold keeps at least."""

_WAKE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Chosen:
    """Thresholds, and what they rest on."""

    thresholds: tuple[float, ...]
    """For each judge; infinity for one that keeps nothing."""
    labels: int
    guarantee: Guarantee | None
    assumption: str
    confidences: tuple[Floats, ...]
    """Of each judge over the labelled pairs, finite ones."""


def labelled_only(samples: Sequence[Sample]) -> list[Sample]:
    """Return the pairs that have labels, each text once.

    Raises:
        InputError: There is none.
    """
    found = {s.text_id: s for s in samples if len(s.answers) == 2 and s.gold}
    if not found:
        raise InputError(
            f"--calibrate-on has no labelled pair among {len(samples):,} samples; thresholds for a "
            f"target are chosen on pairs of which people said which answer is better"
        )
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Apart:
    """Labelled pairs that are not judged themselves, and what is to be said of them."""

    samples: list[Sample]
    notices: tuple[Notice, ...]
    caveat: str
    """What speaks against the assumption of a promise; empty where nothing does."""


def apart_from(labelled: Sequence[Sample], judged: Iterable[Sample]) -> Apart:
    """Leave out labelled pairs that are to be judged too, in either order of the answers.

    Thresholds that were chosen on a pair cannot promise anything of it.

    Raises:
        InputError: All of them are to be judged.
    """
    texts, questions = set(), set()
    for sample in judged:
        texts.add(sample.text_id)
        questions.add(sample.question_text)
    kept = [
        one for one in labelled if one.text_id not in texts and _exchanged(one).text_id not in texts
    ]
    shared = len(labelled) - len(kept)
    if not kept:
        raise InputError(
            f"all {shared:,} labelled pairs of --calibrate-on are among the pairs to be judged; "
            f"what was chosen on them promises nothing of them: give labelled pairs that are not "
            f"judged, or judge others"
        )
    notices, caveat = [], ""
    if shared:
        message = (
            f"{shared:,} of {len(labelled):,} labelled pairs of --calibrate-on are among the pairs "
            f"to be judged (in either order of the answers); they are left out of the calibration"
        )
        notices.append(Notice(kind="calibration-pairs-judged", message=message))
    known = sum(one.question_text in questions for one in kept)
    if known:
        caveat = (
            f"not so here: {known:,} of {len(kept):,} labelled pairs are on questions that are "
            f"judged too, so what is promised may not hold on new questions"
        )
        notices.append(Notice(kind="judged-questions-known", message=caveat))
    return Apart(kept, tuple(notices), caveat)


def _exchanged(sample: Sample) -> Sample:
    return sample.model_copy(update={"answers": sample.answers[::-1]})


def judge_all(
    samples: Sequence[Sample],
    runs: Sequence[GrowingRun],
    purse: Purse,
    make_tier: Callable[[int, GrowingRun, SimpleQueue[Event]], Tier],
) -> None:
    """Let every judge read every labelled pair, all judges at once.

    Args:
        samples: The pairs.
        runs: A run for each judge.
        purse: The money of the cascade.
        make_tier: Makes a judge at work.

    Raises:
        MagistrateError: What ended a judge; the judgments made are kept.
    """
    events: SimpleQueue[Event] = SimpleQueue()
    tiers = [make_tier(number, run, events) for number, run in enumerate(runs)]
    for tier in tiers:
        tier.run.take(samples)
        tier.put_all(range(len(samples)))
        tier.finish()
        tier.start()
    error: BaseException | None = None
    open_tiers = len(tiers)
    try:
        while open_tiers:
            # A wait without end could not be interrupted everywhere.
            event = _next(events)
            if isinstance(event, Ended):
                open_tiers -= 1
                error = error or event.error
    except BaseException:
        purse.close()
        for tier in tiers:
            tier.stop()
        for tier in tiers:
            if not tier.join(1.0):
                tier.run.judge.close()
                tier.join(15.0)
        raise
    if error is not None:
        raise error


def _next(events: SimpleQueue[Event]) -> Event | None:
    from queue import Empty

    try:
        return events.get(timeout=_WAKE_SECONDS)
    except Empty:
        return None


def choose(
    samples: Sequence[Sample], runs: Sequence[GrowingRun], target: float, risk: float | None
) -> Chosen:
    """Choose thresholds on labelled pairs.

    Args:
        samples: The pairs, each text once.
        runs: What each judge said of them.
        target: Agreement with people that is wanted, in (0, 1).
        risk: Probability that a promise may not hold; None for thresholds that are estimates.

    Raises:
        InputError: The labels are too few or the judges too weak; the message says how many would
            do.
    """
    import numpy as np

    tiers = _columns(samples, runs)
    labelled = int((np.abs(tiers.gold) <= 1).sum()) if tiers.gold is not None else 0
    finite = tuple(
        column[np.isfinite(column)] for column in np.ascontiguousarray(tiers.confidence.T)
    )
    if risk is None:
        return Chosen(
            _estimated(tiers, target),
            labelled,
            None,
            f"{ASSUMPTION}; thresholds are estimates, without a promise (--risk makes one)",
            finite,
        )
    found = guarantee(tiers, Promise(alpha=1 - target, delta=risk))
    if found.holds_nothing:
        raise InputError(_refusal(found, labelled, target, risk))
    return Chosen(found.thresholds, labelled, found, found.assumption, finite)


def _columns(samples: Sequence[Sample], runs: Sequence[GrowingRun]) -> Tiers:
    import numpy as np

    said, sure, cost = [], [], []
    pairs = None
    for run in runs:
        known = {sample.text_id: (found, decision) for sample, found, decision in run.known()}
        collector = PairCollector()
        confidence, costs = [], []
        for row, sample in enumerate(samples):
            found, decision = known.get(sample.text_id, ((), None))
            collector.add(row, sample, found, decision)
            value = sureness(decision, found) if decision is not None else None
            confidence.append(math.nan if value is None else value)
            costs.append(sum(one.cost for one in found))
        pairs = collector.result()
        said.append(pairs.said)
        sure.append(confidence)
        cost.append(costs)
    if pairs is None:
        raise InputError("a cascade needs two judges or more, the cheapest first")
    return Tiers(
        names=tuple(run.judge.spec.name for run in runs),
        said=np.stack(said, axis=1),
        confidence=np.array(sure, dtype=np.float64).T,
        cost=np.array(cost, dtype=np.float64).T,
        question=pairs.question,
        gold=pairs.gold,
    )


def _estimated(tiers: Tiers, target: float) -> tuple[float, ...]:
    """Return for each judge the lowest threshold above which it agrees as wanted.

    Among the labelled pairs that reach it.

    Raises:
        InputError: No judge has one.
    """
    import numpy as np

    known = tiers.take(np.abs(tiers.gold) <= 1) if tiers.gold is not None else tiers
    waiting = np.ones(len(known), dtype=bool)
    thresholds = []
    for tier in range(len(known.names)):
        sure = np.nan_to_num(known.confidence[:, tier], nan=-np.inf)
        mine = waiting & np.isfinite(sure)
        order = np.flatnonzero(mine)[np.argsort(-sure[mine], kind="stable")]
        right = np.cumsum(known.right[order, tier]) / np.arange(1, len(order) + 1)
        # Equally sure pairs are kept all or none.
        ends = np.append(sure[order][1:] != sure[order][:-1], True) if len(order) else right > 1
        good = np.flatnonzero((right >= target) & ends)
        good = good[good + 1 >= FEWEST_KEPT]
        bar = float(sure[order[good[-1]]]) if len(good) else math.inf
        thresholds.append(bar)
        waiting &= sure < bar
    if all(math.isinf(bar) for bar in thresholds):
        raise InputError(
            f"no judge agrees with people on {target:.0%} even of the {FEWEST_KEPT} labelled pairs "
            f"that it is surest of ({len(known):,} have labels); lower --target-agreement, take "
            f"stronger judges, or give more labels"
        )
    return tuple(thresholds)


def _refusal(found: Guarantee, labelled: int, target: float, risk: float) -> str:
    needed = [
        (judge.labels_needed, judge.judge)
        for judge in found.judges
        if judge.labels_needed is not None
    ]
    begin = (
        f"an agreement of {target:.0%} cannot be promised at risk {risk:g} with "
        f"{labelled:,} labelled pairs"
    )
    if not needed:
        return (
            f"{begin}: even their surest decisions are wrong too often, so more labels would not "
            f"help; lower --target-agreement or take a stronger judge"
        )
    least, judge = min(needed)
    return (
        f"{begin}: about {least:,} would do (for {judge}, if they look like these); give more with "
        f"--calibrate-on, lower --target-agreement, or raise --risk"
    )


def drift_notice(
    judge: Judge, confidences: Floats, chosen_on: Floats | None, raw: Floats
) -> Notice | None:
    """Warn where a judge's confidences are not like those that its thresholds rest on.

    Args:
        judge: The judge.
        confidences: What it says here.
        chosen_on: What it said of the labelled pairs; None without.
        raw: Its own probabilities here, before its calibration.
    """
    found = None
    if chosen_on is not None and len(chosen_on) >= DRIFT_N:
        stand_in = Calibration(
            method="temperature",
            judge=judge.spec.name,
            judge_id=judge.spec.id,
            n=len(chosen_on),
            right=0,
            questions=len(chosen_on),
            data="",
            quantiles=quantiles_of(chosen_on),
        )
        found = drift(stand_in, confidences)
    elif judge.calibration is not None and judge.calibration.source == DEFAULT_SOURCE:
        found = drift(judge.calibration, raw)
    if found is None:
        return None
    return Notice(kind="confidence-drift", message=f"{judge.spec.name}: {found.message}")
