"""Planning of tournaments: what is chosen, and that it pays."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

import magistrate as mg
from magistrate.cli.main import main
from magistrate.errors import InputError
from magistrate.metrics.ranking.battles import Battles, battles_of
from magistrate.metrics.ranking.counts import cells_of, counts_of
from magistrate.metrics.ranking.davidson import ELO, chances, fit
from magistrate.metrics.ranking.planning import Candidates, Scheme, plan
from magistrate.report.tournament import plan_pairs


def everything(models: int, questions: int) -> Candidates:
    low, high = np.triu_indices(models, 1)
    return Candidates(
        models=tuple(f"m{k}" for k in range(models)),
        low=np.repeat(low, questions),
        high=np.repeat(high, questions),
        question=np.tile(np.arange(questions), len(low)),
        done=np.zeros(len(low) * questions, dtype=bool),
    )


@pytest.mark.parametrize("scheme", ["all", "swiss"])
def test_without_judgments_everyone_meets_about_equally_often(scheme: Scheme) -> None:
    pool = everything(5, 40)
    chosen = plan(pool, scheme, 100)
    assert len(set(chosen.tolist())) == 100
    met = np.bincount(np.concatenate([pool.low[chosen], pool.high[chosen]]))
    assert met.max() - met.min() <= 8
    asked = np.bincount(pool.question[chosen], minlength=40)
    assert asked.max() <= 7  # 2.5 on average


def test_the_baseline_meets_all_others_and_nobody_else_meets() -> None:
    pool = everything(5, 10)
    chosen = plan(pool, "baseline", 20, baseline="m2")
    assert ((pool.low[chosen] == 2) ^ (pool.high[chosen] == 2)).all()
    others = pool.low[chosen] + pool.high[chosen] - 2
    assert np.bincount(others, minlength=5).tolist() == [5, 5, 0, 5, 5]
    with pytest.raises(ValueError, match="not among the models"):
        plan(pool, "baseline", 20, baseline="m9")


def test_what_is_done_is_not_planned_and_the_budget_may_exceed_what_is_left() -> None:
    pool = everything(3, 4)
    pool.done[:9] = True
    for scheme in ("all", "swiss"):
        assert sorted(plan(pool, scheme, 50)) == [9, 10, 11]
    pool.done[:] = True
    assert len(plan(pool, "swiss", 5)) == 0


def test_swiss_spends_where_two_models_are_close() -> None:
    pool = everything(4, 400)
    # m0 and m1 are close, m2 and m3 are close; the two groups are 400 points apart.
    strength = np.array([2.3, 2.2, 0.05, 0.0])
    rng = np.random.default_rng(0)
    judged = np.concatenate([np.flatnonzero((pool.low == i) & (pool.high == j))[:60]
                             for i in range(4) for j in range(i + 1, 4)])  # fmt: skip
    win, _, _ = chances(strength[pool.low[judged]] - strength[pool.high[judged]], -20.0)
    outcome = np.where(rng.random(len(judged)) < win, 1, -1)
    played = battles_of(pool.models, pool.low[judged], pool.high[judged], outcome)
    pool.done[judged] = True
    chosen = plan(pool, "swiss", 300, played=played)
    close = (pool.low[chosen] // 2) == (pool.high[chosen] // 2)
    assert close.mean() > 0.8


def accuracy(scheme: Scheme, strength: np.ndarray, budget: int, seed: int) -> list[float]:
    """Return Kendall's tau with the truth after each of five rounds of a tournament."""
    rng = np.random.default_rng(seed)
    pool = everything(len(strength), 100)
    win, tie, _ = chances(strength[pool.low] - strength[pool.high], math.log(0.3))
    drawn = rng.random(len(pool.low))
    outcome = np.where(drawn < win, 1, np.where(drawn < win + tie, 0, -1))
    played: Battles | None = None
    taus = []
    for _ in range(5):
        chosen = plan(pool, scheme, budget // 5, played=played, seed=int(rng.integers(1e9)))
        pool.done[chosen] = True
        judged = np.flatnonzero(pool.done)
        played = battles_of(pool.models, pool.low[judged], pool.high[judged], outcome[judged])
        pairs, cells = cells_of(played)
        found = fit(pairs, counts_of(pairs, cells, played.weight))
        taus.append(float(kendalltau(found.strength[0], strength)[0]))
    return taus


def test_swiss_reaches_the_accuracy_of_all_with_fewer_judgments() -> None:
    """benchmarks/ranking.py has the curve over more tournaments."""
    taus: dict[Scheme, np.ndarray] = {}
    for scheme in ("all", "swiss"):
        found = [
            accuracy(scheme, np.random.default_rng(seed).normal(size=9) * 400 / ELO, 600, seed)
            for seed in range(14)
        ]
        taus[scheme] = np.mean(found, axis=0)
    assert taus["swiss"][2] >= taus["all"][4]  # 360 judgments against 600


# --- files --------------------------------------------------------------------------------------


@pytest.fixture
def answers(tmp_path: Path) -> list[Path]:
    paths = []
    for name, words in (("alder", 9), ("birch", 6), ("cedar", 3)):
        path = tmp_path / f"{name}.jsonl"
        rows = [
            {"id": k, "question": f"question {k}", "answer": f"{name} " + "word " * words}
            for k in range(12)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        paths.append(path)
    return paths


def test_two_rounds_of_a_tournament(answers: list[Path], tmp_path: Path) -> None:
    first = plan_pairs(*answers, out=tmp_path / "one.jsonl", budget=12)
    assert (first.candidates, first.planned, first.judged) == (36, 12, 0)
    assert first.models == ("alder", "birch", "cedar")
    run = mg.judge(mg.read_samples(tmp_path / "one.jsonl"), "scripted:longer", tmp_path / "run")
    second = plan_pairs(*answers, out=tmp_path / "two.jsonl", budget=99, runs=[run])
    assert (second.judged, second.planned) == (12, 24)
    both = [
        {
            (sample.question, *sorted(answer.text for answer in sample.answers))
            for sample in mg.read_samples(path)
        }
        for path in (tmp_path / "one.jsonl", tmp_path / "two.jsonl")
    ]
    assert (len(both[0]), len(both[1]), both[0] & both[1]) == (12, 24, set())


def test_each_model_is_as_often_first_as_second(answers: list[Path], tmp_path: Path) -> None:
    plan_pairs(*answers, out=tmp_path / "all.jsonl", scheme="all")
    first = [sample.answers[0].model for sample in mg.read_samples(tmp_path / "all.jsonl")]
    assert sorted(map(first.count, ("alder", "birch", "cedar"))) == [12, 12, 12]


def test_mistakes_are_told_with_the_way_out(answers: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    with pytest.raises(InputError, match="--budget"):
        plan_pairs(*answers, out=out)
    with pytest.raises(InputError, match="--baseline"):
        plan_pairs(*answers, out=out, scheme="baseline")
    with pytest.raises(InputError, match="alder, birch, cedar"):
        plan_pairs(*answers, out=out, scheme="baseline", baseline="oak")
    with pytest.raises(InputError, match="standard input"):
        plan_pairs("-", out=out, scheme="all")
    assert not out.exists()


def test_the_command_plans_and_says_when_nothing_is_left(
    answers: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "pairs.jsonl"
    command = ["pairs", *map(str, answers), "-o", str(out)]
    assert main([*command, "--scheme", "all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["planned"] == 36
    mg.judge(mg.read_samples(out), "scripted:longer", tmp_path / "run")
    assert main([*command, "--budget", "5", "--runs", str(tmp_path / "run")]) == 2
    assert "judged already" in capsys.readouterr().err


def test_the_answers_are_never_replaced_by_the_pairs(tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    models = [mg.Answer(text=f"text {name}", model=name) for name in "abc"]
    mg.write_samples([mg.Sample(question="q", answers=tuple(models))], answers)
    before = answers.read_bytes()
    (tmp_path / "link.jsonl").symlink_to(answers)
    for out in (answers, tmp_path / "link.jsonl"):
        with pytest.raises(InputError, match="would replace the input"):
            plan_pairs(answers, out=out, budget=2)
    assert answers.read_bytes() == before
