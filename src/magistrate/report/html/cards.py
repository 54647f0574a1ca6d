"""Samples as they are shown: both answers side by side, who prefers which, and the reasons."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from magistrate.metrics.columns import NOTHING, SPLIT
from magistrate.metrics.compact import answer_length
from magistrate.metrics.gold import annotator_vote
from magistrate.report.html.blocks import number, share
from magistrate.report.html.texts import cut, seen

if TYPE_CHECKING:
    from magistrate.records import Answer, Judgment, Sample
    from magistrate.report.html.sources import Source
    from magistrate.report.html.worst import Chosen
    from magistrate.report.judged import Reading

_QUESTION = 3_000
_ANSWER = 4_000
_REASONS = 2_000
"""Characters shown of each; how many were left out is said."""

WORDS = {1: "first", 0: "tie", -1: "second"}


@dataclass(frozen=True, slots=True)
class Passage:
    """A text of the data, shortened."""

    text: str
    left_out: int
    """Characters."""


@dataclass(frozen=True, slots=True)
class Side:
    """One answer."""

    name: str
    answer: Passage
    characters: int
    score: str
    """The judge's score, empty where it gave none."""
    judge_prefers: bool
    people_prefer: bool


@dataclass(frozen=True, slots=True)
class Card:
    """One sample."""

    number: int
    run: int
    why: str
    """Stable word: ``opposite``, ``tie``, ``orders``."""
    row: int
    source_id: str
    category: str
    judge_says: str
    people_say: str
    """Empty where there are no labels."""
    votes: str
    """How many annotators said what, where there are several."""
    in_orders: str
    """What the judge said in either order, where it was asked in both."""
    confidence: str
    question: Passage
    reference: Passage | None
    sides: tuple[Side, Side]
    reasons: tuple[tuple[str, Passage], ...]
    """Under which order, and what the judge wrote."""


def cards_of(source: Source, run: int) -> tuple[Card, ...]:
    """Return the samples of a run that are shown."""
    return tuple(
        _card(chosen, reading, place, run)
        for place, (chosen, reading) in enumerate(source.shown, 1)
    )


def _card(chosen: Chosen, reading: Reading, place: int, run: int) -> Card:
    sample, judgments, decision = reading
    scores = decision.scores if decision is not None else None
    sides = tuple(
        Side(
            name=seen(answer.model or ""),
            answer=_passage(_answer_text(answer), _ANSWER),
            characters=answer_length(answer),
            score="" if scores is None or len(scores) != 2 else number(scores[k]),
            judge_prefers=chosen.said == (1, -1)[k],
            people_prefer=chosen.gold == (1, -1)[k],
        )
        for k, answer in enumerate(sample.answers)
    )
    return Card(
        number=place,
        run=run,
        why=chosen.why,
        row=chosen.row,
        source_id=seen(sample.source_id or "")[:80],
        category=seen(sample.category or "")[:80],
        judge_says=_says(chosen.said),
        people_say=_says(chosen.gold),
        votes=_votes(sample),
        in_orders=_in_orders(chosen),
        confidence="" if isnan(chosen.confidence) else share(chosen.confidence),
        question=_passage(sample.question_text, _QUESTION),
        reference=_passage(sample.reference, _ANSWER) if sample.reference else None,
        sides=(sides[0], sides[1]),
        reasons=tuple(_reasons(judgments)),
    )


def _says(outcome: int) -> str:
    if outcome in (NOTHING, SPLIT):
        return ""
    return "a tie" if outcome == 0 else f"the {WORDS[outcome]} answer"


def _votes(sample: Sample) -> str:
    votes = [vote for gold in sample.gold if (vote := annotator_vote(gold)) is not None]
    if len(votes) < 2:
        return ""
    said = ((name, votes.count(name)) for name in ("first", "tie", "second"))
    return ", ".join(f"{count} {name}" for name, count in said if count)


def _in_orders(chosen: Chosen) -> str:
    if NOTHING in (chosen.as_given, chosen.swapped):
        return ""
    if chosen.as_given == chosen.swapped:
        return "the same in both orders"
    return f"{_says(chosen.as_given)} as given, {_says(chosen.swapped)} when swapped"


def _reasons(judgments: tuple[Judgment, ...]) -> list[tuple[str, Passage]]:
    several = len({judgment.order for judgment in judgments}) > 1
    found: dict[str, tuple[str, Passage]] = {}
    for judgment in judgments:
        text = judgment.reasons or ""
        if not text.strip() or text in found:
            continue
        given = judgment.order == tuple(range(len(judgment.order)))
        order = ("answers as given" if given else "answers swapped") if several else ""
        found[text] = order, _passage(text, _REASONS)
    return list(found.values())


def _answer_text(answer: Answer) -> str:
    if answer.turns:
        return "\n\n".join(f"{turn.role}: {turn.text}" for turn in answer.turns)
    return answer.text


def _passage(text: str, most: int) -> Passage:
    return Passage(*cut(text, most))
