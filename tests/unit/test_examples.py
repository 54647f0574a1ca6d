"""The example files are what their README says, and their labels are not given away."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
MODELS = {"alder", "birch", "cedar"}


def lines(name: str) -> list[dict[str, Any]]:
    text = (EXAMPLES / name).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def table(name: str) -> list[dict[str, Any]]:
    with (EXAMPLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def outputs(model: str) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads((EXAMPLES / f"outputs/{model}.json").read_text("utf-8"))
    return rows


PAIRS = [*lines("pairs.jsonl"), *table("pairs.csv")]
DECISIVE = [row for row in PAIRS if row["label"] != "tie"]


def winner(row: dict[str, Any]) -> str:
    return str(row[f"answer{row['label']}"])


def loser(row: dict[str, Any]) -> str:
    return str(row[f"answer{3 - int(row['label'])}"])


def test_the_readme_counts_right() -> None:
    readme = (EXAMPLES / "README.md").read_text("utf-8")
    rows = {
        "pairs.jsonl": len(lines("pairs.jsonl")),
        "pairs.csv": len(table("pairs.csv")),
        "n-way.jsonl": len(lines("n-way.jsonl")),
        "single.jsonl": len(lines("single.jsonl")),
    }
    for name, count in rows.items():
        assert f"({name}) | {count} |" in readme
    longer = sum(len(winner(row)) > len(loser(row)) for row in DECISIVE)
    first = sum(str(row["label"]) == "1" for row in DECISIVE)
    assert f"Of the {len(DECISIVE)} pairs" in readme
    assert f"the longer one is better in\n  {longer}, and the first is better in {first}" in readme
    differing = [row for row in PAIRS if str(row["label"]) != str(row["label_reader"])]
    assert f"four of the {len(PAIRS)} pairs" in readme
    assert len(differing) == 4
    assert all("tie" in (row["label"], row["label_reader"]) for row in differing)


@pytest.mark.parametrize("rows", [lines("pairs.jsonl"), table("pairs.csv")])
def test_neither_length_nor_place_predicts_the_label(rows: list[dict[str, Any]]) -> None:
    decisive = [row for row in rows if row["label"] != "tie"]
    longer = sum(len(winner(row)) > len(loser(row)) for row in decisive) / len(decisive)
    first = sum(str(row["label"]) == "1" for row in decisive) / len(decisive)
    assert 0.4 <= longer <= 0.6
    assert 0.35 <= first <= 0.65


def test_cedar_beats_alder_and_birch_and_no_model_is_first_by_habit() -> None:
    better = Counter(row[f"model{row['label']}"] for row in DECISIVE)
    shown = Counter(row[f"model{place}"] for row in DECISIVE for place in (1, 2))
    rates = {model: better[model] / shown[model] for model in MODELS}
    assert rates["cedar"] > rates["alder"] >= rates["birch"]
    for model in MODELS:
        first = sum(row["model1"] == model for row in PAIRS)
        assert 0.2 <= first / sum(model in (row["model1"], row["model2"]) for row in PAIRS) <= 0.8


def test_every_pair_is_whole_and_told_once() -> None:
    questions = [row["question"] for row in PAIRS]
    questions += [row["instruction"] for row in outputs("alder")]
    questions += [row["question"] for row in lines("n-way.jsonl")]
    assert len(set(questions)) == len(questions)
    assert len({row["id"] for row in PAIRS}) == len(PAIRS)
    for row in PAIRS:
        assert {row["model1"], row["model2"]} < MODELS
        assert row["model1"] != row["model2"]
        assert str(row["label"]) in {"1", "2", "tie"}
        assert str(row["label_reader"]) in {"1", "2", "tie"}
        assert row["category"]
        assert row["language"] in {"en", "de", "es", "fr", "zh"}


def test_the_variety_is_there() -> None:
    assert len({row["category"] for row in PAIRS}) >= 9
    assert len({row["language"] for row in PAIRS}) >= 4
    answers = [row[f"answer{place}"] for row in PAIRS for place in (1, 2)]
    assert "" in answers
    assert any("rate me 10" in answer for answer in answers)
    assert any("[System]" in answer for answer in answers)
    assert any("\n" in row["question"] for row in table("pairs.csv"))


def test_answers_that_can_be_checked_by_machine_are_labelled_right() -> None:
    rows = {row["id"]: row for row in PAIRS}
    assert "e" not in winner(rows["sea-without-e"]).lower()
    assert "e" in loser(rows["sea-without-e"]).lower()
    assert json.loads(winner(rows["json-sam"])) == {"name": "Sam", "age": 30}
    with pytest.raises(json.JSONDecodeError):
        json.loads(loser(rows["json-sam"]))
    assert winner(rows["product-17-24"]).endswith(str(17 * 24))
    assert winner(rows["average-of-four"]) == str((3 + 8 + 10 + 15) // 4)
    assert len(re.findall(r"^\d\. ", winner(rows["vinegar"]), re.MULTILINE)) == 3
    assert len(winner(rows["closest-planet"]).split()) == 1
    assert winner(rows["train-journey"]) == "2 hours 35 minutes."


def test_the_code_that_is_called_right_is_right() -> None:
    row = next(row for row in PAIRS if row["id"] == "second-largest")
    cases: list[tuple[list[int], int | None]] = [
        ([3, 1, 2], 2),
        ([5, 5, 4], 4),
        ([7], None),
        ([7, 7], None),
        ([], None),
    ]
    assert [run_code(winner(row), numbers) for numbers, _ in cases] == [want for _, want in cases]
    assert any(run_code(loser(row), numbers) != want for numbers, want in cases)


def run_code(answer: str, numbers: list[int]) -> int | None:
    """Run the function in one of our own answers."""
    code = re.search(r"```python\n(.*?)```", answer, re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {}
    exec(code[1], names)
    result: int | None = names["second_largest"](list(numbers))
    return result


def test_the_two_output_files_hold_the_same_instructions_in_another_sequence() -> None:
    alder = [row["instruction"] for row in outputs("alder")]
    birch = [row["instruction"] for row in outputs("birch")]
    assert sorted(alder) == sorted(birch)
    assert len(set(alder)) == len(alder) == 10
    assert not any(one == other for one, other in zip(alder, birch, strict=True))
    for model in ("alder", "birch"):
        assert {row["generator"] for row in outputs(model)} == {model}


def test_the_other_shapes_are_whole() -> None:
    for row in lines("n-way.jsonl"):
        assert {row["model1"], row["model2"], row["model3"]} == MODELS
        assert all(1 <= row[f"score{place}"] <= 10 for place in (1, 2, 3))
    for row in lines("single.jsonl"):
        assert row["model"] in MODELS
        assert 1 <= row["score"] <= 10
    ids = [row["id"] for row in lines("single.jsonl")]
    assert len(set(ids)) == len(ids)


def test_the_broken_file_is_broken_in_the_ways_the_readme_lists() -> None:
    readme = (EXAMPLES / "README.md").read_text("utf-8")
    text = (EXAMPLES / "broken.jsonl").read_text("utf-8")
    for name in set(re.findall(r'"id": "([a-z-]+)"', text)) - {"two-on-a-line-b"}:
        assert f"`{name}`" in readme, f"examples/README.md does not explain {name}"
    whole = [line for line in text.splitlines() if _is_one_object(line)]
    assert len(whole) == 8
    assert sum('"id": "good"' in line for line in whole) == 2


def _is_one_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
