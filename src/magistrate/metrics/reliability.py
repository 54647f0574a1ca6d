"""Is confidence worth what it says: the reliability diagram and the expected calibration error.

The error (ECE) is sum over bins of (share of samples in the bin) x |share right - mean confidence|
(Naeini et al. 2015; Guo et al. 2017, arXiv 1706.04599, equation 3). It depends on the bins, so
they belong to its name, and it is above 0 even for a perfectly calibrated judge, more so with few
samples. So it comes with what such a judge would show: outcomes drawn at the stated confidences
(consistency resampling, Broecker and Smith 2007), each sample by itself: where many samples share
a question, that is too little.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.metrics.intervals import SEED, Rate, mean_of_points

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

BINS = 10
BINNING = "10 bins of equal width"
_DRAWS = 400
_DRAWN_SINGLY = 20_000
"""Up to so many samples every single outcome is drawn."""


@dataclass(frozen=True, slots=True)
class Bin:
    """Samples of like confidence."""

    low: float
    """Confidence above this (from 0 on in the first bin)."""
    high: float
    """Confidence up to this, itself included."""
    confidence: float | None
    """Mean confidence; None where there are no samples."""
    right: Rate


@dataclass(frozen=True, slots=True)
class Reliability:
    """How well confidence fits the share right."""

    n: int
    confidence: float
    """Mean over all samples."""
    right: Rate
    ece: float
    """Expected calibration error over :data:`BINNING`, in [0, 1]."""
    expected: float
    """Mean error that a perfectly calibrated judge with the same confidences would show."""
    chance: float
    """The error that such a judge stays below in 95 of 100 cases."""
    bins: tuple[Bin, ...]


def measure_reliability(
    confidence: ArrayLike, right: ArrayLike, clusters: ArrayLike
) -> Reliability | None:
    """Return the diagram and its error; None without samples.

    Args:
        confidence: Shape (n,), in [0, 1].
        right: Shape (n,), bools.
        clusters: Shape (n,), integers; samples of one question share a value.
    """
    import numpy as np

    sure = np.asarray(confidence, dtype=np.float64)
    good = np.asarray(right, dtype=bool)
    n = len(sure)
    if not n:
        return None
    # Bins are (low, high]; rounding keeps 0.3, which is a hair above 3 x 0.1, in its own bin.
    place = np.clip(np.ceil(np.round(sure * BINS, 9)) - 1, 0, BINS - 1).astype(np.int64)
    counts = np.bincount(place, minlength=BINS)
    sums = np.bincount(place, weights=sure, minlength=BINS)
    rights = np.bincount(place, weights=good, minlength=BINS)
    questions = np.asarray(clusters)
    drawn = _drawn_errors(sure, place)
    return Reliability(
        n=n,
        confidence=float(sure.mean()),
        right=mean_of_points(good, questions),
        ece=float(np.abs(rights - sums).sum() / n),
        expected=float(drawn.mean()),
        chance=float(np.quantile(drawn, 0.95)),
        bins=tuple(
            Bin(
                low=k / BINS,
                high=(k + 1) / BINS,
                confidence=float(sums[k] / counts[k]) if counts[k] else None,
                right=mean_of_points(good[place == k], questions[place == k]),
            )
            for k in range(BINS)
        ),
    )


def _drawn_errors(sure: NDArray[np.float64], place: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the errors of judges that are right exactly as often as they are sure."""
    import numpy as np

    rng = np.random.default_rng(SEED)
    n = len(sure)
    sums = np.bincount(place, weights=sure, minlength=BINS)
    if n > _DRAWN_SINGLY:
        # The sum of very many independent outcomes is as good as normal.
        spread = np.sqrt(np.bincount(place, weights=sure * (1 - sure), minlength=BINS))
        gaps = rng.standard_normal((_DRAWS, BINS)) * spread
        errors: NDArray[np.float64] = np.abs(gaps).sum(axis=1) / n
        return errors
    errors = np.empty(_DRAWS)
    for draw in range(_DRAWS):
        rights = np.bincount(place, weights=rng.random(n) < sure, minlength=BINS)
        errors[draw] = np.abs(rights - sums).sum() / n
    return errors
