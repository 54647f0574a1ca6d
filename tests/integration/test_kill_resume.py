"""Real processes, killed at random moments: nothing is lost, nothing is judged twice.

Where many processes are needed, each is forked from a server that has the package imported, so
that they spend their time in the run and not in imports; elsewhere each is an interpreter anew.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import magistrate as mg
from magistrate.ids import file_sha256
from magistrate.records import Answer, Sample, to_json_line
from magistrate.store.decisions import read_decisions

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")

WORKER = """
import sys, magistrate as mg
try:
    run = mg.judge(sys.argv[1], sys.argv[2], sys.argv[3])
except (mg.MagistrateError, mg.RunInterrupted) as error:
    print(type(error).__name__, error, file=sys.stderr)
    sys.exit(error.exit_code)
print(run.manifest.state)
"""
KILLS = 24
READINGS = 380
PATIENCE_SECONDS = 60.0


@pytest.fixture(scope="module")
def samples_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some samples share their text, some hold what UTF-8 cannot."""
    path = tmp_path_factory.mktemp("input") / "samples.jsonl"
    samples = [
        Sample(
            question=f"question {i % 190} \ud800",
            answers=(Answer(text="x" * (i % 190 % 23)), Answer(text="y" * (i % 190 % 19))),
            source_id=str(i),
        )
        for i in range(200)
    ]
    path.write_bytes(b"\n".join(map(to_json_line, samples)))
    return path


