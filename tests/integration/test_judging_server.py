"""Whole runs with a judge behind a server: money, answers kept, replies cut short, questions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from api_faults import Answer, Asked, FaultServer, error, said

import magistrate as mg
from magistrate.cli.main import main
from magistrate.errors import CostLimitError
from magistrate.records import Answer as SampleAnswer
from magistrate.records import Sample
from magistrate.store.manifest import read_manifest

OPTIONS = {"context_tokens": "3000", "price": "1000,1000"}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def samples(count: int) -> list[Sample]:
    return [
        Sample(
            question=f"Question {i}?",
            answers=(SampleAnswer(text="one " * (i + 1)), SampleAnswer(text="two")),
        )
        for i in range(count)
    ]


def verdict(asked: Asked) -> Answer:
    return said("8 5\nThe first is better.", prompt=100, written=10)


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with FaultServer(verdict) as running:
        yield running


def name(server: FaultServer, family: str = "pair") -> str:
    return f"openai:m@{server.url}#{family}"


def test_two_runs_ask_once(server: FaultServer, tmp_path: Path) -> None:
    first = mg.judge(samples(5), name(server), tmp_path / "a", engine_options=OPTIONS)
    assert (first.manifest.judgments["ok"], len(server.asked)) == (10, 10)
    assert first.manifest.cost == pytest.approx(10 * 0.11)
    second = mg.judge(samples(7), name(server), tmp_path / "b", engine_options=OPTIONS)
    assert (second.manifest.judgments["ok"], len(server.asked)) == (14, 14)
    assert second.manifest.cost == pytest.approx(4 * 0.11)
    mg.judge(samples(5), name(server), tmp_path / "c", engine_options=OPTIONS, cache=False)
    assert len(server.asked) == 24
    assert mg.verify_run(second.path).ok


def test_a_cost_limit_holds_with_many_requests_under_way(
    server: FaultServer, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    options = OPTIONS | {"max_concurrency": "8"}
    with pytest.raises(CostLimitError):
        mg.judge(samples(40), name(server), out, engine_options=options, max_cost=5)
    manifest = read_manifest(out / "run.json")
    assert manifest.state == "stopped"
    assert manifest.cost <= 5
    assert manifest.cost == pytest.approx(len(server.asked) * 0.11)
    assert manifest.judged == len(server.asked) > 20
    run = mg.judge(samples(40), name(server), out, engine_options=options, max_cost=100)
    assert (run.manifest.state, len(server.asked)) == ("complete", 80)


def test_the_command_says_what_was_spent_and_ends_with_6(
    server: FaultServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "in.jsonl"
    rows = [{"question": f"q{i}", "answer1": "a", "answer2": "bb"} for i in range(20)]
    file.write_text("\n".join(map(json.dumps, rows)))
    command = ["judge", str(file), "--judge", name(server), "--out", str(tmp_path / "run")]
    command += ["--set", "context_tokens=3000", "--set", "price=1000,1000"]
    assert main([*command, "--max-cost", "2", "--max-concurrency", "2"]) == 6
    said_ = capsys.readouterr().err
    assert "judging stops for the cost limit of $2" in said_
    assert "readings are judged and safe" in said_
    assert main([*command, "--dry-run", "--json"]) == 0
    view = json.loads(capsys.readouterr().out)
    assert view["to_judge"] == 40 - len(server.asked)
    assert view["cost"]["least"] > 0


def test_a_reply_cut_short_gets_more_room_and_both_are_paid_for(tmp_path: Path) -> None:
    def script(asked: Asked) -> Answer:
        limit = asked.body.get("max_tokens") or asked.body["max_completion_tokens"]
        if limit < 600:
            return said("<think>", prompt=100, written=512, finish_reason="length")
        return verdict(asked)

    with FaultServer(script) as server:
        run = mg.judge(samples(1), name(server), tmp_path / "run", engine_options=OPTIONS)
    judgment = next(iter(run.judgments()))
    assert judgment.status == "ok"
    assert (judgment.usage.requests, judgment.usage.completion_tokens) == (2, 522)
    assert judgment.cost == pytest.approx(0.612 + 0.11)


def test_a_prompt_that_the_server_finds_too_long_is_truncated(tmp_path: Path) -> None:
    message = "This model's maximum context length is 4096 tokens"

    def script(asked: Asked) -> Answer:
        return error(400, message, code="context_length_exceeded")

    with FaultServer(script) as server:
        run = mg.judge(samples(1), name(server), tmp_path / "run", engine_options=OPTIONS)
    assert run.manifest.judgments["truncated"] == 2
    assert all(j.error and j.error.startswith("too_long: ") for j in run.judgments())


def test_the_judge_behind_a_server_is_asked_why(server: FaultServer, tmp_path: Path) -> None:
    run = mg.judge(samples(1), name(server), tmp_path / "run", engine_options=OPTIONS)
    asked = len(server.asked)
    (reply,) = mg.ask(run, 1, "Why is the first better?")
    assert reply.cost == pytest.approx(0.11)
    messages = server.asked[asked].body["messages"]
    assert [message["role"] for message in messages][-3:] == ["user", "assistant", "user"]
    assert messages[-2]["content"] == "8 5\nThe first is better."
    assert messages[-1]["content"] == "Why is the first better?"
