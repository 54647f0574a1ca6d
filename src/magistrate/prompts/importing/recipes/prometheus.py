"""Prometheus: feedback by a rubric, then a score from 1 to 5 or the better of two."""

from __future__ import annotations

from dataclasses import replace

from magistrate.prompts.importing.recipe import (
    ANSWER,
    CHOSEN,
    FIRST,
    QUESTION,
    REFERENCE,
    RUBRIC,
    SECOND,
    MessagePlan,
    Recipe,
    Ref,
    choice,
    scores,
    straight_to,
)

_FRAMES = ("[RESULT] {verdict}",)


def _user(system: str) -> tuple[MessagePlan, ...]:
    """Return one message: the peer's own chat template sets its system line before the user's."""
    return (MessagePlan("user", (Ref(system), "\n", Ref(CHOSEN, "format"))),)


_ABSOLUTE = Recipe(
    family="prometheus-absolute",
    description="Prometheus, absolute: feedback by a rubric, then a score from 1 to 5.",
    peer="Prometheus",
    judge="hf:prometheus-eval/prometheus-7b-v2.0",
    url="https://github.com/prometheus-eval/prometheus-eval",
    files=("libs/prometheus-eval/prometheus_eval/prompts.py",),
    prompt="ABSOLUTE_PROMPT_WO_REF",
    messages=_user("ABS_SYSTEM_PROMPT"),
    fill={
        "instruction": QUESTION,
        "response": ANSWER,
        "reference_answer": REFERENCE,
        "rubric": RUBRIC,
    },
    verdict=scores("last", 1, 5, *_FRAMES),
    sampling={"max_tokens": 1024, "temperature": 1.0, "top_p": 0.9},
    score_mode=straight_to("[RESULT]"),
    min_answers=1,
    max_answers=None,
    reads_alone=True,
    notes=("Prometheus samples with a repetition penalty of 1.03, and again where a score lacks",),
)
_RELATIVE = replace(
    _ABSOLUTE,
    family="prometheus-relative",
    description="Prometheus, relative: feedback by a rubric, then A or B.",
    prompt="RELATIVE_PROMPT_WO_REF",
    messages=_user("REL_SYSTEM_PROMPT"),
    fill={
        "instruction": QUESTION,
        "response_A": FIRST,
        "response_B": SECOND,
        "reference_answer": REFERENCE,
        "rubric": RUBRIC,
    },
    verdict=choice("last", ("A",), ("B",), frames=_FRAMES),
    min_answers=2,
    max_answers=2,
    reads_alone=False,
)

RECIPES = (
    _ABSOLUTE,
    replace(
        _ABSOLUTE,
        family="prometheus-absolute-reference",
        description="Prometheus, absolute, against a reference that earns a 5.",
        prompt="ABSOLUTE_PROMPT",
    ),
    _RELATIVE,
    replace(
        _RELATIVE,
        family="prometheus-relative-reference",
        description="Prometheus, relative, against a reference.",
        prompt="RELATIVE_PROMPT",
    ),
)
