"""A mean over many judged samples, corrected by a few that people labelled.

The judge's number f is known for all N samples, people's number Y for n of them. In each stratum

    estimate = mean over labelled of (Y - lambda f) + lambda * mean over all of f

is unbiased whatever the judge is worth, and the better f tells Y the narrower its interval:
prediction-powered inference (Angelopoulos et al. 2023, arXiv 2301.09633) with the factor lambda
that makes it narrowest (PPI++, arXiv 2311.01453, section 6; with all samples in the second mean it
is Cov(Y, f) / Var(f), the classical regression estimator). Strata are weighted by their share of
all samples (stratified PPI, Fisch et al. 2024, arXiv 2406.04291), so that labels may be sought
where they tell most (:func:`plan_labels`).

Within a stratum the labelled samples must be drawn at random from all: labels of samples that
somebody chose by what they say correct nothing.

Intervals are Student's t on each question's influence on the estimate, so samples of one question,
labelled or not, are not taken as independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.errors import InputError
from magistrate.metrics.intervals import LEVEL, Rate
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]
    Integers = NDArray[np.int64]

LEAST_LABELS = 10
"""Fewest labelled samples, and fewest labelled questions, from which an interval is told."""

LEAST_IN_STRATUM = 3


class Corrected(Record):
    """A mean by the judge alone, by the labels alone, and by both."""

    corrected: Rate
    """By both; ``n`` is the number of all samples."""
    labels_alone: Rate
    """The mean of the labels; ``n`` is their number."""
    judge_alone: float | None
    """The judge's mean over all samples: biased by as much as the judge is. None where the judge
    does not say the number of all of them, such as how sure it is."""
    labelled: int
    factor: float
    """lambda, the mean over strata weighted by their size: 0 where the judge tells nothing, 1 where
    its number is as good as the label."""
    worth: float | None
    """Labels that would be needed without the judge for as narrow an interval, per label given."""


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Columns of shape (n,), for all samples."""

    label: Floats
    said: Floats
    known: Bools
    stratum: Integers
    question: Integers


def corrected_mean(
    labels: ArrayLike,
    predictions: ArrayLike,
    clusters: ArrayLike,
    strata: ArrayLike | None = None,
    *,
    low: float | None = None,
    high: float | None = None,
) -> Corrected:
    """Correct a judge's mean by labels.

    Args:
        labels: People's numbers, NaN where there is none; shape (N,).
        predictions: The judge's numbers, finite; shape (N,).
        clusters: Shape (N,); samples of one question share a value.
        strata: Shape (N,); samples of one stratum were labelled with equal chance. One by default.
        low: Least value that a mean can have; intervals end there.
        high: Largest value likewise.

    Raises:
        InputError: There are too few labels; the message says how many are needed.
    """
    import numpy as np

    label = np.asarray(labels, dtype=np.float64)
    said = np.asarray(predictions, dtype=np.float64)
    known = ~np.isnan(label)
    question = np.unique(np.asarray(clusters), return_inverse=True)[1]
    stratum = (
        np.zeros(len(label), dtype=np.int64)
        if strata is None
        else np.unique(np.asarray(strata), return_inverse=True)[1]
    )
    numbers = _Numbers(label, said, known, stratum, question)
    _check(numbers)
    both, influence, factor = _estimate(numbers, use_judge=True)
    alone, influence_alone, _ = _estimate(numbers, use_judge=False)
    freedom = len(np.unique(question[known])) - 1
    wide, wide_alone = (_half_width(i, question, freedom) for i in (influence, influence_alone))
    return Corrected(
        corrected=_rate(both, wide, len(label), low, high),
        labels_alone=_rate(alone, wide_alone, int(known.sum()), low, high),
        judge_alone=float(said.mean()),
        labelled=int(known.sum()),
        factor=factor,
        worth=(wide_alone / wide) ** 2 if wide > 0 else None,
    )


