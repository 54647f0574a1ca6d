"""The API engine against a server that does what servers do, well and badly."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import socket
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from api_faults import Answer, Asked, FaultServer, Script, echo, error, requests, said

from magistrate.engines.api import health, waiting
from magistrate.engines.api.engine import ApiEngine
from magistrate.engines.table import open_engine
from magistrate.errors import CostLimitError, EngineError
from magistrate.messages import Completion, Message, Part, Request, Sampling

KEY = "sk-test-0123456789abcdefghijKLMNOP"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No long waits, and no key but the test's own."""
    monkeypatch.setattr(waiting, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(waiting, "LONGEST_WAIT", 0.05)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@contextmanager
def engine_at(url: str, **options: object) -> Iterator[ApiEngine]:
    engine = open_engine("openai", "m", url, {name: str(value) for name, value in options.items()})
    assert isinstance(engine, ApiEngine)
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def served(script: Script = echo, **options: object) -> Iterator[tuple[ApiEngine, FaultServer]]:
    with FaultServer(script) as server, engine_at(server.url, **options) as engine:
        yield engine, server


def by_attempt(*answers: Answer) -> Script:
    """Do this at the first attempt at a prompt, that at the second, and echo after the last."""

    def script(asked: Asked) -> Answer:
        return answers[asked.attempt - 1] if asked.attempt <= len(answers) else echo(asked)

    return script


def check_each_once(completions: list[Completion], count: int) -> None:
    assert sorted(c.key for c in completions) == [r.key for r in requests(count)]
    for completion in completions:
        if completion.error is None:
            assert completion.text == f"re p{int(completion.key[:24], 16)}"


def collect(stream: Iterator[Completion], known: list[Completion]) -> None:
    """Keep what comes, also when the stream ends in an error."""
    for completion in stream:
        known.append(completion)  # noqa: PERF402  # extend says nothing of what it keeps then


# --- plain sailing ------------------------------------------------------------------------------


def test_every_request_is_answered_once_with_its_own_reply() -> None:
    with served() as (engine, server):
        completions = list(engine.complete(requests(50)))
    check_each_once(completions, 50)
    assert len(server.asked) == 50
    assert {c.usage.requests for c in completions} == {1}
    assert completions[0].usage.prompt_tokens == 10
    assert completions[0].meta["model"] == "m-1"


def test_what_is_sent_is_what_was_asked() -> None:
    sampling = Sampling(max_tokens=7, temperature=0.5, top_p=0.9, stop=("\n",), seed=3)
    with served() as (engine, server):
        list(engine.complete(requests(1, sampling)))
    asked = server.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Judge."},
            {"role": "user", "content": "p0"},
        ],
        "max_tokens": 7,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["\n"],
        "seed": 3,
    }
    assert "authorization" not in asked.headers


def test_a_completion_prompt_goes_to_completions() -> None:
    def script(asked: Asked) -> Answer:
        choice = {
            "text": " 8 9",
            "finish_reason": "length",
            "logprobs": {
                "tokens": [" 8"],
                "token_logprobs": [-0.25],
                "top_logprobs": [{" 8": -0.25, " 7": -1.5}],
            },
        }
        return Answer(json.dumps({"choices": [choice]}).encode())

    request = Request("k/0", (Message("text", (Part("Q: "), Part("why?", "question"))),))
    with served(script) as (engine, server):
        (completion,) = engine.complete([request])
    assert server.asked[0].path == "/v1/completions"
    assert server.asked[0].body["prompt"] == "Q: why?"
    assert (completion.text, completion.finish_reason) == (" 8 9", "length")
    assert completion.logprobs[0].top == ((" 8", -0.25), (" 7", -1.5))
    assert completion.meta["usage_estimated"]


def test_shares_of_the_wall_time_add_up() -> None:
    with served(lambda asked: Answer(echo(asked).body, delay=0.02)) as (engine, _):
        began = time.monotonic()
        completions = list(engine.complete(requests(40)))
        wall = time.monotonic() - began
    assert 0.3 * wall < sum(c.seconds for c in completions) <= wall
    assert all(c.meta["latency"] >= 0.02 for c in completions)


