"""Intervals of strengths, and the ranks that the data allow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from magistrate.metrics.intervals import FEW_CLUSTERS, LEVEL, wilson
from magistrate.metrics.multiplicity import holm
from magistrate.metrics.ranking.battles import Battles
from magistrate.metrics.ranking.components import Beyond
from magistrate.metrics.ranking.counts import Pairs
from magistrate.metrics.ranking.davidson import ELO, chances
from magistrate.metrics.ranking.estimates import Estimate, Method
from magistrate.metrics.resampling import Bootstrap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Interval = tuple[float | None, float | None]

SIGNIFICANT = 0.05


@dataclass(frozen=True, slots=True)
class Ranges:
    """One entry per model."""

    intervals: list[Interval]
    """Ends of the 95 % interval; None where it is open."""
    best: Integers
    """The best rank within the component that is not ruled out."""
    worst: Integers


def ranges(
    battles: Battles,
    method: Method,
    pairs: Pairs,
    counts: Floats,
    component: Integers,
    estimate: Estimate,
    beyond: list[Beyond | None],
) -> Ranges:
    """Return intervals and rank ranges.

    Args:
        battles: The battles that were ranked.
        method: How.
        pairs: The pairs that met.
        counts: Shape (pairs, 3).
        component: Shape (models,).
        estimate: Strengths, anchored.
        beyond: Which models the data do not bound.
    """
    questions = _questions_of(battles)
    intervals = _intervals(battles, estimate, questions)
    spread = _spread(battles, estimate, questions)
    if method == "win-rate":
        _bound_shares(intervals, spread, estimate.value, questions)
    for place, side in enumerate(beyond):
        if side is not None:
            bound = _one_end(place, side, pairs, counts, estimate, beyond, questions)
            intervals[place] = (bound, None) if side == "above" else (None, bound)
            _widen(spread, place, estimate.value[place], bound)
    best, worst = _rank_ranges(estimate.value, spread, component)
    return Ranges(intervals, best, worst)


def _questions_of(battles: Battles) -> Integers:
    """Return how many questions every model has, shape (models,)."""
    import numpy as np

    k = len(battles.models)
    _, question = np.unique(battles.question, return_inverse=True)
    seen = np.unique(np.concatenate([question * k + battles.first, question * k + battles.second]))
    return np.bincount(seen % k, minlength=k)


def _intervals(battles: Battles, estimate: Estimate, questions: Integers) -> list[Interval]:
    """Return the interval of each model as if the data bound all of them."""
    reach = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    intervals: list[Interval] = []
    for place in range(len(battles.models)):
        value = float(estimate.value[place])
        if estimate.covariance is not None:
            half = reach * math.sqrt(max(0.0, estimate.covariance[place, place]))
            intervals.append((value - half, value + half) if half else (None, None))
            continue
        own = Bootstrap(value, estimate.draws[:, place], len(battles), int(questions[place]))
        intervals.append(own.interval() or (None, None))
    return intervals


def _bound_shares(
    intervals: list[Interval],
    spread: Floats,
    shares: Floats,
    questions: Integers,
) -> None:
    """Keep intervals of shares inside [0, 1]; of few questions, or one outcome, use Wilson's."""
    for place, (low, high) in enumerate(intervals):
        share = float(shares[place])
        if low is not None and high is not None and questions[place] >= FEW_CLUSTERS:
            intervals[place] = max(0.0, low), min(1.0, high)
            continue
        start, end = wilson(share, int(questions[place]))
        intervals[place] = start, end
        if low is None:
            _widen(spread, place, share, start if share > 0.5 else end)


def _spread(battles: Battles, estimate: Estimate, questions: Integers) -> Floats:
    """Return the variance of each difference of two models, shape (models, models)."""
    import numpy as np

    covariance = estimate.covariance
    if covariance is None:
        draws = np.ma.masked_invalid(estimate.draws)
        if len(draws) < 2:
            return np.full((len(battles.models),) * 2, np.inf)
        stretch = np.array([Bootstrap(0.0, draws, 0, int(own)).stretch() for own in questions])
        covariance = _covariance(draws) * np.outer(stretch, stretch)
    own = np.diag(covariance)
    spread: Floats = own[:, None] + own[None, :] - 2 * covariance
    return np.maximum(spread, 0)


def _covariance(draws: np.ma.MaskedArray[Any, Any]) -> Floats:
    """Return the covariance of columns, over the rows in which both are there."""
    import numpy as np

    away = (draws - draws.mean(axis=0)).filled(0)
    there = (~np.ma.getmaskarray(draws)).astype(np.float64)
    together = np.maximum(there.T @ there - 1, 1)
    covariance: Floats = away.T @ away / together
    return covariance


def _widen(spread: Floats, place: int, value: float, bound: float | None) -> None:
    """Let what a one-sided bound says count as the uncertainty of a model beyond the scale."""
    reach = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    own = math.inf if bound is None else ((value - bound) / reach) ** 2
    spread[place, :] += own
    spread[:, place] += own


def _one_end(
    place: int,
    side: Beyond,
    pairs: Pairs,
    counts: Floats,
    estimate: Estimate,
    beyond: list[Beyond | None],
    questions: Integers,
) -> float | None:
    """Return the closed end of the interval of a model beyond the scale.

    It is the strength at which winning (losing) all battles against the models that it can be
    measured by has a chance of 2.5 %.
    """
    import numpy as np
    from scipy.optimize import brentq

    if side == "aside":
        return None
    sign = 1 if side == "above" else -1
    opponents, battles = [], []
    for pair, (low, high) in enumerate(zip(pairs.low, pairs.high, strict=True)):
        other = high if low == place else low if high == place else None
        if other is not None and beyond[other] is None:
            opponents.append(estimate.value[other])
            battles.append(counts[pair].sum())
    if not opponents:
        return None
    theirs, many = np.array(opponents) / ELO, np.array(battles)
    many = many * min(1.0, questions[place] / many.sum())
    wanted = math.log((1 - LEVEL) / 2)

    def excess(strength: float) -> float:
        win, _, _ = chances(sign * (strength - theirs), estimate.log_tie)
        return float(many @ np.log(np.maximum(win, 1e-300))) - wanted

    far = 40.0
    middle = float(theirs.mean())
    return ELO * float(brentq(excess, middle - far, middle + far))


def _rank_ranges(value: Floats, spread: Floats, component: Integers) -> tuple[Integers, Integers]:
    """Return the best and the worst rank of every model within its component."""
    import numpy as np

    k = len(value)
    best, worst = np.ones(k, dtype=np.int64), np.ones(k, dtype=np.int64)
    normal = NormalDist()
    for place in range(k):
        rivals = [r for r in np.flatnonzero(component == component[place]) if r != place]
        p = []
        for rival in rivals:
            error = math.sqrt(spread[place, rival])
            gap = abs(value[place] - value[rival])
            z = gap / error if error > 0 else math.inf if gap > 0 else 0.0
            p.append(2 * normal.cdf(-z))
        sure = [r for r, q in zip(rivals, holm(p), strict=True) if q < SIGNIFICANT]
        best[place] = 1 + sum(value[rival] > value[place] for rival in sure)
        worst[place] = len(rivals) + 1 - sum(value[rival] < value[place] for rival in sure)
    return best, worst
