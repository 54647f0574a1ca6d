"""Published figures come out exactly; ``make goldens`` prints the same table."""

from __future__ import annotations

from pathlib import Path

import pytest
from figures import Checked, Golden, check, goldens

GOLDENS = {golden.name: golden for golden in goldens()}


@pytest.mark.data
@pytest.mark.parametrize("golden", GOLDENS.values(), ids=GOLDENS.keys())
def test_published_figures_are_exact(data_folder: Path, golden: Golden) -> None:
    checked = check(golden, data_folder)
    assert checked
    assert [figure for figure in checked if not figure.exact] == []


def test_no_golden_stands_twice() -> None:
    assert len(GOLDENS) == len(list(goldens()))


@pytest.mark.parametrize(
    ("published", "ours", "exact"),
    [
        ("66.77", 66.76676676, True),
        ("66.77", 66.7649, False),
        ("57.50", 57.4969, True),
        ("57.5", 57.44, False),
        ("105", 105, True),
        ("105", 106, False),
        ("22.388059701492537", 22.38805970149254, True),
        ("22.388059701492537", 22.3880598, False),
    ],
)
def test_exact_means_equal_at_the_published_decimals(
    published: str, ours: float, exact: bool
) -> None:
    assert Checked("golden", "figure", published, ours).exact is exact
