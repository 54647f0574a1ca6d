"""Confusion, averages, kappas and position bias against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from magistrate.metrics.classification import averaged, class_scores, classify, confusion
from magistrate.metrics.columns import NOTHING, SPLIT
from magistrate.metrics.kappa import cohen, cohen_of, fleiss, krippendorff
from magistrate.metrics.position import position_bias

GOLD = np.array([1, 1, 0, -1, -1, -1, SPLIT, NOTHING], dtype=np.int8)
SAID = np.array([1, 0, 0, -1, 1, NOTHING, 1, -1], dtype=np.int8)
ALONE = np.arange(8)


def test_the_confusion_has_gold_in_rows_and_not_ok_in_the_last_column() -> None:
    assert confusion(GOLD, SAID).tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [1, 0, 1, 1]]


def test_not_ok_is_in_no_measure_but_the_one_that_counts_it_as_wrong() -> None:
    found = classify(GOLD, SAID, ALONE)
    assert found.accuracy.value == pytest.approx(3 / 5)
    assert found.accuracy.n == 5
    assert found.accuracy_of_all.value == pytest.approx(3 / 6)
    assert found.accuracy_of_all.n == 6
    assert found.without_ties.value == pytest.approx(2 / 3)
    # 1 right, 1/2 for the tie, 1 right, 0 wrong.
    assert found.decisive.value == pytest.approx(2.5 / 4)


def test_precision_recall_and_f1_by_class_and_averaged() -> None:
    found = classify(GOLD, SAID, ALONE)
    first, tie, second = (found.classes[name] for name in ("first", "tie", "second"))
    assert (first.precision, first.recall, first.f1) == (0.5, 0.5, 0.5)
    assert (tie.precision, tie.recall) == (0.5, 1.0)
    assert (second.precision, second.recall) == (1.0, 0.5)
    assert (second.gold, second.said) == (2, 1)
    assert found.macro.precision.value == pytest.approx(2 / 3)
    assert found.macro.f1.value == pytest.approx((1 / 2 + 2 / 3 + 2 / 3) / 3)
    assert found.weighted.f1.value == pytest.approx((2 * 0.5 + 2 / 3 + 2 * 2 / 3) / 5)
    assert found.micro.f1.value == pytest.approx(3 / 5)


def test_a_class_that_occurs_nowhere_does_not_dilute_the_macro_average() -> None:
    counts = np.array([[4, 0, 1, 0], [0, 0, 0, 0], [2, 0, 3, 0]], dtype=float)
    precision, recall, _ = averaged(counts, "macro")
    assert precision == pytest.approx((4 / 6 + 3 / 4) / 2)
    assert recall == pytest.approx((4 / 5 + 3 / 5) / 2)
    said_tie = counts.copy()
    said_tie[0, 1] = 1
    assert averaged(said_tie, "macro")[1] == pytest.approx((4 / 6 + 0 + 3 / 5) / 3)


def test_what_a_class_lacks_is_undefined_and_counts_0_in_the_average_alone() -> None:
    gold = np.array([1, 1, -1, 0, 0], dtype=np.int8)
    said = np.array([1, -1, -1, 1, -1], dtype=np.int8)
    tie = classify(gold, said, np.arange(5)).classes["tie"]
    assert (tie.precision, tie.recall, tie.f1) == (None, 0.0, 0.0)
    turned = classify(said, gold, np.arange(5)).classes["tie"]
    assert (turned.precision, turned.recall, turned.f1) == (0.0, None, 0.0)
    nowhere = classify(gold[:3], said[:3], np.arange(3)).classes["tie"]
    assert (nowhere.precision, nowhere.recall, nowhere.f1) == (None, None, None)
    assert classify(gold, said, np.arange(5)).macro.recall.value == pytest.approx((1 / 2 + 1) / 3)


def test_resamples_without_a_rare_class_do_not_widen_the_macro_average() -> None:
    # Two ties among 40, never said: a third of the average is always 0, so it cannot pass 2/3.
    gold = np.array([0, 0] + [1, -1] * 19, dtype=np.int8)
    said = np.where(gold == 0, 1, gold).astype(np.int8)
    said[2:6] = -said[2:6]
    found = classify(gold, said, np.arange(40))
    for rate in (found.macro.precision, found.macro.recall, found.macro.f1):
        assert rate.high is not None
        assert rate.high <= 2 / 3
    # Without those two the same resamples average two classes.
    assert classify(gold[2:], said[2:], np.arange(38)).macro.recall.high > 0.9  # type: ignore[operator]


def test_few_pairs_have_no_bootstrap_interval_and_many_have_one() -> None:
    few = classify(GOLD, SAID, ALONE)
    assert few.macro.f1.low is None
    rng = np.random.default_rng(0)
    gold = rng.integers(-1, 2, 500)
    said = np.where(rng.random(500) < 0.7, gold, rng.integers(-1, 2, 500))
    many = classify(gold, said, np.arange(500))
    for rate in (many.macro.f1, many.kappa, many.accuracy):
        assert rate.value is not None
        assert rate.low is not None
        assert rate.high is not None
        assert rate.low < rate.value < rate.high
    # Every pair ten times over is no more information.
    again = classify(np.tile(gold, 10), np.tile(said, 10), np.tile(np.arange(500), 10))
    assert many.kappa.low is not None
    assert again.kappa.low == pytest.approx(many.kappa.low, abs=1e-9)


def test_a_perfect_judge_has_a_kappa_of_one_and_no_interval() -> None:
    gold = np.tile([1, 0, -1], 20)
    found = classify(gold, gold, np.arange(60))
    assert found.kappa.value == 1
    assert found.kappa.low is None
    assert found.accuracy.low is not None


def test_one_class_alone_leaves_kappa_undefined() -> None:
    found = classify(np.ones(30, int), np.ones(30, int), np.arange(30))
    assert found.kappa.value is None
    assert found.macro.f1.value == 1


def test_nothing_labelled_gives_no_numbers() -> None:
    found = classify(np.full(3, NOTHING), np.array([1, 0, -1]), np.arange(3))
    assert found.accuracy.value is None
    assert found.macro.f1.value is None


def test_measures_agree_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    gold, said = rng.integers(-1, 2, 300), rng.integers(-1, 2, 300)
    counts = confusion(gold, said).astype(float)
    for average in ("macro", "micro", "weighted"):
        ours = averaged(counts, average)
        theirs = metrics.precision_recall_fscore_support(
            gold, said, average=average, zero_division=0
        )[:3]
        assert np.allclose(ours, theirs)
    per_class = metrics.precision_recall_fscore_support(gold, said, labels=[1, 0, -1])[:3]
    assert np.allclose(class_scores(counts), per_class)
    for weights in (None, "linear", "quadratic"):
        theirs = metrics.cohen_kappa_score(gold, said, weights=weights)
        assert cohen_of(gold, said, weights or "none") == pytest.approx(theirs)


# Kappas.


def test_cohen_by_hand() -> None:
    # 35 of 50 agree; by chance (25 * 30 + 25 * 20) / 2500 = 1 / 2 would.
    table = np.array([[20.0, 5.0], [10.0, 15.0]])
    assert float(cohen(table)) == pytest.approx(0.4)
    assert float(cohen(table, "linear")) == pytest.approx(0.4)
    both = cohen(np.stack([table, np.diag([3.0, 4.0])]))
    assert both.tolist() == pytest.approx([0.4, 1.0])


def test_linear_weights_forgive_a_tie_half() -> None:
    table = np.array([[5.0, 5.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 10.0]])
    assert float(cohen(table, "linear")) > float(cohen(table))


def test_fleiss_on_his_own_example() -> None:
    """Ten subjects, fourteen raters, five categories (Fleiss 1971): 0.210."""
    table = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    assert fleiss(table) == pytest.approx(0.210, abs=5e-4)


def test_fleiss_needs_equally_many_ratings() -> None:
    with pytest.raises(ValueError, match="Krippendorff's alpha takes any number"):
        fleiss([[3, 0], [1, 1]])


NAN = float("nan")
KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
    [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
]
"""Four observers, twelve units, with gaps (Krippendorff 2011, section C)."""


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_krippendorff_on_his_own_example(level: str, alpha: float) -> None:
    values = np.array(KRIPPENDORFF).T
    assert krippendorff(values, level) == pytest.approx(alpha, abs=5e-4)  # type: ignore[arg-type]


def test_alpha_without_two_ratings_or_two_classes_is_not_defined() -> None:
    assert np.isnan(krippendorff([[1, NAN], [NAN, 2]]))
    assert np.isnan(krippendorff([[1, 1], [1, 1]]))


# Position.


def test_position_bias_by_hand() -> None:
    given = np.array([1, 1, 0, -1, NOTHING, NOTHING])
    swapped = np.array([1, -1, 1, -1, 1, NOTHING])
    found = position_bias(given, swapped, np.arange(6))
    assert found is not None
    assert (found.pairs, found.not_ok) == (4, 1)
    assert found.consistent.value == 0.5
    assert found.toward_first.value == 0.25
    assert found.toward_second.value == 0.25
    assert found.delta_bias.value == 0
    assert found.total_bias.value == 0.5
    # As given: first, first, tie, second; swapped: shown second, first, second, first.
    assert found.shown_first.value == pytest.approx(4 / 7)


def test_a_judge_that_always_takes_the_first_is_found_out() -> None:
    ones = np.ones(40, dtype=np.int8)
    found = position_bias(ones, -ones, np.arange(40))
    assert found is not None
    assert found.toward_first.value == 1
    assert found.delta_bias.value == 1
    assert found.shown_first.value == 1
    assert found.consistent.value == 0


def test_one_order_measures_no_position() -> None:
    assert position_bias(np.ones(3), np.full(3, NOTHING), np.arange(3)) is None
