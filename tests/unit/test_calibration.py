"""Calibration: fits, honest numbers, where it is kept and used, drift, and the commands."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.cascade.calibration import (
    Fitted,
    apply,
    cross_fitted,
    drift,
    fit,
    fold_of,
    quantiles_of,
)
from magistrate.cli.main import main
from magistrate.errors import InputError
from magistrate.judging.calibrated import own_file, read_calibration, write_calibration
from magistrate.judging.calibration import Calibration
from magistrate.judging.resolve import load_judge
from magistrate.metrics.reliability import measure_reliability
from magistrate.report.calibration import Measured, _cautions
from magistrate.store.decisions import read_decisions, write_decisions
from magistrate.store.run import open_run

METHODS = ("temperature", "platt", "isotonic")


def too_sure(n: int, seed: int = 0, by: float = 2.5) -> tuple[np.ndarray, np.ndarray]:
    """Return confidences whose log-odds are ``by`` times too large, and what is right."""
    rng = np.random.default_rng(seed)
    strength = np.abs(rng.normal(size=n) * 2)
    return 1 / (1 + np.exp(-strength)), rng.random(n) < 1 / (1 + np.exp(-strength / by))


def made(**changes: object) -> Calibration:
    values: dict[str, object] = {
        "method": "temperature",
        "slope": 0.5,
        "judge": "j",
        "judge_id": "abc",
        "n": 500,
        "right": 300,
        "questions": 500,
        "data": "d",
    }
    return Calibration.model_validate(values | changes)


@pytest.mark.parametrize("method", METHODS)
def test_a_known_miscalibration_is_found_and_the_error_falls(method: str) -> None:
    sure, right = too_sure(4_000)
    fitted = fit(sure, right, np.arange(4_000), method)  # type: ignore[arg-type]
    if method != "isotonic":
        assert fitted.slope == pytest.approx(1 / 2.5, abs=0.06)
        assert fitted.intercept == pytest.approx(0, abs=0.15)
    truth = 1 / (1 + np.exp(-np.log(sure / (1 - sure)) / 2.5))
    middle = (sure > 0.55) & (sure < 0.97)
    assert np.abs(fitted.apply(sure) - truth)[middle].mean() < 0.03
    told = cross_fitted(sure, right, np.arange(4_000), method)  # type: ignore[arg-type]
    before = measure_reliability(sure, right, np.arange(4_000))
    after = measure_reliability(told, right, np.arange(4_000))
    assert before is not None
    assert after is not None
    assert before.ece > 0.1
    assert after.ece < 0.035


def test_the_simplest_that_will_do_is_chosen() -> None:
    sure, right = too_sure(600)
    assert fit(sure, right, np.arange(600)).method == "temperature"
    # Two levels with a step between: no logistic curve says that.
    rng = np.random.default_rng(1)
    level = rng.random(2_000)
    odd = rng.random(2_000) < np.where(level > 0.3, 0.75, 0.2)
    assert fit(level, odd, np.arange(2_000)).method == "isotonic"


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(METHODS), st.booleans())
def test_the_map_never_falls(seed: int, method: str, upside_down: bool) -> None:
    sure, right = too_sure(400, seed)
    good = ~right if upside_down else right
    fitted = fit(sure, good, np.arange(400), method)  # type: ignore[arg-type]
    grid = np.linspace(0, 1, 200)
    told = fitted.apply(grid)
    assert (np.diff(told) >= -1e-12).all()
    assert told.min() >= 0
    assert told.max() <= 1


@pytest.mark.parametrize("method", METHODS)
def test_one_number_at_a_time_is_the_same_map(method: str) -> None:
    sure, right = too_sure(400)
    fitted: Fitted = fit(sure, right, np.arange(400), method)  # type: ignore[arg-type]
    one = made(
        method=method,
        slope=fitted.slope,
        intercept=fitted.intercept,
        log_odds=fitted.log_odds,
        knots=fitted.knots,
    )
    grid = np.linspace(0, 1, 101)
    assert np.allclose([one.apply(float(value)) for value in grid], fitted.apply(grid))
    assert np.allclose(apply(one, grid), fitted.apply(grid))


def test_numbers_afterwards_are_of_maps_that_did_not_see_them() -> None:
    sure, right = too_sure(500)
    questions = np.repeat(np.arange(100), 5)
    fold = fold_of(questions)
    assert all(len(set(fold[questions == q])) == 1 for q in range(100))
    told = cross_fitted(sure, right, questions, "platt")
    turned = cross_fitted(sure, np.where(fold == 2, ~right, right), questions, "platt")
    assert np.allclose(told[fold == 2], turned[fold == 2])
    assert not np.allclose(told[fold != 2], turned[fold != 2])


def test_a_source_that_is_no_probability() -> None:
    sure, right = too_sure(500)
    gap = np.log(sure / (1 - sure)) * 3 + 40
    fitted = fit(gap, right, np.arange(500), "platt", is_probability=False)
    as_probability = fit(sure, right, np.arange(500), "platt")
    assert fitted.slope == pytest.approx(as_probability.slope / 3, rel=1e-6)
    assert np.allclose(fitted.apply(gap), as_probability.apply(sure))
    with pytest.raises(InputError, match="needs a confidence that is a probability"):
        fit(gap, right, np.arange(500), "temperature", is_probability=False)


def test_too_few_labels_are_refused_with_how_many_would_do() -> None:
    sure, right = too_sure(30)
    with pytest.raises(InputError, match="needs 50 labelled decisions or more, and there are 30"):
        fit(sure, right, np.arange(30))
    with pytest.raises(InputError, match="isotonic needs 300"):
        fit(*too_sure(200), np.arange(200), "isotonic")
    good = np.ones(100, dtype=bool)
    good[:2] = False
    with pytest.raises(InputError, match=r"of 100 only 2 are wrong; .*about 500 labels"):
        fit(too_sure(100)[0], good, np.arange(100))
    with pytest.raises(InputError, match="10 questions or more, and there are 4"):
        fit(*too_sure(100), np.arange(100) % 4)


def test_drift_is_told_where_there_is_some() -> None:
    sure, _ = too_sure(500)
    calibration = made(quantiles=quantiles_of(sure), n=500)
    assert drift(calibration, too_sure(400, seed=1)[0]) is None
    found = drift(calibration, 0.5 + 0.6 * (too_sure(400, seed=1)[0] - 0.5))
    assert found is not None
    assert found.lower
    assert found.distance > 0.3
    assert "less sure here" in found.message
    assert "400 pairs" in found.message
    assert drift(calibration, sure[:10] * 0.1) is None  # too few to say
    # Few values that occur often: as where the share of replies is the confidence.
    steps = made(quantiles=quantiles_of(np.repeat([0.6, 0.8, 1.0], 100)), n=300)
    assert drift(steps, np.repeat([0.6, 0.8, 1.0], 50)) is None


def test_a_calibration_is_a_section_that_leaves_the_rest_alone(tmp_path: Path) -> None:
    path = tmp_path / "judge.toml"
    path.write_text('# mine\nname = "x"\n\n[calibration]\nold = 1\n\n[made]\nby = "me"  # kept\n')
    sure, right = too_sure(400)
    fitted = fit(sure, right, np.arange(400), "isotonic")
    one = made(method="isotonic", knots=fitted.knots, quantiles=quantiles_of(sure), log_odds=False)
    write_calibration(path, one)
    assert read_calibration(path) == one
    write_calibration(path, made())
    assert read_calibration(path) == made()
    text = path.read_text()
    assert text.startswith('# mine\nname = "x"')
    assert 'by = "me"  # kept' in text
    assert text.count("[calibration]") == 1
    path.write_text("[calibration]\nslope = 1\n")
    with pytest.raises(InputError, match=r"calibration\.method: is missing"):
        read_calibration(path)


def labelled(path: Path, n: int = 80) -> Path:
    """Write pairs of which the longer answer is better, but for one in four."""
    rng = np.random.default_rng(5)
    rows = []
    for k in range(n):
        long, short = "word " * int(rng.integers(8, 40)), "word " * int(rng.integers(1, 8))
        first_long = bool(rng.random() < 0.5)
        answers = (long, short) if first_long else (short, long)
        better = first_long == bool(rng.random() < 0.75)
        rows.append(
            {
                "question": f"Question {k}?",
                "answers": [{"text": text.strip()} for text in answers],
                "gold": [{"preference": "first" if better else "second"}],
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_the_whole_way(tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = labelled(tmp_path / "labelled.jsonl")
    judged = tmp_path / "judged"
    asked = ["calibrate", "mini", str(path), "--judged", str(judged), "--json", "-q"]
    assert main(asked) == 0
    told = json.loads(capsys.readouterr().out)
    made_now = Calibration.model_validate(told["calibration"])
    assert made_now.n == 80
    assert told["before"]["error"]["ece"] is not None
    spec = open_run(judged).manifest.judge
    assert Path(told["kept"]) == own_file(spec.id)
    assert own_file(spec.id).is_relative_to(home)
    # What it was fitted on is not judged anew, and its own run stays raw.
    assert open_run(judged).manifest.calibration is None

    run = tmp_path / "run"
    assert main(["judge", str(path), "--judge", "mini", "--out", str(run)]) == 0
    assert "confidence is calibrated" in capsys.readouterr().err
    known = open_run(run)
    assert known.manifest.calibration == made_now
    for decision in known.decisions():
        assert decision.calibrated
        assert decision.probabilities is not None
        raw = decision.probabilities.confidence
        assert decision.confidence == pytest.approx(made_now.apply(raw))
    assert list(read_decisions(write_decisions(known))) == list(known.decisions())

    # Calibrating a run of a calibrated judge starts from the judge's own probabilities again.
    file = tmp_path / "c.toml"
    again = ["calibrate", "mini", "--run", str(run), "-o", str(file), "--json"]
    assert main(again) == 0
    assert json.loads(capsys.readouterr().out)["calibration"] == told["calibration"]
    assert read_calibration(file) == made_now

    assert main(["confidence", str(run), "--all"]) == 0
    shown = capsys.readouterr().out
    assert "AURC" in shown
    assert "length-gap" in shown
    assert "simulated annotators" in shown
    assert main(["confidence", str(run), "--source", "nothing"]) == 2
    assert "no confidence source 'nothing'" in capsys.readouterr().err


def test_another_judges_calibration_is_not_used(home: Path) -> None:
    judge = load_judge("scripted:longer#pair")
    assert judge.calibration is None
    write_calibration(own_file(judge.spec.id), made(judge_id="another"))
    assert load_judge("scripted:longer#pair").calibration is None
    right_one = made(judge_id=judge.spec.id)
    write_calibration(own_file(judge.spec.id), right_one)
    assert load_judge("scripted:longer#pair").calibration == right_one
    assert load_judge("scripted:longer#pair").spec == judge.spec


def test_what_cannot_be_calibrated_is_said(
    tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = labelled(tmp_path / "few.jsonl", n=20)
    run = tmp_path / "run"
    assert main(["judge", str(path), "--judge", "mini", "--out", str(run), "-q"]) == 0
    capsys.readouterr()
    assert main(["calibrate", "mini", "--run", str(run)]) == 2
    assert "needs 50 labelled decisions or more, and there are 20" in capsys.readouterr().err
    # Where the labels can be counted beforehand, nothing is judged for it.
    other = tmp_path / "other"
    assert main(["calibrate", "mini", str(path), "--judged", str(other)]) == 2
    assert "there are 20 labelled pairs; give 30 more labels" in capsys.readouterr().err
    assert not other.exists()
    assert main(["calibrate", "other", "--run", str(run)]) == 2
    assert "is a run of 'mini'" in capsys.readouterr().err
    assert main(["calibrate", "mini", "--run", str(run), "--source", "entropy"]) == 2
    assert "tells nothing of 'entropy'" in capsys.readouterr().err
    assert main(["calibrate", "mini"]) == 2


def test_a_calibration_on_few_labels_or_without_gain_says_so() -> None:
    before = Measured.model_construct(error=object())
    sure, right = np.full(60, 0.8), np.arange(60) % 5 > 0
    questions = np.arange(60) % 20
    rough, noise = _cautions(sure, sure + 0.001, right, questions, before)
    assert "fitted on 60 labels of 20 questions" in rough.message
    assert "no gain is shown beyond chance" in noise.message
    many, each = np.full(400, 0.99), np.arange(400)
    assert list(_cautions(many, np.full(400, 0.5), each % 2 > 0, each, before)) == []
