"""Thresholds of a cascade are not chosen on the pairs that it judges."""

from __future__ import annotations

from pathlib import Path

import pytest
from cascade_help import as_told, pairs, sure_judge

import magistrate as mg
from magistrate.cascade.live_folder import CascadeRun
from magistrate.cli.main import main
from magistrate.errors import InputError
from magistrate.records import Answer, Sample
from magistrate.report.labels import flipped


def known() -> list[Sample]:
    return pairs(*(0.5 + number / 100 for number in range(40)), label=True)


def cascade(samples: list[Sample], folder: Path, labelled: list[Sample]) -> CascadeRun:
    cheap, _ = sure_judge("cheap", as_told)
    strong, _ = sure_judge("strong", lambda q: "0.9 longer")
    return mg.run_cascade(
        samples, [cheap, strong], folder, target_agreement=0.8, calibrate_on=labelled
    )


def test_labelled_pairs_that_are_judged_are_left_out_and_told(tmp_path: Path) -> None:
    labelled = known()
    bare = [one.model_copy(update={"gold": ()}) for one in labelled[:4]]
    judged = [bare[0], bare[1], flipped(bare[2]), *pairs(0.99)]
    done = cascade(judged, tmp_path / "c", labelled)
    assert done.manifest.labels == 37
    assert "not so here" not in (done.manifest.assumption or "")
    (told,) = [one for one in done.run.notices() if one.kind == "calibration-pairs-judged"]
    assert "3 of 40 labelled pairs" in told.message


def test_nothing_is_chosen_on_what_is_judged_alone(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"all 40 labelled pairs .* among the pairs to be judged"):
        cascade(known(), tmp_path / "c", known())


def test_labelled_questions_that_are_judged_are_told_with_the_promise(tmp_path: Path) -> None:
    labelled = known()
    other = labelled[5].model_copy(
        update={"answers": (Answer(text="quite another answer"), Answer(text="no"))}
    )
    done = cascade([other], tmp_path / "c", labelled)
    assert done.manifest.labels == 40
    assert "not so here: 1 of 40 labelled pairs" in (done.manifest.assumption or "")
    assert "judged-questions-known" in [one.kind for one in done.run.notices()]


def test_a_judge_that_keeps_nothing_is_told_with_what_would_help(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cheap, _ = sure_judge("cheap", as_told)
    wrong, _ = sure_judge("wrong", lambda q: f"{as_told(q).split()[0]} shorter")
    labelled = pairs(*(0.5 + number / 400 for number in range(200)), label=True)
    done = mg.run_cascade(
        pairs(0.99, 0.511),
        [wrong, cheap],
        tmp_path / "c",
        target_agreement=0.8,
        risk=0.1,
        calibrate_on=labelled,
    )
    assert main(["runs", "show", str(done.path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "keeps nothing: no threshold keeps the promise on" in shown
    assert "more labels would not help" in shown
    assert "of all pairs" in shown