def wait_until(condition: Callable[[], bool], running: Callable[[], bool]) -> None:
    """Poll until the condition holds or the process has ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while running() and not condition():
        assert time.monotonic() < deadline, "the awaited moment never came"
        time.sleep(0.0005)


class Job:
    """An interpreter that judges into a folder."""

    def __init__(self, source: Path, judge: str, out: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(source), judge, str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until(self, condition: Callable[[], bool]) -> None:
        wait_until(condition, lambda: self.process.poll() is None)

    def kill(self) -> bool:
        """Kill at once; return whether the process was still running."""
        self.process.kill()
        self.process.communicate()
        return self.process.returncode == -signal.SIGKILL

    def finish(self) -> tuple[int, str, str]:
        out, error = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self.process.returncode, out, error


@contextmanager
def started(source: Path, judge: str, out: Path) -> Iterator[Job]:
    job = Job(source, judge, out)
    try:
        yield job
    finally:
        job.kill()


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["magistrate.store.running", "magistrate.formats.reading", "magistrate.judging.resolve"]
)


def judge_and_kill(source: Path, judge: str, out: Path, condition: Callable[[], bool]) -> None:
    """Judge in a process of its own, and kill it as soon as the condition holds."""
    process = FORKS.Process(target=mg.judge, args=(source, judge, out))
    process.start()
    try:
        wait_until(condition, process.is_alive)
    finally:
        process.kill()
        process.join()
    assert process.exitcode == -signal.SIGKILL, "the run ended before the kill; use more samples"


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def contents(out: Path) -> dict[str, Any]:
    """All that a run holds, apart from times."""
    manifest = json.loads((out / "run.json").read_bytes())
    for name in ("started", "updated", "seconds"):
        del manifest[name]
    # Lines hold the seconds that a reading took, so their hash is another in every run.
    sealed = manifest.pop("judgments_sha256")
    assert sealed == file_sha256(out / "judgments.jsonl")
    judgments = [json.loads(line) for line in (out / "judgments.jsonl").read_bytes().splitlines()]
    for judgment in judgments:
        del judgment["seconds"]
    return {
        "files": sorted(entry.name for entry in out.iterdir()),
        "manifest": manifest,
        "samples": (out / "samples.jsonl").read_bytes(),
        "judgments": [json.dumps(judgment) for judgment in judgments],
        "decisions": list(read_decisions(out / "decisions.parquet")),
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_killed_again_and_again_equals_one_left_alone(
    samples_file: Path, tmp_path: Path, seed: int
) -> None:
    judge = "scripted:random,delay=0.002"
    whole, out = tmp_path / "whole", tmp_path / "run"
    mg.judge(samples_file, judge, whole)
    draw = random.Random(seed)
    journal = out / "judgments.jsonl"
    bytes_a_line = size(whole / "judgments.jsonl") // READINGS
    for kill in range(KILLS):
        if kill % 3 == 0:  # anywhere: while starting, reading, resuming, judging
            moment = time.monotonic() + draw.uniform(0, 0.1)
            judge_and_kill(samples_file, judge, out, lambda: time.monotonic() >= moment)  # noqa: B023
        else:  # as soon as some judgments more are written
            goal = size(journal) + draw.randint(1, 15 * bytes_a_line)
            judge_and_kill(samples_file, judge, out, lambda: size(journal) >= goal)  # noqa: B023
        if journal.exists() and kill % 4 == 0:
            assert mg.verify_run(out).ok
            assert mg.open_run(out).manifest.judgments_sha256 is None, "a killed run has no hash"
    assert 0 < len(list(mg.open_run(out).judgments())) < READINGS, "nothing was left to resume"
    mg.judge(samples_file, judge, out)
    assert contents(out) == contents(whole)
    assert mg.verify_run(out).ok


MOMENTS = (
    ".lock",
    ".samples.jsonl.new",
    "samples.jsonl",
    "run.json",
    "judgments.jsonl",
    "decisions.parquet",
)


@pytest.mark.parametrize("name", MOMENTS)
def test_a_run_killed_when_a_file_appears_equals_one_left_alone(
    samples_file: Path, tmp_path: Path, name: str
) -> None:
    judge = "scripted:longer"
    whole, out = tmp_path / "whole", tmp_path / "run"
    mg.judge(samples_file, judge, whole)
    with started(samples_file, judge, out) as job:
        job.wait_until((out / name).exists)
        job.kill()
    mg.judge(samples_file, judge, out)
    assert contents(out) == contents(whole)


def test_failures_of_a_killed_run_are_tried_again_and_nothing_is_lost(
    samples_file: Path, tmp_path: Path
) -> None:
    judge = "scripted:random,fail=0.1,nonsense=0.1,delay=0.001"
    whole = mg.judge(samples_file, judge, tmp_path / "whole")
    out = tmp_path / "run"
    journal = out / "judgments.jsonl"
    for _ in range(4):
        goal = size(journal) + 20_000
        judge_and_kill(samples_file, judge, out, lambda: size(journal) >= goal)  # noqa: B023
    run = mg.judge(samples_file, judge, out)
    assert {one.key: one for one in run.judgments()} == {one.key: one for one in whole.judgments()}
    assert list(run.decisions()) == list(whole.decisions())
    assert run.manifest.judgments == whole.manifest.judgments
    assert run.manifest.judgments["error"] > 0
    assert run.manifest.judgments["unparsed"] > 0
    lines = [json.loads(line) for line in journal.read_bytes().splitlines()]
    good = [line["key"] for line in lines if line["status"] == "ok"]
    assert len(good) == len(set(good)), "an ok judgment was made twice"
    assert mg.verify_run(out).ok


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_asked_to_stop_says_where_it_stands_and_goes_on_later(
    samples_file: Path, tmp_path: Path, number: signal.Signals
) -> None:
    judge, out = "scripted:longer,delay=0.01", tmp_path / "run"
    with started(samples_file, judge, out) as job:
        job.wait_until(lambda: size(out / "judgments.jsonl") > 0)
        job.process.send_signal(number)
        code, printed, error = job.finish()
    assert (code, printed) == (128 + number, "")
    assert error.startswith(f"RunInterrupted stopped by {number.name}; ")
    assert "Traceback" not in error
    run = mg.open_run(out)
    assert run.manifest.state == "stopped"
    assert f"{run.manifest.judged} of {READINGS} readings are judged and safe" in error
    assert mg.verify_run(out).ok


def test_of_two_processes_on_one_folder_the_second_is_refused(
    samples_file: Path, tmp_path: Path
) -> None:
    slow, out = "scripted:longer,delay=0.02", tmp_path / "run"
    with started(samples_file, slow, out) as first:
        first.wait_until(lambda: size(out / "judgments.jsonl") > 0)
        with started(samples_file, slow, out) as second:
            code, printed, error = second.finish()
        assert (code, printed) == (4, "")
        assert error.startswith("RunLockedError ")
        assert f"process {first.process.pid} on " in error
        assert first.process.poll() is None, "the first process must not be disturbed"
        assert first.kill()
    # The lock went with the killed process.
    with started(samples_file, slow, out) as third:
        third.wait_until(lambda: (out / ".lock-holder.json").exists())
        before = size(out / "judgments.jsonl")
        third.wait_until(lambda: size(out / "judgments.jsonl") > before)
        assert third.kill()
    assert mg.verify_run(out).ok


def judge_at_once(source: Path, judge: str, out: Path, start: Any, outcomes: Any) -> None:
    """Judge when all others are ready too; report what became of it."""
    start.wait(PATIENCE_SECONDS)
    try:
        outcomes.put(mg.judge(source, judge, out).manifest.state)
    except mg.MagistrateError as error:
        outcomes.put(type(error).__name__)


@pytest.mark.parametrize("attempt", range(4))
def test_of_processes_started_at_once_on_a_new_folder_one_runs_and_none_harms_it(
    samples_file: Path, tmp_path: Path, attempt: int
) -> None:
    judge, out, count = "scripted:longer,delay=0.002", tmp_path / "run", 3
    start, outcomes = FORKS.Barrier(count), FORKS.Queue()
    arguments = (samples_file, judge, out, start, outcomes)
    processes = [FORKS.Process(target=judge_at_once, args=arguments) for _ in range(count)]
    for process in processes:
        process.start()
    try:
        ended = sorted(outcomes.get(timeout=PATIENCE_SECONDS) for _ in processes)
    finally:
        for process in processes:
            process.kill()
            process.join()
    # One that the system held up until the first had ended finds a complete run, and says so.
    assert set(ended) <= {"RunLockedError", "complete"}
    assert "complete" in ended
    assert mg.open_run(out).manifest.judged == READINGS
    assert mg.verify_run(out).ok
