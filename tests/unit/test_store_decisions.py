"""``decisions.parquet``: equal to what the judgments give, and never stale."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import magistrate as mg
from magistrate.errors import RunDamagedError
from magistrate.records import Answer, Decision, Probabilities, Sample
from magistrate.store import decisions as stored
from magistrate.store.decisions import (
    are_current,
    decisions_table,
    read_decisions,
    stamp_of,
    write_decisions,
)

DECISIONS = [
    Decision(
        row=0,
        sample_id="a" * 24,
        status="ok",
        preference="first",
        scores=(7.5, 0.1 + 0.2),
        probabilities=Probabilities(first=1 / 3, tie=1 / 3, second=1 / 3),
        confidence=1 / 3,
        consistent=True,
        truncated=True,
        rule="mean-probability",
        keys=("b" * 24, "c" * 24),
    ),
    Decision(row=1, sample_id="d" * 24, status="error", rule="mean-probability"),
    Decision(row=2, sample_id="e" * 24, status="ok", ranking=(2, 1, 2), rule="mean-probability"),
]


@pytest.fixture
def run(tmp_path: Path) -> mg.Run:
    samples = [
        Sample(question=f"q {i}", answers=(Answer(text="a" * i), Answer(text="bb")))
        for i in range(5)
    ]
    return mg.judge(samples, "scripted:longer", tmp_path / "run")


def test_every_field_survives_to_the_last_digit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "ROWS_AT_ONCE", 2)
    path = tmp_path / "decisions.parquet"
    table = decisions_table(DECISIONS)
    table.write_parquet(path)
    assert list(read_decisions(path)) == DECISIONS
    assert set(table.columns) == (set(Decision.model_fields) - {"probabilities"}) | {
        "p_first",
        "p_tie",
        "p_second",
    }


def test_no_decisions_make_an_empty_table_with_all_columns(tmp_path: Path) -> None:
    assert decisions_table([]).schema == decisions_table(DECISIONS).schema


def test_a_finished_run_has_its_decisions(run: mg.Run) -> None:
    assert list(read_decisions(run.folder.decisions)) == list(run.decisions())
    assert are_current(run)


def test_current_decisions_are_not_made_again(run: mg.Run) -> None:
    before = run.folder.decisions.stat()
    write_decisions(run)
    assert run.folder.decisions.stat().st_ino == before.st_ino


@pytest.mark.parametrize("what", ["missing", "not parquet", "of other judgments"])
def test_decisions_that_are_not_current_are_made_anew(run: mg.Run, what: str) -> None:
    path = run.folder.decisions
    if what == "missing":
        path.unlink()
    elif what == "not parquet":
        path.write_text("PAR1 or not")
    else:
        pl.read_parquet(path).write_parquet(path, metadata={"magistrate.made_from": "else"})
    assert not are_current(run)
    write_decisions(run)
    assert are_current(run)
    assert list(read_decisions(path)) == list(run.decisions())


def test_more_judgments_make_decisions_stale(run: mg.Run) -> None:
    with run.folder.judgments.open("ab") as file:
        file.write(run.folder.judgments.read_bytes().splitlines(keepends=True)[0])
    assert not are_current(run)


def test_a_table_of_something_else_is_an_error_that_says_it_is_derived(tmp_path: Path) -> None:
    path = tmp_path / "decisions.parquet"
    assert stamp_of(path) is None
    for content in (pl.DataFrame({"x": [1]}), pl.DataFrame({"row": ["a"], "p_first": [None]})):
        content.write_parquet(path)
        with pytest.raises(RunDamagedError, match="delete it"):
            list(read_decisions(path))
