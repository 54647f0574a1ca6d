"""Bradley-Terry with ties, by Davidson's model.

Davidson (1970, "On extending the Bradley-Terry model to accommodate ties in paired comparison
experiments") gives models strengths ``theta`` and ties a weight ``nu``; with ``d = theta_i -
theta_j`` the chances of win, tie and loss are in the proportion

    exp(d / 2)  :  nu  :  exp(-d / 2).

Davidson's rather than Rao and Kupper's model, since it is an exponential family: the likelihood is
concave in (theta, log nu), so there is one maximum and Newton's method finds it; and a model's
points (wins plus half the ties) are all that the data say of its strength, so that in a tournament
where everyone meets everyone equally often strengths have the sequence of points.

A weak normal prior on each strength (standard deviation :data:`PRIOR` Elo points) and on ``log
nu`` keeps everything finite where a model never lost or never tied. With fifty battles a model it
moves strengths by half a point; where it decides, :mod:`magistrate.metrics.ranking.components`
says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.metrics.ranking.counts import Pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

ELO = 400 / math.log(10)
"""Elo points in one natural unit: 400 points are odds of ten to one."""
PRIOR = 1_000.0
"""Standard deviation of the prior on strengths, in Elo points."""

PRECISION = (ELO / PRIOR) ** 2
_MOST_STEPS = 100
_ENOUGH = 1e-9
_LONGEST_STEP = 3.0
_MOST_CHORDS = 25
_ENOUGH_FOR_TESTS = 1e-2
"""A step of Newton's after which what is left is its square."""
_ENOUGH_FOR_DRAWS = 1e-5
"""A thousandth of an Elo point, which no interval shows."""


@dataclass(frozen=True, slots=True)
class Fit:
    """Strengths of one or many tables of counts."""

    strength: Floats
    """Shape (tables, models), natural units, mean about 0."""
    log_tie: Floats
    """Shape (tables,): log nu; minus infinity where the first table has no ties."""
    converged: bool


def fit(pairs: Pairs, counts: Floats) -> Fit:
    """Fit the model to a table of counts.

    Args:
        pairs: The pairs that met.
        counts: Shape (pairs, 3): wins of the lower place, ties, wins of the higher.

    Returns:
        The strengths of the posterior mode.
    """
    import numpy as np

    # Without any tie nu is 0, which is plain Bradley-Terry.
    ties = bool(counts[:, 1].any())
    values, converged = _newton(
        _Problem(pairs, counts[None], ties), np.zeros((1, pairs.models + 1))
    )
    return _as_fit(values, ties, converged)


def refit(pairs: Pairs, counts: Floats, start: Fit) -> Fit:
    """Fit the model to many tables that resemble the one of a fit, as resamples do.

    Args:
        pairs: The pairs that met.
        counts: Shape (tables, pairs, 3).
        start: The fit of the table that they resemble.
    """
    import numpy as np

    ties = bool(np.isfinite(start.log_tie[0]))
    first = np.append(start.strength[0], start.log_tie[0] if ties else 0.0)
    problem = _Problem(pairs, counts, ties)
    # One inverse serves all tables and steps: what changes between resamples is mostly the slope.
    inverse = np.linalg.inv(
        _Problem(pairs, counts.mean(axis=0)[None], ties).information(first[None])[0]
    )
    values = np.tile(first, (len(counts), 1))
    done = np.zeros(len(counts), dtype=bool)
    for _ in range(_MOST_CHORDS):
        step = problem.slope(values) @ inverse
        longest = np.abs(step).max(axis=1)
        if longest.max(initial=0.0) > _LONGEST_STEP:
            break
        values += step
        done = longest < _ENOUGH_FOR_DRAWS
        if done.all():
            return _as_fit(values, ties, converged=True)
    # Where that goes astray (few battles, models that never lose) each table has its own Newton.
    left = np.flatnonzero(~done)
    begin = np.tile(first, (len(left), 1))
    values[left], converged = _newton(_Problem(pairs, counts[left], ties), begin)
    return _as_fit(values, ties, converged)


