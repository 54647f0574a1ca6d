"""Rates and the intervals that they are reported with.

Two kinds of interval, both at 95 %:

* a **proportion** (each sample counts 0 or 1, samples independent): Wilson's score interval
  (Wilson 1927), which keeps inside [0, 1] and behaves for few samples and for shares near 0 or 1;
* any other **mean** (half points for ties, scores, several samples of one question): the
  percentile bootstrap over questions, so that samples of one question are drawn together.

How resamples are drawn: :mod:`magistrate.metrics.draws`; statistics other than means:
:mod:`magistrate.metrics.resampling`.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

from magistrate.metrics.draws import SEED as SEED
from magistrate.metrics.draws import QuestionTypes, question_types, resampled_totals
from magistrate.records import Record

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

LEVEL = 0.95
RESAMPLES = 2_000

_EQUAL = 1e-9
"""Means of questions that differ less than this differ by rounding alone."""

FEW_CLUSTERS = 20
"""Below this many questions the bootstrap is too narrow; means of points then use Wilson's."""

_STUDENT_T = (
    12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.306, 2.2622, 2.2281, 2.201, 2.1788,
    2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.093,
)  # fmt: skip
"""Student's t at 97.5 % for 1, 2, ... degrees of freedom."""


class Rate(Record):
    """A share or mean with its number of samples and its 95 % interval.

    Without samples all but ``n`` is None; NaN never occurs.
    """

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None


NO_RATE = Rate(value=None, n=0)


def wilson(share: float, n: float, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval of a proportion.

    Args:
        share: Observed share, in [0, 1]. It need not be a whole number of ``n``-ths: for the mean
            of any values in [0, 1] the interval is conservative, because their variance is at
            most ``share * (1 - share)``.
        n: Number of samples, above 0.
        level: Coverage, in (0, 1).
    """
    z2 = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # Rounding may leave the observed share a hair outside at 0 and 1, where it is an end point.
    return max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share))


def proportion(successes: float, n: int) -> Rate:
    """Return ``successes / n`` with Wilson's interval; no value when ``n`` is 0."""
    if n == 0:
        return NO_RATE
    low, high = wilson(successes / n, n)
    return Rate(value=successes / n, n=n, low=low, high=high)


def clopper_pearson(successes: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the exact interval of a proportion (Clopper & Pearson 1934).

    It covers at least ``level`` of the time whatever the true share, and is wider than Wilson's,
    which covers that often on average. Use it where a guarantee is wanted.

    Args:
        successes: From 0 to ``n``.
        n: Number of independent samples, above 0.
        level: Coverage, in (0, 1).
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = betaincinv(successes, n - successes + 1, tail) if successes else 0.0
    high = betaincinv(successes + 1, n - successes, 1 - tail) if successes < n else 1.0
    return float(low), float(high)


def mean_of_points(points: ArrayLike, clusters: ArrayLike) -> Rate:
    """Return the mean of values in [0, 1], such as 1 for a win and 1/2 for a tie.

    The interval is Wilson's when the values are 0 or 1 and no question has two samples. It is the
    bootstrap over questions otherwise, unless there are fewer than :data:`FEW_CLUSTERS` questions
    or nothing varies between them: then Wilson's with the number of questions as ``n``, which is
    conservative where the bootstrap would be too narrow.

    Args:
        points: Shape (n,), each in [0, 1].
        clusters: Shape (n,), integers; samples of one question share a value.

    Returns:
        A rate whose interval mirrors exactly when every point ``p`` becomes ``1 - p``.
    """
    import numpy as np

    values = np.asarray(points, dtype=np.float64)
    if values.size == 0:
        return NO_RATE
    types = question_types(values, clusters)
    sums, counts = types.totals.T
    n, value = int(values.size), float(values.mean())
    is_proportion = bool((counts == 1).all() and np.isin(sums, (0.0, 1.0)).all())
    if is_proportion:
        return proportion(float(values.sum()), n)
    clusters_seen = types.clusters
    if clusters_seen < FEW_CLUSTERS or np.ptp(sums / counts) < _EQUAL:
        low, high = wilson(value, clusters_seen)
    else:
        low, high = _mirrored_bootstrap(types)
    return Rate(value=value, n=n, low=min(low, value), high=max(high, value))


def mean_of_scores(scores: ArrayLike, clusters: ArrayLike) -> Rate:
    """Return the mean of scores on any scale, with an interval over questions.

    The interval is the bootstrap; below :data:`FEW_CLUSTERS` questions Student's t, which is wider.
    Where nothing varies there is none: so far the data say nothing of the spread.

    Args:
        scores: Shape (n,), finite.
        clusters: Shape (n,), integers; samples of one question share a value.
    """
    import numpy as np

    values = np.asarray(scores, dtype=np.float64)
    if values.size == 0:
        return NO_RATE
    types = question_types(values, clusters)
    n, value, questions = int(values.size), float(values.mean()), types.clusters
    if questions == 1 or values.min() == values.max():
        return Rate(value=value, n=n)
    if questions < FEW_CLUSTERS:
        low, high = _student(types)
    else:
        low, high = _bootstrap(types)
    return Rate(value=value, n=n, low=min(low, value), high=max(high, value))


def _mirrored_bootstrap(types: QuestionTypes) -> tuple[float, float]:
    """Bootstrap such that points ``p`` and ``1 - p`` get exactly mirrored intervals.

    Both are computed from one of the two, chosen by content; a distribution that is its own
    mirror image gets an interval symmetric about 1/2.
    """
    import numpy as np

    sums, counts = types.totals.T
    order = np.lexsort((counts, counts - sums))
    mirrored = np.stack((counts[order] - sums[order], counts[order]), axis=1)
    mirror = QuestionTypes(mirrored, types.questions[order])
    mine, other = ([*t.totals.T.ravel(), *t.questions] for t in (types, mirror))
    if mine == other:
        low, high = _bootstrap(types)
        half = max(0.0, (high - low) / 2)
        return 0.5 - half, 0.5 + half
    if mine < other:
        return _bootstrap(types)
    low, high = _bootstrap(mirror)
    return 1 - high, 1 - low


def _bootstrap(types: QuestionTypes) -> tuple[float, float]:
    """Return the percentile bootstrap interval of (sum of values) / (number of samples)."""
    import numpy as np

    sums, counts = resampled_totals(types, RESAMPLES).T
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(sums / counts, (tail, 1 - tail))
    return float(low), float(high)


def student(clusters: int) -> float:
    """Return by how many standard errors a 95 % interval of few questions (2 to 20) reaches."""
    return _STUDENT_T[clusters - 2]


def _student(types: QuestionTypes) -> tuple[float, float]:
    """Return mean ± t standard errors of a ratio of sums over questions (linearised)."""
    import numpy as np

    sums, counts = types.totals.T
    total, (value, samples) = types.clusters, types.observed
    mean = value / samples
    squares = float(types.questions @ np.square(sums - mean * counts))
    half = student(total) * math.sqrt(squares * total / (total - 1)) / samples
    return mean - half, mean + half
