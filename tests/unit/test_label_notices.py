"""Labels that say nothing do not pass in silence."""

from __future__ import annotations

from pathlib import Path

import magistrate as mg
from magistrate.data.label_notices import ties_alone
from magistrate.records import Answer, Sample


def pairs(count: int) -> list[Sample]:
    return [
        Sample(question=f"Q{k}?", answers=(Answer(text=f"short {k}"), Answer(text=f"longer {k} x")))
        for k in range(count)
    ]


def said(tmp_path: Path, teacher: str, count: int) -> list[str]:
    report = mg.label(pairs(count), [teacher], tmp_path / "out.jsonl", cache=False)
    return [notice.message for notice in report.notices]


def test_a_teacher_with_a_favourite_place_is_told_and_so_are_mere_ties(tmp_path: Path) -> None:
    place, ties = said(tmp_path, "scripted:first", 10)
    assert "scripted:first gave the same outcome in both orders in 0% of 10 pairs" in place
    assert "10 of 10 merged labels are ties" in ties


def test_a_consistent_teacher_and_few_pairs_give_no_notice(tmp_path: Path) -> None:
    assert said(tmp_path / "a", "scripted:longer", 10) == []
    assert said(tmp_path / "b", "scripted:first", 4) == []


def test_from_what_share_on_ties_are_told() -> None:
    assert list(ties_alone({"tie": 94, "first": 6})) == []
    assert len(list(ties_alone({"tie": 95, "first": 5}))) == 1
