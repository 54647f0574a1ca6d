"""Judges by name, and the messages for names that mean nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from magistrate.engines.table import ENGINES
from magistrate.errors import EngineError, FamilyError, JudgeNotFoundError
from magistrate.judging.folder import read_judge_file
from magistrate.judging.resolve import find_judge_folder, list_judges, load_judge
from magistrate.judging.stream import judge_samples
from magistrate.records import Answer, Sample


def test_engine_model_and_family_are_told_apart() -> None:
    judge = load_judge("scripted:longer,fail=0.5#single")
    assert (judge.spec.engine, judge.spec.model, judge.family.name) == (
        "scripted",
        "longer",
        "single",
    )
    assert judge.spec.settings["fail"] == 0.5


def test_the_default_family_is_pair() -> None:
    assert load_judge("scripted:first").family.name == "pair"


def test_specs_differ_by_what_changes_an_answer_and_not_by_name() -> None:
    longer, first = load_judge("scripted:longer").spec, load_judge("scripted:first").spec
    assert longer.id != first.id
    assert longer.model_copy(update={"name": "other"}).id == longer.id
    assert load_judge("scripted:longer#single").spec.id != longer.id


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("minni", ["no judge 'minni'", "did you mean 'mini'", "ENGINE:MODEL"]),
        ("", ["no judge ''"]),
        ("gpt:4", ["no judge 'gpt:4'", ", ".join(sorted(ENGINES))]),
        ("scripted:", ["no judge 'scripted:'"]),
    ],
)
def test_an_unknown_judge_is_told_what_would_do(name: str, words: list[str]) -> None:
    with pytest.raises(JudgeNotFoundError) as caught:
        load_judge(name)
    for word in words:
        assert word in str(caught.value)


def test_a_folder_that_is_no_judge_is_said_to_be_one(tmp_path: Path) -> None:
    with pytest.raises(JudgeNotFoundError, match=r"a folder without a judge\.toml"):
        load_judge(str(tmp_path))


def test_an_unknown_family_is_an_error_of_the_family() -> None:
    with pytest.raises(FamilyError, match="pairr"):
        load_judge("scripted:first#pairr")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('name = "mini"', "name = 3", "name"),
        ('name = "mini"', "name = ", "not valid TOML"),
        ("max_tokens", "most_tokens", "max_tokens"),
        ("sha256 = ", "sha265 = ", "sha265"),
    ],
)
def test_a_broken_judge_file_names_file_and_key(
    tmp_path: Path, old: str, new: str, words: str
) -> None:
    mini = find_judge_folder("mini")
    assert mini is not None
    text = (mini / "judge.toml").read_text("utf-8")
    assert old in text
    (tmp_path / "judge.toml").write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(JudgeNotFoundError, match=words) as caught:
        read_judge_file(tmp_path)
    assert str(tmp_path / "judge.toml") in str(caught.value)


def test_replaced_weights_are_not_loaded(tmp_path: Path) -> None:
    mini = find_judge_folder("mini")
    assert mini is not None
    for name in ("judge.toml", "tokenizer.json"):
        shutil.copy(mini / name, tmp_path / name)
    (tmp_path / read_judge_file(mini).model.file).write_bytes(b"something else")
    with pytest.raises(EngineError, match="SHA-256"):
        load_judge(str(tmp_path))


def test_mini_is_bundled_and_judges() -> None:
    assert [judge.name for judge in list_judges()] == ["mini"]
    sample = Sample(
        question="What is the capital of France?",
        answers=(Answer(text="The capital of France is Paris."), Answer(text="")),
    )
    with load_judge("mini") as judge:
        (batch,) = judge_samples(judge, [sample])
    (judgment,) = batch
    assert judgment.status == "ok"
    assert judgment.preference == "first"
    assert judgment.probabilities is not None
    assert sum(judgment.probabilities.model_dump().values()) == pytest.approx(1)
