"""Estimators of the probes: an effect, its interval, its p value, the smallest effect to be found.

All effects are means of paired differences: the same pair, judged with and without a change. The
pairs of one question are drawn together, so the question is the unit.

**Interval.** A mean of differences is a ratio of sums over questions; its standard error is the
linearised one over questions, and the quantile is Student's t with one degree of freedom less than
there are questions. Few differences are not 0, often none at all, and then the plain interval is
far too narrow. So two made-up questions are added, one with the largest difference there can be
and one with the smallest: for single pairs this is the adjusted Wald interval of Bonett and Price
(2012, "Adjusted Wald confidence interval for a difference of binomial proportions based on paired
data"), here over questions. The reported effect itself is not adjusted.

**p.** Two-sided, of "the mean difference is 0", by the same standard error, so that an interval
without 0 and a p below 5 % are the same finding.

**Smallest effect.** What the same experiment finds with a power of 80 %: t + 0.84 standard
errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

LEVEL = 0.95
POWER = 0.8
RESAMPLES = 1_000
SEED = 20_240_301


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean of differences and what is known of it."""

    value: float
    low: float
    high: float
    n: int
    """Differences."""
    questions: int
    p: float
    detectable: float
    """The smallest effect, as an absolute difference, that would have been found in 80 of 100."""


def mean_difference(
    differences: ArrayLike, questions: ArrayLike, *, lowest: float = -1.0, highest: float = 1.0
) -> Estimate | None:
    """Return the mean of paired differences with its interval over questions.

    Args:
        differences: Shape (n,), each in [lowest, highest].
        questions: Shape (n,), integers: pairs of one question share a value.
        lowest: The smallest difference that there can be.
        highest: The largest.

    Returns:
        None when there is no difference at all.
    """
    import numpy as np

    values = np.asarray(differences, dtype=np.float64)
    if values.size == 0:
        return None
    sums, counts = _by_question(values, np.asarray(questions))
    adjusted_sums, adjusted_counts = _with_extremes(sums, counts, lowest, highest)
    mean = float(adjusted_sums.sum() / adjusted_counts.sum())
    influence = (adjusted_sums - mean * adjusted_counts) / adjusted_counts.sum()
    return _estimate(float(values.mean()), mean, influence, values.size, len(sums), lowest, highest)


def balanced_difference(
    differences: ArrayLike, groups: ArrayLike, questions: ArrayLike
) -> Estimate | None:
    """Return the mean over groups of the groups' mean differences, each group with equal weight.

    Args:
        differences: Shape (n,), each in [-1, 1].
        groups: Shape (n,), integers.
        questions: Shape (n,), integers; a question may stand in several groups.

    Returns:
        None when there is no difference, or a single group alone.
    """
    import numpy as np

    values, group = np.asarray(differences, dtype=np.float64), np.asarray(groups)
    present = np.unique(group)
    if len(present) < 2:
        return None
    places, question = np.unique(np.asarray(questions), return_inverse=True)
    influence = np.zeros(len(places))
    extra: list[float] = []
    value = centre = 0.0
    for one in present:
        chosen = group == one
        own = values[chosen]
        size = own.size + 2.0
        mean = float(own.sum() / size)
        share = 1 / (len(present) * size)
        influence += np.bincount(
            question[chosen], weights=share * (own - mean), minlength=len(places)
        )
        extra += [share * (1 - mean), share * (-1 - mean)]
        value += float(own.mean()) / len(present)
        centre += mean / len(present)
    whole = np.concatenate([influence, extra])
    return _estimate(value, centre, whole, values.size, len(places), -1.0, 1.0)


def above_tolerance(
    points: ArrayLike, questions: ArrayLike, tolerated: float
) -> tuple[float, float]:
    """Return the one-sided p of "the mean is at most what is tolerated", and the smallest excess.

    The score test with one observation per question: the variance is that of a proportion at the
    tolerated share, the largest that values in [0, 1] can have.

    Args:
        points: Shape (n,), each in [0, 1], n above 0.
        questions: Shape (n,), integers.
        tolerated: In (0, 1).
    """
    import numpy as np

    values = np.asarray(points, dtype=np.float64)
    count = len(np.unique(np.asarray(questions)))
    error = math.sqrt(tolerated * (1 - tolerated) / count)
    # Half an observation is taken off, since shares come in steps.
    excess = float(values.mean()) - tolerated - 0.5 / count
    p = NormalDist().cdf(-excess / error)
    return p, (NormalDist().inv_cdf(LEVEL) + NormalDist().inv_cdf(POWER)) * error + 0.5 / count


@dataclass(frozen=True, slots=True)
class Correlation:
    """A rank correlation with its bootstrap interval."""

    value: float
    low: float
    high: float
    n: int
    questions: int


