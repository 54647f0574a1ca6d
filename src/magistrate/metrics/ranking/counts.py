"""Battles added up by pair of models, and resampled by question.

All that Bradley-Terry (with ties) and win rates need of a million battles is how often each model
beat each other one, and how often they tied: three numbers per pair of models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from magistrate.metrics.draws import SEED
from magistrate.metrics.ranking.battles import Battles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

_CELLS_HELD = 4_000_000
"""Bound on (resamples x cells), and on (resamples x types of questions), held at once."""
_WEIGHT_UNIT = 5_040
"""Weights are told apart to this fraction: 1/1 to 1/10 exactly."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """The pairs of models that met."""

    models: int
    low: Integers
    """Shape (pairs,): the model of lower place."""
    high: Integers

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.low)


def cells_of(battles: Battles) -> tuple[Pairs, Integers]:
    """Return the pairs that met, and the cell of each battle.

    The cell is ``3 * pair + k``, where k is 0 if the model of lower place won, 1 for a tie and 2
    if the other won.
    """
    import numpy as np

    k = len(battles.models)
    turned = battles.first > battles.second
    low = np.where(turned, battles.second, battles.first)
    high = np.where(turned, battles.first, battles.second)
    met, pair = np.unique(low * k + high, return_inverse=True)
    outcome = np.where(turned, -battles.outcome, battles.outcome)
    return Pairs(k, met // k, met % k), 3 * pair + (1 - outcome)


def counts_of(pairs: Pairs, cells: Integers, weight: Floats) -> Floats:
    """Return the counts, shape (pairs, 3): wins of the lower place, ties, wins of the higher."""
    import numpy as np

    added = np.bincount(cells, weights=weight, minlength=3 * len(pairs))
    return added.astype(np.float64).reshape(-1, 3)


def resampled_counts(
    pairs: Pairs, cells: Integers, battles: Battles, resamples: int, seed: int = SEED
) -> Iterator[Floats]:
    """Draw questions with replacement and yield the counts of the resamples.

    Questions with equal counts are one type, and how often each type occurs is multinomial: the
    bootstrap over questions itself.

    Yields:
        Parts of shape (some, pairs, 3), ``resamples`` in all.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    matrix, questions = _types(len(pairs), cells, battles)
    total = int(questions.sum())
    widest = max(matrix.shape)
    step = max(1, _CELLS_HELD // widest)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        drawn = rng.multinomial(total, questions / total, size=size)
        yield (matrix.T @ drawn.T.astype(np.float64)).T.reshape(size, -1, 3)


def _types(pairs: int, cells: Integers, battles: Battles) -> tuple[Any, Integers]:
    """Return the counts of every type of question (sparse), and how many questions there are."""
    import numpy as np
    from scipy.sparse import csr_array

    sequence = np.argsort(battles.question, kind="stable")
    question = battles.question[sequence]
    cell, weight = cells[sequence], battles.weight[sequence]
    begins = np.flatnonzero(np.append(True, question[1:] != question[:-1]))
    # A question's fingerprint: the sum of random numbers, one for each cell, times the weights.
    codes = np.random.default_rng(0).integers(1, 2**63, size=3 * pairs, dtype=np.uint64)
    units = np.round(weight * _WEIGHT_UNIT).astype(np.uint64)
    fingerprint = np.add.reduceat(codes[cell] * units, begins)
    _, example, count = np.unique(fingerprint, return_index=True, return_counts=True)
    ends = np.append(begins[1:], len(cell))
    lengths = (ends - begins)[example]
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    inside = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
    taken = np.repeat(begins[example], lengths) + inside
    matrix = csr_array((weight[taken], cell[taken], indptr), shape=(len(example), 3 * pairs))
    return matrix, count


def points_and_weights(pairs: Pairs, counts: Floats) -> tuple[Floats, Floats]:
    """Return every model's points (wins plus half the ties) and battles.

    Args:
        pairs: The pairs that met.
        counts: Shape (..., pairs, 3).

    Returns:
        Two arrays of shape (..., models).
    """
    import numpy as np

    into_low = np.zeros((len(pairs), pairs.models))
    into_high = np.zeros_like(into_low)
    into_low[np.arange(len(pairs)), pairs.low] = 1
    into_high[np.arange(len(pairs)), pairs.high] = 1
    half = counts[..., 1] / 2
    points = (counts[..., 0] + half) @ into_low + (counts[..., 2] + half) @ into_high
    return points, counts.sum(-1) @ (into_low + into_high)
