"""Auto-J: a critique, then a decision or a rating."""

from __future__ import annotations

from dataclasses import replace

from magistrate.prompts.importing.recipe import (
    ANSWER,
    CHOSEN,
    FIRST,
    QUESTION,
    SECOND,
    MessagePlan,
    Recipe,
    Ref,
    choice,
    scores,
    straight_to,
)

_PAIR = Recipe(
    family="auto-j-pair",
    description="Auto-J's pair: a critique, then Response 1, Response 2 or Tie.",
    peer="Auto-J",
    judge="hf:GAIR/autoj-13b",
    url="https://github.com/GAIR-NLP/auto-j",
    files=("codes/usage/constants_prompt.py",),
    prompt="pairwise_tie",
    messages=(MessagePlan("text", (Ref("PROMPT_INPUT_WO_SYSTEM", "format"),)),),
    fill={
        "input": (Ref(CHOSEN, "format"),),
        "prompt": QUESTION,
        "response": FIRST,
        "response_another": SECOND,
    },
    verdict=choice(
        "last",
        ("Response 1",),
        ("Response 2",),
        ("Tie",),
        frames=("final decision is {verdict}",),
    ),
    sampling={"max_tokens": 1024},
    score_mode=straight_to("So, the final decision is"),
)
_SINGLE = replace(
    _PAIR,
    family="auto-j-single",
    description="Auto-J's single answer: a critique, then a rating from 1 to 10.",
    prompt="single",
    fill={"input": (Ref(CHOSEN, "format"),), "prompt": QUESTION, "response": ANSWER},
    verdict=scores("last", 1, 10, "Rating: [[{verdict}]]"),
    score_mode=straight_to("Rating: [["),
    min_answers=1,
    max_answers=None,
    reads_alone=True,
)
_CHINESE = ("codes/usage/zh_constants_prompt.py",)

RECIPES = (
    _PAIR,
    _SINGLE,
    replace(
        _PAIR,
        family="auto-j-zh-pair",
        description="Auto-J's pair in Chinese.",
        files=_CHINESE,
        prompt="zh_pairwise_tie",
        score_mode=straight_to("所以，最终决定是"),
        verdict=choice("last", ("回应1",), ("回应2",), ("平局",), frames=("最终决定是{verdict}",)),
    ),
    replace(
        _SINGLE,
        family="auto-j-zh-single",
        description="Auto-J's single answer in Chinese.",
        files=_CHINESE,
        prompt="zh_single",
        verdict=scores("last", 1, 10, "评分: [[{verdict}]]", "[[{verdict}]]"),
        score_mode=straight_to("评分: [["),
    ),
)
