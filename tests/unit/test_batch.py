"""``--batch``: requests go to a file with keys that stay, answers come back into the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from judging_help import pair

import magistrate as mg
from magistrate.errors import EngineError, InputError
from magistrate.records import Sample
from magistrate.store.batch import collect_batch, emit_batch

pytest.importorskip("magistrate.engines.api.batch")

JUDGE = "openai:some-model@http://127.0.0.1:9/v1"
"""Nobody listens there: nothing may be asked."""
OPTIONS = {"context_tokens": "8000", "price": "1,4"}
SAMPLES = [pair(f"question {i}") for i in range(4)]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


def emit(out: Path, name: str, **values: Any) -> list[dict[str, Any]]:
    batch = emit_batch(SAMPLES, JUDGE, out.parent / name, out, engine_options=OPTIONS, **values)
    lines = [json.loads(line) for file in batch.files for line in file.read_bytes().splitlines()]
    assert batch.requests == len(lines)
    return lines


def answer(line: dict[str, Any], text: str = "8 5\nBecause.", **values: Any) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"} | values
    return {
        "id": "x",
        "custom_id": line["custom_id"],
        "response": {
            "status_code": 200,
            "body": {
                "choices": [choice],
                "usage": {"prompt_tokens": 1_000_000, "completion_tokens": 500_000},
            },
        },
        "error": None,
    }


def collect(out: Path, name: str, lines: list[dict[str, Any]], **values: Any) -> mg.Run:
    file = out.parent / name
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return collect_batch(SAMPLES, JUDGE, file, out, engine_options=OPTIONS, **values)


def test_a_batch_goes_out_and_comes_back_in_any_sequence(out: Path) -> None:
    lines = emit(out, "requests.jsonl")
    assert len({line["custom_id"] for line in lines}) == 8
    assert lines[0]["body"]["model"] == "some-model"
    assert mg.open_run(out).manifest.state == "stopped"
    run = collect(out, "answers.jsonl", [answer(line) for line in reversed(lines)])
    assert (run.manifest.state, run.manifest.judged) == ("complete", 8)
    keys = [line["custom_id"].partition("/")[0] for line in lines]
    assert [judgment.key for judgment in run.judgments()] == keys
    assert run.manifest.cost == pytest.approx(8 * 0.5 * (1 + 0.5 * 4))  # half the price
    assert mg.verify_run(out).ok


def test_what_is_not_answered_is_emitted_again_and_nothing_else(out: Path) -> None:
    lines = emit(out, "one.jsonl")
    run = collect(out, "answers.jsonl", [answer(line) for line in lines[:3]])
    assert (run.manifest.state, run.manifest.judged) == ("stopped", 3)
    again = emit(out, "two.jsonl")
    assert [line["custom_id"] for line in again] == [line["custom_id"] for line in lines[3:]]
    assert [line["body"] for line in again] == [line["body"] for line in lines[3:]]
    assert collect(out, "more.jsonl", [answer(line) for line in again]).manifest.judged == 8
    assert emit(out, "three.jsonl") == []
    assert not (out.parent / "three.jsonl").exists()


def test_failures_are_kept_and_emitted_again(out: Path) -> None:
    lines = emit(out, "one.jsonl")
    answers = [answer(line) for line in lines]
    answers[0] = answer(lines[0], "I cannot tell which is better.")
    answers[1] = {
        "custom_id": lines[1]["custom_id"],
        "response": None,
        "error": {"code": "expired", "message": "too late"},
    }
    run = collect(out, "answers.jsonl", answers)
    assert run.manifest.judgments["ok"] == 6
    errors = [j.error for j in run.judgments() if j.status == "error"]
    assert len(errors) == 1
    assert "too late" in (errors[0] or "")
    assert [line["custom_id"] for line in emit(out, "two.jsonl")] == [
        line["custom_id"] for line in lines[:2]
    ]


def test_a_file_that_is_collected_twice_counts_once(out: Path) -> None:
    lines = emit(out, "one.jsonl")
    answers = [answer(line) for line in lines]
    answers[0] = answer(lines[0], "no verdict at all")
    first = collect(out, "answers.jsonl", answers)
    journal = (out / "judgments.jsonl").read_bytes()
    again = collect(out, "answers.jsonl", answers)
    assert (out / "judgments.jsonl").read_bytes() == journal
    assert again.manifest.cost == first.manifest.cost
    answers[0] = answer(lines[0], "9 5\nNow there is one.")
    assert collect(out, "answers.jsonl", answers).manifest.judgments["ok"] == 8


def test_verdicts_cut_short_are_emitted_with_more_room(out: Path) -> None:
    lines = emit(out, "one.jsonl")
    answers = [answer(line) for line in lines]
    answers[2] = answer(lines[2], "<think> hm", finish_reason="length")
    run = collect(out, "answers.jsonl", answers)
    assert run.manifest.judgments["truncated"] == 1
    (again,) = emit(out, "two.jsonl")
    limits = [
        next(value for key, value in line["body"].items() if key.startswith("max_"))
        for line in (lines[2], again)
    ]
    assert limits[1] == 2 * limits[0]


def test_answers_of_another_run_are_told_or_refused(out: Path) -> None:
    lines = emit(out, "one.jsonl")
    foreign = answer({"custom_id": "0" * 24 + "/0"})
    told: list[Any] = []
    collect(out, "answers.jsonl", [answer(lines[0]), foreign], on_notice=told.append)
    assert any("1 answers" in notice.message for notice in told)
    odd = answer({"custom_id": "mine-1"})
    with pytest.raises(InputError, match=r"none of the 2 answers in .* belongs to"):
        collect(out, "other.jsonl", [foreign, odd])


def test_lines_that_cannot_be_read_are_told_and_the_others_taken(out: Path) -> None:
    lines = emit(out, "one.jsonl")
    file = out.parent / "answers.jsonl"
    file.write_text(json.dumps(answer(lines[0])) + "\n{half a li\n")
    told: list[Any] = []
    run = collect_batch(SAMPLES, JUDGE, file, out, engine_options=OPTIONS, on_notice=told.append)
    assert run.manifest.judged == 1
    assert ["line 2" in notice.message for notice in told] == [True]


def test_a_batch_needs_an_engine_that_has_one(out: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="engine 'scripted' has no batch form"):
        emit_batch(SAMPLES, "scripted:longer", tmp_path / "x.jsonl", out)
    assert not out.exists()


def test_files_are_not_overwritten_and_must_be_there(out: Path, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("mine")
    with pytest.raises(InputError, match="exists already"):
        emit_batch(SAMPLES, JUDGE, tmp_path / "x.jsonl", out, engine_options=OPTIONS)
    with pytest.raises(InputError, match=r"cannot be (read|written)"):
        emit_batch(SAMPLES, JUDGE, tmp_path / "no" / "x.jsonl", out, engine_options=OPTIONS)
    with pytest.raises(InputError, match=r"nowhere\.jsonl"):
        collect_batch(SAMPLES, JUDGE, tmp_path / "nowhere.jsonl", out, engine_options=OPTIONS)


def test_samples_that_cannot_be_asked_have_no_request(out: Path) -> None:
    lone = Sample(question="q", answers=SAMPLES[0].answers[:1])
    file = out.parent / "one.jsonl"
    batch = emit_batch([lone, SAMPLES[0]], JUDGE, file, out, engine_options=OPTIONS)
    assert batch.requests == 2
