"""Battles: which of two models' answers a judge preferred, as columns.

A decision on two answers is one battle; a ranking of three and more is one for every two of them,
all of one question. Decisions that are not ``ok`` are no battles; they are counted.

The same two answers to the same question **count once**, however often they were judged: in both
orders in separate rows, in several runs, by several judges. Each of k such verdicts weighs 1/k.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, fields, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from magistrate.metrics.columns import UNNAMED
from magistrate.metrics.compact import PREFERENCE_CODES, hash64, question_cluster, sign
from magistrate.metrics.ranking.style import FEATURES, style_counts
from magistrate.records import Answer, Decision, Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

_BITS = (1 << 64) - 1
UNKNOWN = 0
"""Code of two answers whose texts are not known."""


@dataclass(frozen=True, slots=True)
class Battles:
    """Every array has one entry per battle."""

    models: tuple[str, ...]
    first: Integers
    """Shape (n,): place of the first answer's model in ``models``."""
    second: Integers
    outcome: Integers
    """1 the first won, 0 tie, -1 the second won."""
    weight: Floats
    """1, or 1/k for each of k verdicts on the same two answers."""
    question: NDArray[np.uint64]
    """Cluster: battles of one question share it."""
    category: tuple[str, ...]
    """Names of the categories."""
    category_code: Integers
    """Shape (n,): place in ``category``."""
    style: Floats | None
    """Shape (n, 2, features): what :mod:`magistrate.metrics.ranking.style` counts in each answer;
    None where it was not asked for."""

    def __len__(self) -> int:
        """Return the number of battles."""
        return len(self.outcome)

    @property
    def questions(self) -> int:
        """Number of questions."""
        import numpy as np

        return len(np.unique(self.question))

    def take(self, chosen: NDArray[Any]) -> Battles:
        """Return some of the battles; ``chosen`` has shape (n,) of bools, or holds places."""
        return replace(
            self,
            first=self.first[chosen],
            second=self.second[chosen],
            outcome=self.outcome[chosen],
            weight=self.weight[chosen],
            question=self.question[chosen],
            category_code=self.category_code[chosen],
            style=None if self.style is None else self.style[chosen],
        )

    def with_models_that_met(self) -> Battles:
        """Return the same battles without the models that are in none."""
        import numpy as np

        kept = np.unique(np.concatenate([self.first, self.second]))
        place = np.zeros(len(self.models), dtype=np.int64)
        place[kept] = np.arange(len(kept))
        return replace(
            self,
            models=tuple(self.models[k] for k in kept),
            first=place[self.first],
            second=place[self.second],
        )


def battles_of(
    models: tuple[str, ...],
    first: Any,
    second: Any,
    outcome: Any,
    question: Any | None = None,
) -> Battles:
    """Return battles of arrays alone.

    Args:
        models: Names.
        first: Shape (n,): place of the first answer's model.
        second: Shape (n,), the second's.
        outcome: Shape (n,): 1, 0 or -1.
        question: Shape (n,), integers; by default each battle has a question of its own.
    """
    import numpy as np

    said = np.asarray(outcome, dtype=np.int64)
    clusters = np.arange(len(said)) if question is None else np.asarray(question)
    return Battles(
        models=models,
        first=np.asarray(first, dtype=np.int64),
        second=np.asarray(second, dtype=np.int64),
        outcome=said,
        weight=np.ones(len(said)),
        question=clusters.astype(np.uint64),
        category=(UNNAMED,),
        category_code=np.zeros(len(said), dtype=np.int64),
        style=None,
    )


@dataclass(slots=True)
class Met:
    """Counts of what was met among samples and decisions."""

    decided: int = 0
    """Samples of two answers and more that have a decision, ``ok`` or not."""
    not_ok: int = 0
    """Decisions that are not ``ok``."""
    pending: int = 0
    """Samples without a decision yet."""
    single: int = 0
    """Samples of one answer, which no other was compared with."""
    unnamed: int = 0
    """Battles in which a model has no name; left out."""
    own: int = 0
    """Battles of a model with itself; left out."""
    repeated: int = 0
    """Verdicts on two answers on which there was one already."""

    def add(self, other: Met) -> None:
        """Add another's counts."""
        for field in fields(self):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))


