"""The options of ``magistrate judge``, ``ask`` and ``cache`` as a user meets them."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from magistrate.cli.main import main
from magistrate.cli.options import read_engine_options

FILE = "examples/pairs.jsonl"
JUDGE = ("judge", FILE, "--judge", "scripted:longer", "--out", "runs/a")


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
    """Return a function that runs a command in a folder of its own, with a cache of its own."""
    shutil.copytree(repo / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))

    def run(*arguments: str) -> Outcome:
        code = main(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


def test_another_mode_on_a_run_is_refused_with_the_difference(call: Any) -> None:
    assert call(*JUDGE, "--mode", "score").code == 0
    outcome = call(*JUDGE)
    assert outcome.code == 4
    assert "judge.settings.mode: the run has 'score', now 'reason'" in outcome.err


def test_engine_options_reach_the_engine(call: Any) -> None:
    outcome = call("judge", FILE, "--judge", "mini", "--limit", "1", "--set", "threads=none")
    assert outcome.code == 3
    assert "engine 'encoder', option threads=none" in outcome.err
    outcome = call(*JUDGE, "--max-concurrency", "4")
    assert outcome.code == 3
    assert "no option 'max_concurrency'; options: none" in outcome.err
    for wrong in (["threads"], ["=1"], ["a=1", "a=2"]):
        options = [word for each in wrong for word in ("--set", each)]
        assert call(*JUDGE, *options).code == 2


def test_engine_options_are_read() -> None:
    assert read_engine_options(["a=1", " b =x=y"], 3) == {
        "a": "1",
        "b": "x=y",
        "max_concurrency": "3",
    }
    assert read_engine_options(None) == {}


def test_a_dry_run_shows_and_leaves_nothing(call: Any, tmp_path: Path) -> None:
    outcome = call(*JUDGE, "--dry-run")
    assert outcome.code == 0
    assert outcome.out.count("\n--- row ") + outcome.out.startswith("--- row ") == 3
    assert "readings       52 to make" in outcome.out
    assert "nothing, and nothing was written" in outcome.out
    assert not (tmp_path / "runs").exists()
    assert not (tmp_path / "home").exists()
    view = call(*JUDGE, "--dry-run", "--json").json
    assert (view["samples"], view["readings"], view["to_judge"]) == (26, 52, 52)
    assert len(view["prompts"]) == 3
    assert view["cost"] is None


def test_answers_from_the_cache_are_said(call: Any) -> None:
    assert call(*JUDGE, "--cache", "--json").json["from_cache"] == 0
    again = ("judge", FILE, "--judge", "scripted:longer", "--out", "runs/b", "--cache")
    outcome = call(*again)
    assert "52 answers came from the response cache; --no-cache asks anew" in outcome.err
    assert call(*again[:-2], "runs/c", "--no-cache", "--json").json["from_cache"] == 0
    assert call("cache", "show", "--json").json["answers"] == 52
    assert "52 answers removed" in call("cache", "clear").out
    assert "answers  0" in call("cache", "show").out


def test_a_damaged_cache_can_be_shown_as_such_and_cleared(call: Any, tmp_path: Path) -> None:
    file = tmp_path / "home" / "cache" / "responses.sqlite"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"no database" * 500)
    outcome = call("cache", "show")
    assert outcome.code == 4
    assert "'magistrate cache clear' removes it" in outcome.err
    assert call("cache", "clear").code == 0
    assert not file.exists()


def test_the_judge_is_asked_and_answers(call: Any) -> None:
    call(*JUDGE)
    outcome = call("ask", "runs/a", "1", "Why?", "Sure?")
    assert outcome.code == 0
    assert outcome.out.startswith("> Why?\n8 5\n")
    assert "> Sure?\n" in outcome.out
    view = call("ask", "runs/a", "1", "Why?", "--reversed", "--json").json
    assert view["replies"][0]["order"] == [1, 0]
    assert call("ask", "runs/a", "no-such-id", "Why?").code == 2
    assert call("ask", "runs/none", "1", "Why?").code == 4


def test_repeats_show_the_flip_rate(call: Any) -> None:
    outcome = call(*JUDGE, "--repeat", "2")
    assert "flips" in outcome.out
    assert "of 52 readings, when repeated" in outcome.out


def test_a_judge_without_reasons_says_so_when_they_are_asked_for(call: Any) -> None:
    mini = ("judge", FILE, "--judge", "mini", "--limit", "1")
    assert "gives scores and no reasons" in call(*mini, "--mode", "reason").err
    assert "no reasons" not in call(*mini, "--mode", "score").err
    assert "gives scores and no reasons" in call(*mini, "--mode", "reason", "--dry-run").err


def test_overflow_as_an_error_names_the_row(call: Any) -> None:
    rows = [
        {"question": "q", "answer1": "a", "answer2": "b"},
        {"question": "q", "answer1": "word " * 3000, "answer2": "b"},
    ]
    Path("long.jsonl").write_text("\n".join(map(json.dumps, rows)))
    outcome = call("judge", "long.jsonl", "--judge", "mini", "--on-overflow", "error")
    assert outcome.code == 2
    assert "long.jsonl, row 2: too_long: the model reads" in outcome.err
    view = call("judge", "long.jsonl", "--judge", "mini", "--on-overflow", "skip", "--json").json
    assert (view["decisions"]["ok"], view["decisions"]["truncated"]) == (1, 1)


def test_a_batch_file_is_written_and_says_what_comes_next(call: Any, tmp_path: Path) -> None:
    pytest.importorskip("magistrate.engines.api.batch")
    asked = ("judge", FILE, "--judge", "openai:m@http://127.0.0.1:9/v1", "--limit", "3")
    asked += ("--set", "context_tokens=9000", "--set", "price=1,2")
    outcome = call(*asked, "--out", "runs/b", "--batch", "emit", "requests.jsonl")
    assert outcome.code == 0, outcome.err
    assert outcome.out == "6 requests written to requests.jsonl\n"
    assert "--out runs/b --batch collect ANSWERS" in outcome.err
    lines = [json.loads(line) for line in Path("requests.jsonl").read_text().splitlines()]
    message = {"role": "assistant", "content": "8 5\nIt is better."}
    body = {"choices": [{"message": message, "finish_reason": "stop"}]}
    answers = [
        {"custom_id": line["custom_id"], "response": {"status_code": 200, "body": body}}
        for line in lines
    ]
    Path("answers.jsonl").write_text("\n".join(map(json.dumps, answers)))
    collected = call(*asked, "--out", "runs/b", "--batch", "collect", "answers.jsonl", "--json")
    assert collected.json["decisions"]["ok"] == 3
    assert collected.json["judged_now"] == 6
    assert call(*asked, "--batch", "collect", "answers.jsonl").code == 2
    again = call(*asked, "--out", "runs/b", "--batch", "emit", "more.jsonl", "--json").json
    assert again == {"run": "runs/b", "files": [], "requests": 0}


def rows_of(path: str) -> list[Any]:
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


@pytest.fixture
def split(call: Any, tmp_path: Path) -> Any:
    """Return ``call`` with ``judged.jsonl``, the first 12 pairs of the examples, in the folder."""
    lines = Path(FILE).read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "judged.jsonl").write_text("".join(lines[:12]), "utf-8")
    return call


SHOWN = ("judge", "judged.jsonl", "--judge", "scripted:longer#pandalm", "--demonstrations", FILE)


def test_demonstrations_stand_before_every_sample_in_both_orders(split: Any) -> None:
    found = split(*SHOWN, "--per-outcome", "2", "--dry-run", "--json").json
    assert len(found["demonstrations"]) == 6
    judged = {row["id"] for row in rows_of("judged.jsonl")}
    assert not judged & {one["source_id"] for one in found["demonstrations"]}
    for prompt in found["prompts"]:
        text = prompt["messages"][0]["text"]
        assert text.count("### Evaluation:") == 1 + 6
    outcome = split(*SHOWN, "--per-outcome", "2", "--out", "runs/d", "--json")
    assert outcome.code == 0
    assert outcome.json["decisions"]["ok"] == 12
    assert outcome.json["judgments"]["ok"] == 24
    assert outcome.json["consistency"]["consistent"]["value"] == 1.0
    assert "12 of 26 samples to demonstrate with are judged in this run" in outcome.err


def test_what_is_judged_is_never_shown_solved(split: Any, tmp_path: Path) -> None:
    outcome = split(*SHOWN[:-1], "judged.jsonl", "--out", "runs/leak")
    assert outcome.code == 2
    assert "no sample to demonstrate with: all 12 are to be judged themselves" in outcome.err
    assert not Path("runs/leak").exists()
    # Nor where the labelled file says more of the same pairs, the other way round.
    rows = rows_of("judged.jsonl")
    with (tmp_path / "swapped.jsonl").open("w", encoding="utf-8") as file:
        for row in rows:
            swapped = {"answer1": row["answer2"], "answer2": row["answer1"], "reference": "R"}
            file.write(json.dumps({**row, **swapped}) + "\n")
    assert split(*SHOWN[:-1], "swapped.jsonl", "--out", "runs/leak").code == 2


def test_demonstrations_are_part_of_the_judge(split: Any) -> None:
    command = (*SHOWN, "--out", "runs/d")
    assert split(*command, "--limit", "4").code == 0
    assert split(*command).code == 0, "a limit may grow"
    for other in (("--demonstrations-seed", "3"), ("--per-outcome", "2")):
        outcome = split(*command, *other)
        assert outcome.code == 4
        assert "judge.settings.demonstrations" in outcome.err
    assert split("judge", *command[1:4], "--out", "runs/d").code == 4
    outcome = split("ask", "runs/d", "1", "Why?", "--json")
    assert outcome.code == 0, "the judge is found with its demonstrations"


def test_a_scoring_head_is_shown_nothing(split: Any) -> None:
    outcome = split(*SHOWN[:3], "mini", *SHOWN[4:])
    assert outcome.code == 3
    assert "has a scoring head" in outcome.err
