"""A judge's comparisons as battles of models: pairs, and every two answers of larger samples."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from magistrate.metrics.columns import UNNAMED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from magistrate.metrics.columns import Named
    from magistrate.report.judged import Judged

    Codes = NDArray[np.int64]

_PLACES = ("first answer", "second answer")


@dataclass(frozen=True, slots=True)
class Battles:
    """Who met whom, and who won; every array has one entry per battle."""

    models: tuple[str, ...]
    first: Codes
    """Places in ``models``."""
    second: Codes
    outcome: Codes
    """1 the first won, 0 tie, -1 the second won."""
    question: NDArray[np.uint64]


def battles_of(judged: Judged) -> Battles:
    """Return the battles of a judge; models that meet themselves are left out.

    Answers without a model's name are named by their place.
    """
    import numpy as np

    pairs = judged.pairs.take(judged.pairs.ok)
    names: dict[str, int] = {}
    columns = [
        (
            _codes(pairs.first_model, names, _PLACES[0]),
            _codes(pairs.second_model, names, _PLACES[1]),
            pairs.said.astype(np.int64),
            pairs.question,
        ),
        *_of_ranked(judged, names),
    ]
    first, second, outcome, question = (
        np.concatenate(parts) for parts in zip(*columns, strict=True)
    )
    unlike = first != second
    return Battles(tuple(names), first[unlike], second[unlike], outcome[unlike], question[unlike])


def _codes(named: Named, names: dict[str, int], unnamed: str) -> Codes:
    import numpy as np

    places = [
        names.setdefault(unnamed if name == UNNAMED else name, len(names)) for name in named.names
    ]
    codes: Codes = np.array(places, dtype=np.int64)[named.codes]
    return codes


def _of_ranked(
    judged: Judged, names: dict[str, int]
) -> list[tuple[Codes, Codes, Codes, NDArray[np.uint64]]]:
    """Return every two answers of samples of three and more as battles."""
    import numpy as np

    ranked = judged.ranked
    good = (ranked.size > 2) & (ranked.status == 0)
    if not good.any():
        return []
    starts = np.cumsum(ranked.size) - ranked.size
    found = []
    for size in np.unique(ranked.size[good]):
        which = np.flatnonzero(good & (ranked.size == size))
        for one, other in combinations(range(int(size)), 2):
            mine, theirs = starts[which] + one, starts[which] + other
            codes = [
                _codes(ranked.model, names, f"answer {place + 1}")[at]
                if UNNAMED in ranked.model.names
                else _codes(ranked.model, names, "")[at]
                for place, at in ((one, mine), (other, theirs))
            ]
            outcome = np.sign(ranked.rank[theirs] - ranked.rank[mine])
            known = ~np.isnan(outcome)
            found.append(
                (
                    codes[0][known],
                    codes[1][known],
                    outcome[known].astype(np.int64),
                    ranked.question[which][known],
                )
            )
    return found
