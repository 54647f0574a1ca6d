"""Files that hold how sure a judge is: of cascaded selective evaluation, and lists of numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from readers_help import judgments, read, sample, sniffed

from magistrate.errors import InputError
from magistrate.formats.base import RowError
from magistrate.formats.confidences import read_confidences
from magistrate.report.judged import read_judged

ROW: dict[str, Any] = {
    "instruction": "How does an aeroplane fly?",
    "outputs": ["By lift.", "By magic."],
    "preferences": {"human": 1, "other": 2, "third": 1},
    "probs": [0.75, 0.25],
}


def test_probabilities_and_votes_are_read() -> None:
    assert sniffed(ROW) == ["selective-evaluation"]
    found = sample("selective-evaluation", ROW, file="result/gpt-4-turbo.calibration.jsonl")
    assert found.question == "How does an aeroplane fly?"
    assert [answer.text for answer in found.answers] == ["By lift.", "By magic."]
    assert [(gold.annotator, gold.preference) for gold in found.gold] == [
        ("human", "first"),
        ("other", "second"),
        ("third", "first"),
    ]
    (said,) = judgments("selective-evaluation", ROW, file="result/gpt-4-turbo.calibration.jsonl")
    assert said.judge == "gpt-4-turbo"
    assert said.preference == "first"
    assert said.probabilities is not None
    assert (said.probabilities.first, said.probabilities.second) == (0.75, 0.25)


def test_no_probabilities_are_unparsed_and_rows_without_are_labels() -> None:
    (said,) = judgments("selective-evaluation", {**ROW, "probs": None})
    assert said.status == "unparsed"
    without = {key: value for key, value in ROW.items() if key != "probs"}
    assert sniffed(without) == ["selective-evaluation"]
    item = read("selective-evaluation", without)
    assert item.sample is not None
    assert not item.judgments


def test_rounding_over_one_is_cut() -> None:
    (said,) = judgments("selective-evaluation", {**ROW, "probs": [1.0000001, 0.0]})
    assert said.probabilities is not None
    assert said.probabilities.first == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"outputs": ["a"]}, "a list of two texts"),
        ({"outputs": "ab"}, "a list of two texts"),
        ({"probs": [0.9, 0.9]}, "two probabilities"),
        ({"probs": [0.9]}, "probs"),
        ({"preferences": {"human": 3}}, "human"),
        ({"preferences": [1]}, "an object is needed"),
    ],
)
def test_what_cannot_be_used_is_said(change: dict[str, Any], message: str) -> None:
    with pytest.raises(RowError, match=message):
        read("selective-evaluation", {**ROW, **change})


def test_a_file_is_read_with_its_labels(tmp_path: Path) -> None:
    path = tmp_path / "mistral.test.jsonl"
    rows = [ROW, {**ROW, "instruction": "Why?", "probs": [0.1, 0.9]}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    judged = read_judged(path)
    assert (judged.judge, judged.format) == ("mistral", "selective-evaluation")
    assert judged.pairs.said.tolist() == [1, -1]
    assert judged.pairs.gold.tolist() == [1, 1]


def test_a_list_of_confidences_holds_no_verdicts() -> None:
    row = {"Entropy": [0.1, 0.2], "entropy_cali": [0.3, 0.4]}
    assert sniffed(row) == ["unlimitedjudge-reliability"]
    with pytest.raises(RowError, match="--confidence"):
        read("unlimitedjudge-reliability", row)


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ('{"Entropy": [1, 2.5], "entropy_cali": [3, null]}', "", [1.0, 2.5]),
        ('{"Entropy": [1, 2.5], "entropy_cali": [3, null]}', "#entropy_cali", [3.0, math.nan]),
        ("0.5\n0.25\n", "", [0.5, 0.25]),
        ("[0.5, 0.25, 1]", "", [0.5, 0.25, 1.0]),
        ('{"id": "a", "sure": 0.5}\n{"id": "b", "sure": 0.75}\n', "", [0.5, 0.75]),
        ('{"id": 1, "sure": 0.5}\n{"id": 2, "sure": null}\n', "#sure", [0.5, math.nan]),
    ],
)
def test_lists_are_read_in_every_form(
    tmp_path: Path, text: str, key: str, expected: list[float]
) -> None:
    path = tmp_path / "sure.json"
    path.write_text(text, "utf-8")
    assert read_confidences(f"{path}{key}") == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("text", "key", "message"),
    [
        ('{"a": [1, 2], "b": [1, 2]}', "", "name one"),
        ('{"a": [1, 2], "b": [1, 2]}', "#c", "no list 'c'; it has: a, b"),
        ('{"id": 1, "sure": 0.5}\n{"id": 2, "sure": 0.5}\n', "", "2 fields"),
        ("[0.5, [1, 2]]", "", "row 2"),
        ('[0.5, "x"]', "", "row 2: 'x' is no number"),
    ],
)
def test_what_is_no_list_is_said(tmp_path: Path, text: str, key: str, message: str) -> None:
    path = tmp_path / "sure.json"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=message):
        read_confidences(f"{path}{key}")
