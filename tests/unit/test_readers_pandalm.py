"""PandaLM's files, also in the form that its own README describes."""

from __future__ import annotations

from typing import Any

import pytest
from readers_help import judgments, read, sample, sniffed

from magistrate.formats.base import RowError

ROW: dict[str, Any] = {
    "idx": 157,
    "motivation_app": "Grammarly",
    "cmp_key": "bloom-7b_llama-7b",
    "instruction": "Shorten the sentence.",
    "input": "It is what it is.",
    "response1": True,
    "response2": "",
    "annotator1": 2,
    "annotator2": 0,
    "annotator3": 1,
}
README_ROW = {
    "index": "749",
    "motivation_app": "CNN News",
    "task_id": "user_oriented_task_165",
    "cmp_key": "opt-7b_pythia-6.9b",
    "instruction": "Write a news article.",
    "input": "",
    "reference_response": "The reference.",
    "response1": "One",
    "response2": "Two",
    "label_0": "2",
    "label_1": "2",
    "label_2": "Tie",
}


def test_sniffing() -> None:
    assert sniffed(ROW, README_ROW) == ["pandalm"]
    assert sniffed({"idx": 0, "gpt_result": "1", "gpt_reason": "x"}) == ["pandalm-result"]


def test_row_of_the_file() -> None:
    item = read("pandalm", ROW)
    found = item.sample
    assert found is not None
    assert found.question == "Shorten the sentence.\n\nIt is what it is."
    assert [(a.text, a.model) for a in found.answers] == [("true", "bloom-7b"), ("", "llama-7b")]
    assert [(g.annotator, g.preference) for g in found.gold] == [
        ("annotator1", "second"),
        ("annotator2", "tie"),
        ("annotator3", "first"),
    ]
    assert (found.source_id, found.category) == ("157", "Grammarly")
    assert [notice.kind for notice in item.notices] == ["not-text"]


def test_row_of_the_readme() -> None:
    found = sample("pandalm", README_ROW)
    assert found.question == "Write a news article."
    assert found.reference == "The reference."
    assert [g.preference for g in found.gold] == ["second", "second", "tie"]
    assert found.source_id == "749"


def test_models_stay_unknown_when_the_key_cannot_be_split() -> None:
    found = sample("pandalm", {**ROW, "cmp_key": "my_model_other"})
    assert [answer.model for answer in found.answers] == [None, None]


def test_unknown_label_is_refused() -> None:
    with pytest.raises(RowError, match="'annotator2' is 3; needed: 0, tie, 1, 2"):
        read("pandalm", {**ROW, "annotator2": 3})


@pytest.mark.parametrize(
    ("value", "status", "preference"),
    [
        ("1", "ok", "first"),
        (2, "ok", "second"),
        ("Tie", "ok", "tie"),
        (0, "ok", "tie"),
        ("garbage", "unparsed", None),
    ],
)
def test_result(value: object, status: str, preference: str | None) -> None:
    row = {"idx": 3, "gpt_result": value, "gpt_reason": "because", "gpt_reference": "r"}
    (found,) = judgments("pandalm-result", row, file="data/gpt-3.5-turbo-testset-v1.json")
    assert (found.status, found.preference) == (status, preference)
    assert (found.judge, found.sample_id, found.reasons) == ("gpt-3.5-turbo", "3", "because")


def test_instructions_alone_have_nothing_to_judge() -> None:
    row = {"motivation_app": "Google Meet", "instruction": "Sum up.", "input": "x"}
    assert sniffed(row) == ["instructions"]
    assert read("instructions", row).sample is None
