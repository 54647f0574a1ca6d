"""One annotator as the truth: the judge, a second judge and the other annotators beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.errors import InputError
from magistrate.metrics.annotators import MOST_ANNOTATORS, AgainstOne, against_one
from magistrate.metrics.columns import NOTHING
from magistrate.report.judged import Judged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.integer]


def tables_against(judged: Judged, second: Judged | None) -> dict[str, tuple[AgainstOne, ...]]:
    """Return a table for each annotator that is taken as the truth; none with one annotator.

    With a second judge also one annotator is enough: then the judges stand beside each other.

    Raises:
        InputError: The second judge has no pair in common with the first.
    """
    pairs = judged.pairs
    names = pairs.annotators
    if len(names) > MOST_ANNOTATORS or len(names) < (1 if second else 2):
        return {}
    others: list[tuple[str, str, Codes]] = [(judged.judge, "judge", pairs.said)]
    if second is not None:
        others.append((second.judge, "second judge", _said_of(judged, second)))
    return {
        truth: against_one(
            pairs.votes[:, k],
            [
                *others,
                *(
                    (name, "annotator", pairs.votes[:, other])
                    for other, name in enumerate(names)
                    if other != k
                ),
            ],
            pairs.question,
        )
        for k, truth in enumerate(names)
    }


def _said_of(judged: Judged, second: Judged) -> Codes:
    """Return what the second judge said of the first one's pairs, by their sequence."""
    import numpy as np

    place = places_in(second)
    said = np.full(len(judged.pairs), NOTHING, dtype=np.int8)
    found = 0
    for mine, row in enumerate(judged.pairs.row.tolist()):
        sample = judged.samples[row][0]
        theirs = place.get(sample.id, place.get(sample.text_id, place.get(sample.source_id)))
        if theirs is not None:
            said[mine] = second.pairs.said[theirs]
            found += 1
    if not found:
        raise InputError(
            f"{second.source} has no pair in common with {judged.source}: neither text nor ids "
            f"are the same; give both the same --labels, or judgments of the same samples"
        )
    return said


def places_in(judged: Judged) -> dict[str | None, int]:
    """Return the place of each pair by its id, its text and the file's own id."""
    places: dict[str | None, int] = {}
    for place, row in enumerate(judged.pairs.row.tolist()):
        sample = judged.samples[row][0]
        texts = any(answer.text for answer in sample.answers)
        for key in (sample.id, sample.text_id if texts else None, sample.source_id):
            if key is not None:
                places.setdefault(key, place)
    return places
