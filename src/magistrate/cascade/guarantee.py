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
from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.cascade.tiers import NOBODY, Tiers, route
from magistrate.errors import InputError
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

POWER = 0.9
"""Probability that as many labels as are named let a threshold pass."""

_TOO_FEW = 5
"""Fewer decisions than this say nothing of the share that is wrong."""

_LEAST_SHARE = 0.02
"""Part of the calibration pairs taken to reach a judge that hardly any reaches, when telling how
many labels would do."""

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
    """Upper bound of the share wrong of what this threshold keeps, at the judge's part of delta;
    what is promised is alpha, which it does not exceed."""
    labels_needed: int | None
    """About how many calibration pairs would do, where no threshold passed; None where more pairs
    would not help, since even its surest decisions are wrong too often."""


class Guarantee(Record):
    """Thresholds for all judges of a cascade that may abstain."""

    promise: Promise
    judges: tuple[JudgeGuarantee, ...]
    n: int
    """Labelled calibration pairs, all judges together."""
    coverage: float
    """Share of the calibration pairs that are kept by a judge: what to expect to be decided."""
    assumption: str = ASSUMPTION

    @property
    def thresholds(self) -> tuple[float, ...]:
        """A threshold for each judge; infinity for one that keeps nothing."""
        return tuple(math.inf if j.threshold is None else j.threshold for j in self.judges)

    @property
    def holds_nothing(self) -> bool:
        """Whether nothing can be promised of any decision."""
        return all(judge.threshold is None for judge in self.judges)

    @property
    def labels_needed(self) -> int | None:
        """About how many calibration pairs would let one judge keep something; None if unknown."""
        needed = [one.labels_needed for one in self.judges if one.labels_needed is not None]
        return min(needed, default=None)


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

    for name, value in (("the share wrong", promise.alpha), ("the risk", promise.delta)):
        if not 0 < value < 1:
            raise InputError(f"{name} is {value:g}; it must lie between 0 and 1")
    known = calibration.take(calibration.labelled)
    if not len(known):
        raise InputError("no calibration pair has a label, so nothing can be promised")
    count = len(known.names)
    part = np.random.default_rng(seed).permutation(len(known)) % (
        count if judged is not None else 5 * count
    )
    sure, right = known.sure, known.right
    waiting = None if judged is None else np.where(np.isnan(judged), -np.inf, judged)
    still_open = np.ones(len(known), dtype=bool)
    found: list[JudgeGuarantee] = []
    for tier, name in enumerate(known.names):
        # Of five parts of its own one gives the thresholds, four are tested on.
        mine = (part % count == tier) & ((part >= count) | (waiting is not None))
        tested = mine & still_open
        grid_of = sure[(part == tier) & still_open] if waiting is None else waiting
        pairs = _Tested(
            sure[tested, tier], right[tested, tier], promise.alpha, promise.delta / count
        )
        one = pairs.judge(name, grid_of[:, tier], steps, share=max(_LEAST_SHARE, tested.mean()))
        found.append(one)
        if one.threshold is not None:
            still_open &= sure[:, tier] < one.threshold
            if waiting is not None:
                waiting = waiting[waiting[:, tier] < one.threshold]
    made = Guarantee(promise=promise, judges=tuple(found), n=len(known), coverage=0.0)
    kept = route(known, made.thresholds) != NOBODY
    return made.model_copy(update={"coverage": float(kept.mean())})


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
    from scipy.special import bdtr

    sequence = np.asarray(thresholds, dtype=np.float64)
    sure, wrong = np.asarray(confidence, dtype=np.float64), ~np.asarray(right, dtype=bool)
    order = np.argsort(-sure, kind="stable")
    kept = np.searchsorted(-sure[order], -sequence, side="right")
    wrongs = np.concatenate([[0], np.cumsum(wrong[order])])[kept]
    # p-value of "the share wrong is alpha or more": so few wrong, or fewer.
    passes = (kept > 0) & (bdtr(wrongs, kept, alpha) <= delta)
    before = int(np.argmin(np.append(passes, False)))
    return float(sequence[before - 1]) if before else None


@dataclass(frozen=True, slots=True)
class _Tested:
    """Calibration pairs that one judge is tested on."""

    sure: Floats
    right: Bools
    alpha: float
    delta: float

    def judge(self, name: str, grid_of: Floats, steps: int, share: float) -> JudgeGuarantee:
        """Return what is found; ``share`` is which part of all calibration pairs these are."""
        n = len(self.sure)
        grid = self._grid(grid_of, steps)
        threshold = fixed_sequence(self.sure, self.right, grid, self.alpha, self.delta)
        if threshold is None:
            needed = self._needed()
            return JudgeGuarantee(
                judge=name,
                threshold=None,
                n=n,
                kept=0,
                wrong=0,
                bound=None,
                labels_needed=None if needed is None else math.ceil(needed / share),
            )
        kept = self.sure >= threshold
        wrong, size = int((~self.right[kept]).sum()), int(kept.sum())
        return JudgeGuarantee(
            judge=name,
            threshold=threshold,
            n=n,
            kept=size,
            wrong=wrong,
            bound=upper_bound(wrong, size, self.delta),
            labels_needed=None,
        )

    def _grid(self, confidence: Floats, steps: int) -> Floats:
        """Return thresholds from the strictest that can pass down to keeping all.

        The first keeps twice the least number of pairs that can pass at all: one error is forgiven
        there, so that chance does not end the sequence before it began.
        """
        import numpy as np

        known = confidence[np.isfinite(confidence)]
        if not len(known) or not len(self.sure):
            return np.zeros(0)
        first = min(1.0, 2 * least_kept(self.alpha, self.delta) / len(self.sure))
        coverage = np.linspace(first, 1.0, steps)
        found: Floats = np.unique(np.quantile(known, 1 - coverage, method="lower"))[::-1]
        return found

    def _needed(self) -> int | None:
        """Return how many pairs would pass if more looked like these; None where none would.

        The most promising share of the surest decisions is looked for; as many pairs of it are
        needed as let the binomial test pass at its share wrong, in 9 of 10 draws. The share wrong
        is taken to be a little higher than what was seen: a few right ones do not prove that all
        are, and the best of several shares looks better than it is.
        """
        import numpy as np
        from scipy.stats import binom

        order = np.argsort(-self.sure, kind="stable")
        order = order[np.isfinite(self.sure[order])]
        wrongs = np.cumsum(~self.right[order])
        sizes = np.unique(np.geomspace(least_kept(self.alpha, self.delta), 1e6, 120).astype(int))
        if len(order) < _TOO_FEW:
            return 2 * least_kept(self.alpha, self.delta)
        least = None
        for coverage in np.linspace(0.1, 1.0, 10):
            kept = int(coverage * len(order) + 1e-9)
            if kept < _TOO_FEW:
                continue
            seen = float(wrongs[kept - 1]) / kept
            if seen >= self.alpha:
                continue
            rate = min(float(wrongs[kept - 1] + 1) / (kept + 2), (seen + self.alpha) / 2)
            likely = binom.ppf(POWER, sizes, rate)
            passes = binom.cdf(likely, sizes, self.alpha) <= self.delta
            if passes.any():
                needed = math.ceil(sizes[passes.argmax()] * len(self.sure) / kept)
                least = needed if least is None else min(least, needed)
        return least
