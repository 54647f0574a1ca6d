"""Single answers and rankings of many answers as columns, as :mod:`~magistrate.metrics.columns`.

A judge that scores one answer at a time, or ranks three and more, is measured over these.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from magistrate.metrics.columns import PENDING, NameCollector, Named
from magistrate.metrics.compact import answer_length, question_cluster
from magistrate.records import STATUSES, Decision, Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from magistrate.metrics.columns import Floats, Integers, Outcomes

_NAN = float("nan")


@dataclass(frozen=True, slots=True)
class SingleColumns:
    """Samples of one answer; every array has one entry per sample, in input order."""

    row: Integers
    question: NDArray[np.uint64]
    status: Outcomes
    """As :attr:`PairColumns.status`."""
    score: Floats
    """The judge's score on its own scale; NaN unless its status is ``ok``."""
    gold_score: Floats
    """Mean of the annotators' scores, NaN where nobody scored."""
    length: Integers
    """Characters of the answer."""
    label: Named
    """Named class that the first annotator with one gave, such as ``yes``; empty for none."""
    model: Named
    category: Named
    language: Named

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.row)

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which samples have a score; shape (n,)."""
        import numpy as np

        return ~np.isnan(self.score)

    def take(self, chosen: NDArray[Any]) -> SingleColumns:
        """Return some of the samples; ``chosen`` has shape (n,) of bools, or holds places."""
        changes: dict[str, Any] = {}
        for field in fields(self):
            column = getattr(self, field.name)
            changes[field.name] = (
                Named(column.codes[chosen], column.names)
                if isinstance(column, Named)
                else column[chosen]
            )
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class RankedColumns:
    """Samples of three answers and more, or pairs that were ranked.

    The last five arrays have one entry per *answer*, sample after sample, in the sample's own
    order.
    """

    row: Integers
    question: NDArray[np.uint64]
    status: Outcomes
    size: Integers
    """Answers of each sample."""
    sample: Integers
    """Place of the answer's sample in the arrays above."""
    rank: Floats
    """The judge's rank of the answer, 1 is best, ties share one; NaN unless ``ok``."""
    score: Floats
    """The judge's score of the answer, NaN where it gives none."""
    gold_rank: Floats
    """Rank by the mean of the annotators' ranks or scores; NaN where there are none."""
    model: Named

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.row)


class SingleCollector:
    """Collects :class:`SingleColumns` over a stream."""

    def __init__(self) -> None:
        self._row = array("q")
        self._question = array("Q")
        self._status = array("b")
        self._floats = array("d")
        self._length = array("q")
        self._names = tuple(NameCollector() for _ in range(4))

    def add(self, row: int, sample: Sample, decision: Decision | None) -> None:
        """Add a sample of one answer with its decision, None while a reading is missing."""
        scores = decision.scores if decision and decision.status == "ok" else None
        gold = [g.scores[0] for g in sample.gold if g.scores and len(g.scores) == 1]
        label = next((g.label for g in sample.gold if g.label is not None), None)
        (answer,) = sample.answers
        self._row.append(row)
        self._question.append(question_cluster(sample))
        self._status.append(PENDING if decision is None else STATUSES.index(decision.status))
        self._floats.extend((scores[0] if scores else _NAN, fmean(gold) if gold else _NAN))
        self._length.append(answer_length(answer))
        texts = (label, answer.model, sample.category, sample.language)
        for names, text in zip(self._names, texts, strict=True):
            names.add(text)

    def result(self) -> SingleColumns:
        """Return what was collected."""
        import numpy as np

        floats = np.array(self._floats, dtype=np.float64).reshape(-1, 2)
        label, model, category, language = (names.result() for names in self._names)
        return SingleColumns(
            row=np.array(self._row, dtype=np.int64),
            question=np.array(self._question, dtype=np.uint64),
            status=np.array(self._status, dtype=np.int8),
            score=floats[:, 0],
            gold_score=floats[:, 1],
            length=np.array(self._length, dtype=np.int64),
            label=label,
            model=model,
            category=category,
            language=language,
        )


class RankedCollector:
    """Collects :class:`RankedColumns` over a stream."""

    def __init__(self) -> None:
        self._row = array("q")
        self._question = array("Q")
        self._status = array("b")
        self._size = array("q")
        self._floats = array("d")
        self._model = NameCollector()

    def add(self, row: int, sample: Sample, decision: Decision | None) -> None:
        """Add a sample with its decision, None while a reading of it is missing."""
        answers = len(sample.answers)
        said = decision if decision and decision.status == "ok" else None
        scores = said.scores if said and said.scores else (_NAN,) * answers
        ranks: Sequence[float] = said.ranking if said and said.ranking else ranks_of(scores)
        for values in zip(ranks, scores, _gold_ranks(sample), strict=True):
            self._floats.extend(values)
        for answer in sample.answers:
            self._model.add(answer.model)
        self._row.append(row)
        self._question.append(question_cluster(sample))
        self._status.append(PENDING if decision is None else STATUSES.index(decision.status))
        self._size.append(answers)

    def result(self) -> RankedColumns:
        """Return what was collected."""
        import numpy as np

        floats = np.array(self._floats, dtype=np.float64).reshape(-1, 3)
        size = np.array(self._size, dtype=np.int64)
        return RankedColumns(
            row=np.array(self._row, dtype=np.int64),
            question=np.array(self._question, dtype=np.uint64),
            status=np.array(self._status, dtype=np.int8),
            size=size,
            sample=np.repeat(np.arange(len(size)), size),
            rank=floats[:, 0],
            score=floats[:, 1],
            gold_rank=floats[:, 2],
            model=self._model.result(),
        )


def ranks_of(scores: Sequence[float]) -> tuple[float, ...]:
    """Return a rank per score, the highest score is 1 and equal scores share the better rank.

    >>> ranks_of((3.0, 9.0, 3.0))
    (2.0, 1.0, 2.0)
    """
    if any(score != score for score in scores):
        return (_NAN,) * len(scores)
    return tuple(1.0 + sum(other > own for other in scores) for own in scores)


def _gold_ranks(sample: Sample) -> tuple[float, ...]:
    """Return the rank of each answer by the annotators, NaN where they gave neither ranks."""
    answers = len(sample.answers)
    known = [
        tuple(float(r) for r in g.ranking) if g.ranking else ranks_of(g.scores or ())
        for g in sample.gold
        if len(g.ranking or g.scores or ()) == answers
    ]
    if not known:
        return (_NAN,) * answers
    return ranks_of([-fmean(column) for column in zip(*known, strict=True)])