def test_completions_come_as_they_are_ready() -> None:
    def script(asked: Asked) -> Answer:
        return Answer(echo(asked).body, delay=1.5 if asked.prompt == "p0" else 0)

    with served(script) as (engine, _):
        began = time.monotonic()
        stream = engine.complete(requests(3))
        first = next(stream)
        assert time.monotonic() - began < 1.4
        assert first.key != requests(1)[0].key
        assert len(list(stream)) == 2


def test_it_works_where_an_event_loop_is_running() -> None:
    async def cell() -> list[Completion]:
        with served() as (engine, _):
            return list(engine.complete(requests(10)))

    check_each_once(asyncio.run(cell()), 10)


def test_two_threads_may_ask_at_once() -> None:
    with served(max_concurrency=4) as (engine, server):
        found: list[list[Completion]] = []
        threads = [
            threading.Thread(target=lambda: found.append(list(engine.complete(requests(20)))))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert len(found) == 2
    for completions in found:
        check_each_once(completions, 20)
    assert server.most_at_once <= 4


# --- faults -------------------------------------------------------------------------------------

FAULTS: dict[str, Answer] = {
    "500": error(500, "it broke"),
    "503 as text": Answer(b"upstream connect error", 503, content_type="text/plain"),
    "429 without a wait": error(429, "slow down"),
    "408": error(408, "too slow"),
    "409": error(409, "busy"),
    "reset": Answer(fault="reset"),
    "closed": Answer(fault="close"),
    "short body": Answer(said("x").body, fault="short"),
    "cut JSON": Answer(said("x").body[:-9]),
    "HTML": Answer(b"<html>Welcome</html>", content_type="text/html"),
    "empty": Answer(b""),
    "no choices": Answer(b'{"choices": []}'),
    "another thing": Answer(b"[1, 2, 3]"),
    "broken off": said("half", finish_reason="error"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_passing_fault_costs_one_more_try(name: str) -> None:
    with served(by_attempt(FAULTS[name])) as (engine, server):
        completions = list(engine.complete(requests(5)))
    check_each_once(completions, 5)
    assert [c.error for c in completions] == [None] * 5
    assert {c.usage.requests for c in completions} == {2}
    assert set(server.attempts.values()) == {2}


def test_tries_of_one_request_have_one_idempotency_key() -> None:
    with served(by_attempt(FAULTS["500"], FAULTS["reset"])) as (engine, server):
        list(engine.complete(requests(3)))
    keys: dict[str, set[str]] = {}
    for asked in server.asked:
        keys.setdefault(asked.prompt, set()).add(asked.headers["idempotency-key"])
    assert [len(each) for each in keys.values()] == [1, 1, 1]
    assert len(set.union(*keys.values())) == 3


def test_a_storm_of_faults_loses_nothing_and_asks_nothing_twice() -> None:
    kinds = list(FAULTS.values())

    def failures_of(prompt: str) -> int:
        return int(prompt[1:]) % 4

    def script(asked: Asked) -> Answer:
        if asked.attempt <= failures_of(asked.prompt):
            return kinds[(int(asked.prompt[1:]) + asked.attempt) % len(kinds)]
        return echo(asked)

    began = time.monotonic()
    with served(script, max_concurrency=8) as (engine, server):
        completions = list(engine.complete(requests(120)))
    assert time.monotonic() - began < 60
    check_each_once(completions, 120)
    assert [c.error for c in completions] == [None] * 120
    assert server.attempts == {f"p{i}": 1 + failures_of(f"p{i}") for i in range(120)}
    assert server.most_at_once <= 8


def test_a_request_that_always_fails_is_an_error_and_the_others_go_on() -> None:
    def script(asked: Asked) -> Answer:
        return error(500, "cannot compute") if asked.prompt == "p3" else echo(asked)

    with served(script, max_retries=2) as (engine, server):
        completions = list(engine.complete(requests(20)))
    check_each_once(completions, 20)
    failed = [c for c in completions if c.error]
    assert len(failed) == 1
    assert failed[0].key == requests(20)[3].key
    assert failed[0].finish_reason == "error"
    assert failed[0].error is not None
    assert "no answer after 3 tries" in failed[0].error
    assert "HTTP 500: cannot compute" in failed[0].error
    assert server.attempts["p3"] == 3


def test_a_server_that_answers_nothing_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "GIVEN_UP_IN_A_ROW", 6)
    completions: list[Completion] = []
    with (
        served(lambda _: FAULTS["500"], max_retries=1, max_concurrency=2) as (engine, server),
        pytest.raises(EngineError, match=r"answered none of the last 6 requests: HTTP 500"),
    ):
        collect(engine.complete(requests(1000)), completions)
    assert len(server.asked) < 20


def test_a_server_that_cannot_be_reached_ends_the_run_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    began = time.monotonic()
    with (
        pytest.raises(EngineError, match=r"does not answer: no connection.*is the server running"),
        engine_at(url),
    ):
        pass
    with (
        engine_at(url, context_tokens=4096, max_retries=2) as engine,
        pytest.raises(EngineError, match="is the server running"),
    ):
        list(engine.complete(requests(500)))
    assert time.monotonic() - began < 20


def test_what_was_answered_before_an_outage_is_kept() -> None:
    with (
        FaultServer(lambda asked: Answer(echo(asked).body, delay=0.02)) as server,
        engine_at(server.url, max_concurrency=2, max_retries=1) as engine,
    ):
        known: list[Completion] = []
        stream = engine.complete(requests(200))
        known += [next(stream) for _ in range(10)]
        server.stop()
        with pytest.raises(EngineError, match="is the server running"):
            collect(stream, known)
    assert len(known) >= 10
    assert all(c.text for c in known if c.error is None)


# --- waiting ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        lambda: {"Retry-After": "1"},
        lambda: {"retry-after-ms": "1000"},
        lambda: {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=2), True)},
        lambda: {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s"},
    ],
    ids=["seconds", "milliseconds", "date", "x-ratelimit"],
)
def test_a_named_wait_is_kept_and_holds_for_all(headers: Callable[[], dict[str, str]]) -> None:
    def script(asked: Asked) -> Answer:
        return error(429, "slow down", headers=headers()) if asked.number == 0 else echo(asked)

    with served(script, max_concurrency=1, max_retries=0) as (engine, server):
        completions = list(engine.complete(requests(4)))
    check_each_once(completions, 4)
    assert [c.error for c in completions] == [None] * 4  # a named wait is no failure
    assert server.asked[1].at - server.asked[0].at >= 0.95
    assert server.asked[-1].at - server.asked[0].at < 4


