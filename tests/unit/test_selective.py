"""What confidence is good for: worked by hand, against scikit-learn, and properties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, roc_auc_score

from magistrate.metrics.selective import (
    Ranks,
    accuracy_curve,
    aurc,
    auroc_of,
    best_aurc,
    brier,
    measure_selective,
)

cases = st.lists(
    st.tuples(st.sampled_from([0.2, 0.4, 0.5, 0.7, 0.9]), st.booleans()), min_size=1, max_size=40
)


def area(confidence: list[float], right: list[bool]) -> float:
    value = aurc(
        Ranks.of(np.array(confidence)), np.array(right, dtype=bool), np.arange(len(right))
    ).value
    assert value is not None
    return value


def test_the_area_worked_by_hand() -> None:
    # Risks at 1..4 kept: 0, 1/2, 1/3, 2/4; their mean is 1/3.
    assert area([0.9, 0.8, 0.7, 0.6], [True, False, True, False]) == pytest.approx(1 / 3)
    # A perfect order: 0, 0, 1/3, 2/4.
    assert best_aurc(4, 2) == pytest.approx((1 / 3 + 1 / 2) / 4)
    found = measure_selective([0.9, 0.8, 0.7, 0.6], [True, False, True, False], range(4))
    assert found.excess_aurc == pytest.approx(1 / 3 - (1 / 3 + 1 / 2) / 4)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.booleans()), min_size=1, max_size=6))
def test_equal_confidences_give_the_mean_over_their_orders(rows: list[tuple[int, bool]]) -> None:
    sure, right = [float(c) for c, _ in rows], [good for _, good in rows]
    found = []
    for order in itertools.permutations(range(len(rows))):
        if all(sure[a] >= sure[b] for a, b in itertools.pairwise(order)):
            wrong = np.cumsum([not right[i] for i in order])
            found.append(float((wrong / np.arange(1, len(rows) + 1)).mean()))
    assert area(sure, right) == pytest.approx(np.mean(found))


@settings(max_examples=40, deadline=None)
@given(cases)
def test_no_order_is_better_than_the_perfect_one(rows: list[tuple[float, bool]]) -> None:
    sure, right = [c for c, _ in rows], [good for _, good in rows]
    wrong = right.count(False)
    assert area(sure, right) >= best_aurc(len(rows), wrong) - 1e-12
    perfect = [float(good) for good in right]
    # Right before wrong, and within each no order that matters.
    assert area(perfect, right) == pytest.approx(best_aurc(len(rows), wrong))


@settings(max_examples=10, deadline=None)
@given(cases)
def test_only_the_order_of_confidences_matters(rows: list[tuple[float, bool]]) -> None:
    sure, right = np.array([c for c, _ in rows]), np.array([good for _, good in rows])
    one = measure_selective(sure, right, np.arange(len(rows)))
    other = measure_selective(3 * sure**3 - 7, right, np.arange(len(rows)))
    assert one == other


def test_the_area_under_roc_is_scikit_learns() -> None:
    rng = np.random.default_rng(1)
    sure = rng.integers(0, 20, 300) / 20
    right = rng.random(300) < 0.3 + 0.5 * sure
    found = auroc_of(Ranks.of(sure), right, np.arange(300))
    assert found.value == pytest.approx(roc_auc_score(right, sure))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    score = brier(sure, right, np.arange(300))
    assert score.value == pytest.approx(brier_score_loss(right, sure))


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)

    def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
        strength = np.abs(rng.normal(size=n) * 2)
        return np.round(strength, 1), rng.random(n) < 1 / (1 + np.exp(-strength / 1.5))

    sure, right = draw(200_000)
    truth = aurc(Ranks.of(sure), right, np.zeros(len(right), int)).value or 0.0
    inside = 0
    for _ in range(60):
        sure, right = draw(200)
        found = aurc(Ranks.of(sure), right, np.arange(200))
        inside += (found.low or 0.0) <= truth <= (found.high or 1.0)
    assert 51 <= inside <= 60


def test_intervals_are_wider_where_questions_repeat() -> None:
    rng = np.random.default_rng(3)
    sure, right = rng.random(100), rng.random(100) < 0.6
    alone = measure_selective(np.repeat(sure, 4), np.repeat(right, 4), np.arange(400))
    together = measure_selective(
        np.repeat(sure, 4), np.repeat(right, 4), np.repeat(np.arange(100), 4)
    )
    for name in ("aurc", "auroc", "top_half_gain"):
        narrow, wide = getattr(alone, name), getattr(together, name)
        assert narrow.value == pytest.approx(wide.value)
        assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_buckets_and_halves_worked_by_hand() -> None:
    sure = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    right = [True, True, True, False, True, True, False, False, True, False]
    found = measure_selective(sure, right, range(10))
    assert [bucket.value for bucket in found.buckets] == [1.0, 0.5, 1.0, 0.0, 0.5]
    assert [bucket.n for bucket in found.buckets] == [2] * 5
    assert found.top_half.value == pytest.approx(0.8)
    assert found.top_half_gain.value == pytest.approx(0.8 - 0.6)
    curve = {
        point.coverage: point.accuracy.value for point in accuracy_curve(sure, right, range(10))
    }
    assert curve[0.5] == pytest.approx(0.8)
    assert curve[1.0] == pytest.approx(0.6)


def test_of_a_group_that_a_bound_cuts_every_decision_counts_alike() -> None:
    found = measure_selective([1, 1, 1, 1], [True, True, True, False], range(4))
    assert found.top_half.value == pytest.approx(0.75)
    assert all(bucket.value == pytest.approx(0.75) for bucket in found.buckets)
    assert found.auroc.value == pytest.approx(0.5)


@settings(deadline=None)
@given(cases)
def test_all_decisions_are_in_the_buckets_once(rows: list[tuple[float, bool]]) -> None:
    ranks = Ranks.of(np.array([c for c, _ in rows]))
    parts = sum(ranks.share_between(k / 5, (k + 1) / 5) for k in range(5))
    assert np.allclose(parts, 1)


def test_without_decisions_there_is_no_number() -> None:
    found = measure_selective([], [], [])
    assert found.n == 0
    assert found.aurc.value is None
    assert accuracy_curve([], [], []) == ()
    all_right = measure_selective([0.5, 0.6], [True, True], [1, 2])
    assert all_right.auroc.value is None
    assert all_right.aurc.value == 0.0
