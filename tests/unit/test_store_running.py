"""``mg.judge``: a run from begin to end, resumed, interrupted, retried."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import magistrate as mg
from magistrate.engines.base import PREFERRED_BATCH, EngineInfo
from magistrate.engines.scripted import ScriptedEngine
from magistrate.errors import EngineError, InputError, RunError, RunLockedError
from magistrate.formats.base import BadRow, Notice
from magistrate.judging.judge import Judge, make_judge
from magistrate.judging.resolve import load_judge
from magistrate.messages import Completion, Request
from magistrate.records import Answer, Sample
from magistrate.store.lock import RunLock
from magistrate.store.seal import changed_since


def pairs(count: int) -> list[Sample]:
    return [
        Sample(
            question=f"question {i}",
            answers=(
                Answer(text="a" * (1 + i % 7), model="A"),
                Answer(text="b" * (1 + i % 5), model="B"),
            ),
        )
        for i in range(count)
    ]


class Failing:
    """The scripted engine, which fails as told: single requests, or the whole engine."""

    def __init__(self) -> None:
        self.scripted = ScriptedEngine("longer")
        self.fail_every = 0
        self.die_after: int | None = None
        self.asked = 0

    @property
    def info(self) -> EngineInfo:
        return self.scripted.info

    def count_tokens(self, text: str) -> int:
        return self.scripted.count_tokens(text)

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        for completion in self.scripted.complete(requests):
            self.asked += 1
            if self.die_after is not None and self.asked > self.die_after:
                raise EngineError("the engine is gone")
            if self.fail_every and self.asked % self.fail_every == 0:
                yield Completion(key=completion.key, error="no answer")
            else:
                yield completion

    def close(self) -> None:
        pass


@pytest.fixture
def engine() -> Failing:
    return Failing()


@pytest.fixture
def judge(engine: Failing) -> Judge:
    return make_judge("failing", load_judge("scripted:longer").family, engine)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "first"


def files_of(path: Path) -> set[str]:
    return {entry.name for entry in path.iterdir()}


def test_a_run_holds_samples_judgments_and_decisions(out: Path) -> None:
    samples = pairs(20)
    run = mg.judge(samples, "scripted:longer", out)
    assert run == mg.open_run(out)
    assert list(run.samples()) == samples
    assert len(list(run.judgments())) == 40
    decisions = list(run.decisions())
    assert [decision.row for decision in decisions] == list(range(20))
    for sample, decision in zip(samples, decisions, strict=True):
        lengths = [len(answer.text) for answer in sample.answers]
        expected = ["tie", "first", "second"][(lengths[0] > lengths[1]) - (lengths[0] < lengths[1])]
        assert decision.preference == expected
    manifest = run.manifest
    assert manifest.state == "complete"
    assert (manifest.samples, manifest.readings, manifest.judged, manifest.lines) == (
        20,
        40,
        40,
        40,
    )
    assert manifest.judge.name == "scripted:longer"
    assert manifest.usage.requests == 40
    assert mg.verify_run(out).ok


def test_the_same_call_again_judges_nothing(out: Path, judge: Judge, engine: Failing) -> None:
    mg.judge(pairs(9), judge, out)
    assert engine.asked == 18
    before = (out / "judgments.jsonl").read_bytes()
    run = mg.judge(pairs(9), judge, out)
    assert engine.asked == 18
    assert (out / "judgments.jsonl").read_bytes() == before
    assert run.manifest.state == "complete"


def test_without_out_a_fresh_folder_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    first = mg.judge(pairs(1), "scripted:longer#pair")
    second = mg.judge(pairs(1), "scripted:longer#pair")
    assert first.path.parent == Path("runs")
    assert first.path.name.startswith("scripted-longer-pair-20")
    assert first.path != second.path


def test_equal_texts_are_judged_once_and_decided_each(out: Path) -> None:
    one, other = pairs(2)
    again = one.model_copy(update={"source_id": "again"})
    run = mg.judge([one, other, again], "scripted:longer", out)
    assert run.manifest.readings == len(list(run.judgments())) == 4
    decisions = list(run.decisions())
    assert len(decisions) == 3
    assert decisions[0].keys == decisions[2].keys
    assert decisions[0].sample_id != decisions[2].sample_id


def test_failures_are_kept_and_judged_again_by_the_next_call(
    out: Path, judge: Judge, engine: Failing
) -> None:
    engine.fail_every = 5
    first = mg.judge(pairs(10), judge, out)
    assert first.manifest.judgments["error"] == 4
    assert first.manifest.state == "complete"
    assert sum(decision.status == "error" for decision in first.decisions()) in range(1, 5)

    engine.fail_every = 0
    engine.asked = 0
    second = mg.judge(pairs(10), judge, out)
    assert engine.asked == 4
    assert second.manifest.judgments["error"] == 0
    assert second.manifest.lines == 24
    assert len(list(second.judgments())) == 20
    assert all(decision.status == "ok" for decision in second.decisions())
    assert mg.verify_run(out).ok


def test_retry_says_which_failures_are_judged_again(
    out: Path, judge: Judge, engine: Failing
) -> None:
    engine.fail_every = 5
    mg.judge(pairs(10), judge, out)
    engine.asked = 0
    run = mg.judge(pairs(10), judge, out, retry=("refused",))
    assert engine.asked == 0
    assert run.manifest.judgments["error"] == 4


def test_a_dead_engine_leaves_what_was_judged_and_the_next_call_goes_on(
    out: Path, judge: Judge, engine: Failing, tmp_path: Path
) -> None:
    samples = pairs(PREFERRED_BATCH)
    whole = mg.judge(samples, judge, tmp_path / "whole")
    engine.asked = 0
    engine.die_after = PREFERRED_BATCH + 30
    told: list[Notice] = []
    with pytest.raises(EngineError, match="the engine is gone"):
        mg.judge(samples, judge, out, on_notice=told.append)
    assert f"{engine.die_after} of {2 * PREFERRED_BATCH} readings are judged" in told[-1].message
    stopped = mg.open_run(out)
    assert stopped.manifest.state == "stopped"
    assert stopped.manifest.judged == engine.die_after
    assert [one.kind for one in stopped.notices()] == ["stopped"]
    assert mg.verify_run(out).missing == 2 * PREFERRED_BATCH - engine.die_after

    engine.die_after = None
    resumed = mg.judge(samples, judge, out)
    assert resumed.folder.judgments.read_bytes() == whole.folder.judgments.read_bytes()
    assert list(resumed.decisions()) == list(whole.decisions())
    assert list(resumed.notices()) == []


def test_progress_counts_up_to_the_total_and_knows_what_was_there(
    out: Path, judge: Judge, engine: Failing
) -> None:
    engine.die_after = 8
    with pytest.raises(EngineError):
        mg.judge(pairs(10), judge, out)
    engine.die_after = None
    seen: list[mg.Progress] = []
    mg.judge(pairs(10), judge, out, on_progress=seen.append)
    done = [progress.done for progress in seen]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (8, 20)
    assert {(progress.total, progress.resumed) for progress in seen} == {(20, 8)}
    assert seen[-1].counts["ok"] == 20
    assert seen[0].rate is None
    assert seen[-1].seconds_left == 0


def test_progress_reaches_the_total_when_failures_fail_again(
    out: Path, judge: Judge, engine: Failing
) -> None:
    engine.fail_every = 1
    mg.judge(pairs(3), judge, out)
    seen: list[mg.Progress] = []
    mg.judge(pairs(3), judge, out, on_progress=seen.append)
    assert (seen[0].done, seen[-1].done, seen[-1].total) == (0, 6, 6)
    assert seen[-1].counts["error"] == 6


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_between_writes_and_says_how_to_go_on(
    out: Path, number: signal.Signals
) -> None:
    def stop(progress: mg.Progress) -> None:
        if progress.done:
            os.kill(os.getpid(), number)

    before = [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)]
    with pytest.raises(mg.RunInterrupted) as caught:
        mg.judge(pairs(300), "scripted:longer,delay=0.001", out, on_progress=stop)
    judged = mg.open_run(out).manifest.judged
    assert str(caught.value) == (
        f"stopped by {number.name}; {judged} of 600 readings are judged and safe in {out}; "
        f"the same command goes on from there"
    )
    assert caught.value.exit_code == 128 + number
    assert [signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)] == before
    run = mg.open_run(out)
    assert run.manifest.state == "stopped"
    assert 0 < run.manifest.judged < 600
    assert run.manifest.judged == len(list(run.judgments()))
    assert mg.verify_run(out).ok
    assert mg.judge(pairs(300), "scripted:longer,delay=0.001", out).manifest.judged == 600


def test_a_signal_in_the_middle_of_a_write_waits_for_its_end(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def write_half_and_signal(descriptor: int, data: bytes) -> int:
        written = write(descriptor, bytes(data[: len(data) // 2 + 1]))
        os.kill(os.getpid(), signal.SIGTERM)
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_half_and_signal)
        with pytest.raises(mg.RunInterrupted):
            mg.judge(pairs(50), "scripted:longer", out)
    run = mg.open_run(out)
    content = run.folder.judgments.read_bytes()
    assert content.endswith(b"\n")
    assert content.count(b"\n") == run.manifest.judged > 0
    assert mg.verify_run(out).ok


def test_an_error_of_the_caller_goes_through_and_the_run_can_go_on(out: Path) -> None:
    def fail(progress: mg.Progress) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        mg.judge(pairs(3), "scripted:longer", out, on_progress=fail)
    assert mg.judge(pairs(3), "scripted:longer", out).manifest.judged == 6


def test_a_second_call_on_a_folder_in_use_is_refused(out: Path) -> None:
    mg.judge(pairs(2), "scripted:longer", out)
    before = {name: (out / name).read_bytes() for name in files_of(out)}
    with RunLock(out), pytest.raises(RunLockedError):
        mg.judge(pairs(2), "scripted:longer", out)
    assert {name: (out / name).read_bytes() for name in files_of(out)} == before


def test_a_run_that_is_being_written_can_be_read(out: Path) -> None:
    seen: list[int] = []

    def look(progress: mg.Progress) -> None:
        run = mg.open_run(out)
        seen.append(len(list(run.judgments())))
        assert len(list(run.decisions())) == progress.done // 2

    mg.judge(pairs(5), "scripted:longer", out, on_progress=look)
    assert (seen[0], seen[-1]) == (0, 10)


class Reader:
    """What :func:`magistrate.read_samples` returns, as far as a run needs it."""

    format = "invented"

    def __init__(self, samples: list[Sample], paths: tuple[str, ...] = ()) -> None:
        self.samples = samples
        self.paths = paths
        self.bad: list[BadRow] = []
        self.notices: list[Notice] = []

    def __iter__(self) -> Iterator[Sample]:
        yield from self.samples
        self.bad = [BadRow(file="in.jsonl", row=4, reason="no question")]
        self.notices = [Notice(kind="encoding", message="in.jsonl is not UTF-8")]


def test_bad_rows_and_notices_are_kept_and_counted(out: Path, tmp_path: Path) -> None:
    file = tmp_path / "in.jsonl"
    file.write_bytes(b"12345")
    run = mg.judge(Reader(pairs(3), (str(file), "-")), "scripted:longer", out)
    assert [bad.row for bad in run.bad_rows()] == [4]
    assert [notice.kind for notice in run.notices()] == ["encoding"]
    assert run.manifest.bad_rows == 1
    known, pipe = run.manifest.inputs
    assert (known.name, known.bytes, known.format) == (str(file), 5, "invented")
    assert known.sha256 is not None
    assert known.sha256.startswith("5994471abb01112afcc1")
    assert (pipe.name, pipe.sha256, pipe.bytes) == ("-", None, None)


def test_strict_stops_at_a_bad_row_and_leaves_no_folder(out: Path) -> None:
    with pytest.raises(InputError, match=r"in.jsonl, row 4: no question.*--strict"):
        mg.judge(Reader(pairs(3)), "scripted:longer", out, strict=True)
    assert not out.exists()


def test_files_are_read_by_their_paths(out: Path, tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("question,answer1,answer2,model1,model2\nq,a,bb,A,B\nr,cc,d,A,B\n")
    for paths in (file, str(file), [file], (str(file),)):
        run = mg.judge(paths, "scripted:longer", out)
        assert [decision.preference for decision in run.decisions()] == ["second", "first"]
        assert [one.name for one in run.manifest.inputs] == [str(file)]


def test_the_manifest_says_how_the_input_was_read_and_what_was_asked(
    out: Path, tmp_path: Path
) -> None:
    answers, questions = tmp_path / "answers.jsonl", tmp_path / "questions.jsonl"
    questions.write_text('{"question_id": 7, "text": "why?"}\n')
    answers.write_text('{"question_id": 7, "text": "so", "model_id": "A", "answer_id": "x"}\n')
    reader = mg.read_samples(answers, questions=questions)
    judge_name = "scripted:longer#single"
    run = mg.judge(reader, judge_name, out, orders="given", limit=1, retry=("refused", "error"))
    manifest = run.manifest
    assert manifest.reading["format"] == reader.format
    assert manifest.reading["questions"] == str(questions)
    assert [one.name for one in manifest.inputs] == [str(answers), str(questions)]
    assert manifest.settings.retry == ("error", "refused")
    assert (manifest.settings.orders, manifest.settings.limit) == ("given", 1)


@pytest.mark.parametrize("samples", [[], Reader([])], ids=["none", "all bad"])
def test_nothing_to_judge_is_an_input_error(out: Path, samples: list[Sample]) -> None:
    with pytest.raises(InputError, match="the input holds no"):
        mg.judge(samples, "scripted:longer", out)
    assert not out.exists()


def test_an_unknown_judge_leaves_no_folder(out: Path) -> None:
    with pytest.raises(mg.MagistrateError, match="no judge 'nobody'"):
        mg.judge(pairs(1), "nobody", out)
    assert not out.exists()


def test_text_that_is_not_utf8_is_kept_unchanged(out: Path) -> None:
    sample = Sample(
        question="lone \ud800, NUL \0, line \u2028 separator, {braces}",
        answers=(Answer(text="\udfff"), Answer(text="")),
        meta={"none": None, "nested": {"x": [1, 2.5]}},
    )
    run = mg.judge([sample], "scripted:longer", out)
    assert list(run.samples()) == [sample]
    assert run.manifest.judgments["ok"] == 2
    assert mg.judge([sample], "scripted:longer", out).manifest.lines == 2
    assert mg.verify_run(out).ok


def test_the_order_and_repeats_asked_for_are_read(out: Path) -> None:
    run = mg.judge(pairs(2), "scripted:longer", out, orders="given", repeats=3)
    read = [(one.order, one.repeat) for one in run.judgments()]
    assert read == [((0, 1), repeat) for repeat in (0, 1, 2)] * 2
    assert run.manifest.readings == 6


@pytest.mark.parametrize(
    "wrong", [{"repeats": 0}, {"limit": 0}, {"orders": "all"}, {"retry": ["ok"]}], ids=str
)
def test_a_wrong_setting_is_an_error_that_names_it(out: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(mg.MagistrateError, match=next(iter(wrong))):
        mg.judge(pairs(1), "scripted:longer", out, **wrong)  # type: ignore[arg-type]
    assert not out.exists()


def test_a_file_in_the_way_is_a_run_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(RunError, match=r"a file is in the way.*--out"):
            mg.judge(pairs(1), "scripted:longer", out)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_judge_that_cannot_be_asked_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(mg.MagistrateError, match="OPENAI_API_KEY is not set"):
        mg.judge(pairs(1), "openai:m#pair", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_showing_a_changed_run_says_so(tmp_path: Path) -> None:
    run = mg.judge(pairs(2), "scripted:longer", tmp_path / "run")
    assert changed_since(run) is None
    with run.folder.judgments.open("ab") as file:
        file.write(run.folder.judgments.read_bytes().splitlines(keepends=True)[0])
    notice = changed_since(run)
    assert notice is not None
    assert "4 lines then, 5 now" in notice.message
