"""The whole curve of a cascade with one threshold: what happens at every place it may stand.

One threshold goes for all judges: a pair is settled by the first that is at least so sure. Raising
it asks more of the dearer judges. How many are asked, at what cost, and how many decisions are
right change only where the threshold passes a confidence, so one sort of these gives everything:
exact at every budget, whatever the number of judges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.cascade.tiers import Tiers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_ROUNDING = 1e-9
"""By how much of a pair a limit may be missed: 0.7 x 10 is a little more than 7."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The whole curve: everything after each possible rise of the threshold, K + 1 places.

    At place 0 the first judge settles all. The first to be passed on are pairs of which a judge
    cannot tell how sure it is: they stand at minus infinity.
    """

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

        A part of a place says which part of the pairs of that confidence is passed on. Where even
        place 0 uses more than the limit, it is place 0.
        """
        import numpy as np

        after = int(np.searchsorted(used, limit + _ROUNDING * max(1.0, abs(limit)), side="right"))
        if after == 0:
            return 0.0
        if after == len(used):
            return float(len(used) - 1)
        step = used[after] - used[after - 1]
        return after - 1 + min(1.0, max(0.0, float((limit - used[after - 1]) / step)))

    def settles(self, place: float) -> float | None:
        """Return the least confidence that settles a pair; None where none does."""
        import numpy as np

        rest = self.threshold[math.ceil(place) :]
        known = rest[np.isfinite(rest)]
        return float(known[0]) if len(known) else None


def trace(tiers: Tiers) -> Trace:
    """Return the curve over all thresholds.

    Args:
        tiers: Decisions with labels. A decision that failed is not right; pairs to leave out must
            be left out before.

    Raises:
        InputError: There are no labels.
    """
    import numpy as np

    right = tiers.right.astype(np.float64)
    count = len(tiers.names)
    passed = tiers.reach.ravel()
    order = np.argsort(passed, kind="stable")
    ordered = passed[order]
    gain = (right[:, 1:] - right[:, :-1]).ravel()[order]
    more = tiers.cost[:, 1:].ravel()[order]
    judge = np.tile(np.arange(1, count), len(tiers))[order]
    # Equal confidences are passed together.
    ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else order

    def after(begin: float, changes: Floats) -> Floats:
        return np.concatenate([[begin], begin + np.cumsum(changes)[ends]])

    asked = [np.full(len(ends) + 1, float(len(tiers)))]
    asked += [after(0.0, (judge == tier).astype(np.float64)) for tier in range(1, count)]
    return Trace(
        threshold=ordered[ends],
        asked=np.stack(asked),
        cost=after(float(tiers.cost[:, 0].sum()), more),
        right=after(float(right[:, 0].sum()), gain),
    )


def asked_shares(reach: Floats, place: float, path: Trace) -> Floats:
    """Return with which probability each judge is asked of each pair; shape (n, T).

    Args:
        reach: :attr:`Tiers.reach` of the decisions, shape (n, T - 1).
        place: How far the threshold has risen (:meth:`Trace.place`).
        path: Their trace.
    """
    import numpy as np

    full, part = int(place), place - int(place)
    # Asked with certainty up to the threshold passed last; of the next, only a part.
    asked = np.zeros(reach.shape)
    if full:
        asked[reach <= path.threshold[full - 1]] = 1.0
    if part:
        asked += part * (reach == path.threshold[full])
    found: Floats = np.hstack([np.ones((len(reach), 1)), asked])
    return found


def settled_shares(asked: Floats) -> Floats:
    """Return with which probability each judge decides each pair; shape (n, T), rows sum to 1.

    Args:
        asked: Of :func:`asked_shares`.
    """
    import numpy as np

    found: Floats = asked - np.hstack([asked[:, 1:], np.zeros((len(asked), 1))])
    return found


def value_at(values: Floats, place: float) -> float:
    """Return a column of a trace at a place, between two places on the line between them."""
    full, part = int(place), place - int(place)
    below = float(values[full])
    return below + part * (float(values[full + 1]) - below) if part else below
