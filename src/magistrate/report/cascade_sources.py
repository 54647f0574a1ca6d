"""Which confidence of the first judge tells best what to pass on: sources compared at one budget.

The best of several looks better than it is. So the last row chooses the source on other questions,
fold by fold: that is what choosing by labels is worth.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from magistrate.cascade.measuring import Measuring
from magistrate.cascade.tiers import Tiers
from magistrate.metrics.columns import NOTHING
from magistrate.metrics.confidence import available, confidence
from magistrate.metrics.intervals import Rate
from magistrate.metrics.learned import NAME as LEARNED
from magistrate.metrics.learned import fold_of, learned_confidence
from magistrate.records import Record
from magistrate.report.cascade_join import ReadTiers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CHOSEN = "best, chosen on other questions"
GIVEN = "as given"


class SourceRow(Record):
    """A cascade that goes by one source of confidence."""

    source: str
    budget: float
    n: int
    accuracy: Rate
    gap_closed: Rate


def compare_sources(
    found: ReadTiers, budget: float, *, decisive: bool = False
) -> tuple[SourceRow, ...]:
    """Replay the cascade by each source of the first judge's confidence.

    Args:
        found: Judges with labels.
        budget: Share of the pairs that may be asked of the last judge.
        decisive: Count only pairs where people prefer one answer.
    """
    import numpy as np

    chosen = found.tiers.complete
    if decisive and found.tiers.gold is not None:
        chosen &= found.tiers.gold != 0
    tiers, signals = found.tiers.take(chosen), found.signals[0].take(chosen)
    values: dict[str, Floats] = {GIVEN: tiers.confidence[:, 0]}
    values |= {name: confidence(signals, name) for name in available(signals)}
    known = signals.said != NOTHING
    learned = learned_confidence(signals.take(known), tiers.right[known, 0], tiers.question[known])
    if learned is not None:
        values[LEARNED] = np.full(len(tiers), np.nan)
        values[LEARNED][known] = learned[1]
    decided = {name: _decided(_by(tiers, sure), budget) for name, sure in values.items()}
    rows = [_row(name, budget, right, tiers) for name, right in decided.items()]
    if len(values) > 1:
        rows.append(_row(CHOSEN, budget, _cross_chosen(tiers, values, budget), tiers))
    return tuple(rows)


def _by(tiers: Tiers, sure: Floats) -> Tiers:
    told = tiers.confidence.copy()
    told[:, 0] = sure
    return replace(tiers, confidence=told)


def _decided(tiers: Tiers, budget: float) -> Floats:
    """Return how right each decision is at a budget, from 0 to 1; shape (n,)."""
    pairs = Measuring(tiers)
    return pairs.decided(pairs.at_share(budget))


def _cross_chosen(tiers: Tiers, values: dict[str, Floats], budget: float) -> Floats:
    """Return the same where each question goes by the source that is best on other folds of them.

    Sources become ranks over all pairs, so that pairs of all folds share one threshold.
    """
    import numpy as np

    fold = fold_of(tiers.question)
    told = np.zeros(len(tiers))
    for number in np.unique(fold):
        rest = fold != number
        scored = {
            name: float(_decided(_by(tiers, sure).take(rest), budget).mean())
            for name, sure in values.items()
        }
        best = max(scored, key=lambda name: scored[name])
        ranks = _by(tiers, values[best]).by_rank().confidence[:, 0]
        told[fold == number] = ranks[fold == number]
    return _decided(_by(tiers, told), budget)


def _row(name: str, budget: float, right: Floats, tiers: Tiers) -> SourceRow:
    found = Measuring(tiers).measured(right)
    return SourceRow(
        source=name,
        budget=budget,
        n=len(tiers),
        accuracy=found.accuracy,
        gap_closed=found.gap_closed,
    )