def test_a_burst_of_429_is_sat_out_and_fewer_are_let_through() -> None:
    def script(asked: Asked) -> Answer:
        if asked.number < 8:
            return error(429, "slow down", headers={"Retry-After": "0.3"})
        return Answer(echo(asked).body, delay=0.01)

    with served(script, max_concurrency=8) as (engine, server):
        completions = list(engine.complete(requests(60)))
    check_each_once(completions, 60)
    assert [c.error for c in completions] == [None] * 60
    assert len(server.asked) <= 60 + 16
    assert sum(asked.at - server.asked[0].at < 0.25 for asked in server.asked) <= 8


def test_a_wait_beyond_the_deadline_stops_the_engine() -> None:
    def script(asked: Asked) -> Answer:
        return error(429, "come back tomorrow", headers={"Retry-After": "86400"})

    began = time.monotonic()
    with (
        served(script, deadline=5) as (engine, server),
        pytest.raises(EngineError, match="asks to wait 86,400 s") as caught,
    ):
        list(engine.complete(requests(50)))
    assert "come back tomorrow" in str(caught.value)
    assert time.monotonic() - began < 5
    assert len(server.asked) <= 16


def test_silence_is_cut_off_and_tried_again() -> None:
    with served(by_attempt(Answer(fault="hang")), try_timeout=0.5) as (engine, _):
        began = time.monotonic()
        completions = list(engine.complete(requests(10)))
    check_each_once(completions, 10)
    assert [c.error for c in completions] == [None] * 10
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("fault", ["hang", "slow"])
def test_the_deadline_bounds_everything(fault: Any) -> None:
    with served(
        lambda asked: Answer(echo(asked).body, fault=fault), try_timeout=0.4, deadline=1.2
    ) as (engine, server):
        began = time.monotonic()
        completions = list(engine.complete(requests(8)))
        took = time.monotonic() - began
    check_each_once(completions, 8)
    assert all(c.error and "no whole reply" in c.error for c in completions)
    assert took < 4
    assert max(server.attempts.values()) <= 4


