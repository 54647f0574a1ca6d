"""Every way to tamper with a run that verify must see, and repair."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import magistrate as mg
from magistrate.errors import RunDamagedError, RunError, RunLockedError
from magistrate.formats.base import Notice
from magistrate.ids import file_sha256
from magistrate.records import Answer, Sample
from magistrate.store.decisions import read_decisions
from magistrate.store.lock import RunLock
from magistrate.store.repair import repair_run
from magistrate.store.verify import MAX_FINDINGS

JUDGE = "scripted:longer"


def pairs(count: int) -> list[Sample]:
    return [
        Sample(question=f"q {i}", answers=(Answer(text="a" * i), Answer(text="bbb")))
        for i in range(count)
    ]


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A complete run of four samples."""
    return mg.judge(pairs(4), JUDGE, tmp_path / "run").path


def snapshot(path: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in path.iterdir()}


def test_a_sound_run_has_no_findings_and_verify_changes_nothing(out: Path) -> None:
    before = snapshot(out)
    report = mg.verify_run(out)
    assert report.ok
    assert (report.samples, report.judgments, report.missing, report.failures) == (4, 8, 0, 0)
    assert (report.findings, report.notes) == ((), ())
    assert snapshot(out) == before


def change(file: str, old: bytes, new: bytes) -> Callable[[Path], None]:
    def act(out: Path) -> None:
        content = (out / file).read_bytes()
        assert old in content
        (out / file).write_bytes(content.replace(old, new, 1))

    return act


def lines(change_lines: Callable[[list[bytes]], list[bytes]]) -> Callable[[Path], None]:
    def act(out: Path) -> None:
        path = out / "judgments.jsonl"
        path.write_bytes(b"".join(change_lines(path.read_bytes().splitlines(keepends=True))))

    return act


def in_line(number: int, **values: object) -> Callable[[Path], None]:
    def act(all_lines: list[bytes]) -> list[bytes]:
        changed = json.dumps({**json.loads(all_lines[number - 1]), **values}).encode() + b"\n"
        return [*all_lines[: number - 1], changed, *all_lines[number:]]

    return lines(act)


def in_manifest(**values: object) -> Callable[[Path], None]:
    def act(out: Path) -> None:
        path = out / "run.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **values}))

    return act


def into_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def change_decisions(out: Path) -> None:
    path = out / "decisions.parquet"
    metadata = pl.read_parquet_metadata(path)
    table = pl.read_parquet(path).with_columns(preference=pl.lit("tie"))
    table.write_parquet(
        path, metadata={key: value for key, value in metadata.items() if key != "ARROW:schema"}
    )


def tie_of_other_scores(all_lines: list[bytes]) -> list[bytes]:
    """Scores 8 and 5 are called a tie on one line and none on the others."""
    return [*all_lines[:2], all_lines[2].replace(b'"second"', b'"tie"'), *all_lines[3:]]


