"""Which models can be compared at all, and whose strength the data bound.

* Models that no chain of battles connects are in different **components**: nothing says which is
  better, so there are no ranks across components.
* A strength is bounded by the data when the model, directly or through others, both won (or tied)
  and lost (or tied) against the rest (Ford 1957, "Solution of a ranking problem from binary
  comparisons"). A model that only ever won could be any amount better; it is *beyond the scale*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from magistrate.metrics.ranking.counts import Pairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

Beyond = Literal["above", "below", "aside"]
"""``above``: better than the rest by an amount that the data do not bound. ``below``: worse so.
``aside``: nothing tells on which side of the rest it is."""


def components(pairs: Pairs) -> Integers:
    """Return the component of every model, shape (models,), the largest is 0."""
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    met = coo_array((np.ones(len(pairs)), (pairs.low, pairs.high)), shape=(pairs.models,) * 2)
    _, label = connected_components(met.tocsr(), directed=False)
    return _largest_first(label)


def beyond_the_scale(pairs: Pairs, counts: Floats) -> list[Beyond | None]:
    """Return for every model whether its strength is unbounded beside the others'.

    The others are the largest group whose members all beat or tied each other in a circle.

    Args:
        pairs: The pairs that met.
        counts: Shape (pairs, 3).

    Returns:
        An entry per model, None for those that the data bound.
    """
    import numpy as np
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    low_scored = counts[:, 0] + counts[:, 1] > 0
    high_scored = counts[:, 2] + counts[:, 1] > 0
    winner = np.concatenate([pairs.low[low_scored], pairs.high[high_scored]])
    loser = np.concatenate([pairs.high[low_scored], pairs.low[high_scored]])
    ones = np.ones(len(winner))
    beat = coo_array((ones, (winner, loser)), shape=(pairs.models,) * 2).tocsr()
    _, circle = connected_components(beat, directed=True, connection="strong")
    result: list[Beyond | None] = [None] * pairs.models
    component = components(pairs)
    for number in range(component.max(initial=-1) + 1):
        members = np.flatnonzero(component == number)
        main = members[_largest_first(circle[members]) == 0]
        worse = set(breadth_first_order(beat, main[0], return_predecessors=False).tolist())
        better = set(
            breadth_first_order(beat.T.tocsr(), main[0], return_predecessors=False).tolist()
        )
        for place in set(members.tolist()) - set(main.tolist()):
            result[place] = "above" if place in better else "below" if place in worse else "aside"
    return result


def _largest_first(label: Integers) -> Integers:
    """Number groups by size, larger ones first, equal ones by their first member."""
    import numpy as np

    _, first, group, size = np.unique(
        label, return_index=True, return_inverse=True, return_counts=True
    )
    sequence = np.lexsort((first, -size))
    number = np.empty_like(sequence)
    number[sequence] = np.arange(len(sequence))
    result: Integers = number[group]
    return result
