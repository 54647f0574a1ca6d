"""A judge folder with two families, with references and without, and how one is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from magistrate.data.teachers import plan_passes
from magistrate.errors import EngineError, FamilyError, JudgeNotFoundError
from magistrate.judging.folder import read_family, read_judge_file
from magistrate.judging.resolve import find_judge_folder, load_judge, named_family
from magistrate.prompts.catalog import load_family
from magistrate.prompts.importing.toml import dumps
from magistrate.prompts.text_family import TextFamily

FILES = {"judgelm": "family.toml", "judgelm-reference": "family-reference.toml"}


def judge_folder(folder: Path, files: dict[str, str]) -> Path:
    """Write a judge folder without weights: families can be read, nothing can be judged."""
    folder.mkdir()
    for name, file in files.items():
        family = load_family(name)
        assert isinstance(family, TextFamily)
        text = dumps(family.file.model_dump(mode="json", exclude_none=True))
        (folder / file).write_text(text, "utf-8")
    table = {
        "name": "two",
        "version": "1",
        "engine": "hf",
        "model": {"max_tokens": 256, "files": {"model.safetensors": "0" * 64}},
        "family": {"kind": "text"},
        "families": files if len(files) > 1 else {},
        "settings": {"mode": "score"},
    }
    (folder / "judge.toml").write_text(dumps(table), "utf-8")
    return folder


@pytest.fixture
def two(tmp_path: Path) -> Path:
    return judge_folder(tmp_path / "two", FILES)


def test_the_first_family_is_asked_unless_another_is_named(two: Path) -> None:
    file = read_judge_file(two)
    assert read_family(two, file).prompt_hash == load_family("judgelm", mode="score").prompt_hash
    for name in FILES:
        due = load_family(name, mode="score").prompt_hash
        assert read_family(two, file, name=name).prompt_hash == due
    with pytest.raises(FamilyError, match=r"'pair' .it holds judgelm, judgelm-reference.*#pair"):
        read_family(two, file, name="pair")


def test_a_judge_name_may_end_with_the_family(two: Path, tmp_path: Path) -> None:
    assert find_judge_folder(f"{two}#judgelm-reference") == two
    assert named_family(f"{two}#judgelm-reference") == "judgelm-reference"
    assert named_family(str(two)) is None
    assert find_judge_folder(f"{tmp_path}/nothing#pair") is None
    with pytest.raises(EngineError, match=r"model.safetensors"):
        load_judge(f"{two}#judgelm-reference")
    with pytest.raises(FamilyError, match="was not trained on a family 'pair'"):
        load_judge(f"{two}#pair")
    with pytest.raises(FamilyError, match="it holds one alone"):
        load_judge("mini#pair")


def test_a_folder_whose_own_name_has_the_sign_is_found(tmp_path: Path) -> None:
    folder = judge_folder(tmp_path / "two#three", FILES)
    assert find_judge_folder(str(folder)) == folder
    assert named_family(str(folder)) is None
    assert named_family(f"{folder}#judgelm") == "judgelm"


@pytest.mark.parametrize("named", ["", "#judgelm", "#judgelm-reference"])
def test_a_teacher_with_both_is_asked_both_ways(two: Path, named: str) -> None:
    passes, notes = plan_passes([f"{two}{named}"], "both")
    assert [one.shows_reference for one in passes] == [False, True]
    assert passes[1].judge == f"{two}#judgelm-reference"
    assert passes[0].judge in (str(two), f"{two}#judgelm")
    assert [one.family.name for one in passes] == ["judgelm", "judgelm-reference"]
    assert not notes
    (one,), _ = plan_passes([f"{two}{named}"], "yes")
    assert one.judge == f"{two}#judgelm-reference"


def test_a_teacher_with_one_family_says_what_it_cannot_give(tmp_path: Path) -> None:
    folder = judge_folder(tmp_path / "one", {"judgelm": "family.toml"})
    passes, notes = plan_passes([str(folder)], "both")
    assert [one.shows_reference for one in passes] == [False]
    assert "not trained with references" in notes[0]


@pytest.mark.parametrize("file", ["../family.toml", "family.py", ""])
def test_family_files_lie_in_the_folder(two: Path, file: str) -> None:
    path = two / "judge.toml"
    text = path.read_text("utf-8").replace('"family-reference.toml"', f'"{file}"')
    path.write_text(text, "utf-8")
    with pytest.raises(JudgeNotFoundError, match=r"must be the name of a .toml file"):
        read_judge_file(two)
