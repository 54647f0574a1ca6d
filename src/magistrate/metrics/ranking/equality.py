"""Tests of whether two models are equally strong, for the ranks that the data allow.

What a question says of two models is one number, its contribution to their difference, and the
difference is the sum over questions. Were the models equal, each contribution could as well have
the other sign: the p-value is the share of random signs that give a sum at least as large (the
sign-flipping score test; Hemerik, Goeman & Finos 2020, "Robust testing in generalized linear models
by sign flipping score contributions"). It needs no normal distribution, takes the question as the
unit, is a sign test where two models simply met, and can never be small with few questions: three
questions give 1/4 at best.

The contributions are:

* ``bradley-terry``: effective scores at the fit in which both models have one strength;
* ``win-rate``: each question's part in the two shares, at the share of both together;
* ``elo``: the points that the question's battles moved between the ratings.

Where both models have :data:`MANY_QUESTIONS` or more, their difference is compared with its
standard deviation in the resamples instead, which then agrees and is much cheaper. With style held
constant that is done throughout, with Student's t, and below
:data:`~magistrate.metrics.intervals.FEW_CLUSTERS` questions no two models are told apart.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from magistrate.metrics.draws import SEED
from magistrate.metrics.intervals import FEW_CLUSTERS
from magistrate.metrics.ranking.battles import Battles
from magistrate.metrics.ranking.counts import Pairs, points_and_weights
from magistrate.metrics.ranking.davidson import ELO, chances, fit_equal
from magistrate.metrics.ranking.estimates import BASE, Estimate, Method

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

MANY_QUESTIONS = 500
"""From so many questions of both models on the resamples' standard deviation is used."""
FLIPS = 4_999
"""Random signs."""
_HEAVY = 200
"""So many contributions, the largest, are flipped; the sum of the rest is drawn as normal."""
_HELD = 4_000_000
"""Bound on the numbers held at once."""


