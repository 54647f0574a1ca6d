"""How often a judge says what annotators said, beside what simple rules would score.

Three readings, each under its own name and with the three baselines on the same samples:

* ``decisive``: pairs whose annotators prefer one answer; the same preference scores 1, the other 0,
  and **a predicted tie counts half**, as a coin would be right half of the time;
* ``decisive, more confident half``: the same on the half of those pairs where the judge's
  confidence is highest (equal confidence: by content id, so the sequence in the file is no matter);
* ``three classes``: all pairs with a majority, tie included; share where the labels are equal.

Intervals are those of :func:`magistrate.metrics.intervals.mean_of_points`, with questions as the
unit: pairs of one question stand or fall together.

Readings that are not ``ok`` score nothing and are counted in ``not_ok``: look at it before
comparing two judges.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from magistrate.metrics.baselines import coin, longer_code
from magistrate.metrics.compact import PREFERENCE_CODES, hash64, question_cluster
from magistrate.metrics.gold import NO_MAJORITY, gold_label
from magistrate.metrics.intervals import Rate, mean_of_points
from magistrate.records import Decision, Record, Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.int64]

DECISIVE_RULE = "annotators prefer one answer; a predicted tie counts half"
CONFIDENT_RULE = "the half of the decisive pairs where the judge is most confident"
THREE_CLASS_RULE = "first, second or tie; right when equal to the annotators' majority"


class Compared(Record):
    """A judge and the baselines on the same samples by the same rule."""

    rule: str
    judge: Rate
    longer_wins: Rate
    first_wins: Rate
    random: Rate


class Agreement(Record):
    """Agreement of a judge with the annotators of its input."""

    labelled: int
    """Pairs that at least one annotator labelled."""
    no_majority: int
    """Of these, pairs where two labels have equally many votes; left out below."""
    not_ok: int
    """Of those with a majority, pairs without an ``ok`` decision; left out below."""
    decisive: Compared
    confident_half: Compared | None
    """None for judges that give no confidence."""
    three_class: Compared


class AgreementCounter:
    """Measures agreement over a stream of samples and their decisions: 35 bytes a labelled pair."""

    def __init__(self) -> None:
        self._labelled = 0
        self._no_majority = 0
        self._not_ok = 0
        self._gold = array("b")
        self._said = array("b")
        self._longer = array("b")
        self._confidence = array("d")
        self._id = array("Q")
        self._question = array("Q")

    def add(self, sample: Sample, decision: Decision | None) -> None:
        """Count one sample; ``decision`` is None while a judgment of it is missing."""
        label = gold_label(sample)
        if label is None:
            return
        self._labelled += 1
        if label == NO_MAJORITY:
            self._no_majority += 1
            return
        if decision is None or decision.status != "ok" or decision.preference is None:
            self._not_ok += 1
            return
        confidence = decision.confidence
        self._gold.append(PREFERENCE_CODES[label])
        self._said.append(PREFERENCE_CODES[decision.preference])
        self._longer.append(longer_code(sample))
        self._confidence.append(confidence if confidence is not None else float("nan"))
        self._id.append(hash64(decision.sample_id))
        self._question.append(question_cluster(sample))

    def result(self) -> Agreement | None:
        """Return the agreement; None when no pair is labelled."""
        import numpy as np

        if not self._labelled:
            return None
        gold, said, longer = (
            np.asarray(column, dtype=np.int64) for column in (self._gold, self._said, self._longer)
        )
        # Small numbers instead of hashes: they need less sorting in each of the rates below.
        questions = np.unique(np.asarray(self._question, dtype=np.uint64), return_inverse=True)[1]
        pairs = _Pairs(gold, said, longer, questions)
        confident = self._confident_half(np.flatnonzero(gold))
        return Agreement(
            labelled=self._labelled,
            no_majority=self._no_majority,
            not_ok=self._not_ok,
            decisive=_by_points(DECISIVE_RULE, pairs.take(np.flatnonzero(gold))),
            confident_half=None
            if confident is None
            else _by_points(CONFIDENT_RULE, pairs.take(confident)),
            three_class=_by_class(pairs),
        )

    def _confident_half(self, decisive: Codes) -> Codes | None:
        """Return the places of the more confident half, rounded up; None unless all are told.

        Half of those that have a confidence is not half of the pairs: in a cascade's run it would
        be half of what one of its judges decided.
        """
        import numpy as np

        confidence = np.asarray(self._confidence)[decisive]
        if not len(decisive) or np.isnan(confidence).any():
            return None
        ids = np.asarray(self._id, dtype=np.uint64)[decisive]
        by_confidence = np.lexsort((ids, -confidence))
        half: Codes = decisive[by_confidence[: (len(decisive) + 1) // 2]]
        return half


def measure_agreement(judged: Iterable[tuple[Sample, Decision | None]]) -> Agreement | None:
    """Return the agreement of decisions with the samples' annotators; None without labels."""
    counter = AgreementCounter()
    for sample, decision in judged:
        counter.add(sample, decision)
    return counter.result()


class _Pairs(NamedTuple):
    """Labelled pairs with a decision; each column has shape (n,)."""

    gold: Codes
    said: Codes
    longer: Codes
    questions: Codes

    def take(self, places: Codes) -> _Pairs:
        return _Pairs(*(column[places] for column in self))


def _by_points(rule: str, pairs: _Pairs) -> Compared:
    """Compare decisive pairs: 1 for the preferred answer, 1/2 for a tie, 0 for the other."""
    return _compared(rule, pairs, lambda outcome: 1 - abs(pairs.gold - outcome) / 2)


def _by_class(pairs: _Pairs) -> Compared:
    """Compare on all pairs with a majority: right when the classes are equal."""
    return _compared(THREE_CLASS_RULE, pairs, lambda outcome: pairs.gold == outcome)


def _compared(rule: str, pairs: _Pairs, points: Callable[[Codes], NDArray[np.generic]]) -> Compared:
    def rate(outcome: Codes) -> Rate:
        return mean_of_points(points(outcome), pairs.questions)

    return Compared(
        rule=rule,
        judge=rate(pairs.said),
        longer_wins=rate(pairs.longer),
        first_wins=rate(0 * pairs.gold + 1),
        random=coin(pairs.gold, pairs.questions),
    )
