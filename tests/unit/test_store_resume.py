"""Whether a folder's run can go on with what is asked now, and what is said when it cannot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from judging_help import word_judge

import magistrate as mg
from magistrate.errors import EngineError, RunDamagedError, RunError, RunMismatchError
from magistrate.formats.base import Notice
from magistrate.messages import Completion
from magistrate.records import Answer, Gold, Sample
from magistrate.store.folder import RunFolder, default_folder

JUDGE = "scripted:longer"


def pairs(count: int) -> list[Sample]:
    return [
        Sample(question=f"q {i}", answers=(Answer(text="a" * i), Answer(text="bbb")))
        for i in range(count)
    ]


def contents(path: Path) -> dict[str, bytes]:
    return {entry.name: entry.read_bytes() for entry in path.iterdir() if entry.name != ".lock"}


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A complete run of three samples."""
    return mg.judge(pairs(3), JUDGE, tmp_path / "run").path


OTHERS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "judge": (
        {"judge": "scripted:shorter"},
        [
            "judge.name: the run has 'scripted:longer', now 'scripted:shorter'",
            "judge.model: the run has 'longer', now 'shorter'",
        ],
    ),
    "a setting of the judge": (
        {"judge": "scripted:longer,fail=0.5"},
        ["judge.settings.fail: the run has None, now 0.5"],
    ),
    "orders": ({"orders": "given"}, ["orders: the run has 'both', now 'given'"]),
    "repeats": ({"repeats": 2}, ["repeats: the run has 1, now 2"]),
    "a question": (
        {"samples": [*pairs(2), pairs(3)[2].model_copy(update={"question": "other"})]},
        ["input: sample 3: question is 'q 2' in the run, 'other' in the input"],
    ),
    "an answer": (
        {"samples": [Sample(question="q 0", answers=(Answer(text="a"), Answer(text="bbb")))]},
        ["input: sample 1: answers is ['', 'bbb'] in the run, ['a', 'bbb'] in the input"],
    ),
    "the sequence": (
        {"samples": pairs(3)[::-1]},
        ["input: sample 1: question is 'q 0' in the run, 'q 2' in the input"],
    ),
    "fewer samples": ({"samples": pairs(2)}, ["input: the run has 3 samples, the input has 2"]),
    "all of it": (
        {"judge": "scripted:tie", "orders": "given", "repeats": 3, "samples": pairs(5)[1:]},
        ["judge.model", "orders:", "repeats:", "input: sample 1: question is 'q 0' in the run"],
    ),
}


@pytest.mark.parametrize(("other", "named"), OTHERS.values(), ids=OTHERS)
def test_another_run_is_refused_with_every_difference_and_ways_out(
    out: Path, other: dict[str, Any], named: list[str]
) -> None:
    before = contents(out)
    with pytest.raises(RunMismatchError) as caught:
        mg.judge(**{"samples": pairs(3), "judge": JUDGE, "out": out, **other})
    message = str(caught.value)
    for words in (str(out), "6 judgments of 'scripted:longer'", "--out", "--start-over", *named):
        assert words in message
    assert contents(out) == before


def test_a_limit_below_what_the_run_has_is_told_as_that(out: Path) -> None:
    before = contents(out)
    with pytest.raises(RunMismatchError, match="has 3 samples, and --limit 1 asks for fewer"):
        mg.judge(pairs(3), JUDGE, out, limit=1)
    with pytest.raises(RunMismatchError, match="holds another run"):
        mg.judge(pairs(3), "scripted:tie", out, limit=1)
    assert contents(out) == before


def test_a_run_without_judgments_is_taken_over_by_another_judge(tmp_path: Path) -> None:
    out = tmp_path / "run"
    judge, engine = word_judge()
    engine.complete = stops  # type: ignore[method-assign]
    with pytest.raises(EngineError):
        mg.judge(pairs(3), judge, out)
    notices: list[str] = []
    run = mg.judge(pairs(2), JUDGE, out, on_notice=lambda notice: notices.append(notice.message))
    assert run.manifest.judge.name == JUDGE
    assert run.manifest.samples == 2
    assert any("in which nothing was judged" in notice for notice in notices)
    assert mg.verify_run(out).ok


def stops(requests: Any) -> Iterator[Completion]:
    raise EngineError("no power")


def test_more_samples_of_another_judge_are_not_taken_over(out: Path) -> None:
    before = contents(out)
    with pytest.raises(RunMismatchError) as caught:
        mg.judge(pairs(5), "scripted:tie", out)
    assert "input:" not in str(caught.value)
    assert contents(out) == before


