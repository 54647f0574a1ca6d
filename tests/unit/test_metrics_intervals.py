"""Intervals against scipy's numbers, and the bootstrap against plain resampling."""

import numpy as np
import pytest

from magistrate.metrics.intervals import (
    NO_RATE,
    Rate,
    mean_of_points,
    mean_of_scores,
    proportion,
    wilson,
)

SCIPY_1_17_1 = [  # binomtest(k, n).proportion_ci(method="wilson")
    (0, 1, 0.0, 0.7934506856227626),
    (1, 1, 0.20654931437723745, 1.0),
    (1, 10, 0.017876213095072896, 0.4041500267952385),
    (3, 10, 0.10779126740630102, 0.6032218525388546),
    (10, 10, 0.7224672001371109, 1.0),
    (12, 37, 0.1963326652814418, 0.485363327580278),
    (1, 999, 0.0001767231155846813, 0.005648184470070455),
    (499, 999, 0.4685556149784324, 0.5304472184293767),
]


@pytest.mark.parametrize(("successes", "n", "low", "high"), SCIPY_1_17_1)
def test_wilson_equals_scipy(successes: int, n: int, low: float, high: float) -> None:
    rate = proportion(successes, n)
    assert rate.value == successes / n
    assert (rate.low, rate.high) == pytest.approx((low, high), abs=1e-12)


def test_without_samples_there_is_no_rate_and_no_nan() -> None:
    assert proportion(0, 0) == mean_of_points([], []) == mean_of_scores([], []) == NO_RATE
    assert NO_RATE.model_dump() == {"value": None, "n": 0, "low": None, "high": None}


def test_points_without_ties_on_distinct_questions_are_a_proportion() -> None:
    points = [1.0] * 30 + [0.0] * 10
    assert mean_of_points(points, range(40)) == proportion(30, 40)


def test_bootstrap_equals_resampling_questions_one_by_one() -> None:
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(60), 3)
    lean = np.repeat(rng.random(60), 3)
    points = np.where(rng.random(180) < 0.2, 0.5, rng.random(180) < lean)
    rate = mean_of_points(points, clusters)
    by_question = points.reshape(60, 3).mean(axis=1)
    drawn = by_question[rng.integers(60, size=(4000, 60))].mean(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    assert (rate.low, rate.high) == pytest.approx((low, high), abs=0.012)


def test_samples_of_one_question_widen_the_interval() -> None:
    points = np.tile([1.0, 0.0, 0.5, 1.0], 50)
    alone = mean_of_points(points, np.arange(200))
    together = mean_of_points(np.sort(points), np.repeat(np.arange(50), 4))
    assert alone.value == together.value
    assert width(together) > 1.5 * width(alone)


def test_all_ties_do_not_give_a_point_for_an_interval() -> None:
    rate = mean_of_points([0.5] * 40, range(40))
    assert rate.value == 0.5
    assert (rate.low, rate.high) == pytest.approx(wilson(0.5, 40))


def test_few_questions_use_their_number_not_the_number_of_samples() -> None:
    rate = mean_of_points([1.0] * 30, [0, 1, 2] * 10)
    assert rate.n == 30
    assert rate.low == pytest.approx(wilson(1.0, 3)[0])


def test_normal_limit_agrees_with_the_bootstrap_for_many_distinct_scores() -> None:
    scores = np.random.default_rng(2).normal(7.0, 2.0, size=9000)
    many = mean_of_scores(scores, np.arange(9000))
    assert many.high is not None
    assert many.value is not None
    # The end of an interval of 2,000 resamples has itself a standard error of 3 % of its length.
    assert many.high - many.value == pytest.approx(1.96 * 2.0 / 9000**0.5, rel=0.1)


def test_scores_that_do_not_vary_have_no_interval() -> None:
    assert mean_of_scores([7.5], [1]) == Rate(value=7.5, n=1)
    assert mean_of_scores([7.5, 7.5], [1, 2]) == Rate(value=7.5, n=2)


def test_few_scores_get_students_interval() -> None:
    rate = mean_of_scores([6.0, 7.0, 9.0, 10.0], range(4))
    # scipy: t.interval(0.95, 3, loc=8, scale=sem([6, 7, 9, 10]))
    assert (rate.low, rate.high) == pytest.approx((5.0942986, 10.9057014), abs=1e-3)


def test_a_million_samples_take_about_a_second() -> None:
    rng = np.random.default_rng(1)
    rate = mean_of_points(
        rng.choice([0.0, 0.5, 1.0], size=1_000_000), rng.integers(500_000, size=1_000_000)
    )
    assert width(rate) < 0.004


def width(rate: Rate) -> float:
    assert rate.low is not None
    assert rate.high is not None
    return rate.high - rate.low


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_where_no_question_differs_the_interval_has_a_width(value: float) -> None:
    """Questions of one and of two samples: the bootstrap would be sure of what it never saw."""
    clusters = [*range(60), *range(30)]
    rate = mean_of_points([value] * 90, clusters)
    assert (rate.low, rate.high) == wilson(value, 60)
