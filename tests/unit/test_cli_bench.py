"""``magistrate bench`` as a user meets it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import magistrate as mg
from magistrate.cli.main import main

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Return a function that runs ``magistrate bench`` in a folder of its own."""
    shutil.copytree(repo / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MAGISTRATE_DATA", raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main(["bench", *arguments])
        view = capsys.readouterr()
        return code, view.out, view.err

    return run


def test_tables_fit_the_width_of_files_and_say_where_the_runs_are(call: Call) -> None:
    code, out, err = call("scripted:longer", "--data", "examples", "--in-domain", "table")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 120
    for heading in ("generalise:", "fairness:", "aspects:", "scalability:"):
        assert f"\n{heading}" in out
    assert "By LLMBar's own rule" in out
    assert "Baselines on the same sets" in out
    assert "judging fairness/pairs" in err
    assert "runs/bench-scripted-longer" in err
    assert Path("runs/bench-scripted-longer/bench.md").is_file()
    assert Path("runs/bench-scripted-longer/fairness/pairs/run.json").is_file()


def test_one_suite_shows_one_study_and_json_has_those_of_before(call: Call) -> None:
    where = ("--data", "examples/magistrate.toml", "--out", "out", "--limit", "4")
    call("scripted:longer", "--suite", "fairness", *where)
    code, out, _ = call("scripted:longer", "--suite", "aspects", *where)
    assert code == 0
    assert "aspects:" in out
    assert "fairness:" not in out
    code, out, err = call("scripted:longer", "--suite", "aspects", *where, "--json", "--quiet")
    assert code == 0
    assert err == ""
    found = json.loads(out)
    assert found["fairness"]["sets"][0]["result"]["pairs"] == 4
    assert found == json.loads(Path("out/bench.json").read_text("utf-8"))


def test_a_set_alone(call: Call) -> None:
    code, out, _ = call(
        *("scripted:longer", "--suite", "fairness", "--data", "examples"),
        *("--sets", "table", "--json", "--quiet"),
    )
    assert code == 0
    assert [row["result"]["set"] for row in json.loads(out)["fairness"]["sets"]] == ["table"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("scripted:longer",), 2, "--data"),
        (("scripted:longer", "--data", "nowhere"), 2, "there is no file or folder nowhere"),
        (("minni", "--data", "examples"), 3, "did you mean 'mini'"),
        (("scripted:longer", "--data", "examples", "--sets", "tabel"), 2, "did you mean table"),
        (("mini", "--data", "examples", "--classify", "mini"), 2, "categories"),
        (("scripted:longer", "--data", "examples", "--suite", "speed"), 2, "speed"),
        (
            ("scripted:longer", "--data", "examples", "--suite", "fairnes"),
            2,
            "'aspects', 'scalability', 'all'; did you mean 'fairness'?",
        ),
    ],
)
def test_mistakes_are_told_without_a_traceback(
    call: Call, arguments: tuple[str, ...], code: int, said: str
) -> None:
    found, out, err = call(*arguments)
    assert found == code
    assert out == ""
    assert said in err
    assert "Traceback" not in err
    assert "Value error" not in err
    assert not Path("runs").exists()


def test_a_study_without_one_judged_set_says_so(call: Call) -> None:
    text = Path("examples/magistrate.toml").read_text("utf-8").replace("pairs.csv", "gone.csv")
    Path("examples/magistrate.toml").write_text(text.replace('"natural"', '"varied"'), "utf-8")
    code, _, err = call("scripted:longer", "--suite", "fairness", "--data", "examples")
    assert code == 5
    assert "not one set was judged" in err


def test_a_run_is_no_place_for_studies(call: Call) -> None:
    samples = mg.read_samples("examples/single.jsonl")
    mg.judge(samples, "scripted:longer", "runs/one")
    where = ("--data", "examples/magistrate.toml", "--out", "runs/one", "--limit", "4")
    code, _, err = call("scripted:longer", "--suite", "fairness", *where)
    assert code == 4
    assert "runs/one is a run" in err
    assert not Path("runs/one/bench.json").exists()
