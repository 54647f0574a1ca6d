"""Intervals of statistics that are functions of counts: F1, kappa, a difference of shares.

Resampling whole questions needs only the counts of each question (:mod:`magistrate.metrics.draws`),
so such an interval costs the same for a thousand pairs as for a million.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from magistrate.metrics.draws import question_types, resampled_totals
from magistrate.metrics.intervals import FEW_CLUSTERS, LEVEL, NO_RATE, RESAMPLES, Rate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Statistic = Callable[[Floats], Floats]
    """Takes counts of shape (..., cells) and returns shape (...); NaN where it is not defined."""


def rate_of_cells(
    cells: NDArray[np.int64],
    size: int,
    clusters: NDArray[np.generic],
    statistic: Statistic,
) -> Rate:
    """Return a statistic of counts with its percentile bootstrap interval over questions.

    There is no interval with fewer than :data:`FEW_CLUSTERS` questions, where it would be too
    narrow, nor where no resample differs from another (all pairs right, say).

    Args:
        cells: Shape (n,): the cell that each sample counts in, from 0.
        size: Number of cells.
        clusters: Shape (n,): samples of one question share a value.
        statistic: Function of the counts.
    """
    return rates_of_cells(cells, size, clusters, {"": statistic})[""]


def rates_of_cells(
    cells: NDArray[np.int64],
    size: int,
    clusters: NDArray[np.generic],
    statistics: dict[str, Statistic],
) -> dict[str, Rate]:
    """Return several statistics of the same counts; the resamples are drawn once.

    Arguments as :func:`rate_of_cells`.
    """
    import numpy as np

    n = len(cells)
    if not n:
        return dict.fromkeys(statistics, NO_RATE)
    columns = np.zeros((n, size))
    columns[np.arange(n), cells] = 1
    types = question_types(columns, clusters)
    observed = types.observed[:size]
    drawn = None
    if types.clusters >= FEW_CLUSTERS:
        drawn = np.rint(resampled_totals(types, RESAMPLES)[:, :size])
    return {name: _rate(statistic, observed, drawn, n) for name, statistic in statistics.items()}


def _rate(statistic: Statistic, observed: Floats, drawn: Floats | None, n: int) -> Rate:
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(statistic(observed))
        if not np.isfinite(value):
            return NO_RATE
        resampled = statistic(drawn) if drawn is not None else np.zeros(0)
    resampled = resampled[np.isfinite(resampled)]
    if not len(resampled) or resampled.min() == resampled.max():
        return Rate(value=value, n=n)
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(resampled, (tail, 1 - tail))
    return Rate(value=value, n=n, low=min(float(low), value), high=max(float(high), value))