def test_a_read_timeout_is_for_silence_and_a_slow_reply_may_come() -> None:
    slow = Answer(said("re p0").body, fault="slow")
    with served(lambda _: slow, read_timeout=0.5, try_timeout=60) as (engine, server):
        (completion,) = engine.complete(requests(1))
    assert completion.text == "re p0"
    assert len(server.asked) == 1


# --- limits -------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [1, 3, 8])
def test_no_more_requests_at_once_than_allowed(most: int) -> None:
    with served(lambda asked: Answer(echo(asked).body, delay=0.05), max_concurrency=most) as (
        engine,
        server,
    ):
        check_each_once(list(engine.complete(requests(24))), 24)
    assert server.most_at_once == most


def test_requests_a_minute_are_kept_also_after_a_pause() -> None:
    def script(asked: Asked) -> Answer:
        if asked.number == 5:
            return error(429, "slow down", headers={"Retry-After": "0.5"})
        return echo(asked)

    with served(script, requests_per_minute=600, max_concurrency=16) as (engine, server):
        check_each_once(list(engine.complete(requests(15))), 15)
    # One in a tenth of a second; a busy machine may shift what the server sees by a little.
    for number, asked in enumerate(server.asked):
        assert asked.at - server.asked[0].at >= 0.1 * number - 0.3
    assert server.asked[-1].at - server.asked[0].at >= 0.1 * 15 - 0.1


def test_tokens_a_minute_are_kept() -> None:
    # 12 tokens are used for each; 6000 a minute are 100 a second.
    with served(tokens_per_minute=6000) as (engine, server):
        check_each_once(list(engine.complete(requests(12))), 12)
    took = server.asked[-1].at - server.asked[0].at
    assert took >= 11 * 12 / 100 * 0.8
    assert took < 11 * 60 / 100


def test_a_limit_that_the_server_says_is_used_up_is_waited_for() -> None:
    used_up = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "500ms"}

    def script(asked: Asked) -> Answer:
        return Answer(echo(asked).body, headers=used_up if asked.number == 0 else {})

    with served(script, max_concurrency=1) as (engine, server):
        check_each_once(list(engine.complete(requests(3))), 3)
    assert server.asked[1].at - server.asked[0].at >= 0.45


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            error(401, "Incorrect API key provided: sk-te****mnop", code="invalid_api_key"),
            "HTTP 401",
        ),
        (error(403, "Country not supported"), "Country not supported"),
        (error(404, "The model `m` does not exist", code="model_not_found"), "does the URL end in"),
        (error(402, "Insufficient Balance"), "nothing left to spend"),
        (
            error(429, "You exceeded your current quota", code="insufficient_quota"),
            "nothing left to spend",
        ),
        (Answer(b"", 302, {"Location": "http://else.where/"}), "sends on to http://else.where/"),
        (error(405, "Method Not Allowed"), "Method Not Allowed"),
    ],
    ids=["401", "403", "404", "402", "quota", "redirect", "405"],
)
def test_what_no_request_can_pass_stops_the_engine(answer: Answer, words: str) -> None:
    with (
        served(lambda _: answer, max_concurrency=4) as (engine, server),
        pytest.raises(EngineError) as caught,
    ):
        list(engine.complete(requests(500)))
    assert words in str(caught.value)
    assert server.url in str(caught.value)
    assert len(server.asked) <= 8


def test_replies_under_way_are_kept_when_the_engine_stops() -> None:
    def script(asked: Asked) -> Answer:
        if asked.prompt == "p3":
            return Answer(error(402, "Insufficient Balance").body, 402, delay=0.2)
        return Answer(echo(asked).body, delay=0.8)

    completions: list[Completion] = []
    with (
        served(script, max_concurrency=4) as (engine, server),
        pytest.raises(EngineError, match="Insufficient Balance"),
    ):
        collect(engine.complete(requests(50)), completions)
    assert sorted(c.text for c in completions) == ["re p0", "re p1", "re p2"]
    assert len(server.asked) == 4


