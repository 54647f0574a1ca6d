"""Resampling questions: the totals that a bootstrap over questions would see.

A statistic that is a function of totals (a mean is one total over another, F1 and kappa are
functions of counts) needs of each resample only the totals of its columns. So the bootstrap over
questions is drawn without touching samples:

* questions with equal totals are one **type**, and how often each type occurs in a resample is
  multinomial. This is the bootstrap itself, at a cost that depends on the number of types alone;
* where there are more types than :data:`MOST_TYPES`, the :data:`HEAVY` types of greatest leverage
  are drawn so, and the total of all others is drawn from the normal distribution with the mean and
  covariance that resampling gives it. With thousands of questions, none of which weighs much, the
  two cannot be told apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

SEED = 20_240_301

MOST_TYPES = 2_000
"""Up to so many types of questions the resamples are drawn exactly."""
HEAVY = 1_000
"""So many types are drawn exactly where there are more than :data:`MOST_TYPES`."""
_TYPES_PER_DRAW = 500_000
"""Bound on (resamples x types) held at once."""


@dataclass(frozen=True, slots=True)
class QuestionTypes:
    """Questions grouped by their totals; sorted, so the sequence of samples is no matter."""

    totals: Floats
    """Shape (types, columns): totals of one question; the last column is its number of samples."""
    questions: NDArray[np.int64]
    """Shape (types,): how many questions have these totals."""

    @property
    def clusters(self) -> int:
        """Number of questions."""
        return int(self.questions.sum())

    @property
    def observed(self) -> Floats:
        """Shape (columns,): totals over all questions."""
        total: Floats = self.questions @ self.totals
        return total


def question_types(values: ArrayLike, clusters: ArrayLike) -> QuestionTypes:
    """Group samples into questions, and questions into types.

    Args:
        values: Shape (n,) or (n, k), finite.
        clusters: Shape (n,), integers; samples of one question share a value.
    """
    import numpy as np

    columns = np.asarray(values, dtype=np.float64)
    columns = columns[:, None] if columns.ndim == 1 else columns
    index = _dense(np.asarray(clusters))
    counts = np.bincount(index)
    sums = [np.bincount(index, weights=column) for column in columns.T]
    totals = np.stack([*sums, counts.astype(np.float64)], axis=1)[counts > 0]
    # What differs only by the sequence of additions is one type.
    totals = totals.round(9)
    totals = totals[np.lexsort(totals.T[::-1])]
    first = np.ones(len(totals), dtype=bool)
    first[1:] = (totals[1:] != totals[:-1]).any(axis=1)
    places = np.flatnonzero(first)
    return QuestionTypes(totals[places], np.diff(np.append(places, len(totals))))


def _dense(clusters: NDArray[Any]) -> NDArray[np.int64]:
    """Return small numbers for clusters: themselves where they are small already."""
    import numpy as np

    if clusters.dtype.kind in "iu" and len(clusters):
        small = clusters.min() >= 0 and clusters.max() < 4 * len(clusters) + 1_000
        if small:
            return clusters.astype(np.int64)
    index: NDArray[np.int64] = np.unique(clusters, return_inverse=True)[1]
    return index


def resampled_totals(types: QuestionTypes, resamples: int, seed: int = SEED) -> Floats:
    """Draw the totals of resamples, each of as many questions as there are.

    Returns:
        Shape (resamples, columns), columns as in :attr:`QuestionTypes.totals`.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    if len(types.totals) <= MOST_TYPES:
        share = types.questions / types.clusters
        drawn = _multinomial(types.clusters, share, resamples, rng)
        return np.concatenate([part @ types.totals for part in drawn])
    mean = types.observed / types.clusters
    spread = types.totals - mean
    scale = np.sqrt(types.questions @ np.square(spread))
    leverage = np.abs(np.divide(spread, scale, out=np.zeros_like(spread), where=scale > 0)).max(1)
    sequence = np.argsort(-leverage, kind="stable")
    heavy, rest = sequence[:HEAVY], sequence[HEAVY:]
    weights = types.questions[rest]
    others = int(weights.sum())
    centre = weights @ types.totals[rest] / others
    away = types.totals[rest] - centre
    covariance = (away * weights[:, None]).T @ away / others
    share = np.append(types.questions[heavy], others) / types.clusters
    drawn = _multinomial(types.clusters, share, resamples, rng)
    how_many = np.concatenate([part[:, -1] for part in drawn])
    totals = np.concatenate([part[:, :-1] @ types.totals[heavy] for part in drawn])
    noise = rng.standard_normal((resamples, len(centre))) @ _root(covariance).T
    result: Floats = totals + how_many[:, None] * centre + np.sqrt(how_many)[:, None] * noise
    return result


def _multinomial(
    clusters: int, share: Floats, resamples: int, rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Draw how often each type occurs, in parts that do not take much memory each."""
    step = max(1, _TYPES_PER_DRAW // len(share))
    return [
        rng.multinomial(clusters, share, size=min(step, resamples - start))
        for start in range(0, resamples, step)
    ]


def _root(covariance: Floats) -> Floats:
    """Return a matrix whose product with its transpose is the covariance."""
    import numpy as np

    values, vectors = np.linalg.eigh(covariance)
    root: Floats = vectors * np.sqrt(np.clip(values, 0, None))
    return root
