"""How evaluate, compare and report find what they are given: judges in one file, labels, typos."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import magistrate as mg
from magistrate.cli.main import main

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, repo: Path) -> Path:
    """A run, a file with the judgments of two judges, and labels with bad rows."""
    folder = tmp_path_factory.mktemp("sources")
    pairs = list(mg.read_samples(repo / "examples" / "pairs.jsonl"))
    lines = []
    for name in ("longer", "first"):
        mg.judge(pairs, f"scripted:{name}", folder / "runs" / name)
        lines.append((folder / "runs" / name / "judgments.jsonl").read_text())
    (folder / "both.jsonl").write_text("".join(lines))
    good = (repo / "examples" / "pairs.jsonl").read_text()
    (folder / "labels.jsonl").write_text(good + '{"question": "cut off\n[1, 2]\n')
    (folder / "broken.jsonl").write_text((repo / "examples" / "broken.jsonl").read_text())
    return folder


@pytest.fixture
def call(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(folder)
    # Messages are wrapped to the terminal's width.
    monkeypatch.setenv("COLUMNS", "400")

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


JUDGES = ("--judge", "scripted:longer", "--judge", "scripted:first")
OF_BOTH = (*JUDGES, "--labels", "labels.jsonl", "--format", "magistrate-judgments")


def test_two_judges_of_one_file_are_compared(call: Call) -> None:
    code, out, err = call("compare", "both.jsonl", "both.jsonl", *OF_BOTH, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert [judge["name"] for judge in found["judges"]] == ["scripted:longer", "scripted:first"]
    of_runs = json.loads(call("compare", "runs/longer", "runs/first", "--json")[1])
    names = ("decisive", "three_class", "consistency")
    for name in names:
        assert found["comparisons"][0][name] == of_runs["comparisons"][0][name]
    assert found["comparisons"][0]["decisive"]["n"] == 23


def test_two_judges_of_one_file_are_reported(call: Call) -> None:
    options = (*OF_BOTH, "-o", "two.html", "--json")
    code, out, err = call("report", "both.jsonl", "both.jsonl", *options)
    assert code == 0, err
    runs: list[dict[str, Any]] = json.loads(out)["runs"]
    assert [run["name"] for run in runs] == ["scripted:longer", "scripted:first"]
    assert "scripted:first" in Path("two.html").read_text()


@pytest.mark.parametrize("command", ["compare", "report"])
def test_a_file_of_several_judges_asks_for_one_and_counts_them(call: Call, command: str) -> None:
    more = ("-o", "never.html") if command == "report" else ()
    code, _, err = call(command, "both.jsonl", "both.jsonl", *more)
    assert code == 2
    assert "choose one with --judge: scripted:longer, scripted:first" in err
    three = (*JUDGES, "--judge", "scripted:longer")
    code, _, err = call(command, "both.jsonl", "both.jsonl", *more, *three)
    assert code == 2
    assert "--judge is given 3 times for 2 runs or files" in err
    code, _, err = call(command, "both.jsonl", "both.jsonl", *more, "--format", "jugdelm")
    assert code == 2
    assert "jugdelm" in err
    assert not Path("never.html").exists()


@pytest.mark.parametrize("command", ["evaluate", "compare", "report"])
def test_a_run_that_is_not_there_brings_the_near_ones(call: Call, command: str) -> None:
    others = ("runs/longer",) if command != "evaluate" else ()
    code, _, err = call(command, "runs/frist", *others)
    assert code == 2
    assert "runs/frist" in err
    assert "did you mean runs/first?" in err


@pytest.mark.parametrize("command", ["evaluate", "compare"])
def test_bad_rows_of_the_labels_are_told_once(call: Call, command: str) -> None:
    runs = ["runs/longer", "runs/first"][: 1 if command == "evaluate" else 2]
    code, out, err = call(command, *runs, "--labels", "labels.jsonl", "--json")
    assert code == 0
    found = json.loads(out)
    assert (found["bad_rows"], [row["row"] for row in found["bad"]]) == (2, [27, 28])
    assert "2 bad rows could not be used" in err
    assert err.count("row 27") == 1


def test_labels_of_which_none_matches_are_not_the_lack_of_labels(call: Call) -> None:
    labels = ("--labels", "broken.jsonl")
    _, out, err = call("evaluate", "runs/longer", *labels)
    assert "7 labelled samples; matched: none, so nothing is measured" in out
    assert "7 labelled samples of which nothing was judged" in out
    assert "8 labelled" not in out
    assert "not one of its 7 labelled samples is of what was judged" in err
    assert "4 bad rows could not be used" in err
    assert "not one of its 7 labelled samples" in call(
        "compare", "runs/longer", "runs/first", *labels
    )[2]  # fmt: skip
    code, out, _ = call("report", "runs/longer", *labels, "-o", "broken.html")
    assert code == 0
    assert "No label of the file is of these pairs" in out
    page = Path("broken.html").read_text()
    assert "Nobody labelled" not in page
    assert "4 rows of the input could not be used" in page
