"""What battles leave open when strengths and the worth of style are fitted together.

Where every battle is won by, say, the longer answer, the likelihood rises for ever with the worth
of length, whatever the strengths: the data are *separated* (Albert & Anderson 1984), and what the
fit returns is what its weak prior leaves. The directions in which the likelihood never falls form
a cone: along them no battle becomes less likely. They are found by linear programming (Konis
2007). What some direction changes is open; what none changes is bounded by the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.metrics.draws import SEED
from magistrate.metrics.ranking.battles import Battles
from magistrate.metrics.ranking.components import Beyond

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

MOST_BATTLES = 20_000
"""With more battles separation is not looked for."""
_RANDOM = 8
"""Directions of random objectives, besides two for each feature."""
_MOVES = 1e-6


@dataclass(frozen=True, slots=True)
class Open:
    """What the data do not bound."""

    style: list[Beyond | None]
    """An entry per feature: on which side its worth is open, ``aside`` for both."""
    models: Bools
    """Shape (models,): whose strengths, both answers looking alike, are open beside the others';
    all, where no two are bounded by each other."""


def what_is_open(battles: Battles, apart: Floats, beyond: list[Beyond | None]) -> Open:
    """Return what the battles leave open.

    Args:
        battles: One or more.
        apart: Shape (n, features): how the answers of each battle differ.
        beyond: Models that are beyond the scale without regard to style. Whatever the worth of
            style, their strengths can make their battles likely, so that these bound nothing.
    """
    import numpy as np

    k, features = len(battles.models), apart.shape[1]
    if len(battles) > MOST_BATTLES:
        return Open([None] * features, np.zeros(k, dtype=bool))
    differs = np.flatnonzero(apart.any(axis=0))
    bounded = np.array([side is None for side in beyond])
    directions = _directions(battles, apart[:, differs], bounded)
    worth = directions[:, k:]
    style: list[Beyond | None] = [None] * features
    for place, feature in enumerate(differs):
        up, down = worth[:, place].max() > _MOVES, worth[:, place].min() < -_MOVES
        style[feature] = "aside" if up and down else "above" if up else "below" if down else None
    models = np.zeros(k, dtype=bool)
    if any(style):
        models[bounded] = _apart_from_most(directions[:, :k][:, bounded])
    return Open(style, models)


def _directions(battles: Battles, apart: Floats, bounded: Bools) -> Floats:
    """Return directions along which no battle becomes less likely, shape (some, models + some)."""
    import numpy as np
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csr_array, hstack

    k, columns = len(battles.models), apart.shape[1]
    taken = bounded[battles.first] & bounded[battles.second]
    first, second = battles.first[taken], battles.second[taken]
    said, n = battles.outcome[taken], int(taken.sum())
    rows = np.arange(n)
    ones = np.ones(n)
    met = coo_array(
        (np.append(ones, -ones), (np.tile(rows, 2), np.append(first, second))), shape=(n, k)
    )
    design = csr_array(hstack([met, csr_array(apart[taken])]))
    won = csr_array(design[said != 0].multiply(-said[said != 0][:, None]))
    tied = csr_array(design[said == 0])
    rng = np.random.default_rng(SEED)
    goals = list(rng.standard_normal((_RANDOM, k + columns)))
    for column in range(k, k + columns):
        goal = np.zeros(k + columns)
        goal[column] = 1
        goals += [goal, -goal]
    found = []
    for goal in goals:
        solved = linprog(
            -goal,
            A_ub=won if won.shape[0] else None,
            b_ub=np.zeros(won.shape[0]) if won.shape[0] else None,
            A_eq=tied if tied.shape[0] else None,
            b_eq=np.zeros(tied.shape[0]) if tied.shape[0] else None,
            bounds=(-1, 1),
        )
        if solved.x is not None:
            found.append(solved.x)
    return np.array(found).reshape(-1, k + columns)


def _apart_from_most(moves: Floats) -> Bools:
    """Return which models do not move along with the largest group that moves together."""
    import numpy as np

    _, group, size = np.unique(
        moves.round(6).T + 0.0, axis=0, return_inverse=True, return_counts=True
    )
    group = group.reshape(-1)
    # Of equal groups, that of the first model.
    largest = max(range(len(size)), key=lambda g: (size[g], -int(np.flatnonzero(group == g)[0])))
    loose: Bools = group != largest
    # Where no two move together there is no rest to be measured by.
    return np.ones_like(loose) if len(size) == len(group) > 1 else loose
