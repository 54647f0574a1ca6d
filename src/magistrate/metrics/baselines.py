"""What no judge is needed for: rules that a judge must beat on the same samples.

``longer wins`` prefers the answer with more characters (equal lengths tie), ``first wins`` the one
that stands first in the input, ``random`` throws a fair coin between the two and never says tie.
The coin is not thrown here: its rate is its expectation, half a point on every decisive pair.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.metrics.compact import answer_length, sign
from magistrate.metrics.intervals import Rate, mean_of_points
from magistrate.records import Preference, Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BY_SIGN: dict[int, Preference] = {1: "first", 0: "tie", -1: "second"}


def longer_code(sample: Sample) -> int:
    """Return 1, 0 or -1: whether the first answer of a pair is longer, as long, or shorter."""
    first, second = sample.answers
    return sign(answer_length(first) - answer_length(second))


def longer_wins(sample: Sample) -> Preference:
    """Return the longer answer of a pair, in characters; equal lengths are a tie."""
    return _BY_SIGN[longer_code(sample)]


def coin(gold: NDArray[np.integer], clusters: NDArray[np.generic]) -> Rate:
    """Return the expected share right of a fair coin between first and second.

    Args:
        gold: Shape (n,), the true outcomes as 1, 0 (tie), -1; a coin never says tie.
        clusters: Shape (n,): pairs of one question share a value.
    """
    return mean_of_points((gold != 0) / 2, clusters)
