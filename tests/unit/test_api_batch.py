"""Requests as the lines of a batch, and answers from such lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from magistrate.engines.api.batch import read_batch, write_batch
from magistrate.engines.api.prices import Price
from magistrate.engines.api.settings import ApiOptions
from magistrate.errors import InputError
from magistrate.messages import Completion, Message, Part, Request, Sampling


def request(key: str, text: str = "x", role: Any = "user") -> Request:
    return Request(key, (Message(role, (Part(text, "question"),)),), Sampling(max_tokens=7))


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def written(path: Path, *lines: Any) -> Path:
    path.write_text(
        "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines)
    )
    return path


def answered(key: str, *texts: str, **usage: int) -> dict[str, Any]:
    choices = [{"index": i, "message": {"content": text}} for i, text in enumerate(texts)]
    body = {"model": "m-1", "choices": choices, "usage": usage}
    return {
        "id": "r",
        "custom_id": key,
        "response": {"status_code": 200, "body": body},
        "error": None,
    }


# --- writing ------------------------------------------------------------------------------------


def test_lines_are_those_of_openai(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    files = write_batch([request("a/0", "why? <|im_end|>"), request("b/0")], path, "m")
    assert files == [path]
    first, second = lines_of(path)
    assert first == {
        "custom_id": "a/0",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "m",
            "messages": [{"role": "user", "content": "why? <\\|im_end|>"}],
            "max_completion_tokens": 7,
            "temperature": 0.0,
            "seed": 0,
        },
    }
    assert second["custom_id"] == "b/0"


def test_options_shape_the_lines(tmp_path: Path) -> None:
    options = ApiOptions(
        samples=4, leave_out=("seed",), token_parameter="max_tokens", extra_body={"top_k": 3}
    )
    write_batch([request("a/0", role="text")], tmp_path / "b.jsonl", "m", options)
    (line,) = lines_of(tmp_path / "b.jsonl")
    assert line["url"] == "/v1/completions"
    assert line["body"] == {
        "model": "m",
        "prompt": "x",
        "max_tokens": 7,
        "temperature": 1.0,
        "n": 4,
        "top_k": 3,
    }


def test_what_does_not_go_into_one_file_goes_into_several(tmp_path: Path) -> None:
    requests = [request(f"{i}/0") for i in range(7)]
    files = write_batch(requests, tmp_path / "b.jsonl", "m", most_requests=3)
    assert [file.name for file in files] == ["b.jsonl", "b-2.jsonl", "b-3.jsonl"]
    keys = [line["custom_id"] for file in files for line in lines_of(file)]
    assert keys == [each.key for each in requests]
    size = files[0].stat().st_size // 3
    files = write_batch(requests, tmp_path / "c.jsonl", "m", most_bytes=2 * size + 1)
    assert [len(lines_of(file)) for file in files] == [2, 2, 2, 1]


def test_nothing_is_written_for_nothing_or_when_something_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    assert write_batch([], path, "m") == []
    wrong: list[tuple[list[Request], str, int]] = [
        ([request("a/0"), request("a/0")], "two requests have the key 'a/0'", 999),
        ([request("a/0"), request("b/0", role="text")], "both chat and completion", 999),
        ([request("a/0"), request("b/0", "y" * 900)], "takes 1,0.. bytes", 999),
    ]
    for requests, words, most_bytes in wrong:
        with pytest.raises(InputError, match=words):
            write_batch(requests, path, "m", most_bytes=most_bytes)
    assert list(tmp_path.iterdir()) == []


# --- reading ------------------------------------------------------------------------------------


def test_answers_are_read(tmp_path: Path) -> None:
    path = written(
        tmp_path / "out.jsonl",
        answered("a/0", "8 9", prompt_tokens=1_000_000, completion_tokens=500_000),
        "",
        answered("b/0", "1", "2", "3"),
    )
    first, second = read_batch(path, price=Price(prompt=2, written=8))
    assert (first.key, first.text, first.error) == ("a/0", "8 9", None)
    assert first.usage.prompt_tokens == 1_000_000
    assert first.cost == pytest.approx((2 + 4) / 2)
    assert first.meta["model"] == "m-1"
    assert second.meta["samples"] == ["1", "2", "3"]
    (full, _) = read_batch(path, price=Price(prompt=2, written=8), price_share=1)
    assert full.cost == pytest.approx(6)


def test_the_answers_of_vllm_are_read(tmp_path: Path) -> None:
    body = {"id": "c", "choices": [{"message": {"content": "8"}, "finish_reason": "length"}]}
    good = {
        "id": "vllm-1",
        "custom_id": "a/0",
        "response": {"status_code": 200, "request_id": "q", "body": body},
        "error": None,
    }
    bad = {
        "id": "vllm-2",
        "custom_id": "b/0",
        "response": {"status_code": 400, "request_id": "q", "body": None},
        "error": {"error": {"message": "max_tokens is too large", "type": "BadRequestError"}},
    }
    first, second = read_batch(written(tmp_path / "out.jsonl", good, bad))
    assert (first.text, first.finish_reason) == ("8", "length")
    assert "BadRequestError: max_tokens is too large" in (second.error or "")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            {"response": None, "error": {"code": "batch_expired", "message": "It was late."}},
            "batch_expired: It was late.",
        ),
        (
            {
                "response": {"status_code": 400, "body": {"error": {"message": "Too long"}}},
                "error": None,
            },
            "Too long",
        ),
        ({"response": None, "error": None}, "no answer"),
        ({"response": {"status_code": 500}, "error": None}, "no answer"),
        ({}, "no answer"),
    ],
)
def test_failures_are_errors_of_their_requests(
    line: dict[str, Any], words: str, tmp_path: Path
) -> None:
    (completion,) = read_batch(written(tmp_path / "errors.jsonl", {"custom_id": "a/0"} | line))
    assert completion.key == "a/0"
    assert completion.finish_reason == "error"
    assert words in (completion.error or "")


def test_a_filter_is_a_refusal(tmp_path: Path) -> None:
    said = {"error": {"code": "content_filter", "message": "The response was filtered"}}
    line = {"custom_id": "a/0", "response": {"status_code": 400, "body": said}}
    (completion,) = read_batch(written(tmp_path / "out.jsonl", line))
    assert (completion.error, completion.finish_reason) == (None, "content_filter")


def test_lines_that_cannot_be_read_are_named_when_the_others_were(tmp_path: Path) -> None:
    path = written(
        tmp_path / "out.jsonl",
        answered("a/0", "8"),
        "{",
        {"response": {}},
        answered("a/0", "9"),
        {"custom_id": "b/0", "response": {"status_code": 200, "body": {"choices": []}}},
        "[1]",
        answered("c/0", "7"),
        json.dumps(answered("d/0", "7"))[:-20],
    )
    known: list[Completion] = []

    def take() -> None:
        for completion in read_batch(path):
            known.append(completion)  # noqa: PERF402  # what came before the error counts

    with pytest.raises(InputError) as caught:
        take()
    assert [(each.key, each.text) for each in known] == [("a/0", "8"), ("c/0", "7")]
    message = str(caught.value)
    assert message.startswith("6 lines of the batch cannot be read, the others were: ")
    for words in ("line 2: not whole JSON", "line 3: no 'custom_id'", "line 4: 'a/0' was answered"):
        assert words in message
    assert message.endswith("and 1 more")
    problems: list[str] = []
    assert len(list(read_batch(path, on_problem=problems.append))) == 2
    assert len(problems) == 6


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        list(read_batch(tmp_path / "none.jsonl"))
