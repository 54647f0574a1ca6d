"""A judge's mean, corrected by a few labels: what it says, and how often its interval is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from magistrate.errors import InputError
from magistrate.metrics.prediction_powered import corrected_mean, plan_labels

NAN = float("nan")


def drawn(
    rng: np.random.Generator, n: int, total: int, *, quality: float, each: int = 1
) -> tuple[Any, Any, Any]:
    """Return labels of n samples of a population, a judge's biased numbers, and the questions."""
    question = np.repeat(np.arange(total // each), each)
    shift = rng.normal(0, 0.15, total // each)[question] if each > 1 else 0.0
    share = np.clip(rng.beta(2, 1.5, total) + shift, 0, 1)
    says = (rng.random(total) < share).astype(float)
    judge = np.clip(share * quality + (1 - quality) * rng.random(total) + 0.1, 0, 1)
    labels = np.full(total, NAN)
    chosen = rng.choice(total, n, replace=False)
    labels[chosen] = says[chosen]
    return labels, judge, question


def true_mean(each: int) -> float:
    if each == 1:
        return 2 / 3.5
    rng = np.random.default_rng(99)
    share = rng.beta(2, 1.5, 2_000_000) + rng.normal(0, 0.15, 2_000_000)
    return float(np.clip(share, 0, 1).mean())


@pytest.mark.parametrize(
    ("n", "quality", "each"),
    [(40, 0.9, 1), (100, 0.9, 1), (100, 0.4, 1), (30, 0.0, 1), (80, 0.9, 4)],
)
def test_a_nominal_95_percent_covers_93_to_97_over_1000_draws(
    n: int, quality: float, each: int
) -> None:
    rng, true, inside = np.random.default_rng(4), true_mean(each), 0
    for _ in range(1_000):
        found = corrected_mean(*drawn(rng, n, 600, quality=quality, each=each), low=0, high=1)
        assert found.corrected.low is not None
        assert found.corrected.high is not None
        inside += found.corrected.low <= true <= found.corrected.high
    assert 0.93 <= inside / 1_000 <= 0.97


def test_strata_of_unlike_label_rates_do_not_bias_and_are_covered() -> None:
    rng, inside, means = np.random.default_rng(5), 0, []
    for _ in range(1_000):
        _, judge, question = drawn(rng, 1, 600, quality=0.9)
        says = (rng.random(600) < np.clip((judge - 0.1) / 0.9, 0, 1)).astype(float)
        group = (judge > np.quantile(judge, 0.7)).astype(int)
        labels = np.full(600, NAN)
        for one, count in ((0, 60), (1, 20)):
            chosen = rng.choice(np.flatnonzero(group == one), count, replace=False)
            labels[chosen] = says[chosen]
        found = corrected_mean(labels, judge, question, group)
        # The mean of the population that judge and label were drawn from.
        means.append(found.corrected.value)
        assert found.corrected.low is not None
        assert found.corrected.high is not None
        inside += found.corrected.low <= TRUE_OF_STRATA <= found.corrected.high
    assert np.mean(means) == pytest.approx(TRUE_OF_STRATA, abs=0.006)
    assert 0.93 <= inside / 1_000 <= 0.97


def _true_of_strata() -> float:
    rng = np.random.default_rng(6)
    share = rng.beta(2, 1.5, 2_000_000)
    judge = np.clip(share * 0.9 + 0.1 * rng.random(2_000_000) + 0.1, 0, 1)
    return float(np.clip((judge - 0.1) / 0.9, 0, 1).mean())


TRUE_OF_STRATA = _true_of_strata()


def test_a_biased_judge_is_corrected_and_its_bias_shown() -> None:
    rng = np.random.default_rng(1)
    says = (rng.random(4_000) < 0.5).astype(float)
    judge = np.clip(says * 0.8 + 0.2, 0, 1)
    labels = np.full(4_000, NAN)
    labels[:200] = says[:200]
    found = corrected_mean(labels, judge, np.arange(4_000))
    assert found.judge_alone == pytest.approx(0.8 * says.mean() + 0.2)
    assert found.corrected.value == pytest.approx(says.mean(), abs=0.01)
    assert found.factor == pytest.approx(1.0)
    assert found.worth is not None
    assert found.worth > 10


def test_by_hand() -> None:
    # Labelled: Y = 1 0 1 1 0 repeated, f = 1 0 1 0 0 repeated; unlabelled f: all 1.
    y = np.array([1, 0, 1, 1, 0] * 4, dtype=float)
    f = np.array([1, 0, 1, 0, 0] * 4, dtype=float)
    labels = np.concatenate([y, np.full(20, NAN)])
    said = np.concatenate([f, np.ones(20)])
    found = corrected_mean(labels, said, np.arange(40))
    # Cov = 2/5 - 3/5 x 2/5 = 4/25, Var = 6/25, so lambda = 2/3; mean f over all = 28/40.
    assert found.factor == pytest.approx(2 / 3)
    assert found.corrected.value == pytest.approx(3 / 5 - 2 / 3 * 2 / 5 + 2 / 3 * 28 / 40)
    assert found.labels_alone.value == pytest.approx(3 / 5)
    assert found.judge_alone == pytest.approx(28 / 40)


@pytest.mark.parametrize("judge", [np.full(100, 0.3), np.linspace(1, 0, 100)])
def test_a_judge_that_tells_nothing_or_the_contrary_changes_nothing(judge: Any) -> None:
    labels = np.full(100, NAN)
    labels[::5] = np.linspace(0, 1, 20)
    found = corrected_mean(labels, judge, np.arange(100))
    assert found.factor == 0
    assert found.corrected.value == pytest.approx(found.labels_alone.value)
    assert found.worth == pytest.approx(1.0)


def test_samples_of_one_question_are_not_taken_as_independent() -> None:
    rng = np.random.default_rng(2)
    labels, judge, question = drawn(rng, 200, 400, quality=0.5)
    alone = corrected_mean(labels, judge, question).corrected
    twice = corrected_mean(np.tile(labels, 2), np.tile(judge, 2), np.tile(question, 2)).corrected
    assert alone.low is not None
    assert twice.low == pytest.approx(alone.low, abs=0.002)


def test_too_few_labels_are_refused_with_the_number_needed() -> None:
    labels = np.full(50, NAN)
    labels[:9] = 1.0
    with pytest.raises(InputError, match=r"9 labelled samples .* 10 of each"):
        corrected_mean(labels, np.ones(50), np.arange(50))
    labels[:20] = 1.0
    with pytest.raises(InputError, match="20 labelled samples of 4 questions"):
        corrected_mean(labels, np.ones(50), np.arange(50) // 5)
    with pytest.raises(InputError, match="a stratum has 0 labelled samples"):
        corrected_mean(labels, np.ones(50), np.arange(50), np.arange(50) // 40)


def test_labels_are_sought_where_they_tell_most() -> None:
    # Neyman: in proportion to size x spread, counting those that are there.
    assert plan_labels([30.0, 10.0], [0, 0], 40).tolist() == [30, 10]
    assert plan_labels([30.0, 10.0], [20, 0], 20).tolist() == [10, 10]
    assert plan_labels([10.0, 10.0], [5, 5], 0).tolist() == [0, 0]
    # A group that seems to be without doubt gets some labels all the same.
    assert plan_labels([30.0, 0.0], [0, 0], 40).tolist()[1] > 0
