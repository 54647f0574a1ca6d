"""``magistrate train`` as a command: what is wrong is said before anything is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from magistrate.cli.main import main


def told(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str]:
    code = main(["train", *args])
    return code, capsys.readouterr().err


def test_a_recipe_needs_data_and_base(capsys: pytest.CaptureFixture[str]) -> None:
    code, error = told(capsys, "-o", "x")
    assert code == 2
    assert "data is missing; judge is missing" in error


def test_flags_that_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    code, error = told(capsys, "--base", "b", "--data", "d", "--lora", "--full", "-o", "x")
    assert code == 2
    assert "--lora and --full exclude each other" in error


def test_a_folder_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, error = told(capsys, "--base", "b", "--data", "d")
    assert code == 2
    assert "--out" in error


def test_a_wrong_setting_names_the_nearest_key(capsys: pytest.CaptureFixture[str]) -> None:
    code, error = told(
        capsys, "--base", "b", "--data", "d", "--set", "optim.learning_rat=1", "-o", "x"
    )
    assert code == 2
    assert "optim.learning_rat is not known" in error


def test_a_configuration_of_accelerate_must_be_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("LOCAL_RANK", "MAGISTRATE_LAUNCHED"):
        monkeypatch.delenv(name, raising=False)
    missing = str(tmp_path / "none.yaml")
    given = ["--base", "b", "--data", "d", "-o", str(tmp_path / "judge")]
    code, error = told(capsys, *given, "--set", f"run.accelerate={missing}")
    assert code == 2
    assert f"there is no file {missing}" in error


def test_a_finished_training_has_nothing_left_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "training").mkdir()
    for name in ("judge.toml", "training/training.json"):
        (tmp_path / name).write_text("", "utf-8")
    code, error = told(capsys, "--base", "b", "--data", "d", "-o", str(tmp_path), "--resume")
    assert code == 0
    assert "nothing is left to do" in error