TAMPERING: dict[str, tuple[Callable[[Path], object], str]] = {
    "a question": (change("samples.jsonl", b"q 1", b"q 7"), "samples.jsonl: its SHA-256 is"),
    "a sample that is none": (
        change("samples.jsonl", b'"question"', b'"queston"'),
        "samples.jsonl, line 1: not a sample: question: is missing",
    ),
    "samples gone": (
        lambda out: (out / "samples.jsonl").unlink(),
        "samples.jsonl: the file is missing, and the run has 4 samples",
    ),
    "samples emptied": (
        lambda out: (out / "samples.jsonl").write_bytes(b""),
        "samples.jsonl: the file is empty, and the run has 4 samples",
    ),
    "samples a folder": (
        lambda out: into_a_folder(out / "samples.jsonl"),
        "samples.jsonl: a folder is in the place of the file, and the run has 4 samples",
    ),
    "judgments a folder": (
        lambda out: into_a_folder(out / "judgments.jsonl"),
        "judgments.jsonl: a folder is in the place of the file",
    ),
    "number of samples": (in_manifest(samples=5), "run.json: samples is 5, and 4 were found"),
    "number of readings": (in_manifest(readings=9), "run.json: readings is 9, and 8 were found"),
    "counts": (
        in_manifest(judgments={"ok": 7, "error": 1}),
        "run.json: judgments.ok is 7, and 8 were found",
    ),
    "lines": (in_manifest(lines=3), "run.json: lines is 3, and 8 were found"),
    "the judge": (
        change("run.json", b'"model": "longer"', b'"model": "first"'),
        "run.json: judge_id is",
    ),
    "the orders": (
        change("run.json", b'"orders": "both"', b'"orders": "given"'),
        "belongs to no sample, order and repeat",
    ),
    "a key": (
        in_line(3, key="0" * 24),
        "judgments.jsonl, line 3: key 000000000000000000000000 belongs to no sample",
    ),
    "the order": (in_line(3, order=[1, 0]), "line 3: key, sample_id, order and repeat do not"),
    "the repeat": (in_line(3, repeat=1), "line 3: key, sample_id, order and repeat do not"),
    "the sample": (in_line(3, sample_id="0" * 24), "line 3: key, sample_id, order and repeat do"),
    "the status": (in_line(2, status="fine"), "line 2: not a judgment: status: "),
    "a field": (in_line(2, verdict=1), "line 2: not a judgment: verdict: "),
    "half a line": (
        lines(lambda all_lines: [all_lines[0], all_lines[1][:40] + b"\n", *all_lines[2:]]),
        "judgments.jsonl, line 2: not a judgment: ",
    ),
    "zeros in the middle": (
        lines(lambda all_lines: [all_lines[0], bytes(40) + b"\n", *all_lines[2:]]),
        "judgments.jsonl, line 2: not a whole line, and whole lines follow",
    ),
    "a doubled line": (
        lines(lambda all_lines: [*all_lines, all_lines[0]]),
        "judgments.jsonl, line 9: key ",
    ),
    "a lost line": (lines(lambda all_lines: all_lines[1:]), "1 readings of a complete run are"),
    "no judgments": (
        lambda out: (out / "judgments.jsonl").unlink(),
        "8 readings of a complete run are missing",
    ),
    "a preference": (
        in_line(3, preference="first"),
        "line 3: preference is first, and by its scores 5 and 8 it is second",
    ),
    "a preference called a tie": (
        lines(tie_of_other_scores),
        "preference is tie for scores 5 and 8, and on line 1 a gap of 3 is none",
    ),
    "a tie called a preference": (
        in_line(7, preference="first", scores=[7, 7]),
        "line 7: preference is first, and by its scores 7 and 7 it is tie",
    ),
    "the scores": (
        in_line(3, scores=[9, 5]),
        "line 3: preference is second, and by its scores 9 and 5 it is first",
    ),
    "one score": (in_line(1, scores=[9]), "line 1: there are 1 scores for 2 answers"),
    "no verdict": (
        in_line(1, scores=None, preference=None),
        "line 1: status is ok, and there is no verdict",
    ),
    "the reasons": (in_line(2, reasons="bought"), "judgments.jsonl: its SHA-256 is"),
    "the cost": (in_line(2, cost=0.5), "judgments.jsonl: its SHA-256 is"),
    "the sequence of lines": (
        lines(lambda all_lines: all_lines[::-1]),
        "the file was changed after the last command had ended",
    ),
    "its hash": (
        in_manifest(judgments_sha256="0" * 64),
        "judgments.jsonl: its SHA-256 is",
    ),
    "a decision": (change_decisions, "decisions.parquet, line 1: not what the judgments give"),
}


@pytest.mark.parametrize(("tamper", "words"), TAMPERING.values(), ids=TAMPERING)
def test_what_was_tampered_with_is_found(
    out: Path, tamper: Callable[[Path], object], words: str
) -> None:
    tamper(out)
    report = mg.verify_run(out)
    assert not report.ok
    assert words in "\n".join(map(str, report.findings))
    assert report.findings_count == len(report.findings)


@pytest.mark.parametrize("name", ["samples.jsonl", "judgments.jsonl"])
def test_a_file_that_cannot_be_read_is_one_finding_and_not_one_a_line(out: Path, name: str) -> None:
    into_a_folder(out / name)
    report = mg.verify_run(out)
    assert [finding.file for finding in report.findings] == [name]


def test_the_same_judge_under_another_name_is_the_same_judge(tmp_path: Path) -> None:
    out = tmp_path / "run"
    mg.judge(pairs(2), "scripted:longer,delay=0.001", out)
    run = mg.judge(pairs(5), JUDGE, out)
    assert {one.judge for one in run.judgments()} == {JUDGE, "scripted:longer,delay=0.001"}
    report = mg.verify_run(out)
    assert report.findings == ()
    (note,) = report.notes
    assert note == (
        "judgments.jsonl: 6 lines call the judge 'scripted:longer' where run.json has "
        "'scripted:longer,delay=0.001'; their keys say that it is the same judge"
    )


def test_many_findings_are_counted_and_some_are_listed(tmp_path: Path) -> None:
    out = mg.judge(pairs(MAX_FINDINGS), JUDGE, tmp_path / "run").path
    change("run.json", b'"model": "longer"', b'"model": "first"')(out)
    (out / "judgments.jsonl").write_bytes(b"{}\n" * (MAX_FINDINGS + 5))
    report = mg.verify_run(out)
    assert len(report.findings) == MAX_FINDINGS
    assert report.findings_count > MAX_FINDINGS + 5


def test_what_a_kill_leaves_is_noted_and_not_held_against_the_run(out: Path) -> None:
    content = (out / "judgments.jsonl").read_bytes()
    (out / "judgments.jsonl").write_bytes(content[:-9])
    in_manifest(state="running", judgments={}, lines=0, judgments_sha256=None)(out)
    report = mg.verify_run(out)
    assert report.ok
    assert (report.judgments, report.missing) == (7, 1)
    assert any("line 8: half written" in note for note in report.notes)
    assert any("a process is at work" in note for note in report.notes)
    assert any("decisions.parquet is older" in note for note in report.notes)