def test_one_request_refused_does_not_stop_the_others() -> None:
    def script(asked: Asked) -> Answer:
        if asked.prompt == "p1":
            return error(
                400,
                "This model's maximum context length is 4096 tokens, yours has 5000",
                code="context_length_exceeded",
            )
        if asked.prompt == "p2":
            return error(400, "The response was filtered", code="content_filter")
        if asked.prompt == "p4":
            return error(422, "something is odd")
        return echo(asked)

    with served(script) as (engine, server):
        completions = {c.key: c for c in engine.complete(requests(6))}
    keys = [request.key for request in requests(6)]
    check_each_once(
        [completions[key] for key in keys if key != keys[2]] + [Completion(keys[2], error="-")], 6
    )
    assert (completions[keys[1]].error or "").startswith("too_long: ")
    assert completions[keys[2]].error is None
    assert completions[keys[2]].finish_reason == "content_filter"
    assert "refused this request: HTTP 422: something is odd" in (completions[keys[4]].error or "")
    assert len(server.asked) == 6


def test_a_fault_that_all_requests_share_stops_the_engine() -> None:
    with served(lambda _: error(400, "no such thing as 'colour'")) as (engine, server):
        known: list[Completion] = []
        with pytest.raises(EngineError, match=r"refused each of the first 10 requests: HTTP 400"):
            collect(engine.complete(requests(500)), known)
    assert len(server.asked) <= 40


def refuses(name: str, message: str, **more: Any) -> Script:
    """A server that knows no such parameter."""

    def script(asked: Asked) -> Answer:
        return error(400, message, **more) if name in asked.body else echo(asked)

    return script


@pytest.mark.parametrize(
    ("script", "left_out"),
    [
        (
            refuses(
                "max_tokens",
                "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                "'max_completion_tokens' instead.",
                param="max_tokens",
                code="unsupported_parameter",
            ),
            [],
        ),
        (
            refuses(
                "temperature",
                "Unsupported value: 'temperature' does not support 0 with this model. Only the "
                "default (1) value is supported.",
                param="temperature",
                code="unsupported_value",
            ),
            ["temperature"],
        ),
        (refuses("seed", "body.seed: Extra inputs are not permitted"), ["seed"]),
        (
            refuses("logprobs", "This model does not support logprobs.", param="logprobs"),
            ["logprobs"],
        ),
    ],
    ids=["max_tokens", "temperature", "seed", "logprobs"],
)
def test_what_a_server_does_not_know_is_left_out_after_one_refusal(
    script: Script, left_out: list[str]
) -> None:
    with served(script, max_concurrency=1) as (engine, server):
        assert engine.info.logprobs
        completions = list(engine.complete(requests(10, Sampling(max_tokens=9, top_logprobs=20))))
        assert engine.info.logprobs == ("logprobs" not in left_out)
    check_each_once(completions, 10)
    assert [c.error for c in completions] == [None] * 10
    assert len(server.asked) == 11
    last = server.asked[-1].body
    assert last.get("max_tokens", last.get("max_completion_tokens")) == 9
    assert not set(left_out) & last.keys()
    assert completions[-1].meta.get("left_out", []) == left_out


def test_a_refused_parameter_is_learnt_by_requests_under_way_together() -> None:
    slow = refuses("seed", "Unrecognized request argument supplied: seed")

    def script(asked: Asked) -> Answer:
        answer = slow(asked)
        return Answer(answer.body, answer.status, delay=0.05)

    with served(script, max_concurrency=8) as (engine, server):
        completions = list(engine.complete(requests(24)))
    check_each_once(completions, 24)
    assert [c.error for c in completions] == [None] * 24
    assert len(server.asked) <= 24 + 8


def test_fewer_log_probabilities_are_asked_for_where_the_server_has_a_limit() -> None:
    def script(asked: Asked) -> Answer:
        if asked.body["top_logprobs"] > 5:
            return error(
                400, "Requested sample logprobs of 20, which is greater than max allowed: 5"
            )
        token = {"token": "8", "logprob": -0.1, "top_logprobs": [{"token": "8", "logprob": -0.1}]}
        return said(f"re {asked.prompt}", logprobs={"content": [token]})

    with served(script, max_concurrency=1) as (engine, server):
        completions = list(engine.complete(requests(3, Sampling(top_logprobs=20))))
    check_each_once(completions, 3)
    assert [asked.body["top_logprobs"] for asked in server.asked] == [20, 5, 5, 5]
    assert completions[0].logprobs[0].top == (("8", -0.1),)


