"""The API engine against vLLM's server, and its answers to a batch, with a real model."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import vllm_real

from magistrate.engines.table import open_engine
from magistrate.messages import Completion, Message, Part, Request, Sampling

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

QUESTION = Message("user", (Part("What is the capital of France?", "question"),))
START = Message("assistant", (Part("The capital of"),))
ROWS = [
    {"question": "What is the capital of France?", "answer_1": "Paris.", "answer_2": "Lyon."},
    {"question": "Add 2 and 3.", "answer_1": "2 + 3 = 6.", "answer_2": "The sum is 5. " * 300},
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    model = vllm_real.model_folder()
    with vllm_real.serving(model, tmp_path_factory.mktemp("server") / "log") as found:
        yield found


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    file = tmp_path / "pairs.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def ask(url: str, *requests: Request, **options: str) -> dict[str, Completion]:
    engine = open_engine("openai", "judge", url, options)
    try:
        assert engine.info.context_tokens == vllm_real.CONTEXT
        return {completion.key: completion for completion in engine.complete(requests)}
    finally:
        engine.close()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    import transformers

    return transformers.AutoTokenizer.from_pretrained(vllm_real.model_folder())


def prompt_ids(tokenizer: Any, *chat: Message, **how: bool) -> list[int]:
    spoken = [{"role": message.role, "content": message.text} for message in chat]
    text = tokenizer.apply_chat_template(spoken, tokenize=False, **how)
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def test_log_probabilities_are_those_of_the_model(url: str, tokenizer: Any) -> None:
    import torch
    import transformers

    asked = Request("a", (QUESTION,), Sampling(max_tokens=3, top_logprobs=20))
    found = ask(url, asked)["a"]
    assert found.error is None
    assert len(found.logprobs) == 3
    ids = prompt_ids(tokenizer, QUESTION, add_generation_prompt=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        vllm_real.model_folder(), dtype=torch.float32
    )
    with torch.inference_mode():
        shares = model(torch.tensor([ids])).logits[0, -1].log_softmax(-1)
    best, tokens = shares.topk(20)
    first = found.logprobs[0]
    assert first.token == tokenizer.decode([int(tokens[0])])
    assert [share for _, share in first.top] == pytest.approx(best.tolist(), abs=1e-3)
    assert found.usage.prompt_tokens == len(ids)


def test_replies_end_where_they_should_and_long_prompts_are_told_apart(url: str) -> None:
    long = Message("user", (Part("so on and on " * 2000),))
    found = ask(
        url,
        Request("cut", (QUESTION,), Sampling(max_tokens=4)),
        Request("whole", (QUESTION,), Sampling(max_tokens=100)),
        Request("line", (QUESTION,), Sampling(max_tokens=100, stop=(" is",))),
        Request("long", (long,), Sampling(max_tokens=4)),
    )
    assert {key: c.finish_reason for key, c in found.items()} == {
        "cut": "length",
        "whole": "stop",
        "line": "stop",
        "long": "error",
    }
    assert "Paris" in found["whole"].text
    assert found["line"].text == "The capital of France"
    assert found["cut"].usage.completion_tokens == 4
    assert str(found["long"].error).startswith("too_long: ")
    assert str(vllm_real.CONTEXT) in str(found["long"].error)


def test_a_fixed_start_is_gone_on_with(url: str, tokenizer: Any) -> None:
    asked = Request("a", (QUESTION, START), Sampling(max_tokens=6))
    found = ask(url, asked)["a"]
    assert found.text.startswith(" France is Paris")
    ids = prompt_ids(tokenizer, QUESTION, START, continue_final_message=True)
    assert found.usage.prompt_tokens == len(ids)
    anew = ask(url, asked, continue_reply="no")["a"]
    assert anew.usage.prompt_tokens > len(ids)
    assert not anew.text.startswith(" France is Paris")


@pytest.mark.parametrize("mode", ["score", "reason"])
@pytest.mark.parametrize("family", ["pair", "judgelm-single"])
def test_judging_from_the_command_line(
    url: str, pairs: Path, tmp_path: Path, family: str, mode: str
) -> None:
    if family == "judgelm-single":
        row = {"question": "Capital of France?", "answers": ["Paris."], "reference": "Paris"}
        pairs.write_text(json.dumps(row) + "\n")
    out = tmp_path / "run"
    done = vllm_real.run(
        *("judge", str(pairs), "--judge", f"openai:judge@{url}#{family}", "--mode", mode),
        *("--out", str(out), "--set", 'extra_body={"max_tokens": 48}'),
    )
    assert done.returncode in (0, 5), done.stderr
    assert "Traceback" not in done.stderr
    judgments = [json.loads(line) for line in (out / "judgments.jsonl").read_text().splitlines()]
    assert len(judgments) == (1 if family == "judgelm-single" else 4)
    for judgment in judgments:
        # An untuned model of this size often writes no verdict; nothing must fail, though.
        assert judgment["status"] != "error", judgment
        assert judgment["raw"]
        assert judgment["usage"]["prompt_tokens"] > 100
        assert judgment["usage"]["completion_tokens"] > 0


def test_a_batch_is_answered_by_run_batch(pairs: Path, tmp_path: Path) -> None:
    model = vllm_real.model_folder()
    asked, answers, out = tmp_path / "asked.jsonl", tmp_path / "answers.jsonl", tmp_path / "run"
    judging = [
        *("judge", str(pairs), "--judge", "openai:judge@http://127.0.0.1:9/v1#pair"),
        *("--mode", "score", "--out", str(out)),
        *("--set", f"context_tokens={vllm_real.CONTEXT}", "--set", "continue_reply=yes"),
    ]
    emitted = vllm_real.run(*judging, "--batch", "emit", str(asked))
    assert emitted.returncode == 0, emitted.stderr
    assert len(asked.read_text().splitlines()) == 4
    done = subprocess.run(
        vllm_real.command(
            *("run_batch", "-i", str(asked), "-o", str(answers), "--model", str(model)),
            *("--served-model-name", "judge", *vllm_real.SERVED),
        ),
        capture_output=True,
        text=True,
        timeout=vllm_real.START_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    collected = vllm_real.run(*judging, "--batch", "collect", str(answers))
    assert collected.returncode in (0, 5), collected.stderr
    judgments = [json.loads(line) for line in (out / "judgments.jsonl").read_text().splitlines()]
    assert len(judgments) == 4
    for judgment in judgments:
        assert judgment["status"] != "error", judgment
        assert judgment["raw"]
        assert judgment["usage"]["prompt_tokens"] > 100
