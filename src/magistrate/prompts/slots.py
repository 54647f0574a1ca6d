"""What templates are filled with: the fields of a sample as parts with slot names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from magistrate.messages import Part
from magistrate.prompts.untrusted import DataRules
from magistrate.records import Answer, Sample


def sample_values(sample: Sample, rules: DataRules) -> dict[str, Any]:
    """Return all fields but the answers; blank ones are left out, so that templates miss them."""
    values: dict[str, Any] = {"question": Part(rules.question(sample), "question")}
    for name in ("reference", "rubric"):
        text = getattr(sample, name)
        if text and text.strip():
            values[name] = Part(rules.text(text), name)
    passages = [passage for passage in sample.context if passage.strip()]
    values["context"] = tuple(
        Part(rules.text(passage), f"context_{place}") for place, passage in enumerate(passages, 1)
    )
    return values


def answer_value(answer: Answer, rules: DataRules) -> dict[str, Any]:
    """Return the variable of an answer that is read alone."""
    return {"answer": Part(rules.answer(answer), "answer"), "count": 1}


def answers_values(answers: Sequence[Answer], rules: DataRules) -> dict[str, Any]:
    """Return the variables of answers that are read together, in the order shown."""
    parts = tuple(
        Part(rules.answer(answer), f"answer_{place}") for place, answer in enumerate(answers, 1)
    )
    numbered = {part.slot: part for part in parts if part.slot}
    return {"answers": parts, "count": len(parts), **numbered}


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
