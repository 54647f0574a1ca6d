"""Labelling with a teacher behind a real server that fails, and with processes that are killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from api_faults import Answer as ServerAnswer
from api_faults import Asked, FaultServer, error, said

import magistrate as mg
from magistrate.engines.api import waiting
from magistrate.errors import CostLimitError
from magistrate.records import Answer, Gold, Sample

SAMPLES = 40


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(waiting, "FIRST_WAIT", 0.01)
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))


def samples(count: int = SAMPLES) -> list[Sample]:
    """The good answer stands first in every other sample."""
    return [
        Sample(
            question=f"What is {i}?",
            answers=tuple(
                Answer(text=text) for text in (["good", "bad"] if i % 2 else ["bad", "good"])
            ),
            reference="known" if i % 4 == 0 else None,
            gold=(Gold(annotator="Ann", preference="first" if i % 2 else "second"),),
        )
        for i in range(count)
    ]


def fair(asked: Asked) -> ServerAnswer:
    """Prefer the good answer wherever it stands, and say so of the answers as shown."""
    prompt = asked.prompt
    wins = 1 if prompt.index("good") < prompt.index("bad") else 2
    scores = "9 4" if wins == 1 else "4 9"
    return said(
        f"{scores}\nAssistant {wins} is right; the {'second' if wins == 1 else 'first'} one is not."
    )


def number_of(asked: Asked) -> int:
    return int(asked.prompt.split("What is ")[1].split("?")[0])


def read(path: Path) -> list[Sample]:
    return list(mg.read_samples(path))


def test_a_teacher_behind_a_server_with_faults_labels_what_it_can(tmp_path: Path) -> None:
    def faulty(asked: Asked) -> ServerAnswer:
        number = number_of(asked)
        if asked.attempt == 1 and number % 5 == 1:
            return ServerAnswer(fault="reset")  # and well on the next try
        if number == 3:
            return said("I would rather not score these.")
        if number == 7 and "bad" in asked.prompt.split("good")[0]:
            return said("8 7 6\nThree scores.")  # in one order alone
        if number == 9:
            return error(400, "this prompt is refused")
        return fair(asked)

    out = tmp_path / "labelled.jsonl"
    with FaultServer(faulty) as server:
        teacher = f"strong=openai:m@{server.url}#judgelm"
        report = mg.label(samples(), teacher, out, reference="both")
        asked = len(server.asked)
        again = mg.label(samples(), teacher, out, reference="both")
        # Only what failed was asked again.
        assert len(server.asked) - asked < 30
    assert again.written == report.written == SAMPLES  # where the teacher failed, Ann did not
    failed = [json.loads(line) for line in Path(again.failed_file).read_bytes().splitlines()]
    assert {(one["row"], one["status"]) for one in failed} == {
        (3, "unparsed"),
        (7, "unparsed"),
        (9, "error"),
    }
    assert all(one["reason"] for one in failed)
    without, with_reference = again.teachers
    assert (without.asked, without.labelled) == (SAMPLES, SAMPLES - 3)
    assert (with_reference.asked, with_reference.labelled) == (10, 10)
    assert without.consistency.value == 1
    for i, sample in enumerate(read(out)):
        taught = [gold for gold in sample.gold if gold.annotator == "strong"]
        assert len(taught) == (0 if i in (3, 7, 9) else 1 + (i % 4 == 0))
        for gold in taught:
            best = 1 if i % 2 else 2
            assert gold.preference == ("first" if best == 1 else "second")
            assert gold.scores == ((9, 4) if best == 1 else (4, 9))
            other = "second" if best == 1 else "first"
            assert gold.reasons == f"Assistant {best} is right; the {other} one is not."


def test_one_limit_of_costs_holds_for_all_teachers(tmp_path: Path) -> None:
    out = tmp_path / "labelled.jsonl"
    options = {"openai.price": "0,1000000", "openai.max_concurrency": "1"}
    with FaultServer(fair) as server:
        teachers = [f"a=openai:m@{server.url}#judgelm", f"b=openai:n@{server.url}#judgelm"]
        # Each reply costs 2 dollars and could cost 1,024: of 20 + 20 readings the second teacher
        # stops while 1,024 dollars are left.
        with pytest.raises(CostLimitError, match="max-cost"):
            mg.label(
                samples(10),
                teachers,
                out,
                engine_options=options,
                max_cost=1024 + 50,
                cache=False,
            )
        paid = len(server.asked)
        assert 20 < paid < 40
        assert not out.exists()
        report = mg.label(samples(10), teachers, out, engine_options=options, cache=False)
        assert len(server.asked) == 40
    assert report.written == 10
    assert report.cost == pytest.approx(80)


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["magistrate.data.labelling", "magistrate.judging.resolve"])


def killed_when(out: Path, teachers: list[str], condition: Callable[[], bool]) -> None:
    process = FORKS.Process(target=mg.label, args=(samples(), teachers, out))
    process.start()
    try:
        deadline = time.monotonic() + 60
        while process.is_alive() and not condition():
            assert time.monotonic() < deadline
            time.sleep(0.001)
    finally:
        process.kill()
        process.join()
    assert process.exitcode == -signal.SIGKILL, "it ended before the kill"


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_labelling_killed_twice_equals_labelling_left_alone(tmp_path: Path) -> None:
    teachers = ["a=scripted:random,delay=0.01", "b=scripted:longer,delay=0.01,nonsense=0.2"]
    whole, out = tmp_path / "whole" / "labelled.jsonl", tmp_path / "cut" / "labelled.jsonl"
    for path in (whole, out):
        path.parent.mkdir()
    expected = mg.label(samples(), teachers, whole)
    work = out.with_suffix(".teachers")

    def lines() -> int:
        return sum(path.read_bytes().count(b"\n") for path in work.glob("*/judgments.jsonl"))

    killed_when(out, teachers, lambda: lines() >= 20)  # within the first teacher
    assert not out.exists()
    before = lines()
    killed_when(out, teachers, lambda: lines() >= 2 * SAMPLES + 20)  # within the second
    assert before < lines() < 4 * SAMPLES
    report = mg.label(samples(), teachers, out)
    assert out.read_bytes() == whole.read_bytes()
    assert (work / "failed.jsonl").read_bytes() == (
        whole.with_suffix(".teachers") / "failed.jsonl"
    ).read_bytes()
    assert [one.labelled for one in report.teachers] == [one.labelled for one in expected.teachers]
    # Nothing was asked twice but what had failed.
    for folder in work.iterdir():
        if folder.is_dir():
            asked = [
                json.loads(line) for line in (folder / "judgments.jsonl").read_bytes().splitlines()
            ]
            well = [one["key"] for one in asked if one["status"] == "ok"]
            assert len(well) == len(set(well))
