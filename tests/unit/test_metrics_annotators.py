"""Majorities, agreement between annotators, and one annotator as the truth."""

from __future__ import annotations

import numpy as np
import pytest

from magistrate.metrics.annotators import against_one, describe, majority_of, with_each
from magistrate.metrics.columns import NOTHING, SPLIT

VOTES = np.array(
    [
        [1, 1, -1],
        [1, -1, 1],  # annotators 1 and 3: the pair that a released script forgets
        [-1, 1, 1],
        [1, 0, -1],  # three-way
        [1, -1, NOTHING],  # one against one
        [0, 0, 0],
        [NOTHING, NOTHING, NOTHING],
        [NOTHING, -1, NOTHING],
    ],
    dtype=np.int8,
)
NAMES = ("a", "b", "c")
ALONE = np.arange(len(VOTES))


def test_any_two_of_three_decide_and_three_ways_are_named() -> None:
    assert majority_of(VOTES).tolist() == [1, 1, 1, SPLIT, SPLIT, 0, NOTHING, -1]
    found = describe(VOTES, NAMES, ALONE)
    assert found is not None
    assert found.labels == {"first": 3, "tie": 1, "second": 1, "no majority": 2}
    assert (found.three_way, found.unanimous, found.several) == (1, 1, 6)


def test_two_annotators_are_compared_on_the_pairs_that_both_labelled() -> None:
    found = describe(VOTES, NAMES, ALONE)
    assert found is not None
    a_b, a_c, _ = found.between
    assert (a_b.one, a_b.other, a_b.agreement.n) == ("a", "b", 6)
    assert a_b.agreement.value == pytest.approx(2 / 6)
    assert a_c.agreement.n == 5


def test_annotators_who_agree_have_kappas_of_one() -> None:
    votes = np.tile([[1], [0], [-1]], (5, 3)).astype(np.int8)
    found = describe(votes, NAMES, np.arange(15))
    assert found is not None
    assert found.fleiss == pytest.approx(1)
    assert found.krippendorff == pytest.approx(1)
    assert all(two.kappa == pytest.approx(1) for two in found.between)


def test_annotators_who_say_one_thing_alone_have_no_kappa() -> None:
    found = describe(np.ones((5, 2), dtype=np.int8), NAMES[:2], np.arange(5))
    assert found is not None
    assert found.fleiss is None
    assert found.krippendorff is None
    assert found.between[0].kappa is None


def test_nobody_labelled_anything() -> None:
    assert describe(np.full((3, 2), NOTHING), NAMES[:2], np.arange(3)) is None
    assert describe(np.zeros((3, 0)), (), np.arange(3)) is None


def test_a_judge_with_each_annotator() -> None:
    said = np.array([1, 1, 1, 1, NOTHING, 0, 0, 0], dtype=np.int8)
    a, b, _ = with_each(said, VOTES, NAMES, ALONE)
    assert a.agreement.n == 5
    assert a.agreement.value == pytest.approx(4 / 5)
    assert b.agreement.n == 6


def test_one_annotator_as_the_truth_on_the_pairs_that_all_judged() -> None:
    truth = np.array([1, 1, -1, -1, 0, NOTHING])
    judge = np.array([1, -1, -1, -1, NOTHING, 1])
    strong = np.array([1, 1, -1, 1, 0, 1])
    rows = against_one(truth, [("j", "judge", judge), ("s", "second judge", strong)], np.arange(6))
    assert [row.n for row in rows] == [4, 4]
    assert [row.agreement.value for row in rows] == [0.75, 0.75]
    assert rows[0].kappa == pytest.approx(0.5)
    assert rows[0].precision == pytest.approx((1 + 2 / 3) / 2)


def test_no_pair_in_common_gives_no_numbers() -> None:
    (row,) = against_one(np.array([1]), [("j", "judge", np.array([NOTHING]))], np.arange(1))
    assert (row.n, row.agreement.value, row.f1) == (0, None, None)
