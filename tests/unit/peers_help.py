"""Made-up peers: files of the shape that the real ones have, in words of our own."""

from __future__ import annotations

import json
from pathlib import Path

HEAD = "You weigh {n} answers. Braces such as {{this}} are words here."

JUDGELM = r"""
import dataclasses
import torch  # not installed where this is read, and never imported

raise SystemExit("a reader must not run this")

@dataclasses.dataclass
class Conversation:
    system: str
    prompt: str
    prompt_template: str
    appendix: str = "### Response: "
    answer_format: str = None

ASK = ("Weigh the two answers above, with care; 100% of them.\n"
       'Write two numbers for Assistant 1 and 2, then "why" {so}.')
PAIR = "[Question]\n{question}\n\n"
ANSWERS = ("[The Start of Assistant 1's Answer]\n{answer_1}\n\n"
           "[The End of Assistant 1's Answer]\n\n"
           "[The Start of Assistant 2's Answer]\n{answer_2}\n\n"
           "[The End of Assistant 2's Answer]\n\n")
TAIL = "[System]\n{prompt}\n\n"

conv_judge_pair = Conversation(
    system='A careful grader, {as written}.',
    prompt=ASK,
    prompt_template=PAIR + ANSWERS + TAIL,
    appendix="### Response:",
)
conv_judge_pair_w_reference = Conversation(
    system='A careful grader, {as written}.',
    prompt=ASK,
    prompt_template=PAIR + "[Reference Answer]\n{reference}\n\n" + ANSWERS + TAIL,
    appendix="### Response:",
)
conv_judge_multi = Conversation(
    system='A careful grader, {as written}.',
    prompt=ASK,
    prompt_template=PAIR + ANSWERS + "{answer_more}" + TAIL,
    answer_format="[The Start of Assistant {answer_id}'s Answer]\n{answer}\n\n"
                  "[The End of Assistant {answer_id}'s Answer]\n\n",
    appendix="### Response:",
)
conv_judge_multi_w_reference = Conversation(
    system='A careful grader, {as written}.',
    prompt=ASK,
    prompt_template=PAIR + "[Reference Answer]\n{reference}\n\n" + ANSWERS + "{answer_more}" + TAIL,
    answer_format="[The Start of Assistant {answer_id}'s Answer]\n{answer}\n\n"
                  "[The End of Assistant {answer_id}'s Answer]\n\n",
    appendix="### Response:",
)
conv_judge_single = Conversation(
    system='A careful grader, {as written}.',
    prompt=ASK,
    prompt_template=PAIR + ANSWERS + TAIL,
    appendix="### Response:10",
)
conv_judge_single_w_reference = Conversation(
    system='A careful grader, {as written}.',
    prompt=ASK,
    prompt_template=PAIR + "[Reference Answer]\n{reference}\n\n" + ANSWERS + TAIL,
    appendix="### Response:10",
)
conv_judge_vqa_single_answer = Conversation(
    system='A careful grader, {as written}.',
    prompt="Do the two answers match? Write two numbers for Assistant 1 and 2.",
    prompt_template=PAIR + "[Reference Answer]\n{reference}\n\n" + ANSWERS + TAIL,
    appendix="### Response:10",
)
"""

PANDALM = r"""
import torch

class Provider(object):
    def build_pandalm_prompt(self, instruction, input, resp1, resp2, result=None):
        resp1 = self.pattern.sub("", resp1.strip()).strip()
        rsp = f"### Response 1:\n{resp1}\n\n### Response 2:\n{resp2}"
        if input:
            input_sequence = (f"Weigh {{two}} with input.\n\n### Instruction:\n{instruction}\n\n"
                              f"### Input:\n{input}\n\n{rsp}\n\n### Evaluation:\n")
        else:
            input_sequence = ("Weigh two.\n\n"
                              f"### Instruction:\n{instruction}\n\n{rsp}\n\n### Evaluation:\n")
        if result:
            return input_sequence, f"{result}"
        return input_sequence
"""

