"""Exact distributions equal brute force: every verdict by a plain pass of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hf_help import byte_tokenizer, pair_prompt, piece_tokenizer, tiny_engine, tiny_model, torch

from magistrate.engines.exact import verdict_texts
from magistrate.engines.hf.engine import HfEngine
from magistrate.engines.hf.passes import PackedPasses, PlainPasses
from magistrate.engines.hf.settings import HfOptions
from magistrate.messages import Choices, Completion, Message, Part, Request

GRADES = tuple(map(str, range(1, 11)))
CHOICES = {
    "pair": Choices(GRADES, " ", 2),
    "single": Choices(GRADES),
    "labels": Choices(("A", "B", "tie")),
    "three answers": Choices(("1", "2", "3", "4", "5"), " ", 3),
    "other separator": Choices(GRADES, ", ", 2),
    "out of a hundred": Choices(tuple(map(str, range(101)))),
}


def brute_force(
    model: Any, tokenizer: Any, prompt: str, choices: Choices, *, before: str = ""
) -> list[float]:
    """Return the log-probability of each verdict, each read whole behind the whole prompt.

    The tokens are those that the tokenizer gives for prompt and verdict as one text.
    """
    start = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    texts = verdict_texts(choices)
    vocabulary = [
        tokenizer.decode([*start[-1:], token]).removeprefix(tokenizer.decode(start[-1:]))
        for token in range(len(tokenizer))
    ]
    found = []
    for text in texts:
        whole = tokenizer(prompt + before + text, add_special_tokens=False)["input_ids"]
        assert whole[: len(start)] == start
        with torch.inference_mode():
            shares = model(torch.tensor([whole])).logits[0].double().log_softmax(1)
        total = sum(float(shares[i - 1, whole[i]]) for i in range(len(start), len(whole)))
        rests = tuple(o[len(text) :] for o in texts if o != text and o.startswith(text))
        if rests:
            longer = [token for token, said in enumerate(vocabulary) if said.startswith(rests)]
            total += math.log(1 - float(shares[-1, longer].exp().sum()))
        found.append(total)
    return found


def ask(engine: HfEngine, *requests: Request) -> dict[str, Completion]:
    return {completion.key: completion for completion in engine.complete(requests)}


def prompts_of(count: int) -> list[tuple[Message, ...]]:
    answers = ["Paris.", "Lyon, I think.", "It is Paris, of course.", "I do not know."]
    return [
        pair_prompt(f"Capital {place // 2}?", answers[place % 4], answers[(place + 1) % 4])
        for place in range(count)
    ]


def whole_text(tokenizer: Any, messages: Sequence[Message]) -> str:
    chat = [{"role": m.role, "content": m.text} for m in messages]
    return str(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True))


@pytest.mark.parametrize("kind", CHOICES)
@pytest.mark.parametrize("whole_numbers", [False, True], ids=["digits", "whole numbers"])
def test_distributions_equal_brute_force(kind: str, whole_numbers: bool) -> None:
    tokenizer = byte_tokenizer(whole_numbers=whole_numbers)
    model = tiny_model(vocab=len(tokenizer))
    engine = tiny_engine(model, tokenizer, HfOptions(batch_tokens=260))
    prompts = prompts_of(3)
    found = ask(engine, *(Request(str(i), p, choices=CHOICES[kind]) for i, p in enumerate(prompts)))
    assert isinstance(engine.passes, PackedPasses)
    for place, messages in enumerate(prompts):
        text = whole_text(tokenizer, messages)
        expected = brute_force(model, tokenizer, text, CHOICES[kind])
        assert found[str(place)].choices == pytest.approx(expected, abs=1e-4)
        if kind == "labels":
            break


def test_a_blank_that_the_template_writes_belongs_to_the_verdict() -> None:
    tokenizer = piece_tokenizer()
    model = tiny_model(vocab=len(tokenizer))
    messages = pair_prompt("Capital?", "Paris.", "Lyon.")[1:]
    found = ask(tiny_engine(model, tokenizer), Request("a", messages, choices=CHOICES["pair"]))["a"]
    text = whole_text(tokenizer, messages)
    expected = brute_force(model, tokenizer, text, CHOICES["pair"], before=" ")
    assert found.choices == pytest.approx(expected, abs=1e-4)


def test_plain_and_packed_passes_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = tiny_engine()
    requests = [Request(str(i), p, choices=CHOICES["pair"]) for i, p in enumerate(prompts_of(3))]
    packed = ask(engine, *requests)
    monkeypatch.setattr(engine, "_passes", PlainPasses(engine._model, 2048))
    plain = ask(engine, *requests)
    for key in packed:
        assert packed[key].choices == pytest.approx(plain[key].choices, abs=1e-4)


def test_one_alone_and_many_together_agree() -> None:
    engine = tiny_engine(options=HfOptions(batch_tokens=400))
    requests = [Request(str(i), p, choices=CHOICES["pair"]) for i, p in enumerate(prompts_of(12))]
    together = ask(engine, *requests)
    for request in requests:
        alone = ask(engine, request)[request.key]
        assert alone.choices == pytest.approx(together[request.key].choices, abs=1e-4)
        best = max(range(100), key=alone.choices.__getitem__)
        assert best == max(range(100), key=together[request.key].choices.__getitem__)


def test_the_same_requests_give_the_same_bits() -> None:
    requests = [Request(str(i), p, choices=CHOICES["pair"]) for i, p in enumerate(prompts_of(9))]
    engine = tiny_engine(options=HfOptions(batch_tokens=400))
    first, second = ask(engine, *requests), ask(engine, *requests)
    backwards = ask(engine, *reversed(requests))
    for key, completion in first.items():
        assert completion.choices == second[key].choices == backwards[key].choices


def test_shared_tokens_are_told_as_cached() -> None:
    prompts = prompts_of(2)
    one, other = ask(
        tiny_engine(),
        *(Request(str(i), p, choices=CHOICES["single"]) for i, p in enumerate(prompts)),
    ).values()
    cached = [completion.usage.cached_tokens for completion in (one, other)]
    assert min(cached) == 0
    assert max(cached) > 30
    again = ask(
        tiny_engine(),
        *(Request(key, prompts[0], choices=CHOICES["single"]) for key in ("a", "b")),
    )
    assert again["b"].usage.cached_tokens == again["b"].usage.prompt_tokens
    assert again["a"].choices == again["b"].choices


def test_a_prompt_that_ends_with_data_or_a_blank_can_be_asked() -> None:
    engine = tiny_engine()
    for last in (Part("why?", "question"), Part("The grades: ")):
        messages = (Message("text", (Part("Q: "), last)),)
        found = ask(engine, Request("a", messages, choices=CHOICES["pair"]))["a"]
        assert found.error is None
        assert len(found.choices) == 100
        assert sum(map(math.exp, found.choices)) < 1


def test_several_kinds_of_requests_at_once() -> None:
    messages = prompts_of(1)[0]
    requests = [Request(kind, messages, choices=choices) for kind, choices in CHOICES.items()]
    requests.append(Request("bad", messages, choices=Choices(GRADES, " ", 6)))
    found = ask(tiny_engine(), *requests)
    assert {key: len(c.choices) for key, c in found.items() if not c.error} == {
        kind: choices.total for kind, choices in CHOICES.items()
    }
    assert "1,000,000 verdicts are too many" in (found["bad"].error or "")
