"""JudgeBench: the prompting judges that it compares, from its Jinja templates."""

from __future__ import annotations

from dataclasses import replace

from magistrate.prompts.importing.recipe import (
    CHOSEN,
    FIRST,
    QUESTION,
    SECOND,
    MessagePlan,
    Recipe,
    Ref,
    choice,
)

_FOLDER = "utils/templates"
_FRAMES = ("[[{verdict}]]",)

_ARENA = Recipe(
    family="judgebench-arena-hard",
    description="JudgeBench's Arena-Hard judge: its own answer and reasons, then [[A>B]].",
    peer="JudgeBench",
    judge="openai:MODEL",
    url="https://github.com/ScalerLab/JudgeBench",
    files=(
        f"{_FOLDER}/arena_hard_judge_prompt.jinja2",
        f"{_FOLDER}/arena_hard_judge_system.jinja2",
    ),
    prompt="arena_hard_judge_prompt",
    messages=(
        MessagePlan("system", (Ref("arena_hard_judge_system", "jinja"),)),
        MessagePlan("user", (Ref(CHOSEN, "jinja"),)),
    ),
    fill={
        "prompt": QUESTION,
        "question": QUESTION,
        "input": QUESTION,
        "answer_a": FIRST,
        "answer_b": SECOND,
        "response_a": FIRST,
        "response_b": SECOND,
    },
    verdict=choice("last", ("A>B", "A>>B"), ("B>A", "B>>A"), ("A=B",), frames=_FRAMES),
    sampling={"max_tokens": 4096},
    notes=("JudgeBench asks once more where no label came, and takes no label of several",),
)
_ONE_MESSAGE = (MessagePlan("user", (Ref(CHOSEN, "jinja"),)),)

RECIPES = (
    _ARENA,
    replace(
        _ARENA,
        family="judgebench-vanilla",
        description="JudgeBench's plain judge: Output (a) or Output (b), no reasons.",
        files=(f"{_FOLDER}/vanilla_prompt.jinja2",),
        prompt="vanilla_prompt",
        messages=_ONE_MESSAGE,
        verdict=choice("first", ("Output (a)",), ("Output (b)",)),
        sampling={"max_tokens": 1024},
        score_mode={"max_tokens": 8, "stop": ("\n",)},
        notes=(),
    ),
    replace(
        _ARENA,
        family="judgebench-skywork-critic",
        description="JudgeBench's prompt of Skywork-Critic: [[A]] or [[B]] at once.",
        files=(f"{_FOLDER}/skywork_critic_prompt.jinja2",),
        prompt="skywork_critic_prompt",
        messages=_ONE_MESSAGE,
        verdict=choice("first", ("A",), ("B",), frames=_FRAMES),
        sampling={"max_tokens": 2048},
        notes=("JudgeBench takes any A in the reply for a vote for A",),
    ),
    replace(
        _ARENA,
        family="judgebench-compass-judger",
        description="JudgeBench's prompt of CompassJudger: reasons, then [[A>B]].",
        files=(f"{_FOLDER}/compass_judger_prompt.jinja2",),
        prompt="compass_judger_prompt",
        messages=_ONE_MESSAGE,
        notes=(),
    ),
)
