"""MT-bench: reasons, then A, B or C in double brackets, or a rating from 1 to 10."""

from __future__ import annotations

from dataclasses import replace

from magistrate.prompts.importing.recipe import (
    ANSWER,
    CHOSEN,
    FIRST,
    QUESTION,
    REFERENCE,
    SECOND,
    Expression,
    MessagePlan,
    Recipe,
    Ref,
    choice,
    scores,
    straight_to,
)

_FRAMES = ("[[{verdict}]]",)
_TIE = 0.1
"""Ratings at most this far apart are a tie, as in the peer's own counts."""


def _turns(dialogue: str, *places: str) -> dict[str, Expression]:
    """Return what fills the places of a talk of two turns: question, answer, question, answer."""
    return {
        place: Expression(f"{dialogue}[{turn}].text") for turn, place in enumerate(places) if place
    }


_REFERENCES = {
    "ref_answer_1": Expression("references[0]"),
    "ref_answer_2": Expression("references[1]"),
}
"""A known good answer for each turn."""

_PAIR = Recipe(
    family="mt-bench-pair",
    description="MT-bench's pair: reasons, then [[A]], [[B]] or [[C]] for a tie.",
    peer="MT-bench (FastChat)",
    judge="openai:MODEL",
    url="https://github.com/lm-sys/FastChat",
    files=("fastchat/llm_judge/data/judge_prompts.jsonl",),
    prompt="pair-v2",
    messages=(
        MessagePlan("system", (Ref(f"{CHOSEN}.system_prompt"),)),
        MessagePlan("user", (Ref(f"{CHOSEN}.prompt_template", "format"),)),
    ),
    fill={
        "question": QUESTION,
        "answer_a": FIRST,
        "answer_b": SECOND,
        "ref_answer_1": REFERENCE,
    },
    verdict=choice("last", ("A",), ("B",), ("C",), frames=_FRAMES),
    sampling={"max_tokens": 2048},
    score_mode=straight_to("[["),
)
_SINGLE = replace(
    _PAIR,
    family="mt-bench-single",
    description="MT-bench's single answer: reasons, then a rating such as [[7]].",
    prompt="single-v1",
    fill={"question": QUESTION, "answer": ANSWER, "ref_answer_1": REFERENCE},
    verdict=scores("last", 1, 10, *_FRAMES, tie_gap=_TIE),
    score_mode=straight_to("Rating: [["),
    min_answers=1,
    max_answers=None,
    reads_alone=True,
)

RECIPES = (
    _PAIR,
    replace(
        _PAIR,
        family="mt-bench-pair-reference",
        description="MT-bench's pair against a reference (mathematics, reasoning, coding).",
        prompt="pair-math-v1",
    ),
    replace(
        _PAIR,
        family="mt-bench-pair-two-turns",
        description="MT-bench's pair of two turns each: reasons, then [[A]], [[B]] or [[C]].",
        prompt="pair-v2-multi-turn",
        fill={
            **_turns("dialogue_1", "question_1", "answer_a_1", "question_2", "answer_a_2"),
            **_turns("dialogue_2", "", "answer_b_1", "", "answer_b_2"),
        },
    ),
    replace(
        _PAIR,
        family="mt-bench-pair-two-turns-reference",
        description="MT-bench's pair of two turns against a reference for each turn.",
        prompt="pair-math-v1-multi-turn",
        fill={
            **_turns("dialogue_1", "question_1", "answer_a_1", "question_2", "answer_a_2"),
            **_turns("dialogue_2", "", "answer_b_1", "", "answer_b_2"),
            **_REFERENCES,
        },
    ),
    _SINGLE,
    replace(
        _SINGLE,
        family="mt-bench-single-reference",
        description="MT-bench's single answer against a reference.",
        prompt="single-math-v1",
    ),
    replace(
        _SINGLE,
        family="mt-bench-single-two-turns",
        description="MT-bench's single answer of two turns: reasons, then a rating.",
        prompt="single-v1-multi-turn",
        fill=_turns("dialogue", "question_1", "answer_1", "question_2", "answer_2"),
    ),
    replace(
        _SINGLE,
        family="mt-bench-single-two-turns-reference",
        description="MT-bench's single answer of two turns against a reference for each turn.",
        prompt="single-math-v1-multi-turn",
        fill={
            **_turns("dialogue", "question_1", "answer_1", "question_2", "answer_2"),
            **_REFERENCES,
        },
    ),
)