AUTOJ = r'''
PROMPT_INPUT_SYSTEM: str = '[INST] <<SYS>>\n{system_message}\n<</SYS>>\n\n{input} [/INST]'
PROMPT_INPUT_WO_SYSTEM: str = "[INST] {input} [/INST]"

single = """Say what you think:
  
[BEGIN DATA]
***
[Query]: {prompt}
***
[Response]: {response}
***
[END DATA]

End with "[[rating]]"."""

pairwise_tie = """Which is better?

[BEGIN DATA]
***
[Query]: {prompt}
***
[Response 1]: {response}
***
[Response 2]: {response_another}
***
[END DATA]

End with your decision."""

protocol_mapping = {"pairwise_tie": pairwise_tie, "single": single}


def build(prompt, resp1, resp2=None, protocol="single"):
    return PROMPT_INPUT_WO_SYSTEM.format(input=protocol_mapping[protocol].format(
        prompt=prompt, response=resp1, response_another=resp2))
'''  # noqa: W293

PROMETHEUS = r'''
ABS_SYSTEM_PROMPT = "You grade by a rubric."
REL_SYSTEM_PROMPT = "You compare by a rubric."

ABSOLUTE_PROMPT = """###Task Description:
Grade it, as in "(feedback) [RESULT] (a number)".

###The instruction to evaluate:
{instruction}

###Response to evaluate:
{response}

###Reference Answer (Score 5):
{reference_answer}

###Score Rubrics:
{rubric}

###Feedback: """

ABSOLUTE_PROMPT_WO_REF = """###Task Description:
Grade it.

###The instruction to evaluate:
{instruction}

###Response to evaluate:
{response}

###Score Rubrics:
{rubric}

###Feedback: """

RELATIVE_PROMPT = ABSOLUTE_PROMPT.replace(
    "{response}", "{response_A}\n\n###Response B:\n{response_B}")

RELATIVE_PROMPT_WO_REF = """
###Instruction:
{instruction}

###Response A:
{response_A}

###Response B:
{response_B}

###Score Rubric:
{rubric}

###Feedback: """.lstrip()
'''

MTBENCH = [
    {
        "name": "pair-v2",
        "type": "pairwise",
        "system_prompt": "Be fair. {not a place}",
        "prompt_template": "[User Question]\n{question}\n\n[The Start of Assistant A's Answer]\n"
        "{answer_a}\n[The End of Assistant A's Answer]\n\n[The Start of Assistant B's Answer]\n"
        "{answer_b}\n[The End of Assistant B's Answer]",
    },
    {
        "name": "pair-math-v1",
        "type": "pairwise",
        "system_prompt": "Be fair.",
        "prompt_template": "[User Question]\n{question}\n\n[The Start of Reference Answer]\n"
        "{ref_answer_1}\n[The End of Reference Answer]\n\n[The Start of Assistant A's Answer]\n"
        "{answer_a}\n[The End of Assistant A's Answer]\n\n[The Start of Assistant B's Answer]\n"
        "{answer_b}\n[The End of Assistant B's Answer]",
    },
    {
        "name": "single-v1",
        "type": "single",
        "system_prompt": "Be kind.",
        "prompt_template": "[Instruction]\nRate {{it}}.\n\n[Question]\n{question}\n\n"
        "[The Start of Assistant's Answer]\n{answer}\n[The End of Assistant's Answer]",
    },
    {
        "name": "pair-v2-multi-turn",
        "type": "pairwise",
        "system_prompt": "Be fair.",
        "prompt_template": "".join(
            f"<|The Start of Assistant {side.upper()}'s Conversation with User|>\n\n"
            "### User:\n{question_1}\n\n"
            f"### Assistant {side.upper()}:\n{{answer_{side}_1}}\n\n"
            "### User:\n{question_2}\n\n"
            f"### Assistant {side.upper()}:\n{{answer_{side}_2}}\n\n"
            f"<|The End of Assistant {side.upper()}'s Conversation with User|>\n\n\n"
            for side in "ab"
        ),
    },
]

