"""Pairs as columns: what every measure of a judge of pairs reads.

A run or a judge's output is turned once into arrays of equal length, one entry per pair; the
measures are functions over these arrays. A pair takes about a hundred bytes whatever the length of
its texts, so a million decisions fit in some hundred megabytes.

Outcomes are numbers in the sample's own frame: 1 the first answer is better, 0 tie, -1 the second.
:data:`NOTHING` stands where nobody said anything; it is no outcome and is never counted as one.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from magistrate.metrics.compact import PREFERENCE_CODES, answer_length, question_cluster
from magistrate.metrics.gold import NO_MAJORITY, annotator_vote, majority
from magistrate.records import STATUSES, Decision, Judgment, Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Outcomes = NDArray[np.int8]
    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

NOTHING = 9
"""Nothing was said: not labelled, not read in this order, or not ``ok``."""
SPLIT = 8
"""Only in ``gold``: there are labels, but two lead with equally many votes."""
PENDING = len(STATUSES)
"""Only in ``status``: a judgment of the pair is still missing."""

UNNAMED = ""
"""Annotator, model, category or language that the file does not name."""


@dataclass(frozen=True, slots=True)
class Named:
    """A column of names, each stored once."""

    codes: Integers
    """Shape (n,): places in ``names``."""
    names: tuple[str, ...]

    def where(self, name: str) -> NDArray[np.bool_]:
        """Return which entries have a name; shape (n,)."""
        import numpy as np

        if name not in self.names:
            return np.zeros(len(self.codes), dtype=bool)
        found: NDArray[np.bool_] = self.codes == self.names.index(name)
        return found


@dataclass(frozen=True, slots=True)
class PairColumns:
    """The pairs of one judge over one input; every array has one entry per pair, in input order."""

    row: Integers
    """Place of the sample in its run or file, from 0."""
    question: NDArray[np.uint64]
    """Cluster: pairs of one question share it."""
    status: Outcomes
    """Place of the decision's status in :data:`magistrate.records.STATUSES`, or :data:`PENDING`."""
    said: Outcomes
    """The judge's decision; :data:`NOTHING` unless its status is ``ok``."""
    as_given: Outcomes
    """What the judge said with the answers as given (mean over repeats, by sign)."""
    swapped: Outcomes
    """What it said with the answers swapped, **in the sample's own frame**."""
    gold: Outcomes
    """The annotators' majority; :data:`SPLIT` where there is none, :data:`NOTHING` unlabelled."""
    votes: Outcomes
    """Shape (n, annotators): what each annotator said."""
    annotators: tuple[str, ...]
    """Names of the columns of ``votes``; 'annotator 1', ... where the file names none."""
    gold_second: Floats
    """Soft label: probability that the second answer is better, NaN where there is none."""
    confidence: Floats
    """Probability of the decision; NaN where the judge gives none."""
    probability: Floats
    """Shape (n, 3): the judge's P(first), P(tie), P(second); NaN where it gives none."""
    scores: Floats
    """Shape (n, 2): the judge's scores; NaN where it gives none."""
    lengths: Integers
    """Shape (n, 2): characters of each answer."""
    first_model: Named
    second_model: Named
    category: Named
    language: Named

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.row)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which pairs have a decision; shape (n,)."""
        decided: NDArray[np.bool_] = self.said != NOTHING
        return decided

    def take(self, chosen: NDArray[Any]) -> PairColumns:
        """Return some of the pairs.

        Args:
            chosen: Shape (n,) of bools, or places.
        """
        changes: dict[str, Any] = {}
        for field in fields(self):
            column = getattr(self, field.name)
            if isinstance(column, Named):
                changes[field.name] = Named(column.codes[chosen], column.names)
            elif field.name != "annotators":
                changes[field.name] = column[chosen]
        return replace(self, **changes)


class NameCollector:
    """Collects a :class:`Named` column."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._codes = array("i")

    def add(self, name: str | None) -> None:
        """Add an entry."""
        self._codes.append(self._places.setdefault(name or UNNAMED, len(self._places)))

    def result(self) -> Named:
        """Return what was collected."""
        import numpy as np

        return Named(np.array(self._codes, dtype=np.int64), tuple(self._places))


