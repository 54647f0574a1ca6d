"""A score against a yes or no: AUROC, and how well a threshold does that was chosen honestly.

For aspects that are present or not (the answer hallucinates, is toxic), where a judge gives a
score.

* :func:`auroc` needs no threshold.
* :func:`cross_validated` chooses the threshold on some questions and applies it to the others.
* :func:`tuned_on_test` chooses it **on the very samples that it is measured on**, as the code of
  arXiv 2403.02839 does, from ten values. It is here to compare with published figures; it flatters.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.intervals import LEVEL, NO_RATE, Rate, mean_of_points
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

Objective = Literal["accuracy", "macro-f1"]
FOLDS = 5
STEPS = 10
"""Thresholds that arXiv 2403.02839 tries, from the lowest score up to below the highest."""


class Tuned(Record):
    """A threshold and what it reaches on the samples that it was chosen on."""

    threshold: float | None
    """Samples with a score above it are positive; None without samples."""
    accuracy: float | None
    macro_f1: float | None
    n: int


class BinaryResult(Record):
    """A score against a binary label."""

    positive: str
    """The label that counts as positive."""
    higher_is_positive: bool
    """Whether a higher score speaks for the positive label; else scores were turned round."""
    n: int
    positives: int
    auroc: Rate
    cross_validated: Rate
    """Accuracy with thresholds chosen on other questions."""
    majority_class: Rate
    """Accuracy of always saying the more frequent label."""
    tuned_on_test: Tuned
    """As in arXiv 2403.02839; flatters, see above."""


def auroc(scores: ArrayLike, positive: ArrayLike) -> Rate:
    """Return the area under the ROC curve: how often a positive scores above a negative.

    It is the Mann-Whitney statistic (ties count half) over the number of pairs. The interval is
    Newcombe's method 5 (Statistics in Medicine 25, 2006), which stays proper at 0 and 1.

    Args:
        scores: Shape (n,).
        positive: Shape (n,), bools.
    """
    import numpy as np
    from scipy.stats import rankdata

    values, yes = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    m, n = int(yes.sum()), int((~yes).sum())
    if not m or not n:
        return NO_RATE
    area = float((rankdata(values)[yes].sum() - m * (m + 1) / 2) / (m * n))
    low, high = _newcombe(area, m, n)
    return Rate(value=area, n=m + n, low=min(low, area), high=max(high, area))


def _newcombe(area: float, m: int, n: int) -> tuple[float, float]:
    """Solve |area - x| = z * sqrt(V(x)) on both sides, with V of Hanley and McNeil."""
    z2 = NormalDist().inv_cdf(0.5 + LEVEL / 2) ** 2
    half = (m + n) / 2 - 1

    def excess(x: float) -> float:
        variance = x * (1 - x) * (1 + half * (1 - x) / (2 - x) + half * x / (1 + x)) / (m * n)
        return (area - x) ** 2 - z2 * variance

    return _root_between(excess, 0.0, area), _root_between(excess, 1.0, area)


def _root_between(excess: object, outside: float, inside: float) -> float:
    """Return where ``excess`` turns from positive (outside) to not positive (inside)."""
    assert callable(excess)
    if excess(outside) <= 0:
        return outside
    for _ in range(60):
        middle = (outside + inside) / 2
        if excess(middle) > 0:
            outside = middle
        else:
            inside = middle
    return (outside + inside) / 2


def best_threshold(scores: Floats, positive: Bools) -> float:
    """Return the threshold of greatest accuracy: midway between two scores, or outside all.

    Of several equally good ones the lowest. Samples with a score **above** it are positive.

    Args:
        scores: Shape (n,), n above 0.
        positive: Shape (n,).
    """
    import numpy as np

    sequence = np.argsort(scores, kind="stable")
    values, yes = scores[sequence], positive[sequence].astype(np.int64)
    # With the k lowest called negative: negatives among them and positives above are right.
    right = np.concatenate([[0], np.cumsum(1 - yes)]) + (yes.sum() - np.r_[0, np.cumsum(yes)])
    possible = np.r_[True, values[1:] != values[:-1], True]
    best = int(np.flatnonzero(possible & (right == right[possible].max()))[0])
    if best == 0:
        return float(np.nextafter(values[0], -np.inf))
    if best == len(values):
        return float(values[-1])
    return float((values[best - 1] + values[best]) / 2)


def cross_validated(
    scores: Floats, positive: Bools, clusters: NDArray[np.generic], folds: int = FOLDS
) -> Rate:
    """Return the accuracy of thresholds chosen on other questions.

    Questions are dealt into folds by their hash, so the sequence of samples is no matter; each
    fold is judged with the :func:`best_threshold` of the others.

    Args:
        scores: Shape (n,).
        positive: Shape (n,).
        clusters: Shape (n,): samples of one question share a value, and a fold.
        folds: Two or more.
    """
    import numpy as np

    _, index = np.unique(clusters, return_inverse=True)
    questions = int(index.max()) + 1 if len(index) else 0
    if questions < folds:
        return NO_RATE
    fold = np.random.default_rng(0).permutation(questions)[index] % folds
    right = np.zeros(len(scores))
    for number in range(folds):
        out = fold == number
        threshold = best_threshold(scores[~out], positive[~out])
        right[out] = (scores[out] > threshold) == positive[out]
    return mean_of_points(right, clusters)


def tuned_on_test(scores: Floats, positive: Bools, objective: Objective = "accuracy") -> Tuned:
    """Return the best of ten thresholds, tried on the samples that they are measured on.

    The thresholds go from the lowest score in ten equal steps up to, and without, the highest
    (arXiv 2403.02839, code of its HaluEval and ToxicChat experiments). Equal scores leave one
    threshold, under which nothing is positive.

    Args:
        scores: Shape (n,).
        positive: Shape (n,).
        objective: What is best: accuracy (HaluEval there), or macro-averaged F1 (ToxicChat).
    """
    import numpy as np

    if not len(scores):
        return Tuned(threshold=None, accuracy=None, macro_f1=None, n=0)
    low, high = float(scores.min()), float(scores.max())
    tried = low + (high - low) / STEPS * np.arange(STEPS) if high > low else np.array([low])
    found = [(t, *_measures(scores > t, positive)) for t in tried.tolist()]
    threshold, accuracy, f1 = max(found, key=lambda one: one[1 if objective == "accuracy" else 2])
    return Tuned(threshold=threshold, accuracy=accuracy, macro_f1=f1, n=len(scores))


def binary(
    scores: Floats,
    positive: Bools,
    clusters: NDArray[np.generic],
    *,
    name: str,
    higher_is_positive: bool = True,
) -> BinaryResult:
    """Measure scores against a binary label; samples without a score (NaN) are left out.

    Args:
        scores: Shape (n,).
        positive: Shape (n,): whether the label is the positive one.
        clusters: Shape (n,): samples of one question share a value.
        name: The positive label.
        higher_is_positive: Whether a higher score speaks for it; if not, scores are negated.
    """
    import numpy as np

    known = ~np.isnan(scores)
    values = scores[known] if higher_is_positive else -scores[known]
    yes, questions = positive[known], clusters[known]
    more = bool(2 * yes.sum() >= len(yes))
    return BinaryResult(
        positive=name,
        higher_is_positive=higher_is_positive,
        n=len(values),
        positives=int(yes.sum()),
        auroc=auroc(values, yes),
        cross_validated=cross_validated(values, yes, questions),
        majority_class=mean_of_points(yes == more, questions),
        tuned_on_test=tuned_on_test(values, yes),
    )


def _measures(called: Bools, positive: Bools) -> tuple[float, float]:
    """Return accuracy and macro F1 over the labels that occur."""
    import numpy as np

    scores = []
    for label in (True, False):
        mine, said = positive == label, called == label
        if not mine.any() and not said.any():
            continue
        scores.append(2 * float((mine & said).sum()) / float(mine.sum() + said.sum()))
    return float((called == positive).mean()), float(np.mean(scores))