def equality_p(
    battles: Battles,
    method: Method,
    pairs: Pairs,
    cells: Integers,
    counts: Floats,
    component: Integers,
    estimate: Estimate,
    spread: Floats,
    questions: Integers,
) -> Floats:
    """Return two-sided p-values, shape (models, models), 1 between groups that never met.

    Args:
        battles: The battles that were ranked.
        method: How.
        pairs: The pairs that met.
        cells: Shape (battles,), see :func:`~magistrate.metrics.ranking.counts.cells_of`.
        counts: Shape (pairs, 3).
        component: Shape (models,).
        estimate: Strengths, anchored.
        spread: Shape (models, models): the variance of each difference.
        questions: Shape (models,): how many questions each model has.
    """
    import numpy as np

    p = np.ones_like(spread)
    one, other = np.triu_indices(len(component), 1)
    met = component[one] == component[other]
    one, other = one[met], other[met]
    if estimate.covariance is not None:
        fewest = np.minimum(questions[one], questions[other])
        found = _by_spread(estimate, spread, one, other, fewest - 1)
        found[fewest < FEW_CLUSTERS] = 1
        p[one, other] = found
        return np.minimum(p, p.T)
    few = np.minimum(questions[one], questions[other]) < MANY_QUESTIONS
    p[one[~few], other[~few]] = _by_spread(estimate, spread, one[~few], other[~few], None)
    one, other = one[few], other[few]
    contributions = _Contributions(battles, method, pairs, cells, counts, estimate)
    step = max(1, _HELD // contributions.numbers_each)
    for start in range(0, len(one), step):
        part = slice(start, start + step)
        p[one[part], other[part]] = sign_flip_p(
            contributions.of(one[part], other[part]), contributions.widen
        )
    return np.minimum(p, p.T)


def sign_flip_p(contributions: Floats, widen: float = 1.0, seed: int = SEED) -> Floats:
    """Return the p-value of each column's sum, shape (columns,).

    Where hardly any random sum reaches the observed one, Hoeffding's bound (1963) on the share of
    all signs that do says more, and is used.

    Args:
        contributions: Shape (questions, columns).
        widen: By how much the observed sum varies more than the random ones, 1 or more.
        seed: Equal seeds give equal p-values.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    observed = np.abs(contributions.sum(axis=0)) / widen
    heavy, rest = contributions, np.zeros(contributions.shape[1])
    if len(contributions) > _HEAVY:
        sequence = np.argpartition(np.abs(contributions), -_HEAVY, axis=0)
        heavy = np.take_along_axis(contributions, sequence[-_HEAVY:], axis=0)
        light = np.take_along_axis(contributions, sequence[:-_HEAVY], axis=0)
        rest = np.sqrt(np.square(light).sum(axis=0))
    signs = rng.choice(np.array([-1.0, 1.0]), size=(FLIPS, len(heavy)))
    sums = np.abs(signs @ heavy + rng.standard_normal((FLIPS, 1)) * rest)
    # Sums of the same numbers in another sequence are equal, whatever rounding makes of them.
    size = np.abs(contributions).sum(axis=0)
    reached: Floats = (sums >= observed - 1e-9 * size).sum(axis=0)
    energy = np.square(contributions).sum(axis=0)
    z2 = np.divide(observed**2, energy, out=np.zeros_like(energy), where=energy > 0)
    p: Floats = np.minimum((1 + reached) / (1 + FLIPS), 2 * np.exp(-z2 / 2))
    return p


def _by_spread(
    estimate: Estimate, spread: Floats, one: Integers, other: Integers, freedom: Integers | None
) -> Floats:
    """Return p-values of differences in standard deviations; normal without degrees of freedom."""
    import numpy as np
    from scipy.special import ndtr, stdtr

    gap = np.abs(estimate.value[one] - estimate.value[other])
    error = np.sqrt(spread[one, other])
    # Where nothing varies, so far the data say nothing of the spread.
    z = np.divide(gap, error, out=np.zeros_like(gap), where=error > 0)
    tail = ndtr(-z) if freedom is None else stdtr(np.maximum(freedom, 1), -z)
    return np.asarray(2 * tail, dtype=np.float64)


class _Contributions:
    """What every question says of two models' difference."""

    def __init__(
        self,
        battles: Battles,
        method: Method,
        pairs: Pairs,
        cells: Integers,
        counts: Floats,
        estimate: Estimate,
    ) -> None:
        import numpy as np

        self._method, self._pairs, self._counts = method, pairs, counts
        self._estimate = estimate
        names, question = np.unique(battles.question, return_inverse=True)
        self._questions = len(names)
        k = len(battles.models)
        # The common strength of two models and all others' are fitted to the same questions, which
        # makes contributions smaller than they would be at the truth (the correction of robust
        # covariances for clusters and parameters). Of two models alone nothing is fitted.
        fitted = {"elo": 0, "win-rate": min(1, k - 2), "bradley-terry": k - 2}[method]
        total, questions = float(counts.sum()), self._questions
        self.widen = 1.0
        if fitted > 0:
            left = max(total - fitted, 1.0) * max(questions - 1, 1) / questions
            self.widen = math.sqrt(total / left)
        self.numbers_each = max(self._questions, 3 * len(pairs), (k + 1) ** 2, FLIPS)
        both = np.concatenate([battles.first, battles.second])
        twice = np.tile(question, 2)
        if method == "elo":
            assert estimate.moved is not None
            self._moved = self._sums(twice, both, np.append(estimate.moved, -estimate.moved), k)
        elif method == "win-rate":
            scored = np.append(1 + battles.outcome, 1 - battles.outcome) / 2
            weight = np.tile(battles.weight, 2)
            self._scored = self._sums(twice, both, scored * weight, k)
            self._fought = self._sums(twice, both, weight, k)
        else:
            self._cells = self._sums(question, cells, battles.weight, 3 * len(pairs))

    def _sums(self, question: Integers, column: Integers, value: Floats, columns: int) -> Any:
        """Return sums by question and column, a sparse matrix."""
        from scipy.sparse import coo_array

        return coo_array((value, (question, column)), shape=(self._questions, columns)).tocsc()

    def of(self, one: Integers, other: Integers) -> Floats:
        """Return contributions to the differences of pairs of models, shape (questions, pairs)."""
        if self._method == "elo":
            moved: Floats = self._moved[:, one].toarray() - self._moved[:, other].toarray()
            return moved
        if self._method == "win-rate":
            return self._of_shares(one, other)
        return self._of_strengths(one, other)

    def _of_shares(self, one: Integers, other: Integers) -> Floats:
        points, fought = points_and_weights(self._pairs, self._counts)
        common = (points[one] + points[other]) / (fought[one] + fought[other])

        def part(place: Integers) -> Floats:
            scored, met = self._scored[:, place].toarray(), self._fought[:, place].toarray()
            said: Floats = (scored - common * met) / fought[place]
            return said

        return part(one) - part(other)

    def _of_strengths(self, one: Integers, other: Integers) -> Floats:
        import numpy as np

        estimate, pairs = self._estimate, self._pairs
        values, direction = fit_equal(
            pairs, self._counts, (estimate.value - BASE) / ELO, estimate.log_tie, one, other
        )
        gap = values[:, pairs.low] - values[:, pairs.high]
        ties = np.isfinite(estimate.log_tie)
        win, tie, loss = chances(gap, values[:, -1:] if ties else -np.inf)
        along = (direction[:, pairs.low] - direction[:, pairs.high]) / 2
        lead = (win - loss) * along
        along_tie = direction[:, -1:] if ties else np.zeros((len(one), 1))
        # By cell: the lower place won, a tie, the higher won.
        score = np.stack([along - lead, -lead + along_tie, -along - lead], axis=-1)
        score -= (tie * along_tie)[..., None]
        said: Floats = self._cells @ score.reshape(len(one), -1).T
        return said
