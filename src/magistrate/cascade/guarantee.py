"""Thresholds that keep a promise: agreement with people of at least 1 - alpha, or abstain.

With probability 1 - delta over the draw of the labelled calibration pairs, at most a share alpha of
the decisions that the cascade keeps is wrong (arXiv 2407.18370, sections 2.2 and 2.3: fixed
sequence testing; Angelopoulos et al. 2021, arXiv 2110.01052). For each judge, thresholds are tested
from the strictest down, each by the exact binomial test of "more than alpha are wrong"; the last
one before the first failure is taken.

What makes the promise true:

* **Exchangeability.** Calibration pairs and the pairs to be judged are drawn alike, and
  independently of one another: pairs of the same questions, or of other data, break it.
* **The sequence is fixed before a label is seen.** Thresholds are quantiles of the confidences of
  the pairs to be judged, or without those of a part of the calibration pairs that is then not
  tested on.
* **Each judge has calibration pairs of its own.** Which pairs reach the second judge depends on the
  first threshold, which was chosen by labels; so the calibration pairs are divided among the
  judges, and delta too. (One judge, the usual case, uses all.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from magistrate.cascade.tiers import Tiers
from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

STEPS = 50
"""Thresholds tested for each judge: coverages from the least that can pass up to all."""

ASSUMPTION = (
    "pairs to be judged and calibration pairs are exchangeable: drawn alike, and not about the "
    "same questions"
)


class Promise(Record):
    """What is promised of the decisions that are kept."""

    alpha: float
    """Largest share wrong."""
    delta: float
    """Probability, over calibration draws, that it does not hold."""


class JudgeGuarantee(Record):
    """What was found for one judge."""

    judge: str
    threshold: float | None
    """Confidence from which its decisions are kept; None where no threshold passed."""
    n: int
    """Calibration pairs that it was tested on."""
    kept: int
    """How many of these it keeps."""
    wrong: int
    """How many of the kept ones are wrong."""
    bound: float | None
    """Upper bound of the share wrong of what it keeps, at its part of delta."""
    labels_needed: int | None
    """About how many calibration pairs would do, where no threshold passed; None where more pairs
    would not help, since even its surest decisions are wrong too often."""


class Guarantee(Record):
    """Thresholds for all judges of a cascade that may abstain."""

    promise: Promise
    judges: tuple[JudgeGuarantee, ...]
    assumption: str = ASSUMPTION

    @property
    def thresholds(self) -> tuple[float, ...]:
        """A threshold for each judge; infinity for one that keeps nothing."""
        return tuple(math.inf if j.threshold is None else j.threshold for j in self.judges)

    @property
    def holds_nothing(self) -> bool:
        """Whether nothing can be promised of any decision."""
        return all(judge.threshold is None for judge in self.judges)


def least_kept(alpha: float, delta: float) -> int:
    """Return the fewest kept pairs, all of them right, that pass the test.

    >>> least_kept(0.15, 0.1)
    15
    """
    return math.ceil(math.log(delta) / math.log1p(-alpha) - 1e-12)


def upper_bound(wrong: int, kept: int, delta: float) -> float:
    """Return the exact one-sided upper bound of a share (Clopper and Pearson 1934).

    Args:
        wrong: From 0 to ``kept``.
        kept: Above 0.
        delta: Probability that the bound is too low, in (0, 1).
    """
    from scipy.special import betaincinv

    return float(betaincinv(wrong + 1, kept - wrong, 1 - delta)) if wrong < kept else 1.0


def guarantee(
    calibration: Tiers,
    promise: Promise,
    judged: Floats | None = None,
    *,
    steps: int = STEPS,
    seed: int = 0,
) -> Guarantee:
    """Choose thresholds that keep a promise.

    Args:
        calibration: Labelled decisions; all judges are tested, the last one too.
        promise: What to promise.
        judged: Shape (m, T): confidences of the pairs to be judged, from whose quantiles the
            thresholds are taken. Without, a fifth of the calibration pairs serves for that alone.
        steps: How many thresholds are tested at most for each judge.
        seed: How the calibration pairs are divided.

    Raises:
        InputError: A probability is not between 0 and 1, or no calibration pair has a label.
    """
    import numpy as np

    for name, value in (("alpha", promise.alpha), ("delta", promise.delta)):
        if not 0 < value < 1:
            raise InputError(f"{name} is {value:g}; it must lie between 0 and 1")
    labelled = calibration.gold is not None and np.abs(calibration.gold) <= 1
    known = calibration.take(np.asarray(labelled)) if np.any(labelled) else None
    if known is None:
        raise InputError("no calibration pair has a label, so nothing can be promised")
    count = len(known.names)
    parts = np.random.default_rng(seed).permutation(len(known)) % (
        count if judged is not None else 5 * count
    )
    sure = np.where(known.said == NOTHING, -np.inf, np.nan_to_num(known.confidence, nan=-np.inf))
    open_pairs = np.ones(len(known), dtype=bool)
    waiting = None if judged is None else np.nan_to_num(np.asarray(judged), nan=-np.inf)
    delta = promise.delta / count
    found = []
    for tier, name in enumerate(known.names):
        if waiting is not None:
            mine, grid_of = parts == tier, waiting[:, tier]
        else:
            # Of five parts of its own one gives the thresholds, four are tested on.
            mine = (parts % count == tier) & (parts >= count)
            grid_of = sure[(parts == tier) & open_pairs, tier]
        tested = mine & open_pairs
        one = _test(
            name,
            sure[tested, tier],
            known.right[tested, tier],
            grid_of,
            promise.alpha,
            delta,
            steps,
            share=float(mine.mean()),
        )
        found.append(one)
        if one.threshold is not None:
            open_pairs &= sure[:, tier] < one.threshold
            if waiting is not None:
                waiting = waiting[waiting[:, tier] < one.threshold]
    return Guarantee(promise=promise, judges=tuple(found))


def fixed_sequence(
    confidence: ArrayLike, right: ArrayLike, thresholds: ArrayLike, alpha: float, delta: float
) -> float | None:
    """Return the lowest threshold before the first that fails; None where the first fails.

    Args:
        confidence: Of the calibration pairs, shape (n,).
        right: Whether each decision is right, shape (n,).
        thresholds: The sequence, from the strictest down; fixed without looking at ``right``.
        alpha: Largest share wrong of what is kept.
        delta: Probability that the promise does not hold.
    """
    import numpy as np
    from scipy.stats import binom

    sure, wrong = np.asarray(confidence, dtype=np.float64), ~np.asarray(right, dtype=bool)
    best = None
    for threshold in np.asarray(thresholds, dtype=np.float64):
        kept = sure >= threshold
        # p-value of "the share wrong is alpha or more": so few wrong, or fewer.
        if not kept.any() or binom.cdf(wrong[kept].sum(), kept.sum(), alpha) > delta:
            return best
        best = float(threshold)
    return best


def _test(
    judge: str,
    sure: Floats,
    right: Bools,
    grid_of: Floats,
    alpha: float,
    delta: float,
    steps: int,
    share: float,
) -> JudgeGuarantee:

    n = len(sure)
    grid = _grid(grid_of, n, alpha, delta, steps)
    threshold = fixed_sequence(sure, right, grid, alpha, delta) if n else None
    if threshold is None:
        needed = _labels_needed(sure, right, alpha, delta)
        return JudgeGuarantee(
            judge=judge,
            threshold=None,
            n=n,
            kept=0,
            wrong=0,
            bound=None,
            labels_needed=None if needed is None else math.ceil(needed / max(share, 1e-9)),
        )
    kept = sure >= threshold
    wrong = int((~right[kept]).sum())
    return JudgeGuarantee(
        judge=judge,
        threshold=threshold,
        n=n,
        kept=int(kept.sum()),
        wrong=wrong,
        bound=upper_bound(wrong, int(kept.sum()), delta),
        labels_needed=None,
    )


def _grid(confidence: Floats, n: int, alpha: float, delta: float, steps: int) -> Floats:
    """Return thresholds from the strictest that can pass on n pairs down to keeping all.

    The first keeps twice the least number of pairs that can pass at all: one error is forgiven
    there, so that chance does not end the sequence before it began.
    """
    import numpy as np

    known = confidence[np.isfinite(confidence)]
    if not len(known) or not n:
        return np.zeros(0)
    first = min(1.0, 2 * least_kept(alpha, delta) / n)
    coverage = np.linspace(first, 1.0, steps)
    quantiles = np.quantile(known, 1 - coverage, method="lower")
    found: Floats = np.unique(quantiles)[::-1]
    return found


def _labels_needed(sure: Floats, right: Bools, alpha: float, delta: float) -> int | None:
    """Return how many pairs would pass if more of them looked like these; None where none would.

    The most promising share of the surest decisions is looked for; as many pairs of it are needed
    as let the binomial test pass at its share wrong.
    """
    import numpy as np
    from scipy.stats import binom

    order = np.argsort(-sure, kind="stable")
    order = order[np.isfinite(sure[order])]
    wrongs = np.cumsum(~right[order])
    least = None
    for coverage in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        kept = int(coverage * len(order))
        if kept < 5:
            continue
        # Half a wrong decision more than was seen: a few right ones do not prove that all are.
        rate = (wrongs[kept - 1] + 0.5) / (kept + 1)
        if rate >= alpha:
            continue
        sizes = np.unique(np.geomspace(least_kept(alpha, delta), 1e6, 400).astype(int))
        passes = binom.cdf(np.ceil(rate * sizes), sizes, alpha) <= delta
        if passes.any():
            needed = math.ceil(sizes[passes.argmax()] * len(sure) / kept)
            least = needed if least is None else min(least, needed)
    return least
