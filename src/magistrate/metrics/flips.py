"""Does the judge say the same when it reads the same prompt again?

A **reading** here is one sample in one order, read N times (``--repeat N``). The **flip rate** is
the share of readings whose ``ok`` repeats do not all have the same outcome, among the readings with
at least two ``ok`` repeats. The outcome is the preference of a pair, the ranking of three answers
and more, the score of a single one. Failed repeats have no outcome: they neither agree nor
disagree.

It grows with N: of ten repeats one is more often out of line than of two. So the number of repeats
belongs to it. With greedy decoding and exact probabilities it should be 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from magistrate.ids import content_id
from magistrate.metrics.intervals import Rate, proportion
from magistrate.records import Judgment


def flip_rate(readings: Iterable[Sequence[Hashable]]) -> Rate:
    """Return the share of readings whose repeats do not all agree, with Wilson's interval.

    Args:
        readings: For each reading the outcomes of its ``ok`` repeats; those with fewer than two
            are left out.

    >>> flip_rate([["first", "first"], ["first", "tie"], ["tie"]]).value
    0.5
    """
    compared = [len(set(outcomes)) > 1 for outcomes in readings if len(outcomes) > 1]
    return proportion(sum(compared), len(compared))


class FlipCounter:
    """Measures the flip rate over a stream of judgments, in any sequence.

    Kept per reading: a hash, the hash of its first outcome, and whether another one was seen.
    """

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._repeated: set[int] = set()
        self._flipped: set[int] = set()

    def add(self, judgment: Judgment) -> None:
        """Count one repeat; only those of status ``ok`` have an outcome."""
        outcome = outcome_of(judgment)
        if outcome is None:
            return
        reading = _short_hash([judgment.sample_id, judgment.order])
        said = _short_hash(outcome)
        first = self._first.get(reading)
        if first is None:
            self._first[reading] = said
            return
        self._repeated.add(reading)
        if said != first:
            self._flipped.add(reading)

    def result(self) -> Rate:
        """Return the share of readings that flipped."""
        return proportion(len(self._flipped), len(self._repeated))


def outcome_of(judgment: Judgment) -> str | tuple[float, ...] | None:
    """Return what a judgment says, in the sample's own answer order; None unless it is ``ok``."""
    if judgment.status != "ok":
        return None
    return judgment.preference or judgment.ranking or judgment.scores


def _short_hash(value: object) -> int:
    return int(content_id(value)[:16], 16)
