"""Data asked of a real server on the loopback: faults, limits, kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from api_faults import Answer, Asked, FaultServer, echo, error, said

import magistrate as mg
from magistrate.data.answers import answer_questions
from magistrate.data.references import add_references
from magistrate.data.translating import translate_samples
from magistrate.engines.api import waiting
from magistrate.errors import CostLimitError, EngineError
from magistrate.records import Answer as SampleAnswer
from magistrate.records import Gold, Sample

PATIENCE_SECONDS = 60.0


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(waiting, "FIRST_WAIT", 0.01)
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdefghijKLMNOP")


def questions(tmp_path: Path, count: int) -> Path:
    path = tmp_path / "questions.jsonl"
    rows = (
        {"question_id": i, "category": "c", "turns": [f"first {i}?", f"second {i}?"]}
        for i in range(count)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_two_models_answer_turn_by_turn_and_are_judged(tmp_path: Path) -> None:
    def reply(asked: Asked) -> Answer:
        if asked.number % 5 == 0 and asked.attempt == 1:
            return error(500, "once")
        return said(
            f"{asked.body['model']} says {len(asked.body['messages'])}", prompt=7, written=3
        )

    with FaultServer(reply) as server:
        made = answer_questions(
            questions(tmp_path, 12),
            engines=[f"openai:m1@{server.url}", f"other=openai:m2@{server.url}"],
            out=tmp_path / "a",
            options={"openai.max_concurrency": "4", "hf.device": "cpu"},
        )
        assert server.most_at_once <= 4
        turns = [len(asked.body["messages"]) for asked in server.asked]
    assert set(turns) == {1, 3}
    assert [(one.model, one.ok, one.failed) for one in made.files] == [
        ("m1", 12, 0),
        ("other", 12, 0),
    ]
    assert made.usage.requests >= 48
    samples = list(mg.read_samples(*(one.path for one in made.files)))
    assert [answer.text for answer in samples[0].answers] == ["m1 says 3", "m2 says 3"]
    assert len(samples[0].answers[0].turns) == 3


def test_an_account_that_runs_dry_costs_nothing_twice(tmp_path: Path) -> None:
    def dry_at_15(asked: Asked) -> Answer:
        if asked.number >= 15:
            return error(429, "You exceeded your current quota", code="insufficient_quota")
        return echo(asked)

    file, out = questions(tmp_path, 20), tmp_path / "a"
    with FaultServer(dry_at_15) as server:
        engine = f"openai:m@{server.url}"
        with pytest.raises(EngineError, match="exceeded your current quota"):
            answer_questions(file, engines=[engine], out=out)
        answered = {asked.prompt for asked in server.asked[:15]}
        server.script = echo
        server.asked.clear()
        made = answer_questions(file, engines=[engine], out=out)
    assert made.files[0].answers == 20
    again = [asked.prompt for asked in server.asked]
    assert not answered & set(again)
    assert len(again) == len(set(again)) == 40 - 15


def test_a_limit_of_cost_is_kept_and_raised(tmp_path: Path) -> None:
    file, out = questions(tmp_path, 10), tmp_path / "a"
    with FaultServer(lambda _: said("yes", written=2)) as server:
        engine, options = f"openai:m@{server.url}", {"price": "0,1000000", "max_concurrency": "2"}
        with pytest.raises(CostLimitError, match="max-cost"):
            answer_questions(file, engines=[engine], out=out, options=options, max_cost=530)
        paid = len(server.asked)
        assert 0 < paid < 20
        made = answer_questions(file, engines=[engine], out=out, options=options, max_cost=5000)
        assert len(server.asked) == 20
    assert made.cost == 40.0
    assert made.resumed == paid


def test_requests_that_fail_for_good_are_listed_and_asked_again(tmp_path: Path) -> None:
    def refuses_3(asked: Asked) -> Answer:
        return error(400, "no") if "first 3?" in asked.prompt else echo(asked)

    file, out = questions(tmp_path, 6), tmp_path / "a"
    with FaultServer(refuses_3) as server:
        engine = f"openai:m@{server.url}"
        made = answer_questions(file, engines=[engine], out=out)
        assert (made.files[0].answers, made.failed) == (5, 1)
        assert lines(out / "asked" / "failures.jsonl")[0]["question_id"] == "3"
        server.script = echo
        server.asked.clear()
        assert answer_questions(file, engines=[engine], out=out).failed == 0
        assert len(server.asked) == 2
    assert [row["question_id"] for row in lines(out / "m.jsonl")] == [str(i) for i in range(6)]


def test_references_and_translations_of_a_server(tmp_path: Path) -> None:
    gold = Gold(annotator="h", preference="first", reasons="Answer 1 is right.")
    texts = (SampleAnswer(text="It is 4."), SampleAnswer(text="It is 5."))
    mg.write_samples(
        [Sample(question="What is 2 + 2?", answers=texts, gold=(gold,))],
        str(tmp_path / "pairs.jsonl"),
    )
    with FaultServer(lambda asked: said("Two and two are four.")) as server:
        engine = f"ref=openai:m@{server.url}"
        add_references(tmp_path / "pairs.jsonl", out=tmp_path / "ref.jsonl", engine=engine)
        server.script = lambda asked: said(f"<{asked.prompt}>")
        made = translate_samples(
            tmp_path / "ref.jsonl", out=tmp_path / "t.jsonl", engine=engine, language="Dutch"
        )
        asked = server.asked[-1]
    assert "Translate the user's text into Dutch." in asked.body["messages"][0]["content"]
    assert made.written == 1
    (sample,) = mg.read_samples(tmp_path / "t.jsonl")
    assert sample.question == "<What is 2 + 2?>"
    assert sample.reference == "<Two and two are four.>"
    assert sample.gold[0].reasons == "<Answer 1 is right.>"
    assert sample.gold[0].preference == "first"


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_killed_at_any_moment_goes_on_and_asks_nothing_twice(
    tmp_path: Path, number: signal.Signals
) -> None:
    file, out = questions(tmp_path, 30), tmp_path / "a"

    def slow(asked: Asked) -> Answer:
        reply = echo(asked)
        return Answer(reply.body, delay=0.02)

    with FaultServer(slow) as server:
        command = [
            *(sys.executable, "-m", "magistrate", "data", "answers", str(file)),
            *("--engine", f"openai:m@{server.url}", "-o", str(out)),
            *("--set", "max_concurrency=2", "--quiet"),
        ]
        stops = 0
        for goal in (3, 20, 45):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                deadline = time.monotonic() + PATIENCE_SECONDS
                while written(out) < goal and process.poll() is None:
                    assert time.monotonic() < deadline
                    time.sleep(0.002)
                process.send_signal(number)
                _, told = process.communicate(timeout=PATIENCE_SECONDS)
            finally:
                process.kill()
                process.communicate()
            stops += process.returncode != 0
            if number == signal.SIGTERM and process.returncode:
                assert process.returncode == 143
                assert b"the same command goes on" in told
                assert b"Traceback" not in told
        assert stops == 3, "the command ended before it could be stopped; use more questions"
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        asked = Counter(one.prompt for one in server.asked)
    rows = lines(out / "m.jsonl")
    assert [row["question_id"] for row in rows] == [str(i) for i in range(30)]
    assert all(row["text"] == f"re second {i}?" for i, row in enumerate(rows))
    kept = [row["key"] for row in lines(out / "asked" / "replies.jsonl")]
    assert len(kept) == len(set(kept)) == 60
    # Only what was under way at a stop is asked again: of each of the two lanes the request, and
    # the reply before it that was not yet written.
    assert sum(asked.values()) - 60 <= 4 * stops


def written(out: Path) -> int:
    path = out / "asked" / "replies.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
