"""Fitting calibrations on labelled decisions, and telling when they no longer fit.

    fitted = fit(values, right, questions, "auto", is_probability=True)
    honest = cross_fitted(values, right, questions, "auto", is_probability=True)

* **temperature** (Guo et al. 2017, arXiv 1706.04599): the log-odds of the confidence times one
  number. Needs fewest labels, and leaves 1/2 what it is.
* **Platt** (1999): log-odds (of a source that is no probability: the number) times one number plus
  another.
* **isotonic** (Zadrozny and Elkan 2002): any map that does not fall, as steps joined by lines.

All go through scikit-learn. None may fall: where the surer decisions are less often right, the map
is level, which says that this confidence tells nothing. ``auto`` takes the simplest method whose
cross-fitted Brier score is within a standard error of the lowest. Numbers after calibration are
cross-fitted once more around that choice, so no label speaks for a map that it helped to fit or to
choose.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from magistrate.errors import InputError
from magistrate.judging.calibration import Calibration, Method
from magistrate.metrics.learned import fold_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

Wanted = Literal["temperature", "platt", "isotonic", "auto"]
METHODS: tuple[Wanted, ...] = get_args(Wanted)
FOLDS = 5

LEAST: dict[Method, int] = {"temperature": 50, "platt": 100, "isotonic": 300}
"""Fewest labelled decisions for each method: one number, two, and as many as there are steps."""

LEAST_OF_EACH = 10
"""Fewest decisions that are right, and fewest that are wrong."""

_NEAREST = 1e-6
_GRID = 100
"""Quantiles are kept at 0 %, 1 %, ..., 100 %."""

DRIFT_SHARE = 0.1
"""Least difference of two distribution functions that is told."""
DRIFT_P = 0.001
"""Largest p-value at which it is told."""
DRIFT_N = 30
"""Fewest confidences that say anything of their distribution."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A map from raw confidence to the probability of being right."""

    method: Method
    log_odds: bool = True
    slope: float = 1.0
    intercept: float = 0.0
    knots: tuple[tuple[float, float], ...] = ()

    def apply(self, values: ArrayLike) -> Floats:
        """Return the probability of being right for each raw confidence; shape as given."""
        import numpy as np

        raw = np.asarray(values, dtype=np.float64)
        if self.method == "isotonic":
            x, y = np.array(self.knots).T
            stepped: Floats = np.where(np.isnan(raw), np.nan, np.interp(raw, x, y))
            return stepped
        from scipy.special import expit

        found: Floats = expit(self.slope * _input(raw, self.log_odds) + self.intercept)
        return found


def apply(calibration: Calibration, values: ArrayLike) -> Floats:
    """Return what :meth:`Calibration.apply` gives, for an array at once."""
    return Fitted(
        calibration.method,
        calibration.log_odds,
        calibration.slope,
        calibration.intercept,
        calibration.knots,
    ).apply(values)


def fit(
    values: ArrayLike,
    right: ArrayLike,
    clusters: ArrayLike,
    method: Wanted = "auto",
    *,
    is_probability: bool = True,
    folds: int = FOLDS,
) -> Fitted:
    """Fit a map.

    Args:
        values: Raw confidences, finite, shape (n,).
        right: Whether each decision is right, shape (n,).
        clusters: Shape (n,); samples of one question share a value.
        method: ``auto`` chooses by cross-fitted Brier score.
        is_probability: Whether ``values`` are probabilities; temperature needs that.
        folds: For ``auto``.

    Raises:
        InputError: There are too few labels; the message says how many would do.
    """
    import numpy as np

    x, y = np.asarray(values, dtype=np.float64), np.asarray(right, dtype=bool)
    questions = np.asarray(clusters)
    usable = usable_methods(y, questions, method, is_probability=is_probability, folds=folds)
    return _FITS[_best(x, y, questions, usable, is_probability, folds)](x, y, is_probability)


def cross_fitted(
    values: ArrayLike,
    right: ArrayLike,
    clusters: ArrayLike,
    method: Wanted = "auto",
    *,
    is_probability: bool = True,
    folds: int = FOLDS,
) -> Floats:
    """Return calibrated confidences, each from a map fitted on other questions; shape (n,).

    Arguments and errors as :func:`fit`.
    """
    import numpy as np

    x, y = np.asarray(values, dtype=np.float64), np.asarray(right, dtype=bool)
    questions = np.asarray(clusters)
    usable = usable_methods(y, questions, method, is_probability=is_probability, folds=folds)
    return _cross(x, y, questions, usable, is_probability, folds)


