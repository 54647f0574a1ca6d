"""Two judges on the same samples: the difference, its interval, and whether it may be chance.

What each judge scores on a sample (1 right, 1/2 for a tie where that is the rule, 0 wrong) is
compared sample by sample, so that what makes a sample hard for both falls out.

* The interval of the difference is the bootstrap over questions.
* Where every question has one sample and the two differ by the same amount wherever they differ,
  the p-value is **McNemar's exact test** (McNemar 1947): of the samples on which only one is
  right, are they one's as often as the other's? A binomial test at one half.
* Otherwise (several samples of a question, or half points) it is the same idea with weights, the
  **sign-flip test by question**: were the judges equally good, each question's difference would
  have had either sign with equal probability (a randomisation test, Edgington 1969).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.metrics.draws import SEED
from magistrate.metrics.intervals import Rate
from magistrate.metrics.resampling import RESAMPLES, cluster_bootstrap
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

MCNEMAR = "exact McNemar"
SIGN_FLIP = "sign flip by question"
NO_TEST = "none: never differ"

FLIPS = 20_000
"""Draws of the sign-flip test; the smallest p-value is 1 / (FLIPS + 1)."""


class PairedDifference(Record):
    """How two judges differ on the samples that both judged."""

    n: int
    """Samples."""
    questions: int
    first: float | None
    """Mean of the first judge."""
    second: float | None
    """Mean of the second judge."""
    difference: Rate
    """First minus second, in [-1, 1], with its bootstrap interval over questions."""
    only_first: int
    """Samples on which the first scores more: discordant pairs in its favour."""
    only_second: int
    """Samples on which the second scores more."""
    p: float | None
    """Two-sided; None without samples, 1 where the two never differ."""
    test: str
    """Which test gave ``p``."""


def compare_paired(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> PairedDifference:
    """Compare two judges on the same samples.

    Args:
        first: Shape (n,), finite: what the first judge scores on each sample.
        second: Shape (n,), the same of the second judge.
        clusters: Shape (n,), integers; samples of one question share a value.
        resamples: Resamples of the interval.
        seed: Equal seeds give equal results.
    """
    import numpy as np

    one, other = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != other.shape or one.ndim != 1:
        raise ValueError(f"need two arrays of equal length, got {one.shape} and {other.shape}")
    gaps = one - other
    questions, index = np.unique(np.asarray(clusters), return_inverse=True)
    p, test = _test(gaps, index, seed) if len(gaps) else (None, NO_TEST)
    return PairedDifference(
        n=len(gaps),
        questions=len(questions),
        first=float(one.mean()) if len(one) else None,
        second=float(other.mean()) if len(other) else None,
        difference=cluster_bootstrap(gaps, index, resamples=resamples, seed=seed),
        only_first=int((gaps > 0).sum()),
        only_second=int((gaps < 0).sum()),
        p=p,
        test=test,
    )


def mcnemar(only_first: int, only_second: int) -> float:
    """Return the exact two-sided p-value of McNemar's test.

    Args:
        only_first: Samples on which only the first judge is right.
        only_second: Samples on which only the second is.

    >>> mcnemar(1, 5)
    0.21875
    """
    if not only_first + only_second:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(only_first, only_first + only_second, 0.5).pvalue)


def _test(gaps: NDArray[np.float64], question: NDArray[np.intp], seed: int) -> tuple[float, str]:
    """Return the p-value and the test's name."""
    import numpy as np

    by_question = np.bincount(question, weights=gaps)
    # Scores of tenths add up to sums that differ in the last digit; they are one size.
    sums = by_question[np.abs(by_question) > 1e-9].round(9)
    if not len(sums):
        return 1.0, NO_TEST
    sizes, many = np.unique(np.abs(sums), return_counts=True)
    if len(sizes) == 1:
        alone = len(by_question) == len(gaps)
        p = mcnemar(int((sums > 0).sum()), int((sums < 0).sum()))
        return p, MCNEMAR if alone else SIGN_FLIP
    rng = np.random.default_rng(seed)
    sums_drawn = np.zeros(FLIPS)
    for size, count in zip(sizes, many, strict=True):
        sums_drawn += size * (2 * rng.binomial(count, 0.5, size=FLIPS) - count)
    as_far = int((np.abs(sums_drawn) >= abs(sums.sum()) - 1e-9).sum())
    return (as_far + 1) / (FLIPS + 1), SIGN_FLIP
