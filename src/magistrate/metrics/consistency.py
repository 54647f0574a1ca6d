"""Does the judge say the same in both orders, and if not, which place does it favour?

Consistency, bias toward first and bias toward second follow JudgeLM (arXiv 2310.17631): over pairs
read in both orders, in the sample's own frame (1 first better, 0 tie, -1 second better), the
verdict with the answers as given minus the verdict with them reversed is

* above 0: the judge favours whichever answer it is shown **first**,
* below 0: it favours whichever it is shown **second**,
* 0: consistent.

A judge that reads each answer alone cannot be swayed by order: its consistency is a property of
its construction and is stated so, never counted as measured.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.compact import PREFERENCE_CODES
from magistrate.metrics.intervals import NO_RATE, Rate, proportion
from magistrate.records import Decision, Judgment, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Shifts = NDArray[np.float64]

Basis = Literal["measured", "by construction", "not measured"]


class Consistency(Record):
    """How far a judge's outcome depends on the order of the answers."""

    basis: Basis
    """``by construction``: each answer is read alone. ``not measured``: one order was read."""
    consistent: Rate = NO_RATE
    """Share of samples with the same outcome in all orders."""
    toward_first: Rate = NO_RATE
    """Share of pairs where the answer shown first gained by its place."""
    toward_second: Rate = NO_RATE
    """Share of pairs where the answer shown second gained by its place."""


class ConsistencyCounter:
    """Measures consistency over a stream of judgments and a stream of decisions.

    All judgments come before the first decision. Kept per judgment: 64 bits of its key and its
    outcome; per decision: the same 64 bits for each of its readings.
    """

    def __init__(self) -> None:
        self._keys = array("Q")
        self._outcomes = array("b")
        self._decision_keys = array("Q")
        self._decision_of_key = array("Q")
        self._decisions = 0
        self._measured = 0
        self._consistent = 0

    def add_judgment(self, judgment: Judgment) -> None:
        """Keep the outcome of a pair; other judgments count through their decision alone."""
        if judgment.status != "ok" or judgment.preference is None or not judgment.order_read:
            return
        outcome = PREFERENCE_CODES[judgment.preference]
        shown_as_given = judgment.order == (0, 1)
        self._keys.append(_short_key(judgment.key))
        # Sign of the outcome and place of the answers in one byte: 1..3 as given, -1..-3 reversed.
        self._outcomes.append(outcome + 2 if shown_as_given else -(outcome + 2))

    def add_decision(self, decision: Decision) -> None:
        """Count one decision; only those of status ``ok`` read in two orders and more count."""
        if decision.status != "ok" or decision.consistent is None:
            return
        self._measured += 1
        self._consistent += decision.consistent
        if decision.preference is not None:
            for key in decision.keys:
                self._decision_keys.append(_short_key(key))
                self._decision_of_key.append(self._decisions)
            self._decisions += 1

    def result(self, *, reads_alone: bool = False) -> Consistency:
        """Return the shares.

        Args:
            reads_alone: Whether the judge's family reads each answer alone.
        """
        if reads_alone:
            return Consistency(basis="by construction")
        if not self._measured:
            return Consistency(basis="not measured")
        shifts = self._shifts()
        pairs = len(shifts)
        return Consistency(
            basis="measured",
            consistent=proportion(self._consistent, self._measured),
            toward_first=proportion(int((shifts > 0).sum()), pairs),
            toward_second=proportion(int((shifts < 0).sum()), pairs),
        )

    def _shifts(self) -> Shifts:
        """Return per pair the mean outcome as given minus the mean outcome reversed."""
        import numpy as np

        keys = np.frombuffer(self._keys, dtype=np.uint64)
        codes = np.frombuffer(self._outcomes, dtype=np.int8)
        wanted = np.frombuffer(self._decision_keys, dtype=np.uint64)
        owner = np.frombuffer(self._decision_of_key, dtype=np.uint64).astype(np.int64)
        if not len(keys) or not len(wanted):
            return np.zeros(0)
        order = np.argsort(keys, kind="stable")
        place = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
        found = keys[order[place]] == wanted
        code = codes[order[place]].astype(np.int64)
        means, read = [], np.ones(self._decisions, dtype=bool)
        for one_order in (code > 0, code < 0):
            chosen = found & one_order
            counts = np.bincount(owner[chosen], minlength=self._decisions)
            sums = np.bincount(
                owner[chosen], weights=np.abs(code[chosen]) - 2, minlength=self._decisions
            )
            read &= counts > 0
            means.append(sums / np.maximum(counts, 1))
        shifts: Shifts = (means[0] - means[1])[read]
        return shifts


def measure_consistency(
    judgments: Iterable[Judgment], decisions: Iterable[Decision], *, reads_alone: bool = False
) -> Consistency:
    """Return consistency and position bias of a judge over its decisions."""
    counter = ConsistencyCounter()
    for judgment in judgments:
        counter.add_judgment(judgment)
    for decision in decisions:
        counter.add_decision(decision)
    return counter.result(reads_alone=reads_alone)


def _short_key(key: str) -> int:
    return int(key[:16], 16)
