"""Tests of all pairs of models together.

Equalities are not free of each other: of three models, once two are known to differ, the third can
equal one of them at most. Shaffer (1986, "Modified sequentially rejective multiple test
procedures") puts that into Holm's procedure: each p-value is multiplied not by the number of
hypotheses that are left but by how many of them can still be true together. The chance of even one
false difference in the whole table keeps below the level, whatever the dependence of the tests.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def adjusted_pairs(p: Floats) -> Floats:
    """Return p-values of all pairs, adjusted for each other.

    Args:
        p: Shape (models, models), symmetric, in [0, 1].

    Returns:
        The same shape, 1 on the diagonal.
    """
    import numpy as np

    one, other = np.triu_indices(len(p), 1)
    raw = p[one, other]
    sequence = np.argsort(raw, kind="stable")
    steps = np.minimum(1, raw[sequence] * np.array(_still_true(len(p)), dtype=np.float64))
    adjusted = np.ones_like(p)
    one, other = one[sequence], other[sequence]
    adjusted[one, other] = adjusted[other, one] = np.maximum.accumulate(steps)
    return adjusted


@lru_cache(maxsize=64)
def _still_true(models: int) -> tuple[int, ...]:
    """Return how many equalities can hold at most once 0, 1, 2, ... of them are known not to.

    >>> _still_true(3)
    (3, 1, 1)
    >>> _still_true(4)
    (6, 3, 3, 3, 2, 1)
    """
    # Bit n of possible[m]: groups of equals among m models can make n equal pairs.
    possible = [1]
    for size in range(1, models + 1):
        bits = 0
        for group in range(1, size + 1):
            bits |= possible[size - group] << (group * (group - 1) // 2)
        possible.append(bits)
    pairs = models * (models - 1) // 2
    return tuple(
        (possible[models] & ((1 << (pairs - known + 1)) - 1)).bit_length() - 1
        for known in range(pairs)
    )
