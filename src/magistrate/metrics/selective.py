"""What a judge's confidence is good for: does it know which of its decisions are right?

Decisions are sorted by confidence, the surest first. With e_i = 1 where decision i is wrong and
k of n decisions kept:

* **risk** at coverage k/n: (e_1 + ... + e_k) / k; **accuracy** is 1 - risk.
* **AURC** (Geifman and El-Yaniv 2017, arXiv 1705.08500): the mean of the risk over k = 1..n.
  **Excess AURC** (Geifman et al. 2019, arXiv 1805.08206) is what it is above that of a perfect
  order, in which all right decisions come first.
* **AUROC**: how often a right decision is surer than a wrong one; ties count half.
* **buckets**: five groups of equal size by rank; **top half** against a random half, as in arXiv
  2403.02839 (a random half is as good as all, in expectation, so all decisions stand for it).

Decisions of equal confidence are in no order: every number is the mean over all their orders, not
what one happens to give. Intervals are over questions. Those of AURC and AUROC are bootstraps of
the linearised statistic: each decision's influence on it (Efron 1982, the infinitesimal jackknife;
for AUROC DeLong's components, with Obuchowski's 1997 sum over questions).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from magistrate.metrics.intervals import NO_RATE, Rate, mean_of_points, mean_of_scores
from magistrate.metrics.resampling import cluster_bootstrap, ratio
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

BUCKETS = 5
CURVE = tuple(step / 20 for step in range(1, 21))
"""Coverages at which the curve of accuracy is told."""


class Point(Record):
    """One point of the curve: the surest decisions, and how many of them are right."""

    coverage: float
    accuracy: Rate


class Selective(Record):
    """How well confidence tells right decisions from wrong ones."""

    n: int
    accuracy: Rate
    """Share right of all decisions; also what a random half would have."""
    aurc: Rate
    """Area under the curve of risk; lower is better, ``1 - accuracy`` is a random order's."""
    excess_aurc: float | None
    """What is above a perfect order's."""
    auroc: Rate
    """1/2 is a random order's; no value where all are right or all wrong."""
    buckets: tuple[Rate, ...]
    """Share right in five groups of equal size, the surest first."""
    top_half: Rate
    """Share right of the surer half."""
    top_half_gain: Rate
    """Top half less all decisions, on the same resamples."""


def measure_selective(confidence: ArrayLike, right: ArrayLike, clusters: ArrayLike) -> Selective:
    """Measure a confidence.

    Args:
        confidence: Finite numbers, higher is surer; shape (n,).
        right: Shape (n,), bools.
        clusters: Shape (n,); samples of one question share a value.
    """
    import numpy as np

    sure = np.asarray(confidence, dtype=np.float64)
    good = np.asarray(right, dtype=bool)
    questions = np.unique(np.asarray(clusters), return_inverse=True)[1]
    n = len(sure)
    if not n:
        return Selective(
            n=0,
            accuracy=NO_RATE,
            aurc=NO_RATE,
            excess_aurc=None,
            auroc=NO_RATE,
            buckets=(NO_RATE,) * BUCKETS,
            top_half=NO_RATE,
            top_half_gain=NO_RATE,
        )
    ranks = Ranks.of(sure)
    area = aurc(ranks, good, questions)
    edges = [k / BUCKETS for k in range(BUCKETS + 1)]
    top = ranks.share_between(0, 0.5)
    return Selective(
        n=n,
        accuracy=mean_of_points(good, questions),
        aurc=area,
        excess_aurc=max(0.0, (area.value or 0.0) - best_aurc(n, int((~good).sum()))),
        auroc=auroc_of(ranks, good, questions),
        buckets=tuple(
            _share_right(ranks.share_between(low, high), good, questions)
            for low, high in pairwise(edges)
        ),
        top_half=_share_right(top, good, questions),
        top_half_gain=cluster_bootstrap(
            np.stack([top * good, top, good], axis=1),
            questions,
            statistic=lambda totals: totals[:, 0] / totals[:, 1] - totals[:, 2] / totals[:, 3],
        ),
    )


def accuracy_curve(
    confidence: ArrayLike,
    right: ArrayLike,
    clusters: ArrayLike,
    coverages: tuple[float, ...] = CURVE,
) -> tuple[Point, ...]:
    """Return the share right of the surest decisions, at several coverages; empty without any.

    Arguments as :func:`measure_selective`.
    """
    import numpy as np

    sure = np.asarray(confidence, dtype=np.float64)
    if not len(sure):
        return ()
    good = np.asarray(right, dtype=bool)
    questions = np.unique(np.asarray(clusters), return_inverse=True)[1]
    ranks = Ranks.of(sure)
    return tuple(
        Point(
            coverage=share,
            accuracy=_share_right(ranks.share_between(0, share), good, questions),
        )
        for share in coverages
    )


def brier(probability: ArrayLike, right: ArrayLike, clusters: ArrayLike) -> Rate:
    """Return the mean of (probability - right)^2, in [0, 1]; lower is better (Brier 1950)."""
    import numpy as np

    good = np.asarray(right, dtype=np.float64)
    return mean_of_scores(np.square(np.asarray(probability, dtype=np.float64) - good), clusters)


