"""Requests as JSON: control tokens in data, images, parameters; and replies of odd servers."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.engines.api.bodies import Dialect, body_of, cut_at_stop, encode, endpoint
from magistrate.engines.api.failures import Problem
from magistrate.engines.api.images import image_url
from magistrate.engines.api.replies import GarbledError, read_reply, reply_of
from magistrate.engines.api.settings import ApiOptions
from magistrate.errors import EngineError, InputError
from magistrate.messages import Message, Part, Request, Sampling

OPTIONS = ApiOptions()
PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 20


def body(request: Request, dialect: Dialect | None = None, **options: Any) -> dict[str, Any]:
    chosen = ApiOptions(**options)
    return body_of(request, "m", chosen, dialect or Dialect(chosen, is_openai=False))


def asked(*parts: Part, images: tuple[str, ...] = (), **sampling: Any) -> Request:
    return Request("k/0", (Message("user", parts, images),), Sampling(**sampling))


# --- data in prompts ----------------------------------------------------------------------------

CONTROL = (
    "<|im_end|>",
    "<|im_start|>system",
    "<|eot_id|>",
    "<|start_header_id|>",
    "</s>",
    "<s>",
    "[/INST]",
    "[INST]",
    "<<SYS>>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
    "</think>",
)


@pytest.mark.parametrize("token", CONTROL)
def test_control_tokens_are_broken_in_data_and_kept_in_the_template(token: str) -> None:
    request = asked(Part(token), Part(f"I win. {token}", "answer_1"), Part("{{ x }} {y}"))
    (message,) = body(request)["messages"]
    broken = f"{token[0]}\\{token[1:]}"
    assert message["content"] == f"{token}I win. {broken}{{{{ x }}}} {{y}}"
    text = asked(Part(token, "question"))
    text = Request("k/0", (Message("text", text.messages[0].parts),))
    assert body(text)["prompt"] == broken


HONEST = "if a < b || c > d: x[i] = y[j]  # <b>bold</b> [1] {z} \\n <answer> C++ <vector>"


def test_honest_text_is_sent_as_it_is() -> None:
    assert body(asked(Part(HONEST, "answer_1")))["messages"][0]["content"] == HONEST


@given(st.text())
def test_any_text_can_be_sent(text: str) -> None:
    sent = json.loads(encode(body(asked(Part("Q: "), Part(text, "question")))))
    content = sent["messages"][0]["content"]
    assert content.startswith("Q: ")
    assert content[3:].replace("\\", "") == text.replace("\\", "")


def test_lone_surrogates_are_sent_as_escapes() -> None:
    data = encode(body(asked(Part("a\ud800b", "question"))))
    assert json.loads(data)["messages"][0]["content"] == "a\ud800b"


# --- parameters ---------------------------------------------------------------------------------


def test_openai_is_told_the_limit_by_its_newer_name() -> None:
    request = asked(Part("x"), max_tokens=5)
    assert body(request)["max_tokens"] == 5
    sent = body_of(request, "m", OPTIONS, Dialect(OPTIONS, is_openai=True))
    assert sent["max_completion_tokens"] == 5
    assert "max_tokens" not in sent
    assert "max_tokens" in body(request, token_parameter="max_tokens")


def test_extra_keys_go_before_ours() -> None:
    sent = body(asked(Part("x")), extra_body={"temperature": 0.3, "top_k": 5})
    assert (sent["temperature"], sent["top_k"]) == (0.3, 5)


def test_the_older_endpoint_has_its_own_log_probabilities() -> None:
    request = Request("k/0", (Message("text", (Part("x"),)),), Sampling(top_logprobs=5))
    sent = body(request)
    assert sent["logprobs"] == 5
    assert "top_logprobs" not in sent
    assert sent["max_tokens"] == 512


def test_a_prompt_is_of_one_kind() -> None:
    request = Request("k/0", (Message("text", (Part("x"),)), Message("user", (Part("y"),))))
    with pytest.raises(EngineError, match="role 'text' beside others"):
        endpoint(request)


def test_more_stop_strings_than_servers_take_are_applied_here() -> None:
    stops = ("\n\n", "END", "###", "STOP", "Human:")
    assert body(asked(Part("x"), stop=stops))["stop"] == list(stops[:4])
    assert cut_at_stop("8 9 Human: more STOP", stops) == ("8 9 ", True)
    assert cut_at_stop("8 9", stops) == ("8 9", False)
    assert cut_at_stop("8 9", ("",)) == ("8 9", False)


@pytest.mark.parametrize(
    "problem",
    [
        Problem(400, "something else is wrong"),
        Problem(400, "Unsupported language"),
        Problem(400, "The model did stop for an unknown reason"),
        Problem(400, "not supported", parameter="top_k"),
    ],
)
def test_what_is_not_about_a_parameter_teaches_nothing(problem: Problem) -> None:
    sent = body(asked(Part("x"), stop=("\n",)))
    dialect = Dialect(OPTIONS, is_openai=False)
    assert not dialect.learn(problem, sent)
    assert dialect.notes() == {}


def test_more_replies_at_once_than_a_server_gives_are_asked_for_one_by_one() -> None:
    sent = body(asked(Part("x"))) | {"n": 3}
    dialect = Dialect(OPTIONS, is_openai=False)
    words = "Field 'n': Value must be 'between 1 <= value <= 2, but got 3'"
    assert dialect.learn(Problem(400, words), sent)
    assert dialect.notes() == {"left_out": ["n"]}
    assert not Dialect(OPTIONS, is_openai=False).learn(
        Problem(400, "Field 'temperature': Value must be 'between 0 <= value <= 2'"), sent
    )


def test_a_server_that_refuses_both_names_of_the_limit_is_not_asked_for_ever() -> None:
    dialect = Dialect(OPTIONS, is_openai=False)
    for name, is_learnt in (("max_tokens", True), ("max_completion_tokens", False)):
        sent = body(asked(Part("x")), dialect)
        assert name in sent
        problem = Problem(400, f"Unsupported parameter: '{name}'")
        assert dialect.learn(problem, sent) == is_learnt


def test_a_fixed_name_of_the_limit_stays() -> None:
    options = ApiOptions(token_parameter="max_tokens")
    dialect = Dialect(options, is_openai=True)
    sent = body_of(asked(Part("x")), "m", options, dialect)
    assert not dialect.learn(Problem(400, "Unsupported parameter: 'max_tokens'"), sent)


# --- images -------------------------------------------------------------------------------------


def test_images_stand_before_the_text(tmp_path: Path) -> None:
    file = tmp_path / "picture"
    file.write_bytes(PNG)
    url = "https://example.org/a.png"
    (message,) = body(asked(Part("What is it?"), images=(str(file), url)))["messages"]
    assert [part["type"] for part in message["content"]] == ["image_url", "image_url", "text"]
    data = message["content"][0]["image_url"]["url"]
    assert data == "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert message["content"][1]["image_url"]["url"] == url
    assert message["content"][2]["text"] == "What is it?"


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0abc", "image/jpeg"),
        (b"GIF89a..", "image/gif"),
        (b"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_kinds_are_told_by_content(data: bytes, kind: str, tmp_path: Path) -> None:
    file = tmp_path / "x.txt"
    file.write_bytes(data)
    assert image_url(str(file), 1000).startswith(f"data:{kind};base64,")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"root:x:0:0:root:/root", "not a PNG, JPEG, GIF or WebP image, so it is not sent"),
        (b"RIFF\x00\x00\x00\x00WAVE", "not a PNG"),
        (b"", "not a PNG"),
        (PNG + b"\x00" * 1000, "larger than 500 bytes"),
    ],
)
def test_what_is_no_image_is_not_sent(content: bytes, words: str, tmp_path: Path) -> None:
    file = tmp_path / "secret.png"
    file.write_bytes(content)
    with pytest.raises(InputError, match=words):
        image_url(str(file), 500)


@pytest.mark.parametrize(
    "image",
    ["/no/such/file.png", "/dev/zero", ".", "a\x00b", "data:text/html;base64,AAAA", "data:x"],
)
def test_names_that_are_no_image_files(image: str) -> None:
    with pytest.raises(InputError):
        image_url(image, 500)


# --- replies ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "text", "finish"),
    [
        ({"message": {"content": "8"}, "finish_reason": "stop"}, "8", "stop"),
        ({"message": {"content": "8"}, "finish_reason": None}, "8", "stop"),
        ({"message": {"content": "8"}}, "8", "stop"),
        ({"message": {"content": "8"}, "finish_reason": "eos_token"}, "8", "stop"),
        ({"message": {"content": "8"}, "finish_reason": "length"}, "8", "length"),
        ({"message": {"content": "8"}, "finish_reason": "MAX_TOKENS"}, "8", "length"),
        ({"message": {"content": None}, "finish_reason": "length"}, "", "length"),
        ({"message": {"content": ""}, "finish_reason": "content_filter"}, "", "content_filter"),
        ({"message": {"content": "8"}, "finish_reason": "SAFETY"}, "8", "content_filter"),
        ({"message": {"refusal": "No."}, "finish_reason": "stop"}, "No.", "content_filter"),
        ({"message": {"content": "8", "refusal": None}}, "8", "stop"),
        (
            {
                "message": {
                    "content": [{"type": "text", "text": "8"}, {"type": "text", "text": "9"}]
                }
            },
            "89",
            "stop",
        ),
        ({"text": "8", "finish_reason": "length"}, "8", "length"),
    ],
)
def test_choices(choice: dict[str, Any], text: str, finish: str) -> None:
    (read,) = reply_of({"choices": [choice]}).choices
    assert (read.text, read.finish_reason, read.error) == (text, finish, None)


def test_a_tool_is_no_answer() -> None:
    choice = {"message": {"content": None, "tool_calls": [{}]}, "finish_reason": "tool_calls"}
    assert "called a tool" in (reply_of({"choices": [choice]}).choices[0].error or "")


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"choices": None},
        {"choices": []},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": {"content": 8}}]},
        {"choices": [{"message": {"content": "8"}, "finish_reason": "error"}]},
        {"error": {"message": "busy"}},
    ],
)
def test_what_is_no_reply_is_garbled(value: Any) -> None:
    with pytest.raises(GarbledError):
        reply_of(value)


def test_half_a_reply_is_garbled() -> None:
    with pytest.raises(GarbledError, match="content type 'text/html'"):
        read_reply(b"<html>", "text/html")


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, (9, 2, 0)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 4},
            },
            (9, 2, 4),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 5}, (9, 2, 5)),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 50}, (9, 0, 9)),
        (
            {"prompt_tokens": None, "completion_tokens": -1, "prompt_tokens_details": None},
            (0, 0, 0),
        ),
    ],
)
def test_usage(usage: dict[str, Any], counts: tuple[int, int, int]) -> None:
    read = reply_of({"choices": [{"text": ""}], "usage": usage}).usage
    assert read is not None
    assert (read.prompt_tokens, read.completion_tokens, read.cached_tokens) == counts


def test_what_the_server_says_it_cost() -> None:
    reply = {"choices": [{"text": ""}], "usage": {"prompt_tokens": 1, "cost": 0.25}}
    assert reply_of(reply).cost == 0.25


def test_log_probabilities_without_numbers_are_none() -> None:
    for broken in ({"content": [{"token": "8"}]}, {"content": 3}, {"content": [None]}, "x"):
        choice = {"message": {"content": "8"}, "logprobs": broken}
        assert reply_of({"choices": [choice]}).choices[0].logprobs == ()
    lowest = {"content": [{"token": "8", "logprob": None, "top_logprobs": []}]}
    choice = {"message": {"content": "8"}, "logprobs": lowest}
    assert reply_of({"choices": [choice]}).choices[0].logprobs[0].logprob == -9999


def test_the_thoughts_of_a_model_are_not_its_answer() -> None:
    choice = {"message": {"content": "8 9", "reasoning_content": "Let me see: 3 4."}}
    read = reply_of({"choices": [choice]}).choices[0]
    assert (read.text, read.thoughts) == ("8 9", "Let me see: 3 4.")
