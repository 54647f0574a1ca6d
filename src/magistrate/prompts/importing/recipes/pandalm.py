"""PandaLM: 1, 2 or Tie on the first line, then reason and reference."""

from __future__ import annotations

from magistrate.prompts.importing.recipe import (
    FIRST,
    PASSAGES,
    QUESTION,
    SECOND,
    Code,
    MessagePlan,
    Recipe,
    Ref,
    choice,
)

_NAME = "build_pandalm_prompt.input_sequence"

RECIPES = (
    Recipe(
        family="pandalm",
        description="PandaLM's pair: 1, 2 or Tie on the first line, then reason and reference.",
        peer="PandaLM",
        judge="hf:WeOpenML/PandaLM-7B-v1",
        url="https://github.com/WeOpenML/PandaLM",
        files=("pandalm/utils/pandalm_inference.py",),
        prompt=_NAME,
        messages=(
            MessagePlan(
                "text",
                (
                    Code("{%+ if context +%}"),
                    Ref(_NAME, has=("input",)),
                    Code("{%+ else +%}"),
                    Ref(_NAME, lacks=("input",)),
                    Code("{%+ endif +%}"),
                ),
            ),
        ),
        fill={
            "instruction": QUESTION,
            "input": PASSAGES,
            "resp1": FIRST,
            "resp2": SECOND,
        },
        verdict=choice("first", ("1",), ("2",), ("Tie",)),
        sampling={"max_tokens": 512},
        score_mode={"max_tokens": 8, "stop": ("\n",)},
        notes=(
            "PandaLM's own script first takes blanks and special tokens off the responses",
            "it decodes with 4 beams and a repetition penalty of 1.2",
            "its Input is the sample's context; without one the form without Input is used",
        ),
    ),
)
