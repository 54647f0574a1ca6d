"""What annotators said of a pair, as one label.

An annotator's preference is used as given; without one it is derived from their probability,
scores or ranking. Several annotators are merged by **majority**: the label that more of them gave
than any other. Where two labels lead with equally many votes (a three-way disagreement, or one
against one) the sample has *no majority*; it is counted, and never guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from magistrate.metrics.compact import sign
from magistrate.records import Gold, Preference, Sample

NO_MAJORITY: Literal["no majority"] = "no majority"

_BY_SIGN: dict[int, Preference] = {1: "first", 0: "tie", -1: "second"}


def gold_label(sample: Sample) -> Preference | Literal["no majority"] | None:
    """Return the annotators' majority on a pair; None when nobody labelled it or it is no pair."""
    if len(sample.answers) != 2:
        return None
    votes = [vote for gold in sample.gold if (vote := annotator_vote(gold)) is not None]
    return majority(votes) if votes else None


def annotator_vote(gold: Gold) -> Preference | None:
    """Return which of two answers one annotator prefers, None when they did not say.

    >>> annotator_vote(Gold(scores=(7, 9)))
    'second'
    """
    if gold.preference is not None:
        return gold.preference
    if gold.probability_second is not None:
        return _BY_SIGN[sign(0.5 - gold.probability_second)]
    if gold.scores is not None and len(gold.scores) == 2:
        return _BY_SIGN[sign(gold.scores[0] - gold.scores[1])]
    if gold.ranking is not None and len(gold.ranking) == 2:
        return _BY_SIGN[sign(gold.ranking[1] - gold.ranking[0])]
    return None


def majority(votes: Sequence[Preference]) -> Preference | Literal["no majority"]:
    """Return the most frequent vote, if no other is as frequent.

    >>> majority(("first", "second", "first"))
    'first'
    >>> majority(("first", "second", "tie"))
    'no majority'
    """
    leading = Counter(votes).most_common(2)
    if not leading or (len(leading) == 2 and leading[0][1] == leading[1][1]):
        return NO_MAJORITY
    return leading[0][0]
