"""``rank`` over runs and files, and length-controlled win rates."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import magistrate as mg
from magistrate.cli.main import main
from magistrate.errors import InputError
from magistrate.metrics.length_controlled import length_controlled
from magistrate.records import Answer, Sample
from magistrate.report.ranking_table import leaderboard_table
from magistrate.report.table import plain_text


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    made = []
    for place in range(30):
        texts = {"long": "word " * 9, "middle": "word " * (7 if place % 4 else 12), "short": "word"}
        for one, other in (("long", "middle"), ("middle", "short"), ("short", "long")):
            answers = tuple(Answer(text=texts[name], model=name) for name in (one, other))
            category = "a" if place < 20 else "b"
            made.append(Sample(question=f"q{place}", answers=answers, category=category))
    mg.judge(made, "scripted:longer", folder / "longer")
    mg.judge(made, "scripted:shorter", folder / "shorter")
    mg.judge([Sample(question="q", answers=(Answer(text="x"), Answer(text="y")))],
             "scripted:longer", folder / "unnamed")  # fmt: skip
    return folder


def test_each_judge_has_its_ranking_unless_they_are_pooled(runs: Path) -> None:
    board = mg.rank(runs / "longer", runs / "shorter")
    first, second = (one.ranking for one in board.rankings)
    assert first is not None
    assert second is not None
    assert [model.model for model in first.models] == ["long", "middle", "short"]
    assert [model.model for model in second.models] == ["short", "middle", "long"]
    (pooled,) = mg.rank(runs / "longer", runs / "shorter", pool=True).rankings
    assert pooled.pooled
    assert pooled.repeated == 90
    assert pooled.ranking is not None
    assert {model.win_rate for model in pooled.ranking.models} == {0.5}
    assert sum(model.wins for model in pooled.ranking.models) == pytest.approx(90)


def test_categories_are_ranked_besides(runs: Path) -> None:
    board = mg.rank(runs / "longer", by="category", baseline="middle")
    assert [one.category for one in board.rankings] == [None, "a", "b"]
    counts = [one.ranking.battles for one in board.rankings if one.ranking]
    assert counts == [90, 60, 30]
    whole = board.rankings[0].ranking
    assert whole is not None
    assert {m.model: m.strength.value for m in whole.models}["middle"] == pytest.approx(1000)
    assert whole.models[-1].beyond == "below"  # short never won


def test_mistakes_are_told_with_the_way_out(runs: Path) -> None:
    with pytest.raises(InputError, match="do not name their models"):
        mg.rank(runs / "unnamed")
    with pytest.raises(InputError, match="models: long, middle, short"):
        mg.rank(runs / "longer", baseline="nobody")
    with pytest.raises(InputError, match="bradley-terry alone"):
        mg.rank(runs / "longer", method="elo", style_control=True)
    with pytest.raises(InputError, match="--baseline"):
        mg.rank(runs / "longer", length_control=True)


def test_the_command_prints_a_table_and_json(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--baseline", "middle", "--length-control", "--style-control"]
    assert main(["rank", str(runs / "longer"), *options]) == 0
    table = capsys.readouterr().out
    assert "style: length" in table
    assert "length-controlled" in table
    assert main(["rank", str(runs / "longer"), "--method", "win-rate", "--json"]) == 0
    (ranking,) = json.loads(capsys.readouterr().out)["rankings"]
    assert ranking["models"][0]["model"] == "long"
    assert len(ranking["pairs"]) == 3


def test_a_judge_that_only_looks_at_length_is_controlled_to_a_half() -> None:
    rng = np.random.default_rng(0)
    own, base = rng.normal(900, 300, 4000), rng.normal(600, 300, 4000)
    apart = own - base
    chance = 1 / (1 + np.exp(-1.66 * np.tanh(apart / apart.std())))
    said = (rng.random(4000) < chance).astype(float)
    (found,) = length_controlled(said, own, base, np.arange(4000), resamples=50)
    assert found.win_rate > 0.6
    assert found.controlled.value == pytest.approx(0.5, abs=0.04)
    assert not found.difficulty


def test_a_judge_that_does_not_look_at_length_is_believed() -> None:
    rng = np.random.default_rng(1)
    own, base = rng.normal(900, 300, 6000), rng.normal(600, 300, 6000)
    said = (rng.random(6000) < 0.7).astype(float)
    (found,) = length_controlled(said, own, base, np.arange(6000), resamples=50)
    assert abs(found.length_effect) < 0.3
    assert found.controlled.value == pytest.approx(0.7, abs=0.04)
    with pytest.raises(ValueError, match="one entry per judgment"):
        length_controlled(said[:5], own, base, np.arange(6000))


def test_a_category_counts_its_own_decisions(tmp_path: Path) -> None:
    made = [
        Sample(
            question=f"q{place}",
            answers=(Answer(text="long answer", model="a"), Answer(text="no", model="b")),
            category=category,
        )
        for place, category in enumerate(("x", "x", "x", None))
    ]
    made.append(made[0])
    mg.judge(made, "scripted:longer", tmp_path / "run")
    whole, none, x = mg.rank(tmp_path / "run", by="category").rankings
    assert [one.category for one in (whole, none, x)] == [None, "(none)", "x"]
    assert [one.decided for one in (whole, none, x)] == [5, 1, 4]
    assert [one.not_ok.n for one in (whole, none, x)] == [5, 1, 4]
    assert [one.repeated for one in (whole, none, x)] == [1, 0, 1]


@pytest.mark.parametrize("method", ["bradley-terry", "elo", "win-rate"])
@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_no_number_is_cut_however_narrow_the_terminal(runs: Path, method: str, width: int) -> None:
    board = mg.rank(runs / "longer", method=method)  # type: ignore[arg-type]
    text = " ".join(plain_text(leaderboard_table(board), width=width).split())
    (ranking,) = (one.ranking for one in board.rankings)
    assert ranking is not None
    for model in ranking.models:
        assert f"{100 * model.win_rate:.1f} %" in text
        assert "win rate" in text


def test_what_style_leaves_open_is_said(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rank", str(runs / "longer"), "--style-control"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "style: headers no answer has any" in said
    assert "style: length open" in said
    assert "[0, 0]" not in said


def test_models_below_the_scale_may_have_beaten_each_other(tmp_path: Path) -> None:
    made = []
    for place in range(12):
        turn = place % 2  # a and b win over each other in turn, and so do c and d
        lengths = {"a": 40, "b": 50 - 20 * turn, "c": 10, "d": 15 - 10 * turn}
        for one, other in combinations("abcd", 2):
            pair = tuple(Answer(text="x" * lengths[name], model=name) for name in (one, other))
            made.append(Sample(question=f"q{place}", answers=pair))
    mg.judge(made, "scripted:longer", tmp_path / "run")
    said = " ".join(str(mg.rank(tmp_path / "run")).split())
    assert "c, d: never won nor tied against a model outside this list" in said
