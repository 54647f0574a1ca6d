"""What a cascade would have done at every budget, from stored decisions.

Beside the cascade (:mod:`magistrate.cascade.trace`) stand the routings that it must beat or cannot:
a random choice of what goes up, all to the cheapest, all to the dearest, an oracle that knows where
the dearest is right and the cheapest is not, and the surer of the cheap judges without asking the
dearest at all.

What is recommended was chosen by the same labels that it is measured on, so it is a little too
good; its interval does not know of the choice.
"""

from __future__ import annotations

from magistrate.cascade.measuring import CurvePoint, Measuring, Place
from magistrate.cascade.tiers import Tiers
from magistrate.errors import InputError
from magistrate.metrics.intervals import NO_RATE, Rate, mean_of_points
from magistrate.records import Record

BUDGETS = tuple(step / 20 for step in range(21))
"""Shares of pairs that may be asked of the dearest judge, at which the curve is told."""

GOALS = (0.8, 0.95, 1.0)
"""Parts of the gap between cheapest and dearest whose least budget is recommended."""


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

    known = tiers.take(tiers.complete)
    _check(len(known), budgets)
    pairs = Measuring(known)
    goals = _goals(pairs, target)
    places = [pairs.at_share(budget) for budget in budgets]
    places += [pairs.at_cost(cost) for cost in max_costs]
    lengths = (len(places), len(curve), len(goals))
    places += [pairs.at_share(budget) for budget in curve]
    places += [place for _, place in goals]
    points = pairs.points(places)
    asked_for, on_curve = points[: lengths[0]], points[lengths[0] : sum(lengths[:2])]
    return Replay(
        judges=known.names,
        n=len(known),
        left_out=len(tiers) - len(known),
        questions=pairs.questions,
        alone=tuple(mean_of_points(right, known.question) for right in known.right.T),
        costs=tuple(float(value) for value in known.cost.mean(axis=0)),
        unsure=tuple(int(value) for value in np.isneginf(known.sure[:, :-1]).sum(axis=0)),
        surest_cheap=_surest_cheap(known),
        points=asked_for,
        curve=on_curve,
        recommended=tuple(
            Recommendation(goal=goal, point=point)
            for (goal, _), point in zip(goals, points[sum(lengths[:2]) :], strict=True)
        ),
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


def _surest_cheap(tiers: Tiers) -> Rate:
    """Return the share right of the surest judge but the last (weak-weak selection)."""
    import numpy as np

    if len(tiers.names) < 3:
        return NO_RATE
    chosen = tiers.sure[:, :-1].argmax(axis=1)  # of equally sure ones the cheapest
    return mean_of_points(tiers.right[np.arange(len(tiers)), chosen], tiers.question)


def _goals(pairs: Measuring, target: float | None) -> list[tuple[str, Place]]:
    """Return where each goal is first reached, and where most decisions are right."""
    import numpy as np

    right, found = pairs.path.right, []
    alone = pairs.tiers.right.mean(axis=0)
    goals: list[tuple[str, float]] = []
    if target is not None:
        goals.append((goal_of_target(target), target))
    if alone[-1] > alone[0]:
        gap = float(alone[-1] - alone[0])
        goals += [(f"{goal:.0%} of the gap closed", float(alone[0]) + goal * gap) for goal in GOALS]
    goals.append(("most right", float(right.max()) / len(pairs)))
    for goal, share in goals:
        enough = right >= len(pairs) * share - 1e-9
        if enough.any():
            found.append((goal, pairs.at_step(int(np.argmax(enough)))))
    return found