@dataclass(frozen=True, slots=True)
class Ranks:
    """Decisions sorted by confidence, the surest first; equal ones are one group."""

    group: NDArray[np.int64]
    """Shape (n,): the group of each decision, 0 the surest."""
    size: NDArray[np.int64]
    """Decisions in each group."""

    @classmethod
    def of(cls, confidence: Floats) -> Ranks:
        """Rank decisions by confidence, finite and of shape (n,)."""
        import numpy as np

        _, group, size = np.unique(-confidence, return_inverse=True, return_counts=True)
        return cls(group, size)

    @property
    def before(self) -> NDArray[np.int64]:
        """Decisions that are surer than each group."""
        import numpy as np

        found: NDArray[np.int64] = np.cumsum(self.size) - self.size
        return found

    def share_between(self, low: float, high: float) -> Floats:
        """Return how much of each decision ranks between two coverages; shape (n,), in [0, 1].

        Of a group that a bound cuts, every decision is in by the same part.
        """
        import numpy as np

        n = len(self.group)
        first, last = self.before, self.before + self.size
        # Rounding: 0.6 x 5 is a hair above 3.
        start, end = round(low * n, 9), round(high * n, 9)
        inside = np.minimum(last, end) - np.maximum(first, start)
        found: Floats = (np.clip(inside, 0, None) / self.size)[self.group]
        return found


def aurc(ranks: Ranks, right: Bools, clusters: ArrayLike) -> Rate:
    """Return the mean risk over all coverages, with its interval.

    The area is the sum of e_i w_i / n, where w_i, the sum of 1/k over k = (rank of i)..n, says at
    how many coverages decision i is counted, and how much. A decision moves the area by its own
    term, and by the ranks of those below it.
    """
    import numpy as np

    wrong = (~right).astype(np.float64)
    n = len(wrong)
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, n + 1))])
    # Sum over k = r..n of 1/k is H(n) - H(r - 1); of a group, the mean over its places.
    totals = np.concatenate([[0.0], np.cumsum(harmonic[:-1])])
    before = ranks.before
    weight = harmonic[n] - (totals[before + ranks.size] - totals[before]) / ranks.size
    value = float((wrong * weight[ranks.group]).mean())
    # Influence: e w - T, then -1/u of every error that ranks at or below, u its coverage.
    middle = (before + (ranks.size + 1) / 2) / n
    errors = np.bincount(ranks.group, weights=wrong, minlength=len(ranks.size))
    pull = errors / n / middle
    below = np.cumsum(pull[::-1])[::-1] - pull / 2
    influence = wrong * weight[ranks.group] - below[ranks.group] + wrong.mean()
    # What is linearised has the value as its mean but for rounding of ranks.
    return _moved(mean_of_scores(influence - influence.mean() + value, clusters), value)


def best_aurc(n: int, wrong: int) -> float:
    """Return the area of a perfect order: all right decisions before ``wrong`` wrong ones."""
    import numpy as np

    if not wrong:
        return 0.0
    kept = np.arange(n - wrong + 1, n + 1)
    return float(((kept - (n - wrong)) / kept).sum() / n)


def auroc_of(ranks: Ranks, right: Bools, clusters: ArrayLike) -> Rate:
    """Return how often a right decision is surer than a wrong one, with its interval."""
    import numpy as np

    good = right.astype(np.float64)
    n, m = float(good.sum()), float((1 - good).sum())
    if not n or not m:
        return Rate(value=None, n=len(right))
    rights = np.bincount(ranks.group, weights=good, minlength=len(ranks.size))
    wrongs = np.bincount(ranks.group, weights=1 - good, minlength=len(ranks.size))
    # Of a right decision: share of wrong ones that are less sure; of a wrong one the converse.
    beaten = (m - np.cumsum(wrongs) + wrongs / 2) / m
    beaters = (np.cumsum(rights) - rights / 2) / n
    value = float((good * beaten[ranks.group]).sum() / n)
    total = len(right)
    influence = np.where(
        right,
        (beaten[ranks.group] - value) * total / n,
        (beaters[ranks.group] - value) * total / m,
    )
    return _moved(mean_of_scores(influence + value, clusters), value, low=0.0, high=1.0)


def _moved(rate: Rate, value: float, low: float = 0.0, high: float = 1.0) -> Rate:
    """Return a rate with the value itself, and its interval kept within bounds."""
    if rate.low is None or rate.high is None:
        return Rate(value=value, n=rate.n)
    return Rate(
        value=value,
        n=rate.n,
        low=min(value, max(low, rate.low)),
        high=max(value, min(high, rate.high)),
    )


def _share_right(part: Floats, right: Bools, clusters: ArrayLike) -> Rate:
    """Return the share right of decisions that are in by some part each."""
    import numpy as np

    questions = np.asarray(clusters)
    inside = part > 0
    if not inside.any():
        return NO_RATE
    kept, good = part[inside], right[inside]
    if (kept == 1).all():
        return mean_of_points(good, questions[inside])
    found = cluster_bootstrap(
        np.stack([kept * good, kept], axis=1), questions[inside], statistic=ratio
    )
    return found.model_copy(update={"n": round(float(kept.sum()))})
