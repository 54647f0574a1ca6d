"""Consistency and position bias over arrays of outcomes in both orders.

The definitions of JudgeLM (arXiv 2310.17631), over pairs that were read in both orders with an
``ok`` reading in each. In the sample's own frame (1 first, 0 tie, -1 second) a pair is

* **consistent** when both orders give the same outcome, a tie included;
* biased **toward first** when the outcome with the answers as given lies above the one with them
  swapped: whichever answer was shown first gained;
* biased **toward second** when it lies below.

``delta_bias`` is the absolute difference of the two biases, ``total_bias`` their sum, which is
1 - consistency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.metrics.columns import NOTHING
from magistrate.metrics.intervals import Rate, mean_of_points
from magistrate.metrics.totals import rate_of_cells
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.integer]


class PositionBias(Record):
    """How far the outcome depends on which answer is shown first."""

    pairs: int
    """Pairs with an ``ok`` reading in both orders."""
    not_ok: int
    """Pairs with an ``ok`` reading in one order alone: the other is not ``ok`` or was not made."""
    consistent: Rate
    toward_first: Rate
    toward_second: Rate
    delta_bias: Rate
    total_bias: Rate
    shown_first: Rate
    """Share of the single readings that prefer the answer shown first, of those without tie; 1/2
    for a judge without bias, whatever the answers."""


def position_bias(
    as_given: Codes, swapped: Codes, clusters: NDArray[np.generic]
) -> PositionBias | None:
    """Measure how order sways a judge; None when no pair was read in both orders.

    Args:
        as_given: Shape (n,): outcomes with the answers as given; :data:`NOTHING` for none.
        swapped: Shape (n,): outcomes with them swapped, in the sample's own frame.
        clusters: Shape (n,): pairs of one question share a value.
    """
    import numpy as np

    both = (as_given != NOTHING) & (swapped != NOTHING)
    if not both.any():
        return None
    one = (as_given != NOTHING) | (swapped != NOTHING)
    given, other, questions = as_given[both].astype(int), swapped[both].astype(int), clusters[both]
    shift = np.sign(given - other)
    votes = np.concatenate([given, -other])
    voted = votes != 0
    return PositionBias(
        pairs=int(both.sum()),
        not_ok=int((one & ~both).sum()),
        consistent=mean_of_points(shift == 0, questions),
        toward_first=mean_of_points(shift > 0, questions),
        toward_second=mean_of_points(shift < 0, questions),
        delta_bias=rate_of_cells(shift + 1, 3, questions, _delta),
        total_bias=mean_of_points(shift != 0, questions),
        shown_first=mean_of_points(
            (votes > 0)[voted], np.concatenate([questions, questions])[voted]
        ),
    )


def _delta(counts: Floats) -> Floats:
    """Return |toward first - toward second|; counts of shape (..., 3) by shift -1, 0, 1."""
    import numpy as np

    result: Floats = np.abs(counts[..., 2] - counts[..., 0]) / counts.sum(-1)
    return result
