"""Whole runs with a judge behind a server: stopped, gone on with, and no key anywhere."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from api_faults import Answer, Asked, FaultServer, error, said

import magistrate as mg
from magistrate.engines.api import waiting
from magistrate.errors import CostLimitError, EngineError
from magistrate.records import Answer as SampleAnswer
from magistrate.records import Sample, to_json_line

KEY = "sk-test-0123456789abcdefghijKLMNOP"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(waiting, "FIRST_WAIT", 0.01)
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def samples(count: int) -> list[Sample]:
    return [
        Sample(
            question=f"What is {i}?",
            answers=(SampleAnswer(text="a number", model="x"), SampleAnswer(text="no", model="y")),
        )
        for i in range(count)
    ]


def verdict(asked: Asked) -> Answer:
    return said("8 5\nThe first is better.")


def files_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_run_that_was_stopped_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    def stops_at_30(asked: Asked) -> Answer:
        if asked.number >= 30:
            return error(429, "You exceeded your current quota", code="insufficient_quota")
        if asked.attempt == 1 and asked.number % 7 == 0:
            return error(500, "once")
        return verdict(asked)

    out = tmp_path / "run"
    with FaultServer(stops_at_30) as server:
        judge = f"openai:m@{server.url}#pair"
        with pytest.raises(EngineError, match="exceeded your current quota"):
            mg.judge(samples(40), judge, out)
        before = Counter(server.attempts)
        answered = {asked.prompt for asked in server.asked[:30]}
        server.script = verdict
        server.asked.clear()
        run = mg.judge(samples(40), judge, out)
    assert mg.summarise(run).decisions["ok"] == 40
    judgments = [json.loads(line) for line in (out / "judgments.jsonl").read_bytes().splitlines()]
    assert len({judgment["key"] for judgment in judgments if judgment["status"] == "ok"}) == 80
    assert len([judgment for judgment in judgments if judgment["status"] == "ok"]) == 80
    again = {asked.prompt for asked in server.asked}
    assert len(server.asked) == len(again)
    assert len(again & answered) <= 5  # those whose first try had failed at the stop
    assert len(before) <= 30 + 16


def test_a_limit_of_costs_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    options = {"price": "0,1000000", "max_concurrency": "2"}
    out = tmp_path / "run"
    with FaultServer(verdict) as server:
        judge = f"openai:m@{server.url}#pair"
        # A reply of at most 512 tokens may cost 512 dollars; one of 2 does cost 2.
        with pytest.raises(CostLimitError, match="max_cost"):
            mg.judge(samples(40), judge, out, engine_options={**options, "max_cost": "550"})
        paid = len(server.asked)
        assert 0 < paid <= (550 - 512) / 2 + 1
        run = mg.judge(samples(40), judge, out, engine_options=options)
        assert len(server.asked) == 80
    assert mg.summarise(run).decisions["ok"] == 40


def test_the_key_is_in_no_file_no_record_no_log_and_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def leaks(asked: Asked) -> Answer:
        assert asked.headers["authorization"] == f"Bearer {KEY}"
        if asked.number % 3 == 1:
            return error(400, f"you sent Bearer {KEY} and sk-test-01****MNOP")
        if asked.number % 3 == 2 and asked.attempt == 1:
            return error(500, f"key {KEY} broke it")
        return verdict(asked)

    caplog.set_level(logging.DEBUG)
    out = tmp_path / "run"
    with FaultServer(leaks) as server:
        judge = f"openai:m@{server.url}#pair"
        run = mg.judge(samples(12), judge, out)
        text = str(mg.summarise(run)) + repr(run)
        server.script = lambda _: error(401, f"Incorrect API key provided: {KEY}")
        with pytest.raises(EngineError) as caught:
            mg.judge(samples(13), judge, out)
        seen = repr(caught.value) + repr(caught.traceback) + text
        command = [sys.executable, "-m", "magistrate", "judge", str(tmp_path / "in.jsonl")]
        lines = (json.dumps({"question": "q", "answers": ["a", "b"]}) for _ in range(2))
        (tmp_path / "in.jsonl").write_text("\n".join(lines))
        done = subprocess.run(
            [*command, "--judge", judge, "--out", str(tmp_path / "cli")],
            capture_output=True,
            env={**os.environ, "PYTHONASYNCIODEBUG": "1"},
            timeout=120,
            check=False,
        )
    assert done.returncode == EngineError.exit_code, done.stderr
    assert b"HTTP 401" in done.stderr
    seen += "".join(capfd.readouterr()) + caplog.text
    everything = files_of(tmp_path) + done.stdout + done.stderr + seen.encode()
    assert b"[key]" in everything
    for part in (KEY, KEY[3:20], "01****MNOP"):
        assert part.encode() not in everything


def test_scores_alone_are_asked_for_with_log_probabilities(tmp_path: Path) -> None:
    with FaultServer(verdict) as server:
        mg.judge(samples(2), f"openai:m@{server.url}#pair", tmp_path / "run", mode="score")
    assert {asked.body["top_logprobs"] for asked in server.asked} == {20}
    assert {tuple(asked.body["stop"]) for asked in server.asked} == {("\n",)}


def test_images_reach_the_server_and_a_missing_one_is_told(tmp_path: Path) -> None:
    (tmp_path / "one.png").write_bytes(b"\x89PNG\r\n\x1a\n and the rest")
    file = tmp_path / "pairs.jsonl"
    rows = [
        {"question": f"What is {image}?", "images": image, "answer1": "a", "answer2": "b"}
        for image in ("one.png", "none.png", "https://example.org/two.png")
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    seen: list[str] = []

    def looks(asked: Asked) -> Answer:
        image, _ = asked.body["messages"][-1]["content"]
        seen.append(image["image_url"]["url"])
        return verdict(asked)

    with FaultServer(looks) as server:
        judge = f"openai:m@{server.url}#pair-images"
        run = mg.judge(file, judge, tmp_path / "run", orders="given")
    assert sorted(one.status for one in run.judgments()) == ["error", "ok", "ok"]
    errors = [one.error for one in run.judgments() if one.error]
    assert errors == [f"image {tmp_path}/none.png: there is no such file"]
    assert sorted(url[:15] for url in seen) == ["data:image/png;", "https://example"]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("family", ["pair", "single"])
def test_a_kill_behind_one_slow_request_loses_no_answer(tmp_path: Path, family: str) -> None:
    """A process that is killed while its first request hangs has written all that it paid for."""
    file = tmp_path / "in.jsonl"
    file.write_bytes(b"".join(to_json_line(one) + b"\n" for one in samples(60)))
    hangs = True
    reply = "8 5\nBecause." if family == "pair" else "8\nBecause."

    def one_is_slow(asked: Asked) -> Answer:
        return Answer(fault="hang") if hangs and "What is 0?" in asked.prompt else said(reply)

    with FaultServer(one_is_slow) as server:
        judge, out = f"openai:m@{server.url}#{family}", tmp_path / "run"
        command = [sys.executable, "-m", "magistrate", "judge", str(file), "--judge", judge]
        command += ["--out", str(out), "--no-cache", "--quiet", "--max-concurrency", "4"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            expected = 120
            deadline = time.monotonic() + 60
            while len(server.asked) < expected and time.monotonic() < deadline:
                time.sleep(0.02)
            assert len(server.asked) == expected, "every request was made, one is not answered"
            time.sleep(0.5)
            assert process.poll() is None
        finally:
            process.kill()
            process.communicate()
        answered = {asked.prompt for asked in server.asked if "What is 0?" not in asked.prompt}
        hangs = False
        run = mg.judge(file, judge, out, cache=False)
        assert run.manifest.judgments["ok"] == run.manifest.readings
        asked_again = [p for p in answered if server.attempts[p] > 1]
        assert not asked_again, f"{len(asked_again)} answers were paid for twice"
        assert mg.verify_run(out).ok


def test_several_replies_say_how_sure_the_judge_is(tmp_path: Path) -> None:
    """A server that knows no log-probabilities is asked for ten replies to each prompt."""

    def wavers(asked: Asked) -> Answer:
        if asked.body.get("logprobs"):
            return error(400, "logprobs is not supported by this model", param="logprobs")
        assert (asked.body["n"], asked.body["temperature"]) == (10, 1.0)
        # It prefers the answer shown first, and wavers.
        return said(*["8 5"] * 7, *["5 8"] * 2, "Who knows.")

    with FaultServer(wavers) as server:
        judge = f"openai:m@{server.url}#pair"
        options = {"samples": "10"}
        run = mg.judge(samples(3), judge, tmp_path / "run", mode="score", engine_options=options)
    for one in run.judgments():
        assert (one.status, one.approximate, one.mass) == ("ok", True, 0.9)
        assert one.probabilities is not None
        shown_first = "first" if one.order == (0, 1) else "second"
        assert one.preference == shown_first
        assert one.probabilities.confidence == pytest.approx(7 / 9)
    for decision in run.decisions():
        assert decision.probabilities is not None
        assert decision.preference == "tie", "it prefers the place, not an answer"
        assert decision.probabilities.first == pytest.approx(0.5)
    assert mg.verify_run(tmp_path / "run").ok
