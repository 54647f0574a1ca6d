"""The bootstrap over questions, for any statistic that is a function of totals.

    rate = cluster_bootstrap(points, questions)                            # a mean
    rate = cluster_bootstrap(ours - theirs, questions)                     # a paired difference
    rate = cluster_bootstrap(columns, questions, statistic=kappa)          # ratios of counts

The interval is the percentile interval (Efron & Tibshirani 1993, chapter 13). Questions are the
unit: samples of one question are drawn together (Field & Welsh 2007 call it the cluster
bootstrap). With fewer than :data:`~magistrate.metrics.intervals.FEW_CLUSTERS` questions it would
be too narrow; there it is stretched about the estimate by what Student's t with that many degrees
of freedom is wider than the normal distribution, and by sqrt(questions / (questions - 1)).

How it is drawn, exactly or in the limit of many questions: :mod:`magistrate.metrics.draws`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from magistrate.metrics.draws import SEED, question_types, resampled_totals
from magistrate.metrics.intervals import FEW_CLUSTERS, LEVEL, NO_RATE, Rate, student

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[Any]
    Statistic = Callable[[Floats], Floats]
    """From totals of shape (resamples, columns + 1), the last of which is the number of samples,
    to values of shape (resamples,); NaN where a resample has none."""

RESAMPLES = 1_000


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A statistic and what it was in the resamples."""

    estimate: float
    """NaN where the statistic does not exist."""
    draws: Floats
    """Shape (resamples,); NaN in resamples where it does not exist."""
    n: int
    """Samples."""
    clusters: int
    """Questions."""

    @property
    def defined(self) -> Floats:
        """The draws that exist."""
        import numpy as np

        kept: Floats = self.draws[np.isfinite(self.draws)]
        return kept

    def interval(self, level: float = LEVEL) -> tuple[float, float] | None:
        """Return the percentile interval; None with one question or where nothing varies."""
        import numpy as np

        draws = self.defined
        if self.clusters < 2 or not draws.size or not np.isfinite(self.estimate):
            return None
        if draws.min() == draws.max():
            return None
        tail = (1 - level) / 2
        low, high = (float(end) for end in np.quantile(draws, (tail, 1 - tail)))
        stretch = self.stretch()
        low = self.estimate + stretch * min(0.0, low - self.estimate)
        high = self.estimate + stretch * max(0.0, high - self.estimate)
        return low, high

    def stretch(self) -> float:
        """Return by how much wider the interval is made for want of questions, 1 or more."""
        if self.clusters >= FEW_CLUSTERS or self.clusters < 2:
            return 1.0
        wider = student(self.clusters) / NormalDist().inv_cdf(0.5 + LEVEL / 2)
        return wider * math.sqrt(self.clusters / (self.clusters - 1))

    def rate(self) -> Rate:
        """Return the statistic with its 95 % interval."""
        if not math.isfinite(self.estimate):
            return Rate(value=None, n=self.n)
        low, high = self.interval() or (None, None)
        return Rate(value=self.estimate, n=self.n, low=low, high=high)


def cluster_bootstrap(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    statistic: Statistic | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Rate:
    """Return a statistic with its 95 % bootstrap interval over questions.

    Args:
        values: Shape (n,) or (n, k), finite: columns whose totals the statistic needs.
        clusters: Shape (n,), integers; samples of one question share a value.
        statistic: What to compute of totals; the mean of the first column by default.
        resamples: Number of resamples.
        seed: Equal seeds give equal intervals.

    Returns:
        A rate; without value where there are no samples or the statistic does not exist, without
        interval for a single question or where no resample differs.

    Cost: sorting the samples, then nothing that grows with their number.
    """
    found = bootstrap(values, clusters, statistic=statistic, resamples=resamples, seed=seed)
    return NO_RATE if found is None else found.rate()


def bootstrap(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    statistic: Statistic | None = None,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Bootstrap | None:
    """Return the draws themselves; arguments as :func:`cluster_bootstrap`. None without samples."""
    import numpy as np

    columns = np.asarray(values, dtype=np.float64)
    if not len(columns):
        return None
    types = question_types(columns, clusters)
    measure = statistic or mean
    observed = types.observed[None]
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate = float(measure(observed)[0])
        draws = measure(resampled_totals(types, resamples, seed))
    return Bootstrap(estimate, draws, len(columns), types.clusters)


def mean(totals: Floats) -> Floats:
    """Total of the first column over the number of samples."""
    share: Floats = totals[:, 0] / totals[:, -1]
    return share


def ratio(totals: Floats) -> Floats:
    """Total of the first column over that of the second; NaN where that is 0."""
    share: Floats = totals[:, 0] / totals[:, 1]
    return share
