"""What a cascade would have done at every budget, from stored decisions.

Beside the cascade (:mod:`magistrate.cascade.trace`) stand the routings that it must beat or cannot:
a random choice of what goes up, all to the cheapest, all to the dearest, an oracle that knows where
the dearest is right and the cheapest is not, and the surer of the cheap judges without asking the
dearest at all.

What is recommended was chosen by the same labels that it is measured on, so it is a little too
good; its interval does not know of the choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.cascade.tiers import Tiers
from magistrate.cascade.trace import Trace, asked_shares, settled_shares, trace, value_at
from magistrate.errors import InputError
from magistrate.metrics.intervals import NO_RATE, Rate, mean_of_points, mean_of_scores
from magistrate.metrics.resampling import bootstrap
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BUDGETS = tuple(step / 20 for step in range(21))
"""Shares of pairs that may be asked of the dearest judge, at which the curve is told."""

GOALS = (0.8, 0.95, 1.0)
"""Parts of the gap between cheapest and dearest whose least budget is recommended."""

_MOST_UNDEFINED = 0.025
"""Share of resamples in which the dearest judge is not better; with more the part of the gap that
is closed has no interval: there may be no gap."""


class CurvePoint(Record):
    """What the cascade would have done within one budget."""

    budget: float
    """Share of the pairs that may be asked of the dearest judge, from 0 to 1."""
    max_cost: float | None = None
    """US dollars for all pairs together, where the budget was given so."""
    threshold: float | None
    """Confidence from which a judge settles a pair; None where all pairs are passed on."""
    part: float = 1.0
    """Of the pairs of the next lower confidence, the share that is passed on; which of them is
    left to chance, as the budget ends among equals."""
    asked: tuple[float, ...]
    """Share of the pairs that each judge is asked; the last is the budget, or less."""
    cost: float
    """US dollars for each pair, all judges together."""
    accuracy: Rate
    """Share of all decisions that are right."""
    like_last: float
    """Share of all decisions that are what the dearest judge says."""
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
    """For each judge but the last: pairs of which it cannot tell how sure it is; passed on first.
    """
    surest_cheap: Rate
    """Share right when the surest of all judges but the last decides; no value with two judges."""
    points: tuple[CurvePoint, ...]
    """At the budgets asked for."""
    curve: tuple[CurvePoint, ...]
    recommended: tuple[Recommendation, ...]


def replay(
    tiers: Tiers,
    budgets: tuple[float, ...] = (),
    *,
    max_costs: tuple[float, ...] = (),
    target: float | None = None,
    curve: tuple[float, ...] = BUDGETS,
) -> Replay:
    """Replay a cascade at several budgets, with intervals over questions.

    Args:
        tiers: Decisions with labels. Pairs that a judge failed on, or without label, are left out
            and counted.
        budgets: Shares of the pairs that may be asked of the dearest judge, each from 0 to 1.
        max_costs: Budgets in US dollars for all pairs together.
        target: Share right whose least budget is recommended too.
        curve: Shares at which the curve is told.

    Raises:
        InputError: No pair is left; a budget is no share; or the cheapest judge alone costs more.
    """
    import numpy as np

    whole = tiers.complete
    known = tiers.take(whole)
    n = len(known)
    _check(n, budgets)
    path = trace(known)
    points = [_at_share(known, path, budget) for budget in budgets]
    points += [_at_cost(known, path, cost) for cost in max_costs]
    return Replay(
        judges=known.names,
        n=n,
        left_out=len(tiers) - n,
        questions=len(np.unique(known.question)),
        alone=tuple(
            mean_of_points(known.right[:, t], known.question) for t in range(len(known.names))
        ),
        costs=tuple(float(value) for value in known.cost.mean(axis=0)),
        unsure=tuple(int(value) for value in np.isneginf(known.sure[:, :-1]).sum(axis=0)),
        surest_cheap=_surest_cheap(known),
        points=tuple(points),
        curve=tuple(_at_share(known, path, budget) for budget in curve),
        recommended=_recommend(known, path, target),
    )


def goal_of_target(target: float) -> str:
    """Return how the goal of a target agreement is called."""
    return f"{100 * target:g} % right"


def _check(n: int, budgets: tuple[float, ...]) -> None:
    if not n:
        raise InputError(
            "no pair has a label and a decision of every judge, so there is nothing to replay; "
            "look whether the files are about the same pairs"
        )
    for budget in budgets:
        if not 0 <= budget <= 1:
            raise InputError(
                f"the budget {budget:g} is no share of pairs; give one from 0 to 1, such as 0.5 "
                f"for half of them"
            )


def _at_share(tiers: Tiers, path: Trace, budget: float) -> CurvePoint:
    return _point(tiers, path, path.place(path.asked[-1], budget * len(tiers)), budget)


def _at_cost(tiers: Tiers, path: Trace, limit: float) -> CurvePoint:
    least = float(path.cost[0])
    if limit < least:
        raise InputError(
            f"${limit:g} do not even pay the cheapest judge, which costs ${least:g} for these "
            f"{len(tiers):,} pairs; give --max-cost that or more"
        )
    place = path.place(path.cost, limit)
    share = value_at(path.asked[-1], place) / len(tiers)
    return _point(tiers, path, place, share).model_copy(update={"max_cost": limit})


def _point(tiers: Tiers, path: Trace, place: float, budget: float) -> CurvePoint:
    n = len(tiers)
    settled = settled_shares(asked_shares(tiers, place, path))
    decided = (settled * tiers.right).sum(axis=1)
    accuracy, gap_closed = rates_at(tiers, decided)
    cheap, dear = _ends(tiers)
    asked = tuple(value_at(row, place) / n for row in path.asked)
    gap = float(dear.mean() - cheap.mean())
    helped = float((dear > cheap).mean())
    return CurvePoint(
        budget=budget,
        threshold=path.settles(place),
        part=place - int(place) or 1.0,
        asked=asked,
        cost=value_at(path.cost, place) / n,
        accuracy=accuracy,
        like_last=float((settled * (tiers.said == tiers.said[:, -1:])).sum() / n),
        random=float(cheap.mean()) + asked[-1] * gap,
        oracle=float(cheap.mean()) + min(asked[-1], helped),
        gap_closed=gap_closed,
    )


def rates_at(tiers: Tiers, decided: Floats) -> tuple[Rate, Rate]:
    """Return the share right, and which part of the gap between cheapest and dearest is closed.

    Args:
        tiers: Decisions with labels.
        decided: How right each decision is, from 0 to 1; shape (n,).
    """
    cheap, dear = _ends(tiers)
    closed = _gap_closed(decided - cheap, dear - cheap, tiers.question)
    return _mean(decided, tiers.question), closed


def _ends(tiers: Tiers) -> tuple[Floats, Floats]:
    right = tiers.right
    return right[:, 0].astype(float), right[:, -1].astype(float)


def _mean(points: Floats, question: NDArray[np.generic]) -> Rate:
    """Return the mean of points; parts of a decision are treated as scores."""
    whole = ((points == 0) | (points == 1)).all()
    return (mean_of_points if whole else mean_of_scores)(points, question)


def _gap_closed(gained: Floats, gap: Floats, question: NDArray[np.generic]) -> Rate:
    import numpy as np

    if gap.sum() <= 0:
        return NO_RATE
    drawn = bootstrap(
        np.stack([gained, gap], axis=1),
        question,
        statistic=lambda totals: np.where(totals[:, 1] > 0, totals[:, 0] / totals[:, 1], np.nan),
    )
    if drawn is None:
        return NO_RATE
    if np.isnan(drawn.draws).mean() > _MOST_UNDEFINED:
        return Rate(value=drawn.estimate, n=drawn.n)
    return drawn.rate()


def _surest_cheap(tiers: Tiers) -> Rate:
    """Return the share right of the surest judge but the last (weak-weak selection)."""
    import numpy as np

    if len(tiers.names) < 3:
        return NO_RATE
    chosen = tiers.sure[:, :-1].argmax(axis=1)  # of equally sure ones the cheapest
    return mean_of_points(tiers.right[np.arange(len(tiers)), chosen], tiers.question)


def _recommend(tiers: Tiers, path: Trace, target: float | None) -> tuple[Recommendation, ...]:
    """Return the least budgets that reach each goal, and the one with most decisions right."""
    import numpy as np

    n, right = len(tiers), tiers.right.mean(axis=0)
    goals: list[tuple[str, float]] = []
    if target is not None:
        goals.append((goal_of_target(target), target))
    if right[-1] > right[0]:
        goals += [
            (
                f"{goal:.0%} of the gap closed",
                float(right[0] + goal * (right[-1] - right[0])),
            )
            for goal in GOALS
        ]
    goals.append(("most right", float(path.right.max()) / n))
    found = []
    for goal, share in goals:
        enough = path.right >= n * share - 1e-9
        if enough.any():
            place = int(np.argmax(enough))
            point = _point(tiers, path, float(place), float(path.asked[-1][place] / n))
            found.append(Recommendation(goal=goal, point=point))
    return tuple(found)
