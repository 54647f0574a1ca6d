"""JudgeLM: scores first, on a completion-style prompt."""

from __future__ import annotations

from dataclasses import replace

from magistrate.prompts.importing.recipe import (
    ANSWER,
    CHOSEN,
    FIRST,
    QUESTION,
    REFERENCE,
    SECOND,
    Code,
    Expression,
    MessagePlan,
    Recipe,
    Ref,
    scores,
)

_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
_FIXED = "10"
"""The score that the single form gives to the first answer."""
_INSTRUCTION = Ref(f"{CHOSEN}.prompt")

_PAIR = Recipe(
    family="judgelm",
    description="JudgeLM's pair: two scores on the first line, then the reasons.",
    peer="JudgeLM",
    judge="hf:BAAI/JudgeLM-7B-v1.0",
    url="https://github.com/baaivision/JudgeLM",
    files=("judgelm/llm_judge/common.py",),
    prompt="conv_judge_pair",
    messages=(
        MessagePlan(
            "text",
            (
                Ref(f"{CHOSEN}.system"),
                "\n",
                Ref(f"{CHOSEN}.prompt_template", "format"),
                Ref(f"{CHOSEN}.appendix"),
            ),
        ),
    ),
    fill={
        "question": QUESTION,
        "reference": REFERENCE,
        "answer_1": FIRST,
        "answer_2": SECOND,
        "prompt": (_INSTRUCTION,),
    },
    verdict=scores("first", 1, 10),
    sampling={"max_tokens": 2048, "temperature": 0.2},
    score_mode={"max_tokens": 16, "stop": ("\n",)},
)

# The single forms show the reference as the first answer and begin the reply with its score.
_SINGLE = replace(
    _PAIR,
    family="judgelm-single",
    description="JudgeLM's single answer: a reference stands first, fixed at the top score.",
    prompt="conv_judge_single",
    messages=(
        MessagePlan(
            "text",
            (
                *_PAIR.messages[0].pieces[:-1],
                Ref(f"{CHOSEN}.appendix", without_end=_FIXED),
            ),
        ),
    ),
    fill={**_PAIR.fill, "answer_1": REFERENCE, "answer_2": ANSWER},
    prefill={"text": _FIXED, "scores": (10,)},
    min_answers=1,
    max_answers=None,
    reads_alone=True,
)

# Counts are spelled out in the instruction; the peer replaces its "two" and its "1 and 2".
_MANY = replace(
    _PAIR,
    family="judgelm-n-way",
    description="JudgeLM's many answers: as many scores on the first line, then the reasons.",
    prompt="conv_judge_multi",
    fill={
        **_PAIR.fill,
        "prompt": (replace(_INSTRUCTION, marks=(("two", "count_word"), (" 1 and 2", "numbers"))),),
        "count_word": Expression(
            f"({', '.join(repr(word) for word in _NUMBER_WORDS.split())})[count]", is_data=False
        ),
        "numbers": (
            " 1",
            Code(
                "{%+ for answer in answers +%}{%+ if not loop.first and not loop.last +%}"
                ", {{ loop.index }}{%+ endif +%}{%+ endfor +%} and {{ count }}"
            ),
        ),
        "answer_more": (
            Code("{%+ for answer in answers +%}{%+ if loop.index > 2 +%}"),
            Ref(f"{CHOSEN}.answer_format", "format"),
            Code("{%+ endif +%}{%+ endfor +%}"),
        ),
        "answer_id": Expression("loop.index", is_data=False),
        "answer": ANSWER,
    },
    score_mode={"max_tokens": 64, "stop": ("\n",)},
    max_answers=19,
)

RECIPES = (
    _PAIR,
    replace(
        _PAIR,
        family="judgelm-reference",
        description="JudgeLM's pair against a reference: two scores first, then the reasons.",
        prompt="conv_judge_pair_w_reference",
    ),
    _SINGLE,
    replace(
        _SINGLE,
        family="judgelm-single-reference",
        description="JudgeLM's single answer, the reference also shown as such.",
        prompt="conv_judge_single_w_reference",
    ),
    _MANY,
    replace(
        _MANY,
        family="judgelm-n-way-reference",
        description="JudgeLM's many answers against a reference.",
        prompt="conv_judge_multi_w_reference",
    ),
    replace(
        _SINGLE,
        family="judgelm-multimodal-text",
        description="JudgeLM's answer about an image, by text: does it match the reference?",
        prompt="conv_judge_vqa_single_answer",
        notes=(
            "JudgeLM shows one of several references (<OR>), drawn at random, as the first answer",
            "here the whole reference stands in both places",
        ),
    ),
)
