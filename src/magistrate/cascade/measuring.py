"""What a cascade does at places of its curve, with intervals over questions.

All places are drawn together: a resample of questions is one resample for every budget, and a
million pairs are summed by question once for each place and then never looked at again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.cascade.tiers import Tiers
from magistrate.cascade.trace import Trace, asked_shares, settled_shares, trace, value_at
from magistrate.errors import InputError
from magistrate.metrics.draws import question_types, resampled_totals
from magistrate.metrics.intervals import (
    FEW_CLUSTERS,
    NO_RATE,
    Rate,
    mean_of_points,
)
from magistrate.metrics.resampling import RESAMPLES, Bootstrap
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

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


@dataclass(frozen=True, slots=True)
class Place:
    """A place of the curve, and the budget that it was found by."""

    at: float
    budget: float
    max_cost: float | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """How right decisions are, and which part of the gap they close."""

    accuracy: Rate
    gap_closed: Rate


class Measuring:
    """Decisions with labels, and their curve.

    Args:
        tiers: Pairs that all judges decided and that have a label.
    """

    def __init__(self, tiers: Tiers) -> None:
        import numpy as np

        self.tiers = tiers
        self.path: Trace = trace(tiers)
        self._reach = tiers.reach
        self._right = tiers.right
        self._like = tiers.said == tiers.said[:, -1:]
        self._question = np.unique(tiers.question, return_inverse=True)[1]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.tiers)

    @property
    def questions(self) -> int:
        """Return the number of questions."""
        return int(self._question.max()) + 1

    def at_share(self, budget: float) -> Place:
        """Return where the last judge is asked a share of the pairs."""
        return Place(self.path.place(self.path.asked[-1], budget * len(self)), budget)

    def at_cost(self, limit: float) -> Place:
        """Return where all pairs together cost so much, in US dollars.

        Raises:
            InputError: The cheapest judge alone costs more.
        """
        least = float(self.path.cost[0])
        if limit < least:
            raise InputError(
                f"${limit:g} do not even pay the cheapest judge, which costs ${least:g} for these "
                f"{len(self):,} pairs; give --max-cost that or more"
            )
        at = self.path.place(self.path.cost, limit)
        return Place(at, value_at(self.path.asked[-1], at) / len(self), limit)

    def at_step(self, step: int) -> Place:
        """Return the place after so many rises of the threshold."""
        return Place(float(step), float(self.path.asked[-1][step] / len(self)))

    def points(self, places: Sequence[Place]) -> tuple[CurvePoint, ...]:
        """Return what the cascade does at each place."""
        shares = (self._settled(place) for place in places)
        decided, like = [], []
        for share in shares:
            decided.append(self._by_question((share * self._right).sum(axis=1)))
            like.append(float((share * self._like).sum() / len(self)))
        rates = self._rates(decided)
        return tuple(
            self._point(place, rate, same)
            for place, rate, same in zip(places, rates, like, strict=True)
        )

    def decided(self, place: Place) -> Floats:
        """Return how right each decision is at a place, from 0 to 1; shape (n,)."""
        found: Floats = (self._settled(place) * self._right).sum(axis=1)
        return found

    def measured(self, decided: Floats) -> Measured:
        """Return what decisions of any routing are worth; ``decided`` as of :meth:`decided`."""
        return self._rates([self._by_question(decided)])[0]

    def _settled(self, place: Place) -> Floats:
        return settled_shares(asked_shares(self._reach, place.at, self.path))

    def _by_question(self, values: Floats) -> Floats:
        import numpy as np

        found: Floats = np.bincount(self._question, weights=values).astype(np.float64)
        return found

    def _point(self, place: Place, rate: Measured, like: float) -> CurvePoint:
        n, right = len(self), self._right
        asked = tuple(value_at(row, place.at) / n for row in self.path.asked)
        cheap, dear = float(right[:, 0].mean()), float(right[:, -1].mean())
        helped = float((right[:, -1] & ~right[:, 0]).mean())
        return CurvePoint(
            budget=place.budget,
            max_cost=place.max_cost,
            threshold=self.path.settles(place.at),
            part=place.at - int(place.at) or 1.0,
            asked=asked,
            cost=value_at(self.path.cost, place.at) / n,
            accuracy=rate.accuracy,
            like_last=like,
            random=cheap + asked[-1] * (dear - cheap),
            oracle=cheap + min(asked[-1], helped),
            gap_closed=rate.gap_closed,
        )

    def _rates(self, decided: Sequence[Floats]) -> list[Measured]:
        """Return rates of several routings, given how right they are on each question."""
        import numpy as np

        cheap, dear = (self._by_question(self._right[:, t].astype(float)) for t in (0, -1))
        pairs = np.bincount(self._question).astype(np.float64)
        columns = np.stack([*decided, cheap, dear, pairs], axis=1)
        types = question_types(columns, np.arange(len(columns)))
        drawn = resampled_totals(types, RESAMPLES) if len(decided) else columns
        return [
            Measured(
                self._accuracy(columns[:, k], pairs, drawn[:, k] / drawn[:, -2]),
                self._gap_closed(columns, drawn, k),
            )
            for k in range(len(decided))
        ]

    def _accuracy(self, right: Floats, pairs: Floats, draws: Floats) -> Rate:
        import numpy as np

        value = float(right.sum() / pairs.sum())
        if self.questions >= FEW_CLUSTERS:
            rate = Bootstrap(value, draws, len(self), self.questions).rate()
            if rate.low is not None:
                return rate
        # Few questions, or none that differs: as if each pair of a question were its mean.
        points = np.repeat(right / pairs, pairs.astype(int))
        return mean_of_points(points, np.repeat(np.arange(len(pairs)), pairs.astype(int)))

    def _gap_closed(self, columns: Floats, drawn: Floats, k: int) -> Rate:
        """Return (decided - cheapest) / (dearest - cheapest); columns as in :meth:`_rates`."""
        import numpy as np

        def closed(totals: Floats) -> Floats:
            cheap, dear = columns.shape[1] - 3, columns.shape[1] - 2
            gap = totals[:, dear] - totals[:, cheap]
            with np.errstate(divide="ignore", invalid="ignore"):
                share: Floats = np.where(gap > 0, (totals[:, k] - totals[:, cheap]) / gap, np.nan)
            return share

        estimate = float(closed(columns.sum(axis=0)[None])[0])
        if math.isnan(estimate):
            return NO_RATE
        found = Bootstrap(estimate, closed(drawn), len(self), self.questions)
        if np.isnan(found.draws).mean() > _MOST_UNDEFINED:
            return Rate(value=estimate, n=len(self))
        return found.rate()
