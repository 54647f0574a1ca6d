"""Which samples are worth a look: where judge and people differ most, by the judge's confidence.

A judge that prefers what people reject comes before one that misses or invents a tie; within each,
the surest first. Without labels: pairs where the judge contradicts itself when the answers swap
places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.columns import NOTHING, SPLIT

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from magistrate.metrics.columns import PairColumns

Why = Literal["opposite", "tie", "orders"]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A sample to look at."""

    row: int
    """Its place in the run or file."""
    why: Why
    """``opposite``: people prefer the other answer; ``tie``: one of both says tie; ``orders``: the
    judge contradicts itself."""
    said: int
    gold: int
    as_given: int
    swapped: int
    confidence: float
    """NaN where the judge gives none."""


def choose(pairs: PairColumns, most: int) -> tuple[Chosen, ...]:
    """Return the samples to look at, the most telling first, no text twice in a row.

    Args:
        pairs: A judge's pairs.
        most: How many at most; 0 for none.
    """
    import numpy as np

    if most <= 0 or not len(pairs):
        return ()
    labelled = (pairs.gold != NOTHING) & (pairs.gold != SPLIT)
    differs = pairs.ok & labelled & (pairs.said != pairs.gold)
    if not labelled.any():
        flips = (pairs.as_given != NOTHING) & (pairs.swapped != NOTHING)
        differs = flips & (pairs.as_given != pairs.swapped)
    places = np.flatnonzero(differs)
    gap = _gap(pairs, labelled)[places]
    sure = np.nan_to_num(pairs.confidence[places], nan=-1.0)
    order = places[np.lexsort((pairs.row[places], -sure, -gap))]
    return tuple(_chosen(pairs, int(place), labelled) for place in order[:most])


def _gap(pairs: PairColumns, labelled: NDArray[np.bool_]) -> NDArray[np.int64]:
    import numpy as np

    said = np.where(labelled, pairs.said, pairs.as_given).astype(np.int64)
    other = np.where(labelled, pairs.gold, pairs.swapped).astype(np.int64)
    gaps: NDArray[np.int64] = np.abs(said - other)
    return gaps


def _chosen(pairs: PairColumns, place: int, labelled: NDArray[np.bool_]) -> Chosen:
    said, gold = int(pairs.said[place]), int(pairs.gold[place])
    why: Why = "orders"
    if labelled[place]:
        why = "opposite" if said * gold == -1 else "tie"
    return Chosen(
        row=int(pairs.row[place]),
        why=why,
        said=said,
        gold=gold,
        as_given=int(pairs.as_given[place]),
        swapped=int(pairs.swapped[place]),
        confidence=float(pairs.confidence[place]),
    )