def usable_methods(
    right: ArrayLike,
    clusters: ArrayLike,
    method: Wanted,
    *,
    is_probability: bool = True,
    folds: int = FOLDS,
) -> list[Method]:
    """Return the methods among which to choose, one where one was asked for.

    Raises:
        InputError: There are too few labels, or temperature is asked of what is no probability.
    """
    import numpy as np

    y = np.asarray(right, dtype=bool)
    n, questions = len(y), len(np.unique(np.asarray(clusters)))
    if method == "temperature" and not is_probability:
        raise InputError(
            "temperature scaling needs a confidence that is a probability; take --method platt or "
            "isotonic for this source"
        )
    if method not in METHODS:
        raise InputError(f"no method '{method}'; there are: {', '.join(METHODS)}")
    fitting = _fitting(method, is_probability=is_probability)
    least = fewest_labels(method, is_probability=is_probability)
    words = f"calibration by {method}" if method != "auto" else "calibration"
    if n < least:
        raise InputError(
            f"{words} needs {least} labelled decisions or more, and there are {n}; "
            f"give {least - n} more labels"
        )
    few = int(min(y.sum(), n - y.sum()))
    if few < LEAST_OF_EACH:
        kind = "right" if y.sum() < n - y.sum() else "wrong"
        more = "" if few == 0 else f" (about {math.ceil(n * LEAST_OF_EACH / few):,} labels)"
        raise InputError(
            f"{words} needs {LEAST_OF_EACH} decisions that are right and as many that are wrong, "
            f"and of {n} only {few} {'is' if few == 1 else 'are'} {kind}; give more labels{more}"
        )
    if questions < 2 * folds:
        raise InputError(
            f"{words} in {folds} folds needs {2 * folds} questions or more, and there are "
            f"{questions}; give labels on more questions, or fewer --folds"
        )
    return [name for name in fitting if n >= LEAST[name]]


def fewest_labels(method: Wanted, *, is_probability: bool = True) -> int:
    """Return how many labelled decisions a method needs; of ``auto``, the least of all methods."""
    return min(LEAST[name] for name in _fitting(method, is_probability=is_probability))


def _fitting(method: Wanted, *, is_probability: bool) -> list[Method]:
    if method == "auto":
        return [name for name in LEAST if is_probability or name != "temperature"]
    return [method]


def _cross(
    x: Floats, y: NDArray[np.bool_], q: NDArray[np.generic], usable: list[Method], p: bool, k: int
) -> Floats:
    import numpy as np

    fold = fold_of(q, k)
    found = np.full(len(x), np.nan)
    for number in range(k):
        out = fold == number
        rest = ~out
        method = _best(x[rest], y[rest], q[rest], usable, p, k)
        found[out] = _FITS[method](x[rest], y[rest], p).apply(x[out])
    return found


def _best(
    x: Floats, y: NDArray[np.bool_], q: NDArray[np.generic], usable: list[Method], p: bool, k: int
) -> Method:
    """Return the simplest method that is within a standard error of the best.

    Of the cross-fitted Brier scores; the error is that of their difference.
    """
    import numpy as np

    if len(usable) == 1:
        return usable[0]
    losses = [np.square(_cross(x, y, q, [name], p, k) - y) for name in usable]
    best = losses[int(np.argmin([loss.mean() for loss in losses]))]
    for name, loss in zip(usable, losses, strict=True):
        worse = loss - best
        if worse.mean() <= worse.std() / math.sqrt(len(worse)):
            return name
    raise AssertionError("the best is as good as itself")


def _temperature(x: Floats, y: NDArray[np.bool_], is_probability: bool) -> Fitted:
    slope, _ = _logistic(_input(x, log_odds=True), y, intercept=False)
    return Fitted("temperature", slope=max(0.0, slope))


def _platt(x: Floats, y: NDArray[np.bool_], is_probability: bool) -> Fitted:
    number = _input(x, is_probability)
    centre, spread = float(number.mean()), float(number.std()) or 1.0
    slope, intercept = _logistic((number - centre) / spread, y, intercept=True)
    if slope <= 0:
        share = float(y.mean())
        near = min(max(share, _NEAREST), 1 - _NEAREST)
        slope, intercept = 0.0, math.log(near) - math.log1p(-near)
    return Fitted(
        "platt",
        log_odds=is_probability,
        slope=slope / spread,
        intercept=intercept - slope * centre / spread,
    )


