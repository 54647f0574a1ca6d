"""Live cascades over real servers that fail, and in processes that are killed.

Nothing is lost, nothing is judged twice, no budget is passed, and what comes out is what an
undisturbed cascade gives.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from api_faults import Answer, Asked, FaultServer, error, said

import magistrate as mg
from magistrate.cascade.live_folder import CascadeRun
from magistrate.cli.main import main
from magistrate.records import Answer as SampleAnswer
from magistrate.records import Sample
from magistrate.store.lines import to_line

sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
from cascade_help import as_told, pairs, sure_judge

PATIENCE_SECONDS = 90.0
COST = 0.01
"""US dollars of a request to a server: each reply takes all of its 512 tokens."""
OPTIONS = {
    "openai.context_tokens": "3000",
    "openai.price": f"0,{COST * 1e6 / 512}",
    "openai.max_concurrency": "4",
    "openai.try_timeout": "1",
}


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def verdict(asked: Asked) -> Answer:
    """Say that the second answer shown is better, on every prompt."""
    return said("5 8\nThe second is better.", prompt=100, written=512)


class Recorder:
    """A server's script that fails at times, and remembers the prompts that it answered."""

    def __init__(self, faults: Callable[[Asked], Answer | None] = lambda _: None) -> None:
        self.faults = faults
        self.answered: Counter[str] = Counter()
        self.times: list[float] = []
        self.delay = 0.0

    def __call__(self, asked: Asked) -> Answer:
        fault = self.faults(asked)
        if fault is not None:
            return fault
        self.answered[asked.prompt] += 1
        self.times.append(time.monotonic())
        answer = verdict(asked)
        return Answer(answer.body, delay=self.delay)

    @property
    def billed(self) -> float:
        """US dollars for all that was answered, whether it arrived or not."""
        return sum(self.answered.values()) * COST


def bursts(asked: Asked) -> Answer | None:
    """Fail first tries in every way there is, and some prompts twice."""
    draw = random.Random(asked.prompt).random()
    if asked.attempt == 1 and draw < 0.6:
        way = int(draw * 10)
        if way <= 1:
            return error(429, "slow down", headers={"Retry-After": "0.05"})
        if way == 2:
            return error(500, "oops")
        if way == 3:
            return Answer(fault="hang")
        return Answer(fault="reset" if way == 4 else "close")
    if asked.attempt == 2 and draw < 0.15:
        return error(503, "still starting")
    return None


def named(server: FaultServer, model: str = "strong") -> str:
    return f"openai:{model}@{server.url}#pair"


def ok_keys(done: CascadeRun) -> list[str]:
    """The keys of all ok readings of all judges, and a failure if one was made twice."""
    found = []
    for tier in done.manifest.tiers:
        lines = (done.path / tier.folder / "judgments.jsonl").read_bytes().splitlines()
        good = [line["key"] for line in map(json.loads, lines) if line["status"] == "ok"]
        assert len(good) == len(set(good)), f"{tier.judge} judged a reading twice"
        found += good
    return found


def told(done: CascadeRun) -> list[dict[str, Any]]:
    """All that a decision says, without times."""
    return [one.model_dump(mode="json") for one in done.decisions()]


def sound(done: CascadeRun) -> None:
    for path in (done.path, *(done.path / one.folder for one in done.manifest.tiers)):
        report = mg.verify_run(path)
        assert report.ok, report.findings


def real_pairs(count: int) -> list[Sample]:
    text = "the capital of that country is a city by the river which many people visit"
    words = text.split()
    return [
        Sample(
            question=f"Question {number}: what is the capital?",
            answers=(
                SampleAnswer(text=" ".join(words[: 2 + number % 9]), model="x"),
                SampleAnswer(text="In fact " + " ".join(words[number % 5 : 9]), model="y"),
            ),
        )
        for number in range(count)
    ]


