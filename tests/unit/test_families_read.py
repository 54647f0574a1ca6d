"""Stored replies: where they are found in files, and how they are told."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from magistrate.cli.main import main
from magistrate.errors import InputError
from magistrate.formats.base import BadRow
from magistrate.formats.replies import Replies, StoredReply

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def run(*args: str) -> tuple[int, str, str]:
        code = main(["families", *args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def texts(path: Path, field: str | None = None) -> list[tuple[str, ...]]:
    return [reply.texts for reply in Replies(str(path), field) if isinstance(reply, StoredReply)]


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


@pytest.mark.parametrize(
    "name", ["raw", "pred_text", "prediction", "judgment", "completion", "output", "text"]
)
def test_replies_are_found_by_the_usual_names(tmp_path: Path, name: str) -> None:
    rows = [{"id": 1, name: "8 9"}, {"id": 2, name: "9 8"}]
    assert texts(write(tmp_path / "a.jsonl", *rows)) == [("8 9",), ("9 8",)]
    assert Replies(str(tmp_path / "a.jsonl")).field == name


def test_a_field_may_lie_deep(tmp_path: Path) -> None:
    row = {"games": [{"judge": {"text": "A"}}, {"judge": {"text": "B"}}], "text": "no"}
    path = write(tmp_path / "a.jsonl", row)
    assert texts(path, "games.1.judge.text") == [("B",)]
    (bad,) = Replies(str(path), "games.7.judge.text")
    assert isinstance(bad, BadRow)
    assert "'games.7.judge.text' is null" in bad.reason


def test_arrays_tables_packed_files_and_texts(tmp_path: Path) -> None:
    rows = [{"reply": "8 9\nSo."}, {"reply": "9 8"}]
    expected = [("8 9\nSo.",), ("9 8",)]
    array = tmp_path / "a.json"
    array.write_text(json.dumps(rows, indent=2), "utf-8")
    assert texts(array) == expected
    table = tmp_path / "a.csv"
    table.write_text('id,reply\n1,"8 9\nSo."\n2,9 8\n', "utf-8")
    assert texts(table, "reply") == expected
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    assert texts(packed) == expected
    assert texts(write(tmp_path / "b.jsonl", "8 9", "9 8")) == [("8 9",), ("9 8",)]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("8 9\n\n9 8\n", ["8 9", "9 8"]),
        ("[[A]]\r\nVerdict: [[B]]", ["[[A]]", "Verdict: [[B]]"]),
        ("[8, 9]\n[9, 8]\n", ["[8, 9]", "[9, 8]"]),
        ("8\n9\n", ["8", "9"]),
        ("[RESULT] 4\n", ["[RESULT] 4"]),
        ("Tie\n1\n", ["Tie", "1"]),
    ],
)
def test_other_files_hold_a_reply_a_line(tmp_path: Path, text: str, lines: list[str]) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    assert texts(path) == [(line,) for line in lines]


def test_what_is_no_reply_is_a_bad_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"raw": "8 9"}, {"raw": None}, {"raw": [1]}, {"x": 1}, [2])
    found = list(Replies(str(path)))
    assert [isinstance(each, BadRow) for each in found] == [False, True, True, True, True]
    assert [each.row for each in found] == [1, 2, 3, 4, 5]
    with pytest.raises(InputError, match=r"no field of replies here .* fields: x, y"):
        Replies(str(write(tmp_path / "b.jsonl", {"x": 1, "y": 2})))
    with pytest.raises(InputError, match="there is no file"):
        Replies(str(tmp_path / "nowhere"))


def test_each_reply_is_told_on_a_line(call: Call, repo: Path) -> None:
    code, out, err = call("read", "pair", str(repo / "examples/replies.jsonl"))
    assert code == 0
    lines = out.splitlines()
    assert len(lines) == 10
    assert lines[0].split() == ["1", "ok", "8", "9,", "second"]
    assert "out_of_scale: 90 is not within 1 to 10" in lines[6]
    assert "10 replies: 4 ok, 3 unparsed, 1 refused, 1 truncated, 1 error" in err


def test_json_is_an_object_a_line(call: Call, repo: Path) -> None:
    code, out, err = call("read", "pair", str(repo / "examples/replies.jsonl"), "--json", "-q")
    assert (code, err) == (0, "")
    rows = [json.loads(line) for line in out.splitlines()]
    described = (repo / "docs/json.md").read_text("utf-8").partition("families read")[2]
    for row in rows:
        assert set(row) == {
            "row", "status", "reason", "preference", "scores", "ranking", "error", "reasons",
            "text",
        }  # fmt: skip
        assert all(f"`{key}`" in described for key in row)
    assert [row["status"] for row in rows].count("ok") == 4
    assert rows[0]["scores"] == [8, 9]
    assert rows[8]["reason"] == "cut"
    assert rows[9]["text"] == ""


def test_the_number_of_answers_the_mode_and_the_field_can_be_said(
    call: Call, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.jsonl", {"mine": "3 9 5"})
    args = ("read", "n-way", str(path), "--field", "mine", "--json", "-q")
    assert json.loads(call(*args)[1])["reason"] == "too_many_scores"
    assert json.loads(call(*args, "--answers", "3")[1])["ranking"] == [3, 1, 2]
    path = write(tmp_path / "b.jsonl", {"raw": "B]]"})
    args = ("read", "mt-bench-pair", str(path), "--json", "-q")
    assert json.loads(call(*args)[1])["status"] == "unparsed"
    assert json.loads(call(*args, "--mode", "score")[1])["preference"] == "second"


def test_answers_read_alone_have_a_text_each(call: Call, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"raw": ["8", "6"]}, {"raw": "7"})
    code, out, _ = call("read", "single", str(path), "--json")
    pair, alone = map(json.loads, out.splitlines())
    assert code == 0
    assert (pair["scores"], pair["preference"]) == ([8, 6], "first")
    assert (alone["scores"], alone["preference"]) == ([7], None)


def test_a_run_folder_is_read_as_it_was_judged(
    call: Call, repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    args = [str(repo / "examples/n-way.jsonl"), "--judge", "scripted:longer#n-way"]
    assert main(["judge", *args, "--out", str(run), "--mode", "score", "-q"]) == 0
    capsys.readouterr()
    code, out, _ = call("read", "n-way", str(run), "--json")
    assert code == 0
    judged = [json.loads(line) for line in (run / "judgments.jsonl").read_text().splitlines()]
    read = [json.loads(line) for line in out.splitlines()]
    assert len(read) == len(judged)
    for row, judgment in zip(read, judged, strict=True):
        assert row["status"] == judgment["status"] == "ok"
        own = [row["scores"][judgment["order"].index(k)] for k in range(3)]
        assert own == judgment["scores"]


def test_replies_about_several_answers_in_one_text_cannot_be_told_apart(
    call: Call, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.jsonl", {"raw": "8\n\n6", "order": [0, 1]})
    row = json.loads(call("read", "single", str(path), "--json")[1])
    assert (row["status"], row["reason"]) == ("unparsed", "several_replies")


def test_bad_rows_are_told_and_mistakes_have_their_exit_codes(call: Call, tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", {"raw": "8 9"}, {"raw": None})
    code, out, err = call("read", "pair", str(path))
    assert (code, len(out.splitlines())) == (0, 1)
    assert "1 bad row could not be used" in err
    assert "row 2: 'raw' is null" in err
    assert call("read", "pair", str(tmp_path / "nowhere"))[0] == 2
    assert call("read", "pear", str(path))[0] == 3


def test_families_alone_lists_them(call: Call) -> None:
    code, out, _ = call()
    assert (code, out) == call("list")[:2]
    listed = json.loads(call("--json")[1])
    assert listed == json.loads(call("list", "--json")[1])
    by_name = {family["name"]: family for family in listed["families"]}
    assert by_name["pandalm"]["verdict"] == "choice"
    assert by_name["judgelm"]["score_mode"] is True


def test_show_tells_verdict_modes_and_starts(call: Call) -> None:
    _, out, _ = call("show", "judgelm-single")
    assert "scores from 1 to 10" in out
    assert "the reply begins '10'" in out
    _, out, _ = call("show", "mt-bench-pair")
    assert "one of A (first), B (second), C (tie), written as [[{verdict}]]" in out
    assert "score (the reply begins '[[')" in out
    shown = json.loads(call("show", "mt-bench-pair", "--json")[1])
    assert (shown["start"], shown["score_start"]) == ("", "[[")
