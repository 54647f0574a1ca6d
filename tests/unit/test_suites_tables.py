"""Means over sets with their intervals, and tables laid out from cells."""

from __future__ import annotations

import doctest
import re
from types import ModuleType

import numpy as np
import pytest

from magistrate.metrics.intervals import NO_RATE, Rate, proportion
from magistrate.report import layout
from magistrate.report.table import plain_text
from magistrate.suites import drawing, grid, means
from magistrate.suites.grid import (
    Cell,
    Column,
    Grid,
    markdown,
    parts_of,
    rendered,
    text_of,
    without_empty,
)
from magistrate.suites.means import difference_of_means, mean_of_rates

SETS = ((0.9, 60), (0.5, 40), (0.15, 50))
"""True rate and size of each set."""


def test_the_interval_of_a_mean_covers_the_truth_as_often_as_it_says() -> None:
    draw = np.random.default_rng(7)
    truth = float(np.mean([share for share, _ in SETS]))
    inside = 0
    trials = 2_000
    for _ in range(trials):
        rates = [proportion(int(draw.binomial(n, share)), n) for share, n in SETS]
        found = mean_of_rates(rates)
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= truth <= found.high
    assert 0.94 <= inside / trials <= 0.97


def test_the_interval_of_a_difference_covers_the_truth() -> None:
    draw = np.random.default_rng(8)
    inside = 0
    trials = 2_000
    for _ in range(trials):
        one, *others = (proportion(int(draw.binomial(n, share)), n) for share, n in SETS)
        found = difference_of_means([one], others)
        assert found.low is not None
        assert found.high is not None
        inside += found.low <= 0.9 - (0.5 + 0.15) / 2 <= found.high
    assert 0.94 <= inside / trials <= 0.97


def test_sets_that_are_all_right_keep_a_width() -> None:
    found = mean_of_rates([proportion(20, 20), proportion(20, 20)])
    assert found.value == found.high == 1.0
    assert found.low is not None
    assert 0.85 < found.low < 0.95


def test_what_has_no_value_is_left_out() -> None:
    assert mean_of_rates([]) == mean_of_rates([NO_RATE]) == NO_RATE
    assert mean_of_rates([NO_RATE, proportion(5, 10)]).value == 0.5
    assert difference_of_means([NO_RATE], [proportion(1, 2)]) == NO_RATE
    bare = mean_of_rates([Rate(value=0.5, n=4), proportion(5, 10)])
    assert (bare.value, bare.n, bare.low) == (0.5, 14, None)


GRID = Grid(
    "Caption",
    (Column("set", "text"), Column("n", "count"), Column("agreement"), Column("gap", "difference")),
    (
        ("a set\x1b[31m of long name", 1234, proportion(50, 100), Rate(value=-0.021, n=9)),
        ("b", None, NO_RATE, None),
    ),
    ("A note.",),
)


def test_a_table_has_intervals_below_and_no_control_signs() -> None:
    text = plain_text(rendered(GRID), 60)
    assert "\x1b" not in text
    assert "1,234" in text
    assert "-2.1" in text
    lines = text.splitlines()
    assert any("[40.4, 59.6]" in line and "1,234" not in line for line in lines)
    assert lines[-1] == "A note."
    assert "–" in text


@pytest.mark.parametrize("width", [24, 30, 40, 80])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    text = plain_text(rendered(GRID), width)
    assert max(map(len, text.splitlines())) <= width
    assert "1,234" in text
    assert "40.4" in text or "40–60" in text


def test_markdown_has_every_interval_and_a_cell_per_column() -> None:
    hostile = Grid("a | b", GRID.columns, (("<b>x</b> | y", 1, proportion(1, 2), None),))
    lines = markdown(hostile).splitlines()
    assert lines[0] == "**a \\| b**"
    row = lines[4]
    assert row.replace("\\|", "").count("|") == 5
    assert "&lt;b&gt;x&lt;/b&gt;" in row
    assert "50.0 [9.5, 90.5]" in row


NAMES = ("not ok", "as given", "swapped", "average", "both", "equal", "longer")


def wide_grid() -> Grid:
    """Return a table as wide as LLMBar's: sets and a mean, seven rates each."""
    sets = ("LLMBar Natural", "LLMBar Neighbor", "LLMBar GPTInst", "mean of the adversarial")
    rows: list[tuple[Cell, ...]] = [
        (name, 1234, *(proportion(20 + 7 * k + place, 100) for k in range(len(NAMES))))
        for place, name in enumerate(sets)
    ]
    rates = (Column(name, bare=name == "not ok") for name in NAMES)
    return Grid("Caption", (Column("set", "text"), Column("n", "count"), *rates), tuple(rows))


@pytest.mark.parametrize("width", [130, 100, 80, 70, 66])
def test_sets_stand_below_each_other_in_a_table(width: int) -> None:
    lines = plain_text(rendered(wide_grid()), width).splitlines()
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if "1,234" in line]
    values = [line.partition("1,234")[2].split() for line in rows]
    assert values == [[f"{20 + 7 * k + place}.0" for k in range(7)] for place in range(4)]
    ends = {tuple(value.end() for value in re.finditer(r"[\d.]+", line))[-7:] for line in rows}
    assert len(ends) == 1, "values stand one below the other"
    text = "\n".join(lines)
    assert "adversarial" in text
    intervals = re.findall(r"\d+(?:\.\d)?(?:–|, )\d+(?:\.\d)?", text)
    assert len(intervals) == 6 * 4


def test_only_where_there_is_no_room_is_a_set_told_in_lines() -> None:
    lines = plain_text(rendered(wide_grid()), 55).splitlines()
    assert "LLMBar Natural" in lines
    assert any(line.startswith("  n 1,234, not ok 20.0 [") for line in lines)


def test_no_word_of_a_name_or_header_is_cut() -> None:
    cells: tuple[Cell, ...] = ("mean of the adversarial", "pair-reasons-first (reason)", 3)
    columns = (Column("set", "text"), Column("family", "text"), Column("tokens written", "count"))
    for width in range(30, 70):
        text = plain_text(rendered(Grid("c", columns, (cells,))), width)
        for word in ("adversarial", "reasons-", "first", "(reason)", "tokens", "written"):
            assert word in text, width


def test_columns_that_say_nothing_can_go() -> None:
    bare = Grid("c", (Column("set", "text"), Column("domain", "text")), (("a", ""), ("b", "")))
    assert [c.header for c in without_empty(bare, ["domain"]).columns] == ["set"]
    assert [c.header for c in without_empty(bare, []).columns] == ["set", "domain"]


def test_cells_in_words() -> None:
    share = Column("a")
    assert text_of(None, share) == text_of(NO_RATE, share) == "–"
    assert text_of(1234, Column("n", "count")) == "1,234"
    assert parts_of(proportion(50, 100), share, "dashes") == ("50.0", "40.4–59.6")
    assert parts_of(proportion(50, 100), share, "whole") == ("50.0", "40–60")
    gap = Rate(value=-0.021, n=9, low=-0.1, high=0.06)
    assert parts_of(gap, Column("g", "difference"), "dashes") == ("-2.1", "-10.0 to +6.0")


@pytest.mark.parametrize("module", [drawing, grid, layout, means])
def test_examples_in_docstrings(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed
