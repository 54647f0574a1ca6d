"""Commands called in this process: results, notes, exit codes."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from magistrate.cli.exits import EXIT_CODES
from magistrate.cli.main import main
from magistrate.cli.options import read_columns

JUDGE = ("judge", "examples/pairs.jsonl", "--judge", "scripted:longer", "--out", "runs/a")


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def call(
    tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Return a function that runs a command in a folder of its own, which holds the examples."""
    shutil.copytree(repo / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: str) -> Outcome:
        code = main(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


def test_version_and_help(call: Any) -> None:
    assert call("--version").out.startswith("magistrate ")
    alone = call()
    assert alone.code == 0
    assert alone.out == call("--help").out
    assert "judge" in alone.out


def test_judge_prints_the_table_and_where_to_look(call: Any) -> None:
    outcome = call(*JUDGE)
    assert outcome.code == 0
    assert "scripted:longer judged 26 of 26 samples from examples/pairs.jsonl" in outcome.out
    assert "win rate" in outcome.out
    assert "longer wins" in outcome.out
    assert "Run folder: runs/a" in outcome.err
    assert "magistrate runs show runs/a" in outcome.err
    assert "\x1b" not in outcome.out + outcome.err
    assert all(line == line.rstrip() for line in outcome.out.splitlines())


def test_the_same_command_again_judges_nothing_twice(call: Any) -> None:
    first = call(*JUDGE, "--json").json
    assert (first["already_judged"], first["judged_now"]) == (0, 52)
    again = call(*JUDGE)
    assert "52 readings of 52 already judged; nothing left to do" in again.err
    third = call(*JUDGE, "--json").json
    assert (third["already_judged"], third["judged_now"]) == (52, 0)
    assert third["models"] == first["models"]


def test_limit_can_be_raised_and_only_the_rest_is_judged(call: Any) -> None:
    assert call(*JUDGE, "--limit", "10", "--json").json["judged_now"] == 20
    grown = call(*JUDGE, "--json").json
    assert (grown["already_judged"], grown["judged_now"], grown["samples"]) == (20, 32, 26)


def test_one_order_repeats_and_both_orders(call: Any) -> None:
    given = call(*JUDGE, "--order", "given", "--repeat", "3", "--json").json
    assert given["judgments"]["ok"] == 26 * 3
    assert given["consistency"]["basis"] == "not measured"
    first = call(*JUDGE[:3], "scripted:first", "--out", "runs/b", "--json").json
    assert first["consistency"]["toward_first"]["value"] == 1.0
    assert {model["wins"] for model in first["models"]} == {0}


def test_another_judge_into_the_same_run_is_refused(call: Any) -> None:
    call(*JUDGE)
    outcome = call(*JUDGE[:3], "scripted:first", "--out", "runs/a")
    assert outcome.code == 4
    assert "runs/a" in outcome.err
    assert "Traceback" not in outcome.err
    assert call(*JUDGE[:3], "scripted:first", "--out", "runs/a", "--start-over").code == 0


def test_bad_rows_are_told_and_listed_and_the_rest_is_judged(call: Any) -> None:
    outcome = call(
        "judge", "examples/broken.jsonl", "--judge", "scripted:longer", "--out", "runs/b"
    )
    assert outcome.code == 0
    assert "4 bad rows could not be used" in outcome.err
    assert "examples/broken.jsonl, row 2: cut off" in outcome.err
    assert "all are listed in runs/b/bad_rows.jsonl" in outcome.err
    assert len(Path("runs/b/bad_rows.jsonl").read_text().splitlines()) == 4
    assert "the sample has 1 answer" in outcome.out
    view = call("runs", "show", "runs/b", "--json").json
    assert [row["row"] for row in view["bad"]] == [2, 4, 5, 6]
    assert view["not_ok"]["value"] == pytest.approx(1 / 8)


def test_strict_stops_at_the_first_bad_row_and_leaves_no_run(call: Any) -> None:
    outcome = call(*("judge", "examples/broken.jsonl", "--judge", "scripted:longer"), "--strict")
    assert outcome.code == 2
    assert "row 2" in outcome.err
    assert outcome.out == ""
    assert not list(Path().glob("runs/*"))


def test_nothing_judged_is_exit_code_5_with_the_reasons(call: Any) -> None:
    outcome = call(*JUDGE[:3], "scripted:fail", "--out", "runs/f")
    assert outcome.code == 5
    assert "52 readings error: the scripted engine was told to fail" in outcome.out
    view = call(*JUDGE[:3], "scripted:fail", "--out", "runs/f", "--json")
    assert (view.code, view.json["decisions"]["ok"], view.json["models"]) == (5, 0, [])
    assert "error" not in view.json


def test_some_failures_are_counted_and_exit_code_0(call: Any) -> None:
    outcome = call(*JUDGE[:3], "scripted:longer,nonsense=0.3", "--out", "runs/n")
    assert outcome.code == 0
    assert "unparsed" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "code", "kind"),
    [
        (("judge", "nope.jsonl"), 2, "InputError"),
        (("judge", "examples/README.md"), 2, "InputError"),
        (("judge", "examples/pairs.jsonl", "--judge", "nope"), 3, "JudgeNotFoundError"),
        (("judge", "examples/pairs.jsonl", "--judge", "scripted:longer#nope"), 3, "FamilyError"),
        (("judge", "examples/pairs.jsonl", "--columns", "question"), 2, "UsageError"),
        (("judge", "examples/pairs.jsonl", "--order", "sideways"), 2, "UsageError"),
        (("judge",), 2, "UsageError"),
        (("nonsense",), 2, "UsageError"),
        (("inspect", "examples/pairs.jsonl", "--format", "nope"), 2, "FormatError"),
        (("convert", "examples/pairs.jsonl", "out.x"), 2, "FormatError"),
        (("convert", "examples/pairs.jsonl", "-", "--to", "csv"), 2, "UsageError"),
        (("runs", "show", "nope"), 4, "RunError"),
        (("runs", "verify", "examples"), 4, "RunError"),
        (("judges", "show", "nope"), 3, "JudgeNotFoundError"),
        (("families", "show", "nope"), 3, "FamilyError"),
    ],
)
def test_mistakes_get_one_message_and_a_documented_code(
    call: Any, arguments: tuple[str, ...], code: int, kind: str
) -> None:
    as_json = call(*arguments, "--json")
    assert as_json.code == code
    assert code in EXIT_CODES
    error = as_json.json["error"]
    assert (error["type"], error["exit_code"]) == (kind, code)
    assert error["message"]
    assert "Traceback" not in as_json.err
    if arguments[-1] != "csv":  # alone, that is a sound command
        plain = call(*arguments)
        assert (plain.code, plain.out) == (code, "")
        assert error["message"].split(";")[0][:60] in plain.err


def test_debug_shows_where_in_the_program(call: Any) -> None:
    outcome = call("--debug", "judge", "nope.jsonl")
    assert outcome.code == 2
    assert "Traceback" in outcome.err
    assert call("judge", "nope.jsonl", "--debug").err == outcome.err


def test_what_nobody_foresaw_is_exit_code_1_without_traceback(
    call: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("magistrate.formats.inspect.inspect_files", broken)
    outcome = call("inspect", "examples/pairs.jsonl", "--json")
    assert outcome.code == 1
    assert outcome.json["error"]["type"] == "ZeroDivisionError"
    assert "--debug" in outcome.err
    assert "Traceback" not in outcome.err


def test_text_from_data_cannot_control_the_terminal(call: Any) -> None:
    row = {
        "question": "?",
        "answer1": "a",
        "answer2": "b",
        "model1": "\x1b[31mred",
        "model2": "[b]x",
    }
    Path("evil\x1b[2J.jsonl").write_text(json.dumps(row) + "\n{\n")
    outcome = call("judge", "evil\x1b[2J.jsonl", "--judge", "scripted:longer", "--out", "runs/e")
    assert outcome.code == 0
    assert "\x1b" not in outcome.out + outcome.err
    assert "[b]x" in outcome.out
    for command in (("inspect", "evil\x1b[2J.jsonl"), ("runs", "list"), ("runs", "show", "runs/e")):
        outcome = call(*command)
        assert "\x1b" not in outcome.out + outcome.err


def test_inspect_shows_what_was_understood(call: Any) -> None:
    outcome = call("inspect", "examples/broken.jsonl")
    assert outcome.code == 0
    assert "table (json lines)" in outcome.out
    assert "12, of which bad: 4" in outcome.out
    assert "row 4: answer1 is null" in outcome.out
    view = call("inspect", "examples/pairs.csv", "--json").json
    assert (view["format"], view["rows"], view["samples"]) == ("table", 13, 13)
    assert view["labels"] == {"first": 7, "second": 4, "tie": 2, "none": 0}
    assert view["models"] == {"alder": 9, "birch": 9, "cedar": 8}


def test_inspect_says_what_questions_are_good_for(call: Any) -> None:
    row = {"question_id": 1, "category": "c", "turns": ["Why?"]}
    Path("questions.jsonl").write_text(json.dumps(row))
    outcome = call("inspect", "questions.jsonl")
    assert outcome.code == 0
    assert "magistrate inspect ANSWERS --questions questions.jsonl" in outcome.out
    view = call("inspect", "questions.jsonl", "--json").json
    assert [notice["kind"] for notice in view["notices"]] == ["questions-alone"]
    answers = {"question_id": 1, "model_id": "m", "choices": [{"turns": ["Because."]}]}
    Path("answers.jsonl").write_text(json.dumps(answers))
    by_id = call("inspect", "answers.jsonl", "--json").json
    assert [notice["kind"] for notice in by_id["notices"]] == ["no-question"]
    whole = call("inspect", "answers.jsonl", "--questions", "questions.jsonl", "--json").json
    assert (whole["samples"], whole["notices"]) == (1, [])


def test_inspect_keeps_named_labels_apart_from_counts(call: Any) -> None:
    out = call("inspect", "examples/broken.jsonl").out
    assert "named labels     '1' of 1 sample" in out
    assert "classes" not in out


def test_two_files_of_answers_are_joined(call: Any) -> None:
    files = ("examples/outputs/alder.json", "examples/outputs/birch.json")
    assert call("inspect", *files, "--json").json["joined"] == "pairs"
    view = call("judge", *files, "--judge", "scripted:longer", "--out", "runs/o", "--json").json
    assert (view["samples"], [m["model"] for m in view["models"]]) == (10, ["alder", "birch"])


def test_convert_there_and_back_keeps_the_samples(call: Any) -> None:
    outcome = call("convert", "examples/pairs.jsonl", "pairs.csv", "--json")
    assert (outcome.code, outcome.json["written"], outcome.json["to"]) == (0, 26, "csv")
    there = call("inspect", "examples/pairs.jsonl", "--json").json
    back = call("inspect", "pairs.csv", "--json").json
    same = ("samples", "labels", "models", "categories", "answer_characters")
    assert {key: back[key] for key in same} == {key: there[key] for key in same}


def test_convert_says_what_got_lost(call: Any) -> None:
    outcome = call("convert", "examples/pairs.jsonl", "pairs.jsonl", "--to", "judgelm")
    assert outcome.out == ""
    assert "has no place for" in outcome.err
    assert "26 samples written to pairs.jsonl as judgelm" in outcome.err


def test_a_folder_of_mt_bench_is_written_inspected_and_judged(call: Any) -> None:
    assert call("convert", "examples/pairs.jsonl", "bench", "--to", "mt-bench").code == 0
    there = call("inspect", "examples/pairs.jsonl", "--json").json
    back = call("inspect", "bench", "--json").json
    same = ("samples", "labels", "models", "categories", "answer_characters", "empty_answers")
    assert {key: back[key] for key in same} == {key: there[key] for key in same}
    view = call("judge", "bench", "--judge", "scripted:longer", "--out", "runs/b", "--json").json
    direct = call(*JUDGE, "--json").json
    assert (view["models"], view["agreement"]) == (direct["models"], direct["agreement"])
    assert "bench/question.jsonl" in view["inputs"]


def test_convert_that_writes_nothing_fails_and_spares_what_is_there(call: Any) -> None:
    Path("out.jsonl").write_text("mine")
    outcome = call("convert", "examples/pairs.jsonl", "out.jsonl", "--to", "alpaca-eval-outputs")
    assert outcome.code == 2
    assert "nothing was written: 'alpaca-eval-outputs' can hold none of 26 samples" in outcome.err
    assert "out.jsonl is left as it was" in outcome.err
    assert Path("out.jsonl").read_text() == "mine"
    view = call(
        *("convert", "examples/pairs.jsonl", "new.jsonl", "--to", "alpaca-eval-outputs"),
        *("--json", "--quiet"),
    )
    assert (view.code, view.json["written"], view.json["skipped_count"]) == (2, 0, 26)
    assert "no new.jsonl was made" in view.err
    assert not Path("new.jsonl").exists()


def test_strict_convert_stops_at_what_cannot_be_written(call: Any) -> None:
    outcome = call("convert", "examples/pairs.jsonl", "p.jsonl", "--to", "preference", "--strict")
    assert outcome.code == 2
    assert "its label is a tie" in outcome.err
    assert not Path("p.jsonl").exists()


def test_runs_are_listed_shown_and_verified(call: Any) -> None:
    assert "no runs in runs" in call("runs", "list").err
    result = call(*JUDGE)
    assert "runs/a" in call("runs", "list").out
    shown = call("runs", "show", "runs/a")
    assert shown.out == result.out
    assert "sound" in call("runs", "verify", "runs/a").out
    judgments = Path("runs/a/judgments.jsonl")
    lines = judgments.read_text().splitlines(keepends=True)
    judgments.write_text("".join(lines[:-1]))
    found = call("runs", "verify", "runs/a", "--json")
    assert (found.code, found.json["ok"], found.json["missing"]) == (4, False, 1)
    assert found.json["findings"]
    Path("runs/broken").mkdir()
    Path("runs/broken/run.json").write_text("{")
    listed = call("runs", "list", "--json").json
    assert [run["run"] for run in listed["runs"]] == ["runs/a"]
    assert "run.json" in listed["unreadable"][0]


def test_quiet_says_nothing_but_the_result(call: Any) -> None:
    outcome = call("judge", "examples/broken.jsonl", "--judge", "scripted:longer", "--quiet")
    assert outcome.err == ""
    assert "win rate" in outcome.out


def test_single_and_n_way_samples(call: Any) -> None:
    single = call("judge", "examples/single.jsonl", "--judge", "scripted:random#single")
    assert "mean score" in single.out
    assert "by construction" in single.out
    view = call("judge", "examples/n-way.jsonl", "--judge", "scripted:longer#n-way", "--json").json
    assert sum(model["wins"] for model in view["models"]) == sum(
        model["losses"] for model in view["models"]
    )
    assert {model["win_rate"]["n"] for model in view["models"]} == {12}


def test_families_and_judges(call: Any) -> None:
    names = [family["name"] for family in call("families", "list", "--json").json["families"]]
    assert {"pair", "single", "n-way"} <= set(names)
    assert "{{ question }}" in call("families", "show", "pair").out
    assert call("judges", "show", "scripted:longer", "--json").json["spec"]["family"] == "pair"
    assert "scripted" in call("judges", "list").out


def test_columns_are_read_one_by_one_or_together() -> None:
    assert read_columns(["question=q,answer1=a"]) == {"question": "q", "answer1": "a"}
    assert read_columns(["question=What, exactly?", "answer1=a"]) == {
        "question": "What, exactly?",
        "answer1": "a",
    }
    assert read_columns(None) == {}


def test_convert_does_not_write_over_its_input(call: Any) -> None:
    before = Path("examples/pairs.jsonl").read_bytes()
    Path("link.jsonl").symlink_to("examples/pairs.jsonl")
    for target in ("examples/pairs.jsonl", "examples/../examples/pairs.jsonl", "link.jsonl"):
        outcome = call("convert", "examples/pairs.jsonl", target, "--json")
        assert outcome.code == 2
        assert "is the input" in outcome.json["error"]["message"]
    assert Path("examples/pairs.jsonl").read_bytes() == before


def test_a_limit_beyond_all_numbers_is_a_usage_error(call: Any) -> None:
    outcome = call(*JUDGE, "--limit", "1" + 30 * "0", "--json")
    assert outcome.code == 2
    assert outcome.json["error"]["type"] == "UsageError"


def test_a_row_nested_too_deeply_costs_itself_only(call: Any) -> None:
    row = '{"question": "q", "answer1": "a", "answer2": "bb", "more": %s}\n'
    Path("deep.jsonl").write_text("".join(row % (n * "[" + n * "]") for n in (900, 100, 1)))
    outcome = call("judge", "deep.jsonl", "--judge", "scripted:longer", "--out", "r", "--json")
    assert outcome.code == 0
    assert outcome.json["samples"] == 2
    assert [bad["row"] for bad in outcome.json["bad"]] == [1]
    assert "deep" in outcome.json["bad"][0]["reason"]


def test_a_long_name_leaves_room_for_what_is_said_of_it(call: Any) -> None:
    row = {"question": "q", "answer1": "a", "answer2": "bb", "label": 1}
    rows = [json.dumps({**row, "annotator": name}) for name in (300 * "m", "b")]
    Path("long.jsonl").write_text("\n".join(rows))
    outcome = call("inspect", "long.jsonl")
    assert "table (json lines)" in outcome.out
    assert "mmm" in outcome.out


def test_a_run_in_which_nothing_is_judged_is_anybodys(call: Any, tmp_path: Path) -> None:
    command = ("judge", "examples/pairs.jsonl", "--out", "runs/a", "--judge")
    assert call(*command, "scripted:longer").code == 0
    (tmp_path / "runs/a/judgments.jsonl").unlink()
    manifest = json.loads((tmp_path / "runs/a/run.json").read_text("utf-8"))
    changed = {"lines": 0, "judgments": {}, "judgments_sha256": None, "state": "stopped"}
    (tmp_path / "runs/a/run.json").write_text(json.dumps({**manifest, **changed}), "utf-8")
    outcome = call(*command, "scripted:shorter", "--limit", "3")
    assert outcome.code == 0
    assert "held a run of 'scripted:longer' in which nothing was judged" in outcome.err
    assert call("runs", "verify", "runs/a").code == 0
    assert call(*command, "scripted:longer").code == 4, "now something is judged"


def test_a_limit_that_shrinks_is_told_as_that(call: Any) -> None:
    command = ("judge", "examples/pairs.jsonl", "--judge", "scripted:longer", "--out", "runs/a")
    assert call(*command, "--limit", "6").code == 0
    outcome = call(*command, "--limit", "2")
    assert outcome.code == 4
    assert "has 6 samples, and --limit 2 asks for fewer: a limit can grow" in outcome.err
    assert "another run" not in outcome.err
    outcome = call("judge", "examples/single.jsonl", *command[2:], "--limit", "2")
    assert "holds another run" in outcome.err


def test_inspect_fails_where_not_one_row_can_be_read(call: Any, tmp_path: Path) -> None:
    rows = [{"question": 1, "answer1": None, "answer2": {}} for _ in range(3)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "bad.jsonl").write_text(text, "utf-8")
    outcome = call("inspect", "bad.jsonl", "--format", "samples", "--json")
    assert outcome.code == 2
    assert outcome.json["bad_count"] == 3
    assert "not one of 3 rows could be read" in outcome.err
    assert call("inspect", "examples/broken.jsonl").code == 0


def test_groups_list_when_they_are_given_no_command(call: Any) -> None:
    for group, key in (("judges", "engines"), ("runs", "unreadable"), ("cache", "answers")):
        outcome = call(group, "--json")
        assert outcome.code == 0
        assert key in outcome.json
        assert call(group).code == 0


def test_samples_that_are_no_pairs_are_accounted_for(call: Any, tmp_path: Path) -> None:
    rows = [
        {"question": "q1", "answer1": "a", "answer2": "bb", "label": 2},
        {"question": "q2", "answers": ["a"], "score1": 3},
        {"question": "q3", "answers": ["a", "bb", "ccc"], "score1": 1, "score2": 2, "score3": 3},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "mixed.jsonl").write_text(text, "utf-8")
    outcome = call("judge", "mixed.jsonl", "--judge", "scripted:longer#single", "--out", "runs/m")
    assert outcome.code == 0
    assert "judged 3 of 3 samples" in outcome.out
    assert "1 sample has one answer: judged, but compared with nothing" in outcome.err
    assert "the gold scores of 2 samples that are no pairs are not compared here" in outcome.err
    assert "magistrate evaluate runs/m" in call("runs", "show", "runs/m").err
    pairs = call("judge", "examples/pairs.jsonl", "--judge", "scripted:longer", "--out", "runs/p")
    assert "one answer" not in pairs.err