def fit_equal(
    pairs: Pairs,
    counts: Floats,
    strength: Floats,
    log_tie: float,
    one: NDArray[np.int64],
    other: NDArray[np.int64],
) -> tuple[Floats, Floats]:
    """Fit the model again with two models held equal, for many choices of the two.

    Args:
        pairs: The pairs that met.
        counts: Shape (pairs, 3).
        strength: Shape (models,): where all are free, natural units, of any mean.
        log_tie: log nu there; minus infinity without ties.
        one: Shape (tests,): places of models.
        other: Shape (tests,): the models that they are held equal to.

    Returns:
        Values, shape (tests, models + 1): strengths and log nu; and the inverse information there
        times the contrast of the two, of the same shape. A score times the latter is effective:
        what all other strengths account for is taken out of it.
    """
    import numpy as np

    ties = bool(np.isfinite(log_tie))
    tests = np.arange(len(one))
    values = np.tile(np.append(strength, log_tie if ties else 0.0), (len(one), 1))
    values[tests, one] = values[tests, other] = (strength[one] + strength[other]) / 2
    contrast = np.zeros_like(values)
    contrast[tests, one], contrast[tests, other] = 1, -1
    problem = _Problem(pairs, counts[None], ties)
    height = problem.height(values)
    for _ in range(_MOST_STEPS):
        slope, information = problem.slope_and_information(values)
        right = np.stack([slope, contrast], axis=-1)
        free, turn = np.moveaxis(np.linalg.solve(information, right), -1, 0)
        pull = (contrast * free).sum(axis=1) / (contrast * turn).sum(axis=1)
        step = free - pull[:, None] * turn
        longest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1, _LONGEST_STEP / np.maximum(longest, 1e-300))
        values, height = _climb(problem, values, height, step)
        if longest.max(initial=0.0) < _ENOUGH_FOR_TESTS:
            break
    return values, np.asarray(turn, dtype=np.float64)


def _newton(problem: _Problem, values: Floats) -> tuple[Floats, bool]:
    import numpy as np

    height = problem.height(values)
    for _ in range(_MOST_STEPS):
        step = problem.newton_step(values)
        longest = np.abs(step).max(axis=1, keepdims=True)
        step *= np.minimum(1, _LONGEST_STEP / np.maximum(longest, 1e-300))
        values, height = _climb(problem, values, height, step)
        if longest.max(initial=0.0) < _ENOUGH:
            return values, True
    return values, False


def _as_fit(values: Floats, ties: bool, converged: bool) -> Fit:
    import numpy as np

    log_tie = values[:, -1] if ties else np.full(len(values), -np.inf)
    return Fit(values[:, :-1], log_tie, converged)


def covariance(pairs: Pairs, counts: Floats, found: Fit) -> Floats:
    """Return the inverse information at a fit, shape (models, models), natural units squared.

    Args:
        pairs: The pairs that met.
        counts: Shape (pairs, 3).
        found: The fit of these counts.

    It holds for independent battles; the bootstrap over questions does not need that.
    """
    import numpy as np

    ties = bool(np.isfinite(found.log_tie[0]))
    log_tie = found.log_tie[:1] if ties else np.zeros(1)
    values = np.append(found.strength[:1], log_tie[:, None], axis=1)
    information = _Problem(pairs, counts[None], ties).information(values)[0]
    inverse: Floats = np.linalg.inv(information)[:-1, :-1]
    return inverse


def chances(gap: Floats, log_tie: Floats | float) -> tuple[Floats, Floats, Floats]:
    """Return the chances of win, tie and loss.

    Args:
        gap: Any shape: strength minus the opponent's, natural units.
        log_tie: log nu, of a shape that fits.
    """
    import numpy as np

    half = gap / 2
    top = np.maximum(np.abs(half), log_tie)
    win, tie, loss = np.exp(half - top), np.exp(log_tie - top), np.exp(-half - top)
    total = win + tie + loss
    return win / total, tie / total, loss / total