def test_mini_then_two_servers_with_faults(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_bytes(b"".join(map(to_line, real_pairs(40))))
    local, dear = Recorder(bursts), Recorder(bursts)
    with FaultServer(local) as middle, FaultServer(dear) as strong:
        command = ["cascade", str(file), "-o", str(tmp_path / "c"), "--no-cache"]
        command += ["--judge", "mini", "--judge", named(middle, "local"), "--judge", named(strong)]
        command += ["--budget", "0.4"]
        for name, value in OPTIONS.items():
            command += ["--set", f"{name}={value}"]
        assert main([*command, "--quiet"]) == 0
        done = CascadeRun(tmp_path / "c")
        assert done.manifest.state == "complete"
        # Both servers say the same of either order: of two readings each half is right, so these
        # are sure of nothing, and the unsurest 16 pairs go to the last one.
        assert done.manifest.tiers[2].asked == 16
        assert len(dear.answered) == 32, "16 pairs in both orders"
        assert set(local.answered.values()) | set(dear.answered.values()) == {1}
        ok_keys(done)
        sound(done)
        before = len(middle.asked), len(strong.asked)
        assert main([*command, "--quiet"]) == 0
        assert (len(middle.asked), len(strong.asked)) == before, "the same command asked again"
    assert done.manifest.cost == pytest.approx(local.billed + dear.billed)


def test_pairs_of_a_server_that_stays_down_wait_for_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "pairs.jsonl"
    file.write_bytes(b"".join(map(to_line, real_pairs(12))))
    is_down = True
    record = Recorder(lambda _: error(500, "oops") if is_down else None)
    with FaultServer(record) as server:
        command = ["cascade", str(file), "-o", str(tmp_path / "c"), "--no-cache", "--quiet"]
        command += ["--judge", "mini", "--judge", named(server), "--budget", "0.5"]
        command += ["--set", "openai.max_retries=1", "--set", "openai.context_tokens=3000"]
        assert main([*command, "--json"]) == 7
        view = json.loads(capsys.readouterr().out)
        assert (view["pending"], view["tiers"][0]["decided"]) == (6, 6)
        assert all(
            one.tier == 1 or one.why == "pending" for one in CascadeRun(tmp_path / "c").decisions()
        )
        is_down = False
        assert main(command) == 0
        assert set(record.answered.values()) == {1}
        assert len(record.answered) == 12
    server_gone = [*command[:3], str(tmp_path / "d"), *command[4:]]
    assert main(server_gone) == 3
    assert "does not answer" in capsys.readouterr().err


@pytest.mark.parametrize("limit", [0.25, 0.9])
def test_two_judges_that_cost_money_keep_one_limit(tmp_path: Path, limit: float) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    local, dear = Recorder(bursts), Recorder(bursts)
    local.delay = dear.delay = 0.01
    samples = pairs(*(0.5 + number / 200 for number in range(60)))
    with FaultServer(local) as middle, FaultServer(dear) as strong:
        done = mg.run_cascade(
            samples,
            [cheap, named(middle, "local"), named(strong)],
            tmp_path / "c",
            thresholds=[0.95, 1.0],
            max_cost=limit,
            engine_options=OPTIONS | {"openai.max_concurrency": "8"},
            cache=False,
        )
    assert local.billed + dear.billed <= limit + 1e-9
    assert done.manifest.cost == pytest.approx(local.billed + dear.billed)
    assert done.manifest.cost > 0.6 * limit, "money was left lying"
    why = Counter(one.why for one in done.decisions())
    assert why["budget"] > 0
    assert done.manifest.pending == 0
    sound(done)


def test_while_a_server_is_asked_the_cheap_judge_goes_on(tmp_path: Path) -> None:
    cheap, first = sure_judge("cheap", as_told, delay=0.015)
    record = Recorder()
    record.delay = 0.1
    samples = pairs(*(0.5 + number % 2 / 3 for number in range(120)))
    with FaultServer(record) as server:
        done = mg.run_cascade(
            samples,
            [cheap, named(server)],
            tmp_path / "c",
            thresholds=0.7,
            engine_options=OPTIONS,
            cache=False,
        )
    cheaply, dearly = done.manifest.tiers
    assert dearly.asked == 60
    together = sum(moment < first.times[-1] for moment in record.times)
    assert together > 40, f"only {together} of 120 requests went out while the cheap judge was busy"
    assert done.manifest.seconds < 0.85 * (cheaply.seconds + dearly.seconds)


# Processes that are killed.

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["magistrate.cascade.live", "magistrate.formats.reading", "magistrate.judging.resolve"]
)
KILLS = 8
SAMPLES = pairs(*(round(0.505 + number * 29 % 80 / 165, 4) for number in range(80)))


def cascade_into(out: Path, url: str, policy: dict[str, Any], delay: float) -> None:
    """Run a cascade in a process of its own."""
    cheap, _ = sure_judge("cheap", as_told, delay=delay)
    strong = f"openai:strong@{url}#pair"
    mg.run_cascade(SAMPLES, [cheap, strong], out, engine_options=OPTIONS, cache=False, **policy)