def test_a_system_message_is_joined_to_the_user_where_there_is_no_such_role() -> None:
    def script(asked: Asked) -> Answer:
        if asked.body["messages"][0]["role"] == "system":
            return error(400, "System role not supported")
        return said("fine")

    with served(script, max_concurrency=1) as (engine, server):
        completions = list(engine.complete(requests(3)))
    assert [c.text for c in completions] == ["fine"] * 3
    assert len(server.asked) == 4
    assert server.asked[-1].body["messages"] == [{"role": "user", "content": "Judge.\n\np2"}]
    assert completions[0].meta["joined_system"]


def test_refusals_of_the_model_have_a_finish_reason() -> None:
    body = {"choices": [{"message": {"content": None, "refusal": "I'd rather not."}}]}
    with served(lambda _: Answer(json.dumps(body).encode())) as (engine, _):
        (completion,) = engine.complete(requests(1))
    assert (completion.text, completion.finish_reason) == ("I'd rather not.", "content_filter")
    assert completion.error is None
    assert completion.meta["refused"]


# --- samples ------------------------------------------------------------------------------------


def test_samples_come_in_one_request_where_the_server_can() -> None:
    def script(asked: Asked) -> Answer:
        return said(*(f"{i}" for i in range(asked.body["n"])), written=10)

    with served(script, samples=5) as (engine, server):
        completions = list(engine.complete(requests(2)))
        assert engine.info.settings["samples"] == 5
    assert [c.meta["samples"] for c in completions] == [["0", "1", "2", "3", "4"]] * 2
    assert len(server.asked) == 2
    assert server.asked[0].body["temperature"] == 1.0
    assert completions[0].usage.completion_tokens == 10


@pytest.mark.parametrize("refuses_n", [True, False])
def test_samples_come_one_by_one_where_it_cannot(refuses_n: bool) -> None:
    def script(asked: Asked) -> Answer:
        if refuses_n and "n" in asked.body:
            return error(400, "n must be 1", param="n")
        return said(f"seed {asked.body['seed']}")

    with served(script, samples=3, max_concurrency=1) as (engine, server):
        completions = list(engine.complete(requests(2)))
    assert [c.meta["samples"] for c in completions] == [["seed 0", "seed 1", "seed 2"]] * 2
    assert len(server.asked) == 6 + refuses_n
    assert completions[-1].usage.prompt_tokens == 30
    assert completions[-1].usage.requests == 3


# --- money --------------------------------------------------------------------------------------


def test_costs_follow_usage_and_price() -> None:
    body = {
        "choices": [{"message": {"content": "8"}}],
        "usage": {
            "prompt_tokens": 1000,
            "completion_tokens": 100,
            "prompt_tokens_details": {"cached_tokens": 400},
        },
    }
    with served(lambda _: Answer(json.dumps(body).encode()), price="2,1,10") as (engine, _):
        (completion,) = engine.complete(requests(1))
        assert engine.info.price == (2, 10)
    assert completion.usage.cached_tokens == 400
    assert completion.cost == pytest.approx((600 * 2 + 400 * 1 + 100 * 10) / 1e6)


def test_the_limit_of_costs_is_never_passed_and_what_was_paid_for_is_kept() -> None:
    # A dollar a written token: a reply of 16 tokens at most, and of 2 in fact, costs 2 dollars.
    with served(
        lambda asked: Answer(echo(asked).body, delay=0.01),
        price="0,1000000",
        max_cost=50,
        max_concurrency=8,
    ) as (engine, server):
        known: list[Completion] = []
        with pytest.raises(CostLimitError, match=r"limit of \$50 would be passed") as caught:
            collect(engine.complete(requests(500)), known)
    spent = sum(completion.cost for completion in known)
    assert 50 - 16 < spent <= 50
    assert len(server.asked) == len(known) == spent / 2
    assert server.most_at_once <= 3  # three of 16 dollars each fit below 50
    assert "max_cost" in str(caught.value)


