"""How a judge's scores go with gold scores: Pearson, Spearman and Kendall.

Intervals take Fisher's transformation: standard error ``1 / sqrt(n - 3)`` for Pearson,
``sqrt((1 + r^2 / 2) / (n - 3))`` for Spearman (Bonett and Wright 2000), and
``sqrt(0.437 / (n - 4))`` for Kendall's tau-b (Fieller, Hartley and Pearson 1957). Answers to one
question are not independent, so ``n`` is there the number of questions, which is conservative.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING

from magistrate.metrics.intervals import LEVEL, NO_RATE, Rate
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Correlations(Record):
    """Three correlations of the same scores, each in [-1, 1]; no value where nothing varies."""

    pearson: Rate
    spearman: Rate
    kendall: Rate
    """tau-b, which allows for ties."""


def correlate(said: Floats, gold: Floats, clusters: NDArray[np.generic]) -> Correlations:
    """Correlate a judge's scores with gold scores.

    Args:
        said: Shape (n,); pairs with a NaN on either side are left out.
        gold: Shape (n,).
        clusters: Shape (n,): answers to one question share a value.
    """
    import numpy as np
    from scipy import stats

    known = ~(np.isnan(said) | np.isnan(gold))
    said, gold = said[known], gold[known]
    n = len(said)
    if n < 2 or said.min() == said.max() or gold.min() == gold.max():
        return Correlations(pearson=NO_RATE, spearman=NO_RATE, kendall=NO_RATE)
    questions = len(np.unique(clusters[known]))
    pearson = float(np.corrcoef(said, gold)[0, 1])
    ranks = stats.rankdata(said), stats.rankdata(gold)
    spearman = float(np.corrcoef(*ranks)[0, 1])
    kendall = float(stats.kendalltau(said, gold).statistic)
    return Correlations(
        pearson=_fisher(pearson, n, _root(1.0, questions - 3)),
        spearman=_fisher(spearman, n, _root(1 + spearman**2 / 2, questions - 3)),
        kendall=_fisher(kendall, n, _root(0.437, questions - 4)),
    )


def _root(above: float, below: int) -> float:
    return math.sqrt(above / below) if below > 0 else math.inf


def _fisher(value: float, n: int, error: float) -> Rate:
    """Return a correlation with its interval; without one where it is exact or too few."""
    if not math.isfinite(error) or abs(value) >= 1 - 1e-12:
        return Rate(value=max(-1.0, min(1.0, value)), n=n)
    half = NormalDist().inv_cdf(0.5 + LEVEL / 2) * error
    centre = math.atanh(value)
    return Rate(value=value, n=n, low=math.tanh(centre - half), high=math.tanh(centre + half))
