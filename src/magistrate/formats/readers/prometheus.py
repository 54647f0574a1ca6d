"""Prometheus: evaluation sets whose rows are whole rubric prompts."""

from __future__ import annotations

import re

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import as_number, pair, show
from magistrate.records import Answer, Gold, Sample

_TEACHER = "gpt-4"
_SECTION = re.compile(
    r"^###(The instruction to evaluate|Response to evaluate|"
    r"Reference Answer \(Score 5\)|Score Rubrics|Feedback):[ \t]*$",
    re.MULTILINE,
)
_NEEDED = ("The instruction to evaluate", "Response to evaluate", "Score Rubrics")
_REFERENCE = "Reference Answer (Score 5)"


def _graded(f: Fields) -> Item:
    parts = _sections(f, "instruction")
    scores = f.get("gpt4_score")
    if not isinstance(scores, list):
        raise RowError(f"'gpt4_score' is {show(scores)}; a list of scores is needed")
    feedback = f.get("gpt4_feedback")
    texts = feedback if isinstance(feedback, list) and len(feedback) == len(scores) else []
    gold = tuple(
        Gold(
            annotator=f"{_TEACHER} #{i + 1}",
            scores=(as_number(score, f"'gpt4_score'[{i}]"),),
            reasons=texts[i] if texts and isinstance(texts[i], str) else None,
        )
        for i, score in enumerate(scores)
    )
    model = f.optional_text("response_source")
    return f.item(
        Sample(
            question=parts["The instruction to evaluate"],
            answers=(Answer(text=parts["Response to evaluate"], model=model),),
            reference=parts.get(_REFERENCE),
            rubric=parts["Score Rubrics"],
            gold=gold,
            category=f.optional_text("category"),
            source_id=":".join(part for part in (f.id("idx"), model) if part) or None,
            meta=f.meta("idx", "response_source"),
        )
    )


def _alignment(f: Fields) -> Item:
    chosen, rejected = _sections(f, "chosen_instruction"), _sections(f, "rejected_instruction")
    for name in ("The instruction to evaluate", "Score Rubrics"):
        if chosen[name] != rejected[name]:
            raise RowError(f"the two prompts differ in '{name}', so they are no pair")
    return f.item(
        Sample(
            question=chosen["The instruction to evaluate"],
            answers=pair(chosen["Response to evaluate"], rejected["Response to evaluate"]),
            rubric=chosen["Score Rubrics"],
            gold=(Gold(preference="first"),),
            category=f.optional_text("source"),
            source_id=f.id("id", "idx"),
            meta=f.meta("source"),
        )
    )


def _sections(f: Fields, key: str) -> dict[str, str]:
    """Cut a rubric prompt at its headings; a heading that comes twice makes it unreadable."""
    prompt = f.text(key)
    parts = _SECTION.split(prompt)
    names = parts[1::2]
    if len(set(names)) != len(names) or any(name not in names for name in _NEEDED):
        raise RowError(
            f"'{key}' is {show(prompt)}; a rubric prompt with each of the headings "
            f"{', '.join(_NEEDED)} once is needed"
        )
    return {name: text.strip() for name, text in zip(names, parts[2::2], strict=True)}


READERS = (
    RowReader(
        name="prometheus",
        summary="Prometheus graded responses: instruction (rubric prompt), gpt4_score",
        parse=_graded,
        keys=("instruction", "gpt4_score"),
    ),
    RowReader(
        name="prometheus-hhh",
        summary="Prometheus HHH alignment: chosen_instruction, rejected_instruction",
        parse=_alignment,
        keys=("chosen_instruction", "rejected_instruction"),
    ),
)