def start_and_kill(out: Path, url: str, policy: dict[str, Any], seconds: float) -> None:
    """Kill a process of its own as soon as something was judged and a moment has passed."""
    process = FORKS.Process(target=cascade_into, args=(out, url, policy, 0.004))
    process.start()
    journals = [*out.glob("tiers/*/judgments.jsonl")]
    before = {path: path.stat().st_size for path in journals}
    deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        while process.is_alive() and time.monotonic() < deadline:
            grown = [
                p
                for p in out.glob("tiers/*/judgments.jsonl")
                if p.stat().st_size > before.get(p, 0)
            ]
            if grown:
                break
            time.sleep(0.002)
        time.sleep(seconds)
    finally:
        process.kill()
        process.join()


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize(
    "policy",
    [{"budget": 0.5}, {"thresholds": 0.6}, {"thresholds": 0.75, "budget_calls": 50}],
    ids=["budget", "threshold", "threshold and calls"],
)
def test_killed_again_and_again_it_decides_as_one_left_alone(
    tmp_path: Path, policy: dict[str, Any]
) -> None:
    quiet, killed = Recorder(), Recorder(bursts)
    killed.delay = 0.02
    out = tmp_path / "killed"
    with FaultServer(quiet) as server:
        cascade_into(tmp_path / "whole", server.url, policy, 0.0)
    draw = random.Random(str(policy))
    kills = 0
    with FaultServer(killed) as server:
        # The judge's address is part of what it is called, not of the pairs that it gets.
        for _ in range(KILLS):
            start_and_kill(out, server.url, policy, draw.uniform(0, 0.15))
            kills += 1
        cascade_into(out, server.url, policy, 0.0)
    whole, done = CascadeRun(tmp_path / "whole"), CascadeRun(out)

    def plain(decisions: list[dict[str, Any]]) -> str:
        text = json.dumps(decisions)
        for one in (whole, done):
            text = text.replace(one.manifest.tiers[1].judge, "strong")
        return text

    assert plain(told(done)) == plain(told(whole))
    assert done.manifest.state == "complete"
    ok_keys(done)
    sound(done)
    # What was answered more than once was under way in a killed process.
    again = sum(number - 1 for number in killed.answered.values())
    assert again <= kills * 4 * 4
    assert set(killed.answered) == set(quiet.answered), "a pair was asked that needs no asking"


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_killed_again_and_again_it_never_pays_more_than_it_may(tmp_path: Path) -> None:
    record = Recorder()
    record.delay = 0.02
    out, draw, limit = tmp_path / "c", random.Random(5), 1.0
    policy = {"thresholds": 0.9, "max_cost": limit}
    with FaultServer(record) as server:
        for _ in range(5):
            start_and_kill(out, server.url, policy, draw.uniform(0, 0.2))
            assert record.billed <= limit + 1e-9
        cascade_into(out, server.url, policy, 0.0)
        assert record.billed <= limit + 1e-9
        done = CascadeRun(out)
        assert done.manifest.lost > 0, "no kill met a request under way"
        assert record.billed <= done.manifest.cost + 1e-9 <= limit + 2e-9
        assert done.manifest.pending == 0
        sound(done)
        again = {"thresholds": 0.9, "max_cost": 10.0}
        cascade_into(out, server.url, again, 0.0)
    assert CascadeRun(out).manifest.tiers[1].by_budget == 0
    ok_keys(CascadeRun(out))


WORKER = """
import sys
sys.path[:0] = sys.argv[3:]
from pathlib import Path
from test_cascade_server import cascade_into
import magistrate as mg
try:
    cascade_into(Path(sys.argv[1]), sys.argv[2], {"budget": 0.5}, 0.01)
except mg.RunInterrupted as stop:
    print(stop, file=sys.stderr)
    sys.exit(stop.exit_code)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_process_asked_to_stop_says_where_it_stands(
    tmp_path: Path, number: signal.Signals
) -> None:
    record = Recorder(lambda asked: Answer(fault="hang") if len(record.times) >= 6 else None)
    out = tmp_path / "c"
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "unit")]
    with FaultServer(record) as server:
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(out), server.url, *paths],
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while len(record.times) < 6 and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.01)
            process.send_signal(number)
            _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        finally:
            process.kill()
            process.wait()
        assert process.returncode == 128 + number
        assert "Traceback" not in errors
        assert f"stopped by {number.name}; " in errors
        assert "the same command goes on from there" in errors
        stored = CascadeRun(out)
        assert stored.manifest.state == "stopped"
        assert 0 < stored.manifest.pending < 80
        sound(stored)
        record.faults = lambda _: None
        cascade_into(out, server.url, {"budget": 0.5}, 0.0)
    done = CascadeRun(out)
    assert done.manifest.state == "complete"
    assert done.manifest.tiers[1].asked == 40
    ok_keys(done)


def test_two_processes_cannot_write_one_cascade(tmp_path: Path) -> None:
    record = Recorder()
    record.delay = 0.05
    with FaultServer(record) as server:
        url = server.url
        first = threading.Thread(
            target=cascade_into, args=(tmp_path / "c", url, {"budget": 1.0}, 0.01)
        )
        first.start()
        try:
            while not record.times:
                time.sleep(0.01)
            with pytest.raises(mg.MagistrateError, match="is being written by"):
                cascade_into(tmp_path / "c", url, {"budget": 1.0}, 0.0)
        finally:
            first.join()
    assert CascadeRun(tmp_path / "c").manifest.state == "complete"
