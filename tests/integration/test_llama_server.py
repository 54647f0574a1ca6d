"""The API engine against llama.cpp with a real model: servers that the tests start and stop.

Which ones, and how to install them, is told in ``llama_server.py``.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_server import CONTEXT, LlamaServer, find_server

import magistrate as mg
from magistrate.engines.api.engine import ApiEngine
from magistrate.engines.table import open_engine
from magistrate.errors import EngineError
from magistrate.messages import Completion, Message, Part, Request, Sampling
from magistrate.store.progress import Progress

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    """Return a running server that gives log-probabilities."""
    running = LlamaServer(*find_server(), tmp_path_factory.mktemp("llama") / "server.log")
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def engine_at(server: LlamaServer, **options: object) -> ApiEngine:
    opened = open_engine(
        "openai", "smol", server.url, {name: str(value) for name, value in options.items()}
    )
    assert isinstance(opened, ApiEngine)
    return opened


@pytest.fixture
def engine(server: LlamaServer) -> Iterator[ApiEngine]:
    opened = engine_at(server)
    yield opened
    opened.close()


def chat(text: str, key: str = "a", **sampling: Any) -> Request:
    messages = (Message("user", (Part("Say one word about this: "), Part(text, "answer"))),)
    return Request(key, messages, Sampling(**{"max_tokens": 8, **sampling}))


def ask(engine: ApiEngine, *requests: Request) -> dict[str, Completion]:
    found = {completion.key: completion for completion in engine.complete(requests)}
    assert {key: c.error for key, c in found.items() if c.error} == {}
    return found


def samples(count: int) -> list[mg.Sample]:
    return [
        mg.Sample(
            question=f"What is {i} plus {i}?",
            answers=(mg.Answer(text=f"{2 * i}."), mg.Answer(text=f"It is {i} or so, I think.")),
        )
        for i in range(count)
    ]


# --- one reply ----------------------------------------------------------------------------------


def test_a_reply_comes_with_usage_and_the_reason_of_its_end(engine: ApiEngine) -> None:
    short = ask(engine, chat("bread", max_tokens=3))["a"]
    assert (short.finish_reason, short.usage.completion_tokens) == ("length", 3)
    assert short.text
    assert 10 < short.usage.prompt_tokens < 60
    assert short.usage.requests == 1
    whole = ask(engine, chat("bread", max_tokens=200))["a"]
    assert whole.finish_reason == "stop"
    assert whole.text.startswith(short.text)


def test_a_stop_string_ends_a_reply(engine: ApiEngine) -> None:
    text = "Count: one, two, three, four, five"
    prompt = (Message("text", (Part(text + ", six, seven, eight,"),)),)
    request = Request("a", prompt, Sampling(max_tokens=40, stop=(" ten",)))
    reply = ask(engine, request)["a"]
    assert (reply.text, reply.finish_reason) == (" nine,", "stop")


@pytest.mark.parametrize("role", ["user", "text"])
def test_log_probabilities_are_those_of_the_words_written(engine: ApiEngine, role: Any) -> None:
    prompt = (Message(role, (Part("The capital of France is"),)),)
    reply = ask(engine, Request("a", prompt, Sampling(max_tokens=6, top_logprobs=5)))["a"]
    assert role == "user" or "Paris" in reply.text
    assert "".join(each.token for each in reply.logprobs).strip() == reply.text.strip()
    for each in reply.logprobs:
        shares = dict(each.top)
        assert len(shares) >= 5
        assert each.logprob == pytest.approx(max(shares.values()), abs=1e-4)
        assert 0.05 < math.fsum(map(math.exp, shares.values())) < 1.0001


def test_control_tokens_in_an_answer_stay_letters(engine: ApiEngine) -> None:
    marked = "bread <|im_end|><|im_start|>"
    found = ask(engine, chat("bread", "plain", max_tokens=1), chat(marked, "marked", max_tokens=1))
    more = found["marked"].usage.prompt_tokens - found["plain"].usage.prompt_tokens
    assert more > 6  # two control tokens would be two


# --- limits -------------------------------------------------------------------------------------


def test_a_prompt_that_is_too_long_is_told_from_a_reply_that_is(engine: ApiEngine) -> None:
    long = chat("word " * 2 * CONTEXT, "long")
    found = {c.key: c for c in engine.complete([long, chat("bread", "fits", max_tokens=2)])}
    assert (found["long"].error or "").startswith("too_long: ")
    assert str(CONTEXT) in (found["long"].error or "")
    assert found["long"].usage.requests == 1
    assert found["fits"].error is None
    assert found["fits"].finish_reason == "length"


def test_a_context_that_is_known_beforehand_is_kept(server: LlamaServer, tmp_path: Path) -> None:
    answers = (mg.Answer(text="It is cold. " * CONTEXT), mg.Answer(text="It is warm."))
    sample = mg.Sample(question="How is the weather?", answers=answers)
    judge = f"openai:smol@{server.url}#pair"

    def read(out: str, **options: str) -> mg.Judgment:
        run = mg.judge(
            [sample], judge, tmp_path / out, mode="score", orders="given", engine_options=options
        )
        (judgment,) = run.judgments()
        return judgment

    if server.kind == "bindings":  # it does not tell
        judgment = read("unknown")
        assert judgment.status == "truncated"
        assert (judgment.error or "").startswith("too_long: ")
        judgment = read("known", context_tokens=str(CONTEXT))
    else:
        judgment = read("told")
    assert not (judgment.error or "").startswith("too_long: ")
    assert judgment.truncated_tokens[0] > CONTEXT
    assert CONTEXT // 2 < judgment.usage.prompt_tokens < 2 * CONTEXT  # two tries at most


# --- what a server does not take ----------------------------------------------------------------


def test_fields_that_the_server_does_not_know_do_no_harm(server: LlamaServer) -> None:
    engine = engine_at(server, extra_body='{"reasoning_effort": "low", "no_such_field": 1}')
    assert ask(engine, chat("bread"))["a"].text
    engine.close()


def test_several_replies_are_drawn(server: LlamaServer) -> None:
    engine = engine_at(server, samples=3, sample_temperature=1.5)
    reply = ask(engine, chat("bread", max_tokens=12))["a"]
    engine.close()
    assert len(reply.meta["samples"]) == 3
    assert len(set(reply.meta["samples"])) > 1
    if server.kind == "bindings":  # it takes n, and gives one reply
        assert reply.usage.requests == 3
        assert reply.meta["left_out"] == ["n"]


def test_a_server_without_log_probabilities_still_answers(tmp_path: Path) -> None:
    kind, python, model = find_server()
    if kind != "bindings":
        pytest.skip("llama.cpp's own server always gives log-probabilities")
    log = tmp_path / "server.log"
    server = LlamaServer(kind, python, model, log, log_probabilities=False)
    try:
        server.start()
        engine = engine_at(server)
        begun = time.monotonic()
        found = ask(engine, *(chat("bread", str(i), top_logprobs=5) for i in range(4)))
        engine.close()
    finally:
        server.stop()
    assert all(c.text and c.logprobs == () for c in found.values())
    assert found["3"].meta["left_out"] == ["logprobs"]
    # It says so with status 500, which is no reason to try the same again and again.
    assert sum(c.usage.requests for c in found.values()) <= 4 + 4
    assert time.monotonic() - begun < 60


# --- many requests, and a server that goes away -------------------------------------------------


def test_many_at_once_get_each_its_own_reply(server: LlamaServer) -> None:
    words = ["bread", "rain", "gold", "music", "snow", "tea", "chess", "fire"]
    requests = [chat(word, word, max_tokens=6) for word in words]
    alone = engine_at(server, max_concurrency=1)
    one_by_one = {key: c.text for key, c in ask(alone, *requests).items()}
    alone.close()
    together = engine_at(server, max_concurrency=8)
    at_once = {key: c.text for key, c in ask(together, *requests).items()}
    together.close()
    assert len(set(at_once.values())) > 1
    assert sum(at_once[word] == one_by_one[word] for word in words) >= len(words) - 1


@pytest.mark.parametrize(("mode", "count"), [("score", 2), ("reason", 1)])
def test_pairs_are_judged(server: LlamaServer, tmp_path: Path, mode: Any, count: int) -> None:
    judge = f"openai:smol@{server.url}#pair"
    run = mg.judge(samples(count), judge, tmp_path / "run", mode=mode, cache=False)
    assert run.manifest.state == "complete"
    judgments = list(run.judgments())
    assert len(judgments) == 2 * count
    for judgment in judgments:
        assert judgment.status in {"ok", "unparsed", "truncated"}
        assert judgment.usage.prompt_tokens > 100
        assert judgment.usage.completion_tokens > 0
        assert judgment.cost == 0
        if judgment.status == "ok":
            assert judgment.scores is not None
            assert len(judgment.scores) == 2
            assert mode == "reason" or judgment.probabilities is not None
    assert mg.verify_run(run.path).ok


def test_a_server_that_restarts_is_waited_for(server: LlamaServer, tmp_path: Path) -> None:
    restarts = 0

    def restart(progress: Progress) -> None:
        nonlocal restarts
        if progress.done >= 2 and not restarts:
            restarts += 1
            server.stop(signal.SIGKILL)
            server.start()

    before = server.replies()
    judge = f"openai:smol@{server.url}#pair"
    out = tmp_path / "run"
    run = mg.judge(
        samples(4),
        judge,
        out,
        mode="score",
        cache=False,
        engine_options={"max_retries": "20"},  # on a busy machine a model takes long to load
        on_progress=restart,
    )
    assert restarts == 1
    assert run.manifest.state == "complete"
    assert len(list(run.judgments())) == 8
    assert "error" not in {j.status for j in run.judgments()}
    assert server.replies() - before >= 8


def test_a_run_goes_on_when_the_server_is_back(server: LlamaServer, tmp_path: Path) -> None:
    def kill(progress: Progress) -> None:
        if progress.done >= 2:
            server.stop(signal.SIGKILL)

    judge, out = f"openai:smol@{server.url}#pair", tmp_path / "run"
    options = {"max_retries": "2", "max_concurrency": "1"}
    try:
        with pytest.raises(EngineError, match="is the server running"):
            mg.judge(
                samples(3),
                judge,
                out,
                mode="score",
                cache=False,
                engine_options=options,
                on_progress=kill,
            )
    finally:
        server.stop()
        server.start()
    kept = {j.key: j for j in mg.open_run(out).judgments()}
    assert 2 <= len(kept) < 6
    before = server.replies()
    run = mg.judge(samples(3), judge, out, mode="score", cache=False, engine_options=options)
    judgments = {j.key: j for j in run.judgments()}
    assert run.manifest.state == "complete"
    assert len(judgments) == 6
    assert {key: judgments[key] for key, j in kept.items() if j.status == "ok"} == {
        key: j for key, j in kept.items() if j.status == "ok"
    }
    new = [j for j in judgments.values() if j not in kept.values()]
    assert server.replies() - before == sum(j.usage.requests for j in new)
    assert mg.verify_run(out).ok
