"""Correlations, AUROC and thresholds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from magistrate.metrics.correlation import correlate
from magistrate.metrics.thresholds import (
    auroc,
    best_threshold,
    binary,
    cross_validated,
    tuned_on_test,
)


def test_correlations_agree_with_scipy_and_leave_gaps_out() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    gold = rng.integers(1, 11, 200).astype(float)
    said = gold + rng.normal(0, 3, 200)
    holes = said.copy()
    holes[:20] = np.nan
    found = correlate(holes, gold, np.arange(200))
    assert found.pearson.n == 180
    assert found.pearson.value == pytest.approx(stats.pearsonr(said[20:], gold[20:]).statistic)
    assert found.spearman.value == pytest.approx(stats.spearmanr(said[20:], gold[20:]).statistic)
    assert found.kendall.value == pytest.approx(stats.kendalltau(said[20:], gold[20:]).statistic)


def test_the_interval_of_pearson_is_fishers_over_questions() -> None:
    rng = np.random.default_rng(1)
    gold = rng.normal(size=28)
    found = correlate(gold + rng.normal(size=28), gold, np.arange(28)).pearson
    assert found.value is not None
    assert found.low == pytest.approx(math.tanh(math.atanh(found.value) - 1.959964 / 5))
    half_as_many = correlate(gold, -gold + rng.normal(size=28), np.arange(28) // 2).pearson
    assert half_as_many.low is not None
    assert half_as_many.high is not None
    width = math.atanh(half_as_many.high) - math.atanh(half_as_many.low)
    assert width == pytest.approx(2 * 1.959964 / math.sqrt(14 - 3))


def test_scores_that_do_not_vary_have_no_correlation() -> None:
    found = correlate(np.full(9, 5.0), np.arange(9.0), np.arange(9))
    assert found.pearson.value is None
    assert found.kendall.value is None


def test_a_perfect_correlation_has_no_interval() -> None:
    found = correlate(np.arange(9.0), np.arange(9.0), np.arange(9))
    assert found.pearson.value == pytest.approx(1)
    assert found.pearson.low is None


def test_auroc_counts_pairs_and_halves_ties() -> None:
    found = auroc([1, 2, 3, 4], [False, True, False, True])
    assert found.value == pytest.approx(3 / 4)
    assert auroc([1, 1], [True, False]).value == 0.5
    assert auroc([1, 2], [True, True]).value is None


def test_auroc_has_a_proper_interval_also_where_nothing_overlaps() -> None:
    perfect = auroc(np.arange(40), np.arange(40) >= 20)
    assert perfect.value == 1
    assert perfect.high == 1
    assert perfect.low is not None
    assert 0.7 < perfect.low < 1
    worst = auroc(np.arange(40), np.arange(40) < 20)
    assert worst.low == 0
    assert worst.high == pytest.approx(1 - perfect.low)


def test_auroc_agrees_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(2)
    scores, positive = rng.integers(0, 8, 300), rng.random(300) < 0.3
    assert auroc(scores, positive).value == pytest.approx(metrics.roc_auc_score(positive, scores))


def test_the_best_threshold_is_the_best_of_all() -> None:
    rng = np.random.default_rng(4)
    for _ in range(50):
        scores = rng.integers(0, 6, 30).astype(float)
        positive = rng.random(30) < 0.4
        best = max(((scores > t) == positive).mean() for t in np.arange(-0.5, 6))
        found = best_threshold(scores, positive)
        assert ((scores > found) == positive).mean() == best


def test_a_cross_validated_threshold_does_not_flatter_noise() -> None:
    rng = np.random.default_rng(5)
    scores, positive = rng.normal(size=60), np.arange(60) % 2 == 0
    tuned = tuned_on_test(scores, positive)
    honest = cross_validated(scores, positive, np.arange(60))
    assert tuned.accuracy is not None
    assert honest.value is not None
    assert honest.value < tuned.accuracy


def test_answers_to_one_question_are_in_one_fold() -> None:
    # Both answers of a question have its score: only a leak would find its label.
    rng = np.random.default_rng(6)
    question = np.repeat(np.arange(100), 2)
    scores, positive = rng.permutation(100).astype(float)[question], (question % 2).astype(bool)
    found = cross_validated(scores, positive, question)
    assert found.value is not None
    assert found.value < 0.65


def test_the_threshold_tuned_on_the_test_set_tries_ten_values_below_the_highest() -> None:
    scores = np.array([0.0, 1.0, 2.0, 10.0])
    found = tuned_on_test(scores, np.array([False, False, True, True]))
    assert found.threshold == 1.0
    assert found.accuracy == 1.0
    by_f1 = tuned_on_test(scores, np.array([False, False, False, True]), "macro-f1")
    assert by_f1.macro_f1 == 1.0


def test_constant_predictions_do_not_crash() -> None:
    scores, positive = np.full(30, 7.0), np.arange(30) < 10
    tuned = tuned_on_test(scores, positive)
    assert tuned.accuracy == pytest.approx(20 / 30)
    found = binary(scores, positive, np.arange(30), name="yes")
    assert found.auroc.value == 0.5
    assert found.cross_validated.value == pytest.approx(20 / 30)
    assert found.majority_class.value == pytest.approx(20 / 30)


def test_a_score_that_speaks_against_the_label_is_turned_round() -> None:
    scores = np.array([1.0, 2, 3, 4, 5, 6, np.nan])
    positive = np.array([True, True, True, False, False, False, True])
    found = binary(scores, positive, np.arange(7), name="bad", higher_is_positive=False)
    assert found.auroc.value == 1
    assert (found.n, found.positives) == (6, 3)