def test_a_higher_limit_or_a_longer_file_goes_on_in_the_same_folder(tmp_path: Path) -> None:
    out = tmp_path / "run"
    mg.judge(pairs(9), JUDGE, out, limit=2)
    mg.judge(pairs(9), JUDGE, out, limit=5)
    grown = mg.judge(pairs(9), JUDGE, out)
    whole = mg.judge(pairs(9), JUDGE, tmp_path / "whole")
    for name in ("samples.jsonl", "judgments.jsonl"):
        assert (out / name).read_bytes() == (whole.path / name).read_bytes()
    assert list(grown.decisions()) == list(whole.decisions())
    assert grown.manifest.samples_sha256 == whole.manifest.samples_sha256
    assert grown.manifest.settings.limit is None
    assert mg.verify_run(out).ok


def relabelled(samples: list[Sample]) -> list[Sample]:
    changed = samples[1].model_copy(
        update={
            "gold": (Gold(preference="tie"),),
            "answers": tuple(
                answer.model_copy(update={"model": "new"}) for answer in samples[1].answers
            ),
        }
    )
    return [samples[0], changed, *samples[2:]]


def test_changed_labels_and_names_are_taken_over_and_nothing_is_judged_again(out: Path) -> None:
    judgments = (out / "judgments.jsonl").read_bytes()
    told: list[Notice] = []
    run = mg.judge(relabelled(pairs(4)), JUDGE, out, on_notice=told.append)
    assert [notice.kind for notice in told] == ["input-grew", "input-changed"]
    assert told[0].message.startswith("1 samples were added")
    assert told[1].message.startswith("1 samples have other labels, model names or notes")
    assert list(run.notices()) == told
    assert list(run.samples()) == relabelled(pairs(4))
    assert (out / "judgments.jsonl").read_bytes().startswith(judgments)
    assert run.manifest.lines == 8
    decided = {decision.row: decision.sample_id for decision in run.decisions()}
    assert decided[1] == relabelled(pairs(4))[1].id
    assert mg.verify_run(out).ok

    again: list[Notice] = []
    mg.judge(relabelled(pairs(4)), JUDGE, out, on_notice=again.append)
    assert again == []


def test_growth_that_was_cut_short_before_the_manifest_is_mended(out: Path) -> None:
    manifest = (out / "run.json").read_bytes()
    mg.judge(pairs(5), JUDGE, out)
    (out / "run.json").write_bytes(manifest)
    assert not mg.verify_run(out).ok
    assert mg.judge(pairs(5), JUDGE, out).manifest.lines == 10
    assert mg.verify_run(out).ok


def test_start_over_moves_what_is_there_beside_it(out: Path) -> None:
    before = contents(out)
    for time in (1, 2):
        fresh = mg.judge(pairs(2), "scripted:tie", out, start_over=True)
        assert fresh.manifest.judged == 4
        aside = sorted(out.parent.glob("run.before-*"))
        assert len(aside) == time
    assert contents(aside[0]) == before
    assert mg.verify_run(aside[0]).ok


def test_start_over_in_a_new_folder_just_begins(tmp_path: Path) -> None:
    assert mg.judge(pairs(1), JUDGE, tmp_path / "new", start_over=True).manifest.judged == 2
    assert [entry.name for entry in tmp_path.iterdir()] == ["new"]


def test_samples_changed_behind_the_run_are_damage(out: Path) -> None:
    file = out / "samples.jsonl"
    file.write_bytes(file.read_bytes().replace(b"q 1", b"q 9"))
    with pytest.raises(RunDamagedError, match="it was changed after the run began"):
        mg.judge(pairs(3), JUDGE, out)


def folder_instead(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGED: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "deleted": ("samples.jsonl", Path.unlink, "samples.jsonl is missing; restore it"),
    "emptied": (
        "samples.jsonl",
        lambda path: path.write_bytes(b""),
        "samples.jsonl is empty, and the run has 3; restore it",
    ),
    "cut": (
        "samples.jsonl",
        lambda path: path.write_bytes(path.read_bytes().splitlines(keepends=True)[0]),
        "samples.jsonl holds 1 samples, and the run has 3; restore it",
    ),
    "a folder": ("samples.jsonl", folder_instead, "it is a folder, not a file; restore it"),
    "judgments": ("judgments.jsonl", folder_instead, "it is a folder, not a file; restore it"),
    "bad rows": ("bad_rows.jsonl", Path.mkdir, "it is a folder, not a file; restore it"),
}


