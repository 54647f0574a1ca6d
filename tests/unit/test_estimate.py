"""``magistrate estimate``: win rates, agreement and scores of a run, corrected by a few labels."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

import magistrate as mg
from magistrate.cli.main import app
from magistrate.errors import InputError
from magistrate.records import Answer, Gold, Preference, Sample
from magistrate.report.estimate import choose_next, estimate

run_cli = CliRunner().invoke


def pair(k: int, rng: random.Random, *, labelled: bool) -> Sample:
    """People prefer the longer answer in 70 %; the judge always says so."""
    longer_first = rng.random() < 0.5
    texts = ("a long answer of many words " * rng.randint(2, 6), "short")
    likes_longer = rng.random() < 0.7
    preference: Preference = "first" if likes_longer == longer_first else "second"
    first, second = texts if longer_first else texts[::-1]
    models = ("long", "brief") if longer_first else ("brief", "long")
    return Sample(
        question=f"Question {k}?",
        answers=(Answer(text=first, model=models[0]), Answer(text=second, model=models[1])),
        gold=(Gold(annotator="h", preference=preference),) if labelled else (),
    )


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a run over 400 pairs, and the labels of 60 of them drawn at random."""
    folder, rng = tmp_path_factory.mktemp("estimate"), random.Random(3)
    everything = [pair(k, rng, labelled=True) for k in range(400)]
    bare = [sample.model_copy(update={"gold": ()}) for sample in everything]
    mg.judge(bare, "scripted:longer", folder / "run")
    mg.write_samples(rng.sample(everything, 60), folder / "few.jsonl")
    mg.write_samples(everything, folder / "all.jsonl")
    return folder / "run", folder / "few.jsonl"


def test_a_biased_win_rate_is_corrected(judged: tuple[Path, Path]) -> None:
    run, labels = judged
    found = estimate(run, labels=labels)
    long = found.win_rates["long"]
    assert found.labelled == 60
    assert long.judge_alone == 1.0
    assert long.corrected.low is not None
    assert long.corrected.high is not None
    assert long.corrected.low <= 0.7 <= long.corrected.high < 0.9
    brief = found.win_rates["brief"]
    assert brief.corrected.value == pytest.approx(1 - (long.corrected.value or 0))
    assert found.agreement is not None
    assert found.agreement.corrected.value == pytest.approx(long.corrected.value)


def test_planned_labels_come_back_with_their_groups(
    judged: tuple[Path, Path], tmp_path: Path
) -> None:
    _, labels = judged
    everything = {
        sample.text_id: sample for sample in mg.read_samples(labels.with_name("all.jsonl"))
    }
    run = tmp_path / "mini"
    mg.judge(
        [s.model_copy(update={"gold": ()}) for s in everything.values()], "mini", run, limit=60
    )
    plan = choose_next(run, out=tmp_path / "next.jsonl", count=24, labels=None, seed=1)
    asked = list(mg.read_samples(tmp_path / "next.jsonl"))
    assert plan.written == len(asked) == sum(plan.strata)
    assert all(not sample.gold and sample.meta["label_plan"] for sample in asked)
    assert plan.half_width_expected <= plan.half_width_now
    answered = [s.model_copy(update={"gold": everything[s.text_id].gold}) for s in asked]
    mg.write_samples(answered, tmp_path / "answered.jsonl")
    found = estimate(run, labels=tmp_path / "answered.jsonl")
    assert found.strata == len(asked[0].meta["label_plan"]) + 1 > 1
    assert found.labelled == len(asked)


def test_too_few_labels_say_how_many_would_do(judged: tuple[Path, Path], tmp_path: Path) -> None:
    run, labels = judged
    mg.write_samples(list(mg.read_samples(labels))[:5], tmp_path / "five.jsonl")
    with pytest.raises(InputError, match="5 labelled samples of 5 questions are too few"):
        estimate(run, labels=tmp_path / "five.jsonl")


def test_a_model_that_is_not_there_is_named(judged: tuple[Path, Path]) -> None:
    run, labels = judged
    with pytest.raises(InputError, match="no model 'lonk' here; there are: brief, long"):
        estimate(run, labels=labels, models=["lonk"])


def test_failed_decisions_are_counted_and_are_no_ties(tmp_path: Path) -> None:
    rng = random.Random(8)
    pairs = [pair(k, rng, labelled=k < 80) for k in range(300)]
    mg.judge(pairs, "scripted:longer,nonsense=0.3", tmp_path / "run")
    found = estimate(tmp_path / "run")
    assert found.not_decided > 30
    # Over what was decided the judge always says the longer; people do so in 70 %.
    assert found.win_rates["long"].judge_alone == pytest.approx(1.0)
    low, high = found.win_rates["long"].corrected.low, found.win_rates["long"].corrected.high
    assert low is not None
    assert high is not None
    assert low <= 0.7 <= high


def test_the_command(judged: tuple[Path, Path], tmp_path: Path) -> None:
    run, labels = judged
    shown = run_cli(app, ["estimate", str(run), "--labels", str(labels)])
    assert shown.exit_code == 0, shown.output
    assert "win rate of long" in shown.output
    as_json = run_cli(app, ["estimate", str(run), "--labels", str(labels), "--json"])
    assert json.loads(as_json.stdout)["win_rates"]["long"]["labelled"] == 60
    out = tmp_path / "n.jsonl"
    more = run_cli(
        app, ["estimate", str(run), "--labels", str(labels), "--next", "5", "-o", str(out)]
    )
    assert more.exit_code == 0, more.output
    assert len(out.read_text("utf-8").splitlines()) >= 5


def test_a_judge_that_does_not_say_how_sure_it_is_claims_no_agreement(
    judged: tuple[Path, Path],
) -> None:
    run, labels = judged
    found = estimate(run, labels=labels)
    assert found.agreement is not None
    assert found.agreement.judge_alone is None
    shown = run_cli(app, ["estimate", str(run), "--labels", str(labels)]).output
    (line,) = [one for one in shown.splitlines() if "agreement with people" in one]
    assert "50.0 %" not in line
    assert "50.0%" not in line