class _Problem:
    """The posterior of one or many tables; values are strengths, then log nu."""

    def __init__(self, pairs: Pairs, counts: Floats, ties: bool) -> None:
        import numpy as np

        self._pairs, self._counts, self._ties = pairs, counts, ties
        self._battles = counts.sum(-1)
        self._lead = (counts[..., 0] - counts[..., 2]) / 2
        incidence = np.zeros((len(pairs), pairs.models))
        incidence[np.arange(len(pairs)), pairs.low] = 1
        incidence[np.arange(len(pairs)), pairs.high] = -1
        self._incidence = incidence

    def _gap_and_tie(self, values: Floats) -> tuple[Floats, Floats]:
        import numpy as np

        gap = values[:, self._pairs.low] - values[:, self._pairs.high]
        log_tie = values[:, -1:] if self._ties else np.full((len(values), 1), -np.inf)
        return gap, log_tie

    def height(self, values: Floats) -> Floats:
        """Return the log posterior up to a constant, shape (tables,)."""
        import numpy as np

        gap, log_tie = self._gap_and_tie(values)
        half = np.abs(gap / 2)
        top = np.maximum(half, log_tie)
        scale = top + np.log(np.exp(half - top) + np.exp(log_tie - top) + np.exp(-half - top))
        likelihood = (self._lead * gap - self._battles * scale).sum(axis=1)
        if self._ties:
            likelihood = likelihood + self._counts[..., 1].sum(axis=1) * values[:, -1]
        prior: Floats = likelihood - PRECISION / 2 * np.square(values).sum(axis=1)
        return prior

    def slope(self, values: Floats) -> Floats:
        """Return the first derivative, shape (tables, models + 1)."""
        return self._slope(values, *chances(*self._gap_and_tie(values)))

    def _slope(self, values: Floats, win: Floats, tie: Floats, loss: Floats) -> Floats:
        import numpy as np

        slope = np.zeros_like(values)
        pull = self._lead - self._battles * (win - loss) / 2
        slope[:, :-1] = pull @ self._incidence
        if self._ties:
            slope[:, -1] = (self._counts[..., 1] - self._battles * tie).sum(axis=1)
        downhill: Floats = slope - PRECISION * values
        return downhill

    def newton_step(self, values: Floats) -> Floats:
        """Return where Newton's method would go from here, shape (tables, models + 1)."""
        import numpy as np

        slope, information = self.slope_and_information(values)
        step = np.linalg.solve(information, slope[..., None])[..., 0]
        return np.asarray(step, dtype=np.float64)

    def slope_and_information(self, values: Floats) -> tuple[Floats, Floats]:
        """Return both at the price of little more than one."""
        chance = chances(*self._gap_and_tie(values))
        return self._slope(values, *chance), self._information(*chance)

    def information(self, values: Floats) -> Floats:
        """Return the negative second derivative, shape (tables, models + 1, models + 1)."""
        return self._information(*chances(*self._gap_and_tie(values)))

    def _information(self, win: Floats, tie: Floats, loss: Floats) -> Floats:
        import numpy as np

        low, high, k = self._pairs.low, self._pairs.high, self._pairs.models
        curve = self._battles * ((win + loss) - np.square(win - loss)) / 4
        matrix = np.zeros((len(win), k + 1, k + 1))
        matrix[:, low, high] = -curve
        matrix[:, high, low] = -curve
        places = np.arange(k)
        matrix[:, places, places] = curve @ np.abs(self._incidence)
        if self._ties:
            cross = (-self._battles * tie * (win - loss) / 2) @ self._incidence
            matrix[:, :k, k] = matrix[:, k, :k] = cross
            matrix[:, k, k] = (self._battles * tie * (1 - tie)).sum(axis=1)
        every = np.arange(k + 1)
        matrix[:, every, every] += PRECISION
        return matrix


def _climb(
    problem: _Problem, values: Floats, height: Floats, step: Floats
) -> tuple[Floats, Floats]:
    """Take each table's step, halved as often as it takes not to go down."""
    import numpy as np

    for _ in range(30):
        reached = problem.height(values + step)
        lower = reached < height - 1e-9 * (1 + np.abs(height))
        if not lower.any():
            break
        step = np.where(lower[:, None], step / 2, step)
    return values + step, reached
