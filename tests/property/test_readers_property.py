"""Whatever a row holds, a reader returns an item or raises RowError, and sniffing never fails."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reader_rows import QUESTIONS, ROWS

from magistrate.formats.base import Item, ReadOptions, RowError, Where
from magistrate.formats.readers import all_readers

READERS = {reader.name: reader for reader in all_readers()}
ALL_ROWS = list(ROWS.values())

SCALARS = (
    st.sampled_from([None, True, False, 0, 1, -1, 2, 1.5, float("nan"), 10**400, "", "1", "\ud800"])
    | st.sampled_from(["\n\nHuman: a\n\nAssistant: b", "[[", "8 9\nx", "model_a", "A=B", "[1]"])
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)
FILES = st.sampled_from(["a/reversed.json", "LLMBar/Natural/dataset.json", "x_exchange.csv", ""])
SETTINGS = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside a row."""
    if not isinstance(value, dict | list):
        return [path]
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(deeper for key, part in inside for deeper in paths_of(part, (*path, key)))]


def replaced(row: Any, path: tuple[Any, ...], value: Any, *, gone: bool) -> Any:
    """Return a copy of a row with one value exchanged or taken away."""
    if not path:
        return value
    copied = copy.deepcopy(row)
    place = copied
    for key in path[:-1]:
        place = place[key]
    if gone:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copied


@st.composite
def damaged_rows(draw: st.DrawFn) -> tuple[str, Any]:
    """Draw a reader, and a row for it of which one or two values are something else."""
    name = draw(st.sampled_from(sorted(ROWS)))
    row = ROWS[name]
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from(paths_of(row)))
        row = replaced(row, path, draw(VALUES), gone=draw(st.booleans()))
    return name, row


def check(name: str, row: Any, file: str, questions: dict[str, Any]) -> None:
    try:
        item = READERS[name].read(row, Where(file, 1), ReadOptions(questions=questions))
    except RowError:
        return
    assert isinstance(item, Item)
    if item.sample is not None:
        assert len(item.sample.id) == 24
    for judgment in item.judgments:
        outcome = (judgment.preference, judgment.scores, judgment.ranking)
        if judgment.status == "ok":
            assert any(value is not None for value in outcome)
        else:
            assert judgment.error
            assert judgment.preference is None


def test_there_is_a_good_row_for_every_reader() -> None:
    # One knows a file only to say where it belongs: its lists are no judgments.
    assert set(ROWS) == set(READERS) - {"unlimitedjudge-reliability"}


@pytest.mark.parametrize("name", ROWS)
def test_good_row_is_read_and_matched_by_its_reader_alone(name: str) -> None:
    row = ROWS[name]
    item = READERS[name].read(row, Where("a/b.json", 1), ReadOptions(questions=QUESTIONS))
    assert isinstance(item, Item)
    assert [reader.name for reader in all_readers() if reader.matches([row], "a/b.json")] == [name]


@settings(SETTINGS, max_examples=1500)
@given(damaged=damaged_rows(), file=FILES, with_questions=st.booleans())
def test_damaged_row_gives_an_item_or_a_row_error(
    damaged: tuple[str, Any], file: str, with_questions: bool
) -> None:
    check(*damaged, file, QUESTIONS if with_questions else {})


@SETTINGS
@given(damaged=VALUES, questions=st.dictionaries(st.sampled_from(["1", "v1_0"]), VALUES))
def test_any_value_and_any_question_record(damaged: Any, questions: dict[str, Any]) -> None:
    for name, row in ROWS.items():
        check(name, damaged, "file.json", {})
        check(name, row, "file.json", questions)


@SETTINGS
@given(rows=st.lists(VALUES | damaged_rows().map(lambda drawn: drawn[1]), max_size=3), file=FILES)
def test_sniffing_never_fails(rows: list[Any], file: str) -> None:
    for reader in READERS.values():
        assert reader.matches(rows, file) in (True, False)
