"""Strengths by each method, with what the data say of their uncertainty."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.draws import SEED
from magistrate.metrics.intervals import LEVEL, Rate
from magistrate.metrics.ranking.battles import Battles
from magistrate.metrics.ranking.components import Beyond
from magistrate.metrics.ranking.counts import (
    Pairs,
    points_and_weights,
    resampled_counts,
)
from magistrate.metrics.ranking.davidson import ELO, fit, refit
from magistrate.metrics.ranking.elo import points_moved, ratings_of, resampled_elo
from magistrate.metrics.ranking.separation import what_is_open
from magistrate.metrics.ranking.style import FEATURES, style_differences
from magistrate.metrics.ranking.styled import fit_styled
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

Method = Literal["bradley-terry", "elo", "win-rate"]
METHODS: tuple[Method, ...] = ("bradley-terry", "elo", "win-rate")

BASE = 1_000.0

Unknown = Literal["absent", "equal", "above", "below", "aside"]
"""``absent``: no answer has any. ``equal``: no two answers that met differ in it. ``above``
(``below``): more (less) of it went with winning so strictly that its worth has no bound on that
side. ``aside``: its worth is open on both sides."""


class StyleEffect(Record):
    """What a feature of style is worth to the judge."""

    feature: str
    effect: Rate
    """In Elo points, for a difference of one standard deviation; above 0: more of it wins. Without
    value where it cannot be known."""
    unknown: Unknown | None
    """Why it cannot be known; None where it can."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Values of every model and how uncertain they are, on the scale of the method."""

    value: Floats
    """Shape (models,)."""
    draws: Floats
    """Shape (resamples, models); NaN where a resample lacks the model."""
    covariance: Floats | None = None
    """Shape (models, models), instead of draws."""
    log_tie: float = -math.inf
    style: tuple[StyleEffect, ...] | None = None
    converged: bool = True
    moved: Floats | None = None
    """Shape (battles,): by how many points each raised its first model, for Elo alone."""
    loose: NDArray[np.bool_] | None = None
    """Shape (models,): whose strengths are open once style is held constant, where it is."""


def from_counts(
    battles: Battles,
    pairs: Pairs,
    cells: Integers,
    counts: Floats,
    method: Method,
    resamples: int,
    seed: int = SEED,
) -> Estimate:
    """Return Bradley-Terry strengths in Elo points, or win rates."""
    import numpy as np

    parts = resampled_counts(pairs, cells, battles, resamples, seed)
    draws = []
    if method == "win-rate":
        with np.errstate(invalid="ignore"):
            points, weights = points_and_weights(pairs, counts)
            for part in parts:
                some_points, some_weights = points_and_weights(pairs, part)
                draws.append(some_points / some_weights)
        return Estimate(points / weights, np.concatenate(draws))
    found = fit(pairs, counts)
    for part in parts:
        strength = ELO * refit(pairs, part, found).strength
        _, weights = points_and_weights(pairs, part)
        strength[weights == 0] = np.nan
        draws.append(strength)
    return Estimate(
        ELO * found.strength[0],
        np.concatenate(draws),
        log_tie=float(found.log_tie[0]),
        converged=found.converged,
    )


def by_elo(battles: Battles, resamples: int, seed: int = SEED) -> Estimate:
    """Return mean Elo ratings over shuffled sequences."""
    moved = points_moved(battles, seed=seed)
    draws = resampled_elo(battles, resamples, seed=seed)
    return Estimate(ratings_of(battles, moved), draws, moved=moved)


def with_style(battles: Battles, beyond: list[Beyond | None]) -> Estimate:
    """Return Bradley-Terry strengths with style held constant, in Elo points.

    Args:
        battles: With style.
        beyond: Which models are beyond the scale without regard to style.
    """
    import numpy as np

    found = fit_styled(battles)
    k = len(battles.models)
    assert battles.style is not None
    left_open = what_is_open(battles, style_differences(battles.style), beyond)
    reach = ELO * NormalDist().inv_cdf(0.5 + LEVEL / 2)
    effects = []
    for place, feature in enumerate(FEATURES):
        counted = battles.style[:, :, place]
        unknown: Unknown | None = left_open.style[place]
        if (counted[:, 0] == counted[:, 1]).all():
            unknown = "equal" if counted.any() else "absent"
        rate = Rate(value=None, n=len(battles))
        if unknown is None:
            value = ELO * float(found.style[place])
            half = reach * math.sqrt(found.covariance[k + place, k + place])
            rate = Rate(value=value, n=len(battles), low=value - half, high=value + half)
        effects.append(StyleEffect(feature=feature, effect=rate, unknown=unknown))
    return Estimate(
        ELO * found.strength,
        np.empty((0, k)),
        covariance=ELO**2 * found.covariance[:k, :k],
        log_tie=found.log_tie,
        style=tuple(effects),
        converged=found.converged,
        loose=left_open.models,
    )


def anchored(estimate: Estimate, component: Integers, anchors: list[Integers]) -> Estimate:
    """Move each component so that its anchors have a mean of 1000."""
    import numpy as np

    shift = np.eye(len(component))
    for number, anchor in enumerate(anchors):
        shift[np.ix_(np.flatnonzero(component == number), anchor)] -= 1 / len(anchor)
    draws = np.where(np.isnan(estimate.draws), 0, estimate.draws) @ shift.T + BASE
    draws[np.isnan(estimate.draws)] = np.nan
    covariance = estimate.covariance
    return replace(
        estimate,
        value=shift @ estimate.value + BASE,
        draws=draws,
        covariance=None if covariance is None else shift @ covariance @ shift.T,
    )


def anchors_of(
    battles: Battles, component: Integers, beyond: list[Beyond | None], baseline: str | None
) -> list[Integers]:
    """Return for each component the models whose mean is to be 1000.

    Models beyond the scale would move all others by as much as the prior lets them; they are
    taken only where there are no others.
    """
    import numpy as np

    bounded = np.array([side is None for side in beyond])
    anchors = []
    for number in range(int(component.max()) + 1):
        members = component == number
        some = members & bounded
        anchors.append(np.flatnonzero(some if some.any() else members))
    if baseline is not None:
        place = battles.models.index(baseline)
        anchors[component[place]] = np.array([place])
    return anchors
