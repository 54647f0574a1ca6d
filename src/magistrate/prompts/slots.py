"""What templates are filled with: the fields of a sample as parts with slot names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from magistrate.messages import Part
from magistrate.prompts.untrusted import DataRules
from magistrate.records import Answer, Sample


def sample_values(sample: Sample, rules: DataRules, *, with_turns: bool = False) -> dict[str, Any]:
    """Return all fields but the answers; blank ones are left out, so that templates miss them.

    Args:
        sample: Where they come from.
        rules: How data is shown.
        with_turns: Whether the template shows dialogues turn by turn.
    """
    values: dict[str, Any] = {"question": Part(rules.question(sample), "question")}
    if with_turns:
        values["turns"] = _question_turns(sample, rules)
    for name in ("reference", "rubric"):
        text = getattr(sample, name)
        if text and text.strip():
            values[name] = Part(rules.text(text), name)
    by_turn = sample.turn_references
    if len(by_turn) > 1:
        values["references"] = tuple(
            Part(rules.text(text), f"reference_{turn}") for turn, text in enumerate(by_turn, 1)
        )
    passages = [passage for passage in sample.context if passage.strip()]
    values["context"] = tuple(
        Part(rules.text(passage), f"context_{place}") for place, passage in enumerate(passages, 1)
    )
    return values


def answer_value(shared: Mapping[str, Any], answer: Answer, rules: DataRules) -> dict[str, Any]:
    """Return the variables of an answer that is read alone; ``shared`` are those of its sample."""
    values: dict[str, Any] = {"answer": _answer_part(answer, "answer", rules), "count": 1}
    if "turns" in shared:
        values["dialogue"] = shared["turns"] + _answer_turns(answer, "answer", rules)
    return values


def answers_values(
    shared: Mapping[str, Any], answers: Sequence[Answer], rules: DataRules
) -> dict[str, Any]:
    """Return the variables of answers that are read together, in the order shown."""
    values: dict[str, Any] = {"count": len(answers)}
    places = range(1, len(answers) + 1)
    for place, answer in zip(places, answers, strict=True):
        values[f"answer_{place}"] = _answer_part(answer, f"answer_{place}", rules)
    values["answers"] = tuple(values[f"answer_{place}"] for place in places)
    if "turns" in shared:
        for place, answer in zip(places, answers, strict=True):
            turns = _answer_turns(answer, f"answer_{place}", rules)
            values[f"dialogue_{place}"] = shared["turns"] + turns
        values["dialogues"] = tuple(values[f"dialogue_{place}"] for place in places)
    return values


def _question_turns(sample: Sample, rules: DataRules) -> tuple[dict[str, Any], ...]:
    """Return what was said before the answers: turns with a role and a text."""
    if isinstance(sample.question, str):
        return ({"role": "user", "text": Part(rules.text(sample.question), "question")},)
    return tuple(
        {"role": turn.role, "text": Part(rules.text(turn.text), "question")}
        for turn in sample.question
    )


def _answer_turns(answer: Answer, slot: str, rules: DataRules) -> tuple[dict[str, Any], ...]:
    """Return an answer as turns: one, unless it goes on over several."""
    if not answer.turns:
        return ({"role": "assistant", "text": _answer_part(answer, slot, rules)},)
    return tuple(
        {
            "role": turn.role,
            "text": _answer_part(Answer(text=turn.text), slot, rules)
            if turn.role == "assistant"
            else Part(rules.text(turn.text), slot, characters=0),
        }
        for turn in answer.turns
    )


def _answer_part(answer: Answer, slot: str, rules: DataRules) -> Part:
    own = [turn.text for turn in answer.turns if turn.role == "assistant"] or [answer.text]
    return Part(rules.answer(answer), slot, characters=sum(map(len, own)))


def sample_name(sample: Sample) -> str:
    """Return what a person would know the sample by."""
    return f"'{sample.source_id}'" if sample.source_id is not None else sample.id


def answers_shown(sample: Sample, order: Sequence[int]) -> list[Answer]:
    """Return the answers in the order shown.

    Raises:
        ValueError: ``order`` is not a permutation of the sample's answers.
    """
    if sorted(order) != list(range(len(sample.answers))):
        raise ValueError(f"order {tuple(order)} is not one of {len(sample.answers)} answers")
    return [sample.answers[place] for place in order]
