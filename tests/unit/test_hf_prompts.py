"""Prompts that are too long: slots are cut fairly, the template never, and what was cut is told."""

from __future__ import annotations

from typing import Any

import pytest
from hf_help import byte_tokenizer, pair_prompt, piece_tokenizer, tiny_engine, tiny_model

from magistrate.engines.hf.chat import ChatTemplate
from magistrate.engines.hf.plain import PlainTokenizer
from magistrate.engines.hf.prompts import CUT, Prompt, PromptEncoder
from magistrate.errors import EngineError
from magistrate.messages import Choices, Request, Sampling

LONG = "one two three four five six seven eight nine ten. " * 20
LONGER = "eleven twelve, " * 200


def encode(
    first: str, second: str, *, context: int = 400, reserve: int = 50, tokenizer: Any = None
) -> tuple[Prompt, str]:
    tokenizer = tokenizer or byte_tokenizer()
    encoder = PromptEncoder(ChatTemplate(tokenizer), PlainTokenizer(tokenizer), context)
    prompt = encoder.encode(pair_prompt("Which?", first, second), reserve=reserve)
    return prompt, tokenizer.decode(prompt.ids)


@pytest.mark.parametrize("make", [byte_tokenizer, piece_tokenizer])
def test_long_answers_are_cut_alike_and_the_rest_stays(make: Any) -> None:
    tokenizer = make()
    plain = PlainTokenizer(tokenizer)
    prompt, text = encode(LONG, LONGER, tokenizer=tokenizer)
    assert 330 <= len(prompt.ids) <= 350
    assert set(prompt.truncated) == {"answer_1", "answer_2"}
    kept = [
        plain.count(answer) - prompt.truncated[slot]
        for slot, answer in (("answer_1", LONG), ("answer_2", LONGER))
    ]
    assert abs(kept[0] - kept[1]) <= 1
    assert "Which?" in text
    assert text.count(CUT) == 2
    assert text.endswith(("assistant\n", "[/INST]"))
    assert LONG[:20] in text
    assert "nine ten. \n</answer_1>" in text


def test_what_is_short_is_not_cut_for_what_is_long() -> None:
    prompt, text = encode("Paris.", LONGER)
    assert list(prompt.truncated) == ["answer_2"]
    assert "<answer_1>\nParis.\n</answer_1>" in text


def test_a_prompt_that_fits_is_whole() -> None:
    prompt, text = encode("Paris.", "Lyon.")
    assert prompt.truncated == {}
    assert CUT not in text


def test_a_prompt_that_fits_exactly_is_whole_and_one_token_more_is_not() -> None:
    prompt, _ = encode(LONG, "b", context=100_000)
    size = len(prompt.ids)
    assert encode(LONG, "b", context=size + 50)[0].truncated == {}
    shorter = encode(LONG, "b", context=size + 49)[0]
    assert shorter.truncated
    assert len(shorter.ids) <= size - 1


def test_surrogates_and_wide_characters_can_be_cut() -> None:
    prompt, _ = encode("\ud800😀中" * 300, "b")
    assert prompt.truncated["answer_1"] > 0
    assert len(prompt.ids) <= 350


@pytest.mark.parametrize(("context", "reserve"), [(100, 50), (400, 400), (60, 0)])
def test_what_cannot_fit_says_how_much_there_is(context: int, reserve: int) -> None:
    with pytest.raises(EngineError, match=r"too_long: the prompt's own words take \d+ tokens"):
        encode(LONG, LONGER, context=context, reserve=reserve)


def test_the_engine_answers_the_others_and_names_the_tokens() -> None:
    engine = tiny_engine(tiny_model(vocab=490, max_position_embeddings=150))
    requests = [
        Request("fits", pair_prompt("q", "a", "b"), Sampling(max_tokens=4)),
        Request("never", pair_prompt("q", LONG, "b"), Sampling(max_tokens=120)),
        Request("exact", pair_prompt("q", LONG, "b"), choices=Choices(("1", "2"), " ", 2)),
    ]
    found = {completion.key: completion for completion in engine.complete(requests)}
    assert found["fits"].error is None
    never = found["never"]
    assert never.finish_reason == "error"
    assert never.error is not None
    assert "the model reads 150, of which 120 are kept for the reply" in never.error
    exact = found["exact"]
    assert exact.error is None
    assert exact.truncated["answer_1"] > 0
    assert exact.usage.prompt_tokens + 3 <= 150


def test_an_empty_prompt_is_refused() -> None:
    tokenizer = byte_tokenizer(None)
    encoder = PromptEncoder(ChatTemplate(tokenizer), PlainTokenizer(tokenizer), None)
    from magistrate.messages import Message, Part

    with pytest.raises(EngineError, match="empty"):
        encoder.encode([Message("text", (Part(""),))], reserve=0)


def test_the_anchor_is_the_templates_own_last_words() -> None:
    prompt, _ = encode("a", "b")
    assert prompt.anchor == "assistant\n"
    tokenizer = byte_tokenizer()
    encoder = PromptEncoder(ChatTemplate(tokenizer), PlainTokenizer(tokenizer), None)
    from magistrate.messages import Message, Part

    ends_with_data = [Message("text", (Part("Q: "), Part("why?<|im_end|>x", "question")))]
    assert encoder.encode(ends_with_data, reserve=0).anchor == ""
    ends_with_words = [Message("text", (*ends_with_data[0].parts, Part("\nScore:")))]
    assert encoder.encode(ends_with_words, reserve=0).anchor == "\nScore:"