class PairCollector:
    """Collects :class:`PairColumns` over a stream; samples that are no pairs are only counted."""

    def __init__(self) -> None:
        self.others = 0
        """Samples with one answer or more than two."""
        self._small = array("b")
        self._row = array("q")
        self._question = array("Q")
        self._floats = array("d")
        self._lengths = array("q")
        self._names = tuple(NameCollector() for _ in range(4))
        self._votes: dict[str, dict[int, int]] = {}

    def add(
        self, row: int, sample: Sample, judgments: Sequence[Judgment], decision: Decision | None
    ) -> None:
        """Add one sample.

        Args:
            row: Its place in its run or file, from 0.
            sample: The sample, with its labels.
            judgments: All readings of it that are there.
            decision: What they were merged to; None while a reading is missing.
        """
        if len(sample.answers) != 2:
            self.others += 1
            return
        self._small.extend(
            (
                PENDING if decision is None else STATUSES.index(decision.status),
                _said(decision),
                _in_order(judgments, (0, 1)),
                _in_order(judgments, (1, 0)),
                self._add_votes(sample),
            )
        )
        self._row.append(row)
        self._question.append(question_cluster(sample))
        self._floats.extend(_numbers(sample, decision))
        first, second = sample.answers
        self._lengths.extend((answer_length(first), answer_length(second)))
        texts = (first.model, second.model, sample.category, sample.language)
        for names, text in zip(self._names, texts, strict=True):
            names.add(text)

    def _add_votes(self, sample: Sample) -> int:
        """Keep what each annotator said; return the code of their majority."""
        votes = [(gold, vote) for gold in sample.gold if (vote := annotator_vote(gold)) is not None]
        taken: set[str] = set()
        for place, (gold, vote) in enumerate(votes, 1):
            name = gold.annotator or f"annotator {place}"
            # One annotator may have voted twice; the second vote is a column of its own.
            while name in taken:
                name += " again"
            taken.add(name)
            self._votes.setdefault(name, {})[len(self._row)] = PREFERENCE_CODES[vote]
        if not votes:
            return NOTHING
        label = majority([vote for _, vote in votes])
        return SPLIT if label == NO_MAJORITY else PREFERENCE_CODES[label]

    def result(self) -> PairColumns:
        """Return what was collected."""
        import numpy as np

        small = np.array(self._small, dtype=np.int8).reshape(-1, 5)
        floats = np.array(self._floats, dtype=np.float64).reshape(-1, 7)
        votes = np.full((len(self._row), len(self._votes)), NOTHING, dtype=np.int8)
        for column, said in enumerate(self._votes.values()):
            votes[list(said), column] = list(said.values())
        first_model, second_model, category, language = (n.result() for n in self._names)
        return PairColumns(
            row=np.array(self._row, dtype=np.int64),
            question=np.array(self._question, dtype=np.uint64),
            status=small[:, 0],
            said=small[:, 1],
            as_given=small[:, 2],
            swapped=small[:, 3],
            gold=small[:, 4],
            votes=votes,
            annotators=tuple(self._votes),
            gold_second=floats[:, 0],
            confidence=floats[:, 1],
            probability=floats[:, 2:5],
            scores=floats[:, 5:7],
            lengths=np.array(self._lengths, dtype=np.int64).reshape(-1, 2),
            first_model=first_model,
            second_model=second_model,
            category=category,
            language=language,
        )


def _said(decision: Decision | None) -> int:
    if decision is None or decision.status != "ok" or decision.preference is None:
        return NOTHING
    return PREFERENCE_CODES[decision.preference]


def _in_order(judgments: Sequence[Judgment], order: tuple[int, int]) -> int:
    """Return what was said in one order; over repeats the sign of the mean."""
    said = [
        PREFERENCE_CODES[judgment.preference]
        for judgment in judgments
        if judgment.order == order
        and judgment.order_read
        and judgment.status == "ok"
        and judgment.preference is not None
    ]
    total = sum(said)
    return NOTHING if not said else (total > 0) - (total < 0)


def _numbers(sample: Sample, decision: Decision | None) -> list[float]:
    """Return the soft label, then the decision's confidence, probabilities and scores."""
    nan = float("nan")
    soft = [g.probability_second for g in sample.gold if g.probability_second is not None]
    numbers = [sum(soft) / len(soft) if soft else nan] + [nan] * 6
    if decision is None or decision.status != "ok":
        return numbers
    if decision.confidence is not None:
        numbers[1] = decision.confidence
    if decision.probabilities is not None:
        known = decision.probabilities
        numbers[2:5] = known.first, known.tie, known.second
    if decision.scores is not None and len(decision.scores) == 2:
        numbers[5:7] = decision.scores
    return numbers