class BattleCollector:
    """Collects battles over a stream of samples with their decisions."""

    def __init__(self, *, style: bool = False) -> None:
        """Begin.

        Args:
            style: Whether to count length and markdown of the answers.
        """
        self._met: dict[str, Met] = {}
        self._models: dict[str, int] = {}
        self._categories: dict[str, int] = {}
        self._codes = array("q")
        self._question = array("Q")
        self._same = array("Q")
        self._style = array("d") if style else None

    def add(self, sample: Sample, decision: Decision | None) -> None:
        """Add the battles of one sample; ``decision`` is None while a reading is missing."""
        met = self._met.setdefault(sample.category or UNNAMED, Met())
        if len(sample.answers) < 2:
            met.single += 1
            return
        if decision is None:
            met.pending += 1
            return
        met.decided += 1
        outcomes = _outcomes(decision, len(sample.answers)) if decision.status == "ok" else []
        met.not_ok += not outcomes
        question = question_cluster(sample)
        category = self._categories.setdefault(sample.category or UNNAMED, len(self._categories))
        for first, second, outcome in outcomes:
            one, other = sample.answers[first], sample.answers[second]
            if not one.model or not other.model:
                met.unnamed += 1
                continue
            if one.model == other.model:
                met.own += 1
                continue
            places = [
                self._models.setdefault(a.model or "", len(self._models)) for a in (one, other)
            ]
            self._codes.extend((*places, outcome, category))
            self._question.append(question)
            self._same.append(same_answers(question, one, other))
            if self._style is not None:
                self._style.extend((*style_counts(one), *style_counts(other)))

    def extend(self, other: BattleCollector) -> None:
        """Add all that another collector met."""
        for name, theirs in other._met.items():
            self._met.setdefault(name, Met()).add(theirs)
        models = [self._models.setdefault(name, len(self._models)) for name in other._models]
        categories = [
            self._categories.setdefault(name, len(self._categories)) for name in other._categories
        ]
        codes = other._codes
        for place in range(0, len(codes), 4):
            first, second, outcome, category = codes[place : place + 4]
            self._codes.extend((models[first], models[second], outcome, categories[category]))
        self._question.extend(other._question)
        self._same.extend(other._same)
        if self._style is not None and other._style is not None:
            self._style.extend(other._style)

    def met(self, category: str | None = None) -> Met:
        """Return what was met in a category (:data:`UNNAMED` for samples without), or in all."""
        total = Met()
        for name, part in self._met.items():
            if category is None or name == category:
                total.add(part)
        codes = self._same
        if category is not None:
            place = self._categories.get(category, -1)
            codes = array("Q", (c for c, own in zip(codes, self._codes[3::4], strict=True)
                                if own == place))  # fmt: skip
        known = [code for code in codes if code != UNKNOWN]
        total.repeated = len(known) - len(set(known))
        return total

    def result(self) -> Battles:
        """Return what was collected."""
        import numpy as np

        codes = np.array(self._codes, dtype=np.int64).reshape(-1, 4)
        codes_of_same = np.array(self._same, dtype=np.uint64)
        _, same, count = np.unique(codes_of_same, return_inverse=True, return_counts=True)
        verdicts = np.where(codes_of_same == UNKNOWN, 1, count[same])
        style = None
        if self._style is not None:
            style = np.array(self._style, dtype=np.float64).reshape(-1, 2, len(FEATURES))
        return Battles(
            models=tuple(self._models),
            first=codes[:, 0],
            second=codes[:, 1],
            outcome=codes[:, 2],
            weight=1 / verdicts,
            question=np.array(self._question, dtype=np.uint64),
            category=tuple(self._categories),
            category_code=codes[:, 3],
            style=style,
        )


def _outcomes(decision: Decision, answers: int) -> list[tuple[int, int, int]]:
    """Return (answer, answer, outcome) of every two answers; empty where nothing orders them."""
    if answers == 2 and decision.preference is not None:
        return [(0, 1, PREFERENCE_CODES[decision.preference])]
    if decision.ranking is not None:
        ranks = decision.ranking
        return [(i, j, sign(ranks[j] - ranks[i])) for i, j in combinations(range(answers), 2)]
    if decision.scores is not None and len(decision.scores) == answers:
        scores = decision.scores
        return [(i, j, sign(scores[i] - scores[j])) for i, j in combinations(range(answers), 2)]
    return []


def same_answers(question: int, one: Answer, other: Answer) -> int:
    """Return a code that verdicts on the same two answers share, in whichever order they stand.

    :data:`UNKNOWN` where the texts are not known: then no two verdicts are taken for one.
    """
    if not _known(one) and not _known(other):
        return UNKNOWN
    answers = (hash64(f"{answer.model}\0{_text(answer)}") for answer in (one, other))
    return (question + sum(answers)) & _BITS


def _known(answer: Answer) -> bool:
    return bool(answer.text or answer.turns)


def _text(answer: Answer) -> str:
    return "\0".join(turn.text for turn in answer.turns) if answer.turns else answer.text