def rank_correlation(
    first: ArrayLike, second: ArrayLike, questions: ArrayLike, given: ArrayLike | None = None
) -> Correlation | None:
    """Return Spearman's correlation, or the partial one given a third column.

    The interval is the percentile bootstrap over questions, of the correlation of the ranks. The
    partial correlation is that of the residuals of both columns' ranks on the third's.

    Args:
        first: Shape (n,).
        second: Shape (n,).
        questions: Shape (n,), integers.
        given: Shape (n,), what is held constant.

    Returns:
        None with fewer than three pairs, or where a column does not vary.
    """
    import numpy as np
    from scipy.stats import rankdata

    columns = [rankdata(np.asarray(column, dtype=np.float64)) for column in (first, second)]
    if given is not None:
        columns.append(rankdata(np.asarray(given, dtype=np.float64)))
    ranks = np.stack(columns)
    n = ranks.shape[1]
    if n < 3 or (ranks.max(axis=1) == ranks.min(axis=1)).any():
        return None
    places, question = np.unique(np.asarray(questions), return_inverse=True)
    if len(places) < 3:
        return None
    rng = np.random.default_rng(SEED)
    drawn = rng.multinomial(len(places), [1 / len(places)] * len(places), size=RESAMPLES)
    weights = drawn[:, question].astype(np.float64)
    spread = _correlation(ranks, weights)
    # In a resample a column may not vary, or two of them be the same: it has no correlation.
    spread = spread[np.isfinite(spread)]
    value = float(_correlation(ranks, np.ones((1, n)))[0])
    if not np.isfinite(value) or len(spread) < RESAMPLES / 2:
        return None
    low, high = np.quantile(spread, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Correlation(value, min(float(low), value), max(float(high), value), n, len(places))


def _correlation(ranks: Floats, weights: Floats) -> Floats:
    """Return the (partial) correlation for every row of weights; NaN where nothing varies."""
    import numpy as np

    total = weights.sum(axis=1)
    means = weights @ ranks.T / total[:, None]
    products = np.einsum("bn,in,jn->bij", weights, ranks, ranks, optimize=True)
    covariance = products / total[:, None, None] - means[:, :, None] * means[:, None, :]
    deviation = np.sqrt(np.einsum("bii->bi", covariance).clip(min=0))
    with np.errstate(invalid="ignore", divide="ignore"):
        r = covariance / (deviation[:, :, None] * deviation[:, None, :])
        if len(ranks) == 2:
            plain: Floats = r[:, 0, 1]
            return plain
        partial: Floats = (r[:, 0, 1] - r[:, 0, 2] * r[:, 1, 2]) / np.sqrt(
            (1 - r[:, 0, 2] ** 2) * (1 - r[:, 1, 2] ** 2)
        )
    # Rounding may carry a perfect one past its bounds.
    return np.clip(partial, -1, 1)


def _by_question(values: Floats, questions: NDArray[np.generic]) -> tuple[Floats, Floats]:
    """Return the sum of the values and their number, per question."""
    import numpy as np

    _, index = np.unique(questions, return_inverse=True)
    counts: Floats = np.bincount(index).astype(np.float64)
    sums: Floats = np.bincount(index, weights=values).astype(np.float64)
    return sums, counts


def _with_extremes(
    sums: Floats, counts: Floats, lowest: float, highest: float
) -> tuple[Floats, Floats]:
    """Add the two made-up questions.

    Of the square root of the usual size: as large as a question would be too careful where its
    pairs go their own ways, and one pair too bold where they go together.
    """
    import numpy as np

    size = math.sqrt(float(counts.mean()))
    return (
        np.concatenate([sums, [lowest * size, highest * size]]),
        np.concatenate([counts, [size, size]]),
    )


def _estimate(
    value: float,
    centre: float,
    influence: Floats,
    n: int,
    questions: int,
    lowest: float,
    highest: float,
) -> Estimate:
    """Make an estimate from what every question moves the mean by."""
    import numpy as np
    from scipy.special import stdtr, stdtrit

    count = len(influence)
    error = math.sqrt(float(np.square(influence).sum()) * count / (count - 1))
    freedom = count - 1
    quantile = float(stdtrit(freedom, (1 + LEVEL) / 2))
    low, high = centre - quantile * error, centre + quantile * error
    return Estimate(
        value=value,
        low=max(lowest, min(low, value)),
        high=min(highest, max(high, value)),
        n=n,
        questions=questions,
        p=float(2 * stdtr(freedom, -abs(centre) / error)),
        detectable=(quantile + NormalDist().inv_cdf(POWER)) * error,
    )
