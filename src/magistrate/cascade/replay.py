"""What a cascade would have done at every budget, from stored decisions.

One threshold goes for all judges: a pair is settled by the first that is at least so sure. Raising
it asks more of the dearer judges. How many are asked, at what cost, and how many decisions are
right change only where the threshold passes a confidence, so one sort of these gives the whole
curve (:func:`trace`): exact at every budget, whatever the number of judges.

Beside it stand the routings that a cascade must beat or cannot: a random choice of what goes up,
all to the cheapest, all to the dearest, an oracle that knows where the dearest is right and the
cheapest is not, and the surer of the cheap judges without asking the dearest at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.cascade.tiers import Tiers
from magistrate.errors import InputError
from magistrate.metrics.intervals import NO_RATE, Rate, mean_of_points, mean_of_scores
from magistrate.metrics.resampling import cluster_bootstrap
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BUDGETS = tuple(step / 20 for step in range(21))
"""Shares of pairs that may be asked of the dearest judge, at which the curve is told."""

GOALS = (0.8, 0.95, 1.0)
"""Parts of the gap between cheapest and dearest whose least budget is recommended."""


class CurvePoint(Record):
    """What the cascade would have done within one budget."""

    budget: float
    """Share of the pairs that may be asked of the dearest judge, from 0 to 1."""
    threshold: float | None
    """Confidence from which a judge settles a pair; None where all pairs are passed on."""
    asked: tuple[float, ...]
    """Share of the pairs that each judge is asked; the last is the budget, or less."""
    cost: float
    """US dollars for each pair, all judges together."""
    accuracy: Rate
    """Share of all decisions that are right."""
    random: float
    """The same with as many pairs passed on by chance, from the cheapest to the dearest."""
    oracle: float
    """The same when those are passed on where it helps."""
    gap_closed: Rate
    """(accuracy - cheapest) / (dearest - cheapest); no value where the dearest is not better."""


class Recommendation(Record):
    """The least budget at which a goal is reached."""

    goal: str
    point: CurvePoint


class Replay(Record):
    """A cascade replayed over stored decisions."""

    judges: tuple[str, ...]
    n: int
    """Pairs that all judges decided and that have a label."""
    left_out: int
    """Pairs without: a failed decision, no label, or no majority among annotators."""
    questions: int
    alone: tuple[Rate, ...]
    """Share right of each judge alone."""
    costs: tuple[float, ...]
    """US dollars for each pair that a judge is asked, on average."""
    unsure: tuple[int, ...]
    """For each judge but the last: pairs of which it cannot tell how sure it is; always passed on.
    """
    surest_cheap: Rate
    """Share right when the surest of all judges but the last decides; no value with two judges."""
    curve: tuple[CurvePoint, ...]
    recommended: tuple[Recommendation, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """The whole curve: everything after each possible rise of the threshold, K + 1 places."""

    threshold: Floats
    """Shape (K,): the confidences passed, rising. Place k + 1 of the others is after it."""
    asked: Floats
    """Shape (T, K + 1): pairs asked of each judge."""
    cost: Floats
    """Shape (K + 1,): US dollars in all."""
    right: Floats
    """Shape (K + 1,): decisions that are right."""

    def place(self, used: Floats, limit: float) -> float:
        """Return how far the threshold may rise, in places, until ``used`` reaches a limit.

        A part of a place says which part of the pairs of that confidence is passed on.
        """
        import numpy as np

        after = int(np.searchsorted(used, limit, side="right"))
        if after == 0:
            return 0.0
        if after == len(used):
            return float(len(used) - 1)
        step = used[after] - used[after - 1]
        return after - 1 + float((limit - used[after - 1]) / step)


def trace(tiers: Tiers) -> Trace:
    """Return the curve over all thresholds; pairs that a judge failed on count as they are.

    Raises:
        InputError: There are no labels.
    """
    import numpy as np

    right, reach = tiers.right.astype(np.float64), tiers.reach
    count = len(tiers.names)
    passed = reach.ravel()
    order = np.argsort(passed, kind="stable")
    ordered = passed[order]
    gain = (right[:, 1:] - right[:, :-1]).ravel()[order]
    more = tiers.cost[:, 1:].ravel()[order]
    judge = np.tile(np.arange(1, count), len(tiers))[order]
    last = np.append(ordered[1:] != ordered[:-1], True) if len(ordered) else np.zeros(0, bool)
    # Who is sure of nothing is passed on at every threshold: that is where the curve begins.
    start = np.searchsorted(ordered, -np.inf, side="right")
    keep = np.flatnonzero(last)
    keep = keep[keep >= start]

    def after(begin: float, changes: Floats) -> Floats:
        sums = np.cumsum(changes)
        first = begin + (sums[start - 1] if start else 0.0)
        return np.concatenate([[first], begin + sums[keep]])

    asked = [np.full(len(keep) + 1, float(len(tiers)))]
    asked += [after(0.0, (judge == t).astype(np.float64)) for t in range(1, count)]
    return Trace(
        threshold=ordered[keep],
        asked=np.stack(asked),
        cost=after(float(tiers.cost[:, 0].sum()), more),
        right=after(float(right[:, 0].sum()), gain),
    )


def replay(tiers: Tiers, budgets: tuple[float, ...] = BUDGETS) -> Replay:
    """Replay a cascade at several budgets, with intervals over questions.

    Args:
        tiers: Decisions with labels. Pairs that a judge failed on, or without label, are left out
            and counted.
        budgets: Shares of the pairs that may be asked of the dearest judge, each from 0 to 1.

    Raises:
        InputError: No pair is left.
    """
    import numpy as np

    whole = tiers.complete
    known = tiers.take(whole)
    n = len(known)
    if not n:
        raise InputError(
            "no pair has a label and a decision of every judge, so there is nothing to replay; "
            "look whether the files are about the same pairs"
        )
    path = trace(known)
    points = tuple(_point(known, path, budget) for budget in budgets)
    return Replay(
        judges=known.names,
        n=n,
        left_out=len(tiers) - n,
        questions=len(np.unique(known.question)),
        alone=tuple(
            mean_of_points(known.right[:, t], known.question) for t in range(len(known.names))
        ),
        costs=tuple(float(value) for value in known.cost.mean(axis=0)),
        unsure=tuple(int(value) for value in np.isnan(known.confidence[:, :-1]).sum(axis=0)),
        surest_cheap=_surest_cheap(known),
        curve=points,
        recommended=_recommend(known, path),
    )


def settle(tiers: Tiers, place: float, path: Trace) -> Floats:
    """Return which judge decides each pair, as shares: shape (n, T), rows sum to 1.

    Args:
        tiers: The decisions.
        place: How far the threshold has risen (:meth:`Trace.place`).
        path: Their trace.
    """
    import numpy as np

    full, part = int(place), place - int(place)
    bounds = np.concatenate([[-np.inf], path.threshold])
    # Asked with certainty up to the threshold passed last; of the next, only a part.
    asked = (tiers.reach <= bounds[full]).astype(np.float64)
    if part:
        asked += part * (tiers.reach == bounds[full + 1])
    ones, zeros = np.ones((len(tiers), 1)), np.zeros((len(tiers), 1))
    found: Floats = np.hstack([ones, asked]) - np.hstack([asked, zeros])
    return found


def _point(tiers: Tiers, path: Trace, budget: float) -> CurvePoint:
    import numpy as np

    n = len(tiers)
    place = path.place(path.asked[-1], budget * n)
    full = min(int(np.ceil(place)), len(path.threshold))
    threshold = float(path.threshold[full]) if full < len(path.threshold) else None
    right = tiers.right.astype(np.float64)
    decided = (settle(tiers, place, path) * right).sum(axis=1)
    cheap, dear = right[:, 0], right[:, -1]
    asked = tuple(_at(row, place) / n for row in path.asked)
    gap = dear.mean() - cheap.mean()
    helped = float((dear > cheap).mean())
    return CurvePoint(
        budget=budget,
        threshold=threshold,
        asked=asked,
        cost=_at(path.cost, place) / n,
        accuracy=_mean(decided, tiers.question),
        random=float(cheap.mean() + asked[-1] * gap),
        oracle=float(cheap.mean() + min(asked[-1], helped)),
        gap_closed=_gap_closed(decided, cheap, dear, tiers.question) if gap > 0 else NO_RATE,
    )


def _mean(points: Floats, question: NDArray[np.generic]) -> Rate:
    """Return the mean of points; parts of a decision are treated as scores."""
    whole = ((points == 0) | (points == 1)).all()
    return (mean_of_points if whole else mean_of_scores)(points, question)


def _gap_closed(
    decided: Floats, cheap: Floats, dear: Floats, question: NDArray[np.generic]
) -> Rate:
    import numpy as np

    return cluster_bootstrap(
        np.stack([decided - cheap, dear - cheap], axis=1),
        question,
        statistic=lambda totals: np.where(totals[:, 1] > 0, totals[:, 0] / totals[:, 1], np.nan),
    )


def _at(values: Floats, place: float) -> float:
    full, part = int(place), place - int(place)
    below = float(values[full])
    return below + part * (float(values[full + 1]) - below) if part else below


def _surest_cheap(tiers: Tiers) -> Rate:
    """Return the share right of the surest judge but the last (weak-weak selection)."""
    import numpy as np

    if len(tiers.names) < 3:
        return NO_RATE
    sure = np.nan_to_num(tiers.confidence[:, :-1], nan=-np.inf)
    chosen = sure.argmax(axis=1)  # of equally sure ones the cheapest
    return mean_of_points(tiers.right[np.arange(len(tiers)), chosen], tiers.question)


def _recommend(tiers: Tiers, path: Trace) -> tuple[Recommendation, ...]:
    """Return the least budgets that reach each goal, and the one with most decisions right."""
    import numpy as np

    n, right = len(tiers), tiers.right.mean(axis=0)
    found = []
    if right[-1] > right[0]:
        for goal in GOALS:
            due = n * (right[0] + goal * (right[-1] - right[0])) - 1e-9
            place = int(np.argmax(path.right >= due))
            if path.right[place] >= due:
                text = f"closes {goal:.0%} of the gap between cheapest and dearest judge"
                point = _point(tiers, path, float(path.asked[-1][place] / n))
                found.append(Recommendation(goal=text, point=point))
    best = int(np.argmax(path.right))
    point = _point(tiers, path, float(path.asked[-1][best] / n))
    return (*found, Recommendation(goal="most decisions right", point=point))
