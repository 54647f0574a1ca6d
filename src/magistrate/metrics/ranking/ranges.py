"""Intervals of strengths, and the ranks that the data allow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from magistrate.metrics.intervals import FEW_CLUSTERS, LEVEL, wilson
from magistrate.metrics.ranking.battles import Battles
from magistrate.metrics.ranking.components import Beyond
from magistrate.metrics.ranking.counts import Pairs
from magistrate.metrics.ranking.davidson import ELO, chances
from magistrate.metrics.ranking.equality import equality_p
from magistrate.metrics.ranking.estimates import Estimate, Method
from magistrate.metrics.ranking.simultaneous import adjusted_pairs
from magistrate.metrics.resampling import Bootstrap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Interval = tuple[float | None, float | None]

SIGNIFICANT = 0.05
_EQUAL = 1e-9
"""Draws that differ less than this differ by rounding alone."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """One entry per model."""

    intervals: list[Interval]
    """Ends of the 95 % interval; None where it is open."""
    by_wilson: NDArray[np.bool_]
    """Whether the interval is Wilson's."""
    best: Integers
    """The best rank within the component that is not ruled out."""
    worst: Integers


def ranges(
    battles: Battles,
    method: Method,
    pairs: Pairs,
    cells: Integers,
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
        cells: Shape (battles,), see :func:`~magistrate.metrics.ranking.counts.cells_of`.
        counts: Shape (pairs, 3).
        component: Shape (models,).
        estimate: Strengths, anchored.
        beyond: Which models the data do not bound.
    """
    import numpy as np

    questions = _questions_of(battles)
    intervals = _intervals(battles, estimate, questions)
    by_wilson = np.zeros(len(battles.models), dtype=bool)
    spread = _spread(battles, estimate, questions)
    if method == "win-rate":
        by_wilson = _bound_shares(intervals, spread, estimate.value, questions)
    for place, side in enumerate(beyond):
        if side is not None:
            bound = _one_end(place, side, pairs, counts, estimate, beyond, questions)
            if method == "elo":
                bound = _no_nearer(bound, intervals[place], float(estimate.value[place]), side)
            intervals[place] = (bound, None) if side == "above" else (None, bound)
            _widen(spread, place, estimate.value[place], bound)
    if method == "elo":
        _open_the_lone(intervals, component, beyond)
    p = equality_p(battles, method, pairs, cells, counts, component, estimate, spread, questions)
    aside = np.array([side == "aside" for side in beyond])
    p[aside, :] = p[:, aside] = 1
    best, worst = _rank_ranges(estimate.value, p, component)
    return Ranges(intervals, by_wilson, best, worst)


def _questions_of(battles: Battles) -> Integers:
    """Return how many questions every model has, shape (models,)."""
    import numpy as np

    k = len(battles.models)
    _, question = np.unique(battles.question, return_inverse=True)
    seen = np.unique(np.concatenate([question * k + battles.first, question * k + battles.second]))
    return np.bincount(seen % k, minlength=k)


def _intervals(battles: Battles, estimate: Estimate, questions: Integers) -> list[Interval]:
    """Return the interval of each model as if the data bound all of them."""
    import numpy as np

    reach = NormalDist().inv_cdf(0.5 + LEVEL / 2)
    intervals: list[Interval] = []
    for place in range(len(battles.models)):
        value = float(estimate.value[place])
        if estimate.covariance is not None:
            half = reach * math.sqrt(max(0.0, estimate.covariance[place, place]))
            intervals.append((value - half, value + half) if half else (None, None))
            continue
        own = Bootstrap(value, estimate.draws[:, place], len(battles), int(questions[place]))
        varies = own.defined.size and np.ptp(own.defined) > _EQUAL
        intervals.append((own.interval() if varies else None) or (None, None))
    return intervals


def _bound_shares(
    intervals: list[Interval],
    spread: Floats,
    shares: Floats,
    questions: Integers,
) -> NDArray[np.bool_]:
    """Keep intervals of shares inside [0, 1]; of few questions, or one outcome, use Wilson's.

    Returns:
        Shape (models,): whether Wilson's was used.
    """
    import numpy as np

    by_wilson = np.zeros(len(intervals), dtype=bool)
    for place, (low, high) in enumerate(intervals):
        share = float(shares[place])
        if low is not None and high is not None and questions[place] >= FEW_CLUSTERS:
            intervals[place] = max(0.0, low), min(1.0, high)
            continue
        by_wilson[place] = True
        start, end = wilson(share, int(questions[place]))
        intervals[place] = start, end
        if low is None:
            _widen(spread, place, share, start if share > 0.5 else end)
    return by_wilson


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


def _no_nearer(bound: float | None, drawn: Interval, rating: float, side: Beyond) -> float | None:
    """Return the closed end of a model's Elo ratings, which must not lie beyond its rating.

    Ratings move little by little from 1000, so that a clean record may be worth more than they say.
    """
    if bound is None:
        return None
    low, high = drawn
    if side == "above":
        return min(bound, rating if low is None else low)
    return max(bound, rating if high is None else high)


def _open_the_lone(
    intervals: list[Interval], component: Integers, beyond: list[Beyond | None]
) -> None:
    """Leave open what a model is rated that has only models beyond the scale beside it."""
    import numpy as np

    for number in range(int(component.max()) + 1):
        bounded = [r for r in np.flatnonzero(component == number) if beyond[r] is None]
        if len(bounded) == 1:
            intervals[bounded[0]] = None, None


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


def _rank_ranges(value: Floats, p: Floats, component: Integers) -> tuple[Integers, Integers]:
    """Return the best and the worst rank of every model within its component."""
    import numpy as np

    k = len(value)
    best, worst = np.ones(k, dtype=np.int64), np.ones(k, dtype=np.int64)
    for number in range(int(component.max()) + 1):
        members = np.flatnonzero(component == number)
        differ = adjusted_pairs(p[np.ix_(members, members)]) < SIGNIFICANT
        lead = value[members][:, None] - value[members][None, :]
        best[members] = 1 + (differ & (lead < 0)).sum(axis=1)
        worst[members] = len(members) - (differ & (lead > 0)).sum(axis=1)
    return best, worst