def _isotonic(x: Floats, y: NDArray[np.bool_], is_probability: bool) -> Fitted:
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=0.0, y_max=1.0, increasing=True, out_of_bounds="clip")
    model.fit(x, y.astype(float))
    knots = zip(model.X_thresholds_.tolist(), model.y_thresholds_.tolist(), strict=True)
    return Fitted("isotonic", log_odds=False, knots=tuple(knots))


_FITS: dict[Method, Callable[[Floats, NDArray[np.bool_], bool], Fitted]] = {
    "temperature": _temperature,
    "platt": _platt,
    "isotonic": _isotonic,
}


def _logistic(x: Floats, y: NDArray[np.bool_], *, intercept: bool) -> tuple[float, float]:
    """Return slope and intercept of a logistic regression (next to no penalty)."""
    from sklearn.linear_model import LogisticRegression

    # One value for all, or none: of a slope there is nothing to learn.
    if not len(x) or float(x.max()) == float(x.min()) == 0.0 or y.all() or not y.any():
        return 0.0, math.log((y.sum() + 0.5) / (len(y) - y.sum() + 0.5)) if len(y) else 0.0
    model = LogisticRegression(C=1e6, fit_intercept=intercept, max_iter=1_000, tol=1e-8)
    model.fit(x[:, None], y)
    return float(model.coef_[0, 0]), float(model.intercept_[0]) if intercept else 0.0


def _input(values: Floats, log_odds: bool) -> Floats:
    import numpy as np

    if not log_odds:
        return values
    near = np.clip(values, _NEAREST, 1 - _NEAREST)
    found: Floats = np.log(near) - np.log1p(-near)
    return found


def quantiles_of(values: ArrayLike) -> tuple[float, ...]:
    """Return the values at 0 %, 1 %, ..., 100 %, each one that occurs."""
    import numpy as np

    grid = np.linspace(0, 1, _GRID + 1)
    found = np.quantile(np.asarray(values, dtype=np.float64), grid, method="inverted_cdf")
    return tuple(float(value) for value in found)


@dataclass(frozen=True, slots=True)
class Drift:
    """What is judged is not like what the judge was calibrated on."""

    distance: float
    """Largest difference of the two distribution functions of raw confidence (Kolmogorov and
    Smirnov), in [0, 1]."""
    p: float
    """How often samples of one distribution differ so much (asymptotic; for tied values too
    large)."""
    n: int
    """Confidences that were looked at."""
    calibrated_on: int
    lower: bool
    """Whether the judge is less sure than it was."""

    @property
    def message(self) -> str:
        """The warning, in words."""
        how = "less" if self.lower else "more"
        return (
            f"the judge is {how} sure here than where it was calibrated: its confidences on "
            f"{self.n:,} pairs differ from those on the {self.calibrated_on:,} of its calibration "
            f"(Kolmogorov-Smirnov distance {self.distance:.2f}, p {_p_words(self.p)}); calibrated "
            f"confidence may be wrong here: calibrate on labels of data like these"
        )


def drift(calibration: Calibration, confidences: ArrayLike) -> Drift | None:
    """Tell whether raw confidences come from another distribution than a calibration's.

    Args:
        calibration: The calibration.
        confidences: Raw values of its source; NaN is left out. Shape (n,).

    Returns:
        None where they do not differ by :data:`DRIFT_SHARE` at :data:`DRIFT_P`, or there are fewer
        than :data:`DRIFT_N` on either side.
    """
    import numpy as np
    from scipy.special import kolmogorov

    new = np.asarray(confidences, dtype=np.float64)
    new = np.sort(new[np.isfinite(new)])
    n, m = len(new), calibration.n
    old = np.sort(np.asarray(calibration.quantiles, dtype=np.float64))
    if min(n, m) < DRIFT_N or not len(old):
        return None
    places = np.concatenate([old, new])
    gaps = np.searchsorted(new, places, side="right") / n - np.searchsorted(
        old, places, side="right"
    ) / len(old)
    distance = float(np.abs(gaps).max())
    p = float(kolmogorov(distance * math.sqrt(n * m / (n + m))))
    if distance < DRIFT_SHARE or p > DRIFT_P:
        return None
    return Drift(distance, p, n, m, lower=bool(gaps.sum() > 0))


def _p_words(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"= {p:.4f}"