@pytest.mark.parametrize(("name", "damage", "words"), DAMAGED.values(), ids=DAMAGED)
def test_a_file_that_is_lost_or_in_the_way_is_damage_and_says_how_to_mend_it(
    out: Path, name: str, damage: Callable[[Path], object], words: str
) -> None:
    damage(out / name)
    before = {entry.name: entry.is_dir() or entry.read_bytes() for entry in out.iterdir()}

    def look() -> None:
        run = mg.open_run(out)
        mg.summarise(run)
        list(run.bad_rows())

    acts: list[Callable[[], object]] = [look]
    if name != "bad_rows.jsonl":
        acts.append(lambda: mg.judge(pairs(3), JUDGE, out))
    if name == "samples.jsonl":
        acts.append(lambda: mg.judge(pairs(5), JUDGE, out))
    for act in acts:
        with pytest.raises(RunDamagedError, match=words) as caught:
            act()
        assert str(out / name) in str(caught.value)
        for way in ("--out", "--start-over"):
            assert way in str(caught.value)
    after = {entry.name: entry.is_dir() or entry.read_bytes() for entry in out.iterdir()}
    assert after == before


def test_start_over_mends_a_run_that_lost_its_samples(out: Path) -> None:
    folder_instead(out / "samples.jsonl")
    assert mg.judge(pairs(3), JUDGE, out, start_over=True).manifest.judged == 6
    assert mg.verify_run(out).ok


def test_the_manifest_of_a_killed_run_is_brought_up_to_date(out: Path, tmp_path: Path) -> None:
    manifest = mg.open_run(out).manifest
    stale = manifest.model_copy(update={"state": "running", "judgments": {}, "lines": 0})
    (out / "run.json").write_text(stale.model_dump_json())
    assert mg.judge(pairs(3), JUDGE, out).manifest.judgments == manifest.judgments


@pytest.mark.parametrize("left", [(), ("samples.jsonl",), (".samples.jsonl.new", ".lock")])
def test_a_begin_that_was_cut_short_begins_anew(tmp_path: Path, left: tuple[str, ...]) -> None:
    out = tmp_path / "run"
    out.mkdir()
    for name in left:
        (out / name).write_text("cut")
    assert mg.judge(pairs(2), JUDGE, out).manifest.judged == 4
    assert mg.verify_run(out).ok
    assert not (out / ".samples.jsonl.new").exists()


def test_a_folder_of_other_things_is_not_touched(tmp_path: Path) -> None:
    for name in ("thesis.tex", "notes.md", "b", "a"):
        (tmp_path / name).write_text("mine")
    with pytest.raises(RunError, match=r"not a run folder and not empty \(it holds a, b, notes"):
        mg.judge(pairs(1), JUDGE, tmp_path)
    assert set(contents(tmp_path)) == {"thesis.tex", "notes.md", "b", "a"}


def test_judgments_without_their_manifest_are_damage(out: Path) -> None:
    (out / "run.json").unlink()
    with pytest.raises(RunDamagedError, match=r"judgments but no run\.json"):
        mg.judge(pairs(3), JUDGE, out)


def test_opening_what_is_no_run_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path, tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(RunError, match="is not a"):
            mg.open_run(path)


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        ("{", RunDamagedError, "is not JSON"),
        ("[]", RunDamagedError, "run.json: "),
        ('{"format_version": 1}', RunDamagedError, "tool_version: is missing"),
        ('{"format_version": 2, "new": 1}', RunError, "format version 2.*update magistrate"),
    ],
)
def test_a_manifest_that_cannot_be_read_says_why(
    out: Path, content: str, kind: type[RunError], words: str
) -> None:
    (out / "run.json").write_text(content)
    for act in (lambda: mg.open_run(out), lambda: mg.judge(pairs(3), JUDGE, out)):
        with pytest.raises(kind, match=words) as caught:
            act()
        assert type(caught.value) is kind


def test_default_folders_are_fit_for_any_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("../up", "openai:local@http://127.0.0.1:8080/v1#pair", "...", "x" * 500):
        path = default_folder(name)
        assert path.parent == Path("runs")
        assert len(path.name) < 100
        assert not set(path.name) & set('/\\:*?"<>|#@')
        assert not path.name.startswith(".")


def test_own_files_are_all_there_is(out: Path) -> None:
    known = {path.name for path in RunFolder(out).own_files()} | {".lock"}
    assert {entry.name for entry in out.iterdir()} <= known