def _estimate(numbers: _Numbers, *, use_judge: bool) -> tuple[float, Floats, float]:
    """Return the estimate, each sample's influence on it (sum of zero), and the mean factor."""
    import numpy as np

    total = len(numbers.label)
    influence = np.zeros(total)
    means = np.zeros(int(numbers.stratum.max()) + 1)
    factor = 0.0
    for one in range(len(means)):
        every = numbers.stratum == one
        some = every & numbers.known
        share = every.sum() / total
        y, f = numbers.label[some], numbers.said[some]
        slope = _slope(y, f) if use_judge else 0.0
        rest = y - slope * f
        middle = numbers.said[every].mean()
        means[one] = rest.mean() + slope * middle
        influence[some] += share * (rest - rest.mean()) / len(y)
        influence[every] += share * slope * (numbers.said[every] - middle) / every.sum()
        factor += share * slope
    value = float(means[numbers.stratum].mean())
    # How many samples fall in each stratum is chance too.
    influence += (means[numbers.stratum] - value) / total
    return value, influence, factor


def _slope(y: Floats, f: Floats) -> float:
    """Return Cov(y, f) / Var(f) between 0 and 1: a judge is never trusted to be wrong."""
    import numpy as np

    spread = float(f.var())
    if spread == 0:
        return 0.0
    slope = float(((y - y.mean()) * (f - f.mean())).mean()) / spread
    return float(np.clip(slope, 0.0, 1.0))


def _half_width(influence: Floats, question: Integers, freedom: int) -> float:
    import numpy as np
    from scipy.stats import t

    sums = np.bincount(question, weights=influence)
    groups = len(sums)
    variance = float((sums**2).sum()) * groups / max(groups - 1, 1)
    # Few labels carry most of the chance: their number, not that of all, says how wide t is.
    shrink = (freedom + 1) / freedom
    return float(t.ppf(0.5 + LEVEL / 2, freedom) * np.sqrt(variance * shrink))


def _rate(value: float, half: float, n: int, low: float | None, high: float | None) -> Rate:
    least, most = value - half, value + half
    if low is not None:
        least = min(value, max(low, least))
    if high is not None:
        most = max(value, min(high, most))
    return Rate(value=value, n=n, low=least, high=most)


def _check(numbers: _Numbers) -> None:
    import numpy as np

    labelled = int(numbers.known.sum())
    questions = len(np.unique(numbers.question[numbers.known]))
    if labelled < LEAST_LABELS or questions < LEAST_LABELS:
        raise InputError(
            f"{labelled} labelled samples of {questions} questions are too few to correct a mean "
            f"by: {LEAST_LABELS} of each are the least, and some dozens make a narrow interval"
        )
    counts = np.bincount(numbers.stratum[numbers.known], minlength=int(numbers.stratum.max()) + 1)
    if (counts < LEAST_IN_STRATUM).any():
        raise InputError(
            f"a stratum has {int(counts.min())} labelled samples; {LEAST_IN_STRATUM} in each are "
            f"the least"
        )


def plan_labels(
    spread: ArrayLike, labelled: ArrayLike, count: int, *, floor: float = 0.25
) -> Integers:
    """Return how many labels to seek next in each stratum, so that the interval shrinks most.

    Labels go where a stratum's size times the spread of (label - prediction) in it is largest
    (Neyman 1934; for labels and predictions Zrnic and Candes 2024, arXiv 2403.03208), less what is
    labelled there already.

    Args:
        spread: Shape (S,): number of samples in each stratum times the standard deviation of what
            the prediction leaves open.
        labelled: Shape (S,): labels that each stratum has.
        count: Labels to seek in all.
        floor: Least share of a stratum's even part that it gets: spreads are guesses.
    """
    import numpy as np

    weight = np.asarray(spread, dtype=np.float64)
    have = np.asarray(labelled, dtype=np.float64)
    weight = np.maximum(weight, floor * weight.mean())
    due = np.zeros(len(weight), dtype=np.int64)
    for _ in range(count):
        # The next label goes where variance falls most: w^2 / n - w^2 / (n + 1).
        n = np.maximum(have + due, 1e-9)
        due[int(np.argmax(weight**2 / (n * (n + 1))))] += 1
    return due