ALPACA_PROMPT = """<|im_start|>system
You rank models. {} {not_a place}
<|im_end|>
<|im_start|>user
Prompt:
{
    "instruction": \"\"\"{instruction}\"\"\",
}
Outputs:
[
    {"model": "model_1", "answer": \"\"\"{output_1}\"\"\"},
    {"model": "model_2", "answer": \"\"\"{output_2}\"\"\"}
]
Write [{'model': <model-name>, 'rank': <model-rank>}].
<|im_end|>
"""

ALPACA_CONFIGS = {
    "ranker": """
ranker:
  prompt_template: "ranker/prompt.txt"
  fn_completions: "openai_completions"
  completions_kwargs: {model_name: "m", max_tokens: 100, temperature: 0}
  fn_completion_parser: "ranking_parser"
  batch_size: 1
""",
    "tokens": """
tokens:
  prompt_template: "ranker/prompt.txt"
  completions_kwargs: {max_tokens: 1, temperature: 1, logprobs: true}
  fn_completion_parser: "logprob_parser"
  completion_parser_kwargs: {numerator_token: "m", denominator_tokens: ["m", "M"]}
""",
    "patterns": """
patterns:
  prompt_template: "ranker/prompt.txt"
  completions_kwargs: {max_tokens: 50}
  completion_parser_kwargs:
    outputs_to_match: {1: '(?:^|\\n) ?Output \\(a\\)', 2: '(?:^|\\n) ?Output \\(b\\)'}
""",
    "function": """
function:
  prompt_template: "ranker/prompt.txt"
  completions_kwargs: {max_tokens: 50, tools: [{type: function}]}
  fn_completion_parser: "pipeline_meta_parser"
""",
    "batch": """
batch:
  prompt_template: "ranker/prompt.txt"
  fn_completion_parser: "ranking_parser"
  batch_size: 5
""",
}

JUDGEBENCH = {
    "arena_hard_judge_system": 'End with "[[A>B]]".\n',
    "arena_hard_judge_prompt": "<|User Prompt|>\n{{prompt}}\n\n<|The Start of Assistant A's "
    "Answer|>\n{{answer_a}}\n<|The End of Assistant A's Answer|>\n\n<|The Start of Assistant B's "
    "Answer|>\n{{ answer_b }}\n<|The End of Assistant B's Answer|>",
    "vanilla_prompt": "# Instruction:\n{{question}}\n# Output (a):\n{{answer_a}}\n# Output (b):\n"
    "{{answer_b}}\n# Which? {'a': 1}",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    """Write files below a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder


def all_peers(folder: Path) -> dict[str, Path]:
    """Write every made-up peer, each as its repository has it."""
    repositories = {
        "judgelm": {"judgelm/llm_judge/common.py": JUDGELM},
        "pandalm": {"pandalm/utils/pandalm_inference.py": PANDALM},
        "auto-j": {"codes/usage/constants_prompt.py": AUTOJ},
        "prometheus": {"libs/prometheus-eval/prometheus_eval/prompts.py": PROMETHEUS},
        "mt-bench": {
            "fastchat/llm_judge/data/judge_prompts.jsonl": "\n".join(map(json.dumps, MTBENCH))
        },
        "alpaca-eval": {
            "src/alpaca_eval/evaluators_configs/ranker/prompt.txt": ALPACA_PROMPT,
            **{
                f"src/alpaca_eval/evaluators_configs/{name}/configs.yaml": text
                for name, text in ALPACA_CONFIGS.items()
            },
        },
        "judgebench": {f"utils/templates/{name}.jinja2": text for name, text in JUDGEBENCH.items()},
    }
    return {peer: write(folder / peer, files) for peer, files in repositories.items()}