def test_tries_that_may_have_been_paid_for_count_towards_the_limit() -> None:
    with (
        served(
            lambda _: Answer(fault="hang"),
            price="0,1000000",
            max_cost=40,
            try_timeout=0.1,
            max_retries=9,
        ) as (engine, server),
        pytest.raises(CostLimitError, match=r"\$32\.0000 are spent"),
    ):
        list(engine.complete(requests(3)))
    assert len(server.asked) == 2


def test_a_limit_of_costs_needs_a_price(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EngineError, match=r"max_cost=5 cannot be kept.*price=IN,OUT"):
        open_engine("openai", "no-such-model", None, {"max_cost": "5"})


# --- stopping -----------------------------------------------------------------------------------


def api_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "magistrate-api"]


def test_closing_the_stream_early_ends_the_requests_under_way() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with (
            FaultServer(
                lambda asked: Answer(echo(asked).body, delay=0 if asked.number < 3 else 30)
            ) as server,
            engine_at(server.url, max_concurrency=6) as engine,
        ):
            stream = engine.complete(requests(100))
            known = [next(stream) for _ in range(3)]
            began = time.monotonic()
            stream.close()
            assert time.monotonic() - began < 5
            time.sleep(0.3)  # what was under way arrives
            sent = len(server.asked)
            time.sleep(0.3)
            assert len(server.asked) == sent <= 9
            assert server.broken_off >= 1
            server.script = echo
            check_each_once(list(engine.complete(requests(5))), 5)  # it can be used again
        assert len({c.key for c in known}) == 3
        gc.collect()
    assert api_threads() == []


def test_ctrl_c_keeps_what_was_answered() -> None:
    def script(asked: Asked) -> Answer:
        return Answer(echo(asked).body, delay=0 if asked.number < 20 else 30)

    known: list[Completion] = []
    with served(script, max_concurrency=4) as (engine, _server):
        timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            collect(engine.complete(requests(100)), known)
        assert time.monotonic() - began < 10
        timer.join()
    assert len(known) == 20
    gc.collect()
    assert api_threads() == []


def test_an_engine_that_nobody_closes_leaves_nothing_behind() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with FaultServer() as server:
            engine = open_engine("openai", "m", server.url, {})
            list(engine.complete(requests(3)))
            assert len(api_threads()) == 1
            del engine
            gc.collect()
            for thread in api_threads():
                thread.join(10)
    assert api_threads() == []


def test_a_closed_engine_says_so() -> None:
    with served() as (engine, _):
        engine.close()
        engine.close()
        with pytest.raises(EngineError, match="is closed"):
            list(engine.complete(requests(1)))


# --- the server's own word ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "context"),
    [
        ([{"id": "m", "max_model_len": 8192}], 8192),
        ([{"id": "other", "max_model_len": 1}, {"id": "m", "context_length": 77}], 77),
        ([{"id": "file.gguf", "meta": {"n_ctx": 512, "n_ctx_train": 9999}}], 512),
        ([{"id": "a", "max_model_len": 1}, {"id": "b", "max_model_len": 2}], None),
        ([], None),
    ],
)
def test_the_context_is_asked_of_the_server(listed: list[Any], context: int | None) -> None:
    models = Answer(json.dumps({"object": "list", "data": listed}).encode())
    with FaultServer(models=models) as server, engine_at(server.url) as engine:
        assert engine.info.context_tokens == context


@pytest.mark.parametrize(
    "models", [error(404, "Not Found"), Answer(b"<html>", content_type="text/html"), Answer(b"[1]")]
)
def test_a_server_without_a_list_of_models_is_fine(models: Answer) -> None:
    with FaultServer(models=models) as server, engine_at(server.url) as engine:
        assert engine.info.context_tokens is None
        check_each_once(list(engine.complete(requests(2))), 2)


def test_a_wrong_key_is_told_when_the_judge_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    models = error(401, f"Invalid key {KEY}")
    with (
        FaultServer(models=models) as server,
        pytest.raises(EngineError, match="HTTP 401: Invalid key") as caught,
    ):
        open_engine("openai", "m", server.url, {})
    assert KEY not in str(caught.value)