def test_failures_are_counted_and_no_finding(tmp_path: Path) -> None:
    run = mg.judge(pairs(30), "scripted:longer,fail=0.3", tmp_path / "run")
    report = mg.verify_run(run.path)
    assert report.ok
    assert report.failures == run.manifest.judgments["error"] > 0


def test_a_folder_that_is_no_run_cannot_be_verified(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run folder"):
        mg.verify_run(tmp_path)


def test_repair_moves_damaged_lines_and_the_next_call_judges_them_anew(out: Path) -> None:
    whole = (out / "judgments.jsonl").read_bytes()
    all_lines = whole.splitlines(keepends=True)
    broken = [*all_lines[:2], b'{"key":\n', *all_lines[3:5], bytes(30) + b"\n", *all_lines[6:]]
    (out / "judgments.jsonl").write_bytes(b"".join(broken))
    with pytest.raises(RunDamagedError, match=r"line 3.*--repair"):
        mg.judge(pairs(4), JUDGE, out)

    assert repair_run(out) == 2
    assert (out / "judgments.damaged.jsonl").read_bytes() == b'{"key":\n' + bytes(30) + b"\n"
    report = mg.verify_run(out)
    assert report.ok
    assert report.missing == 2
    assert mg.open_run(out).manifest.state == "stopped"

    mg.judge(pairs(4), JUDGE, out)
    made = (out / "judgments.jsonl").read_bytes().splitlines(keepends=True)
    assert sorted(made) == sorted(all_lines)
    assert mg.verify_run(out).ok


def test_repair_of_a_sound_run_changes_nothing(out: Path) -> None:
    before = snapshot(out)
    assert repair_run(out) == 0
    assert snapshot(out) == before


def test_repair_waits_for_no_one(out: Path) -> None:
    with RunLock(out), pytest.raises(RunLockedError):
        repair_run(out)


def test_a_run_is_sealed_when_its_process_ends_and_only_then(tmp_path: Path) -> None:
    seals: list[str | None] = []

    def look(progress: mg.Progress) -> None:
        seals.append(json.loads((tmp_path / "run/run.json").read_bytes())["judgments_sha256"])

    run = mg.judge(pairs(3), JUDGE, tmp_path / "run", on_progress=look)
    assert run.manifest.judgments_sha256 == file_sha256(run.folder.judgments)
    grown = mg.judge(pairs(5), JUDGE, tmp_path / "run", on_progress=look)
    assert grown.manifest.judgments_sha256 == file_sha256(run.folder.judgments)
    assert set(seals) == {None}, "while a process is at work there is no hash to trust"
    assert next(iter(grown.notices())).kind == "input-grew"


def test_a_resume_says_that_the_judgments_were_changed_and_run_json_remembers(out: Path) -> None:
    turned = in_line(3, preference="first", scores=[8, 5])
    turned(out)  # sound in itself: the hash alone tells
    assert [str(finding)[:30] for finding in mg.verify_run(out).findings] == [
        "judgments.jsonl: its SHA-256 i"
    ]
    told: list[Notice] = []
    run = mg.judge(pairs(4), JUDGE, out, on_notice=told.append)
    assert [notice.kind for notice in told] == ["judgments-changed"]
    assert "as many lines, but another SHA-256" in told[0].message
    assert list(run.notices()) == told
    assert len(run.manifest.judgments_changed) == 1

    again = mg.judge(pairs(4), JUDGE, out)
    assert list(again.notices()) == []
    assert again.manifest.judgments_changed == run.manifest.judgments_changed
    report = mg.verify_run(out)
    assert not report.ok, "going on with a changed file does not make it sound"
    assert ["a resume found it changed" in str(finding) for finding in report.findings] == [True]
    fresh = mg.judge(pairs(4), JUDGE, out, start_over=True)
    assert mg.verify_run(fresh.path).ok


def test_decisions_follow_judgments_that_were_changed(out: Path) -> None:
    in_line(3, preference="first", scores=[8, 5])(out)
    run = mg.judge(pairs(4), JUDGE, out)
    assert list(read_decisions(run.folder.decisions)) == list(run.decisions())


def test_a_run_of_before_there_were_hashes_is_sound_and_gets_one(out: Path) -> None:
    path = out / "run.json"
    values = json.loads(path.read_text())
    for later in ("judgments_sha256", "judgments_changed", "judgments_repaired"):
        del values[later]
    path.write_text(json.dumps(values))
    assert mg.verify_run(out).ok
    run = mg.judge(pairs(4), JUDGE, out)
    assert list(run.notices()) == []
    assert run.manifest.judgments_sha256 == file_sha256(run.folder.judgments)


def test_a_repair_is_remembered(out: Path) -> None:
    lines(lambda all_lines: [*all_lines[:2], b"{}\n", *all_lines[3:]])(out)
    repair_run(out)
    assert len(mg.open_run(out).manifest.judgments_repaired) == 1
    assert "made good for them" in "\n".join(mg.verify_run(out).notes)
    mg.judge(pairs(4), JUDGE, out)
    assert mg.verify_run(out).ok, "what was damaged was judged again"
