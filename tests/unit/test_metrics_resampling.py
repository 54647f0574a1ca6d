"""The bootstrap over questions, against plain resampling, scipy and known coverage."""

import numpy as np
import pytest
from scipy.stats import bootstrap as scipy_bootstrap

from magistrate.metrics import draws
from magistrate.metrics.draws import question_types, resampled_totals
from magistrate.metrics.intervals import NO_RATE, clopper_pearson
from magistrate.metrics.resampling import bootstrap, cluster_bootstrap, ratio


def kappa_of_counts(totals: np.ndarray) -> np.ndarray:
    """Cohen's kappa of two raters with two classes, from the counts of the four cells."""
    both, one, other, neither, n = totals.T
    seen = (both + neither) / n
    chance = ((both + one) * (both + other) + (other + neither) * (one + neither)) / n**2
    return (seen - chance) / (1 - chance)


def cells(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.stack([first * second, first * (1 - second), (1 - first) * second,
                     (1 - first) * (1 - second)], axis=1)  # fmt: skip


def test_the_mean_agrees_with_scipy() -> None:
    scores = np.random.default_rng(3).gamma(2.0, size=300)
    rate = cluster_bootstrap(scores, np.arange(300), resamples=4000)
    theirs = scipy_bootstrap(
        (scores,), np.mean, n_resamples=4000, method="percentile", random_state=1
    ).confidence_interval
    assert rate.value == pytest.approx(scores.mean())
    assert (rate.low, rate.high) == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_a_ratio_of_counts_agrees_with_resampling_questions_one_by_one() -> None:
    rng = np.random.default_rng(4)
    question = np.repeat(np.arange(80), 4)
    truth = np.repeat(rng.random(80) < 0.5, 4).astype(float)
    first, second = (np.where(rng.random(320) < 0.8, truth, 1 - truth) for _ in range(2))
    columns = cells(first, second)
    rate = cluster_bootstrap(columns, question, statistic=kappa_of_counts, resamples=4000)
    by_question = np.append(columns, np.ones((320, 1)), axis=1).reshape(80, 4, 5).sum(axis=1)
    plain = kappa_of_counts(by_question[rng.integers(80, size=(4000, 80))].sum(axis=1))
    low, high = np.quantile(plain, (0.025, 0.975))
    assert (rate.low, rate.high) == pytest.approx((low, high), abs=0.02)


def test_the_limit_of_many_questions_agrees_with_exact_draws(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(6)
    values = rng.gamma(0.5, size=(3000, 2))
    values[:3] *= 40  # a few questions that weigh much
    types = question_types(values, np.arange(3000))
    limit = ratio(resampled_totals(types, 20_000))
    monkeypatch.setattr(draws, "MOST_TYPES", 10_000)
    exact = ratio(resampled_totals(types, 20_000, seed=9))
    quantiles = (0.025, 0.25, 0.5, 0.75, 0.975)
    spread = exact.std()
    assert np.quantile(limit, quantiles) == pytest.approx(
        np.quantile(exact, quantiles), abs=0.06 * spread
    )


@pytest.mark.parametrize("questions", [8, 40])
def test_intervals_cover_the_truth(questions: int) -> None:
    """A binomial of 400 at 0.95 lies within 0.92 and 0.98 except once in a hundred times."""
    rng = np.random.default_rng(questions)
    hits = 0
    for _ in range(400):
        lean = rng.beta(4, 3, size=questions)
        points = rng.random((questions, 3)) < lean[:, None]
        rate = cluster_bootstrap(points.ravel(), np.repeat(np.arange(questions), 3), resamples=400)
        hits += rate.low is not None and rate.low <= 4 / 7 <= (rate.high or 0)
    assert 0.91 <= hits / 400 <= 0.985


def test_a_paired_difference_is_narrower_than_the_two_apart() -> None:
    rng = np.random.default_rng(8)
    hard = rng.random(500)
    first, second = (rng.random(500) < np.clip(hard + shift, 0, 1) for shift in (0.05, 0.0))
    paired = cluster_bootstrap(first * 1.0 - second, np.arange(500))
    alone = [cluster_bootstrap(judge, np.arange(500)) for judge in (first, second)]
    assert paired.high - paired.low < sum(rate.high - rate.low for rate in alone)


def test_equal_seeds_give_equal_intervals_whatever_the_sequence() -> None:
    rng = np.random.default_rng(9)
    values, questions = rng.integers(0, 5, size=400), rng.integers(0, 90, size=400)
    shuffled = rng.permutation(400)
    assert cluster_bootstrap(values, questions) == cluster_bootstrap(
        values[shuffled], questions[shuffled]
    )


def test_without_samples_without_variation_and_with_one_question_there_is_no_interval() -> None:
    assert cluster_bootstrap([], []) == NO_RATE
    assert cluster_bootstrap([1, 1, 1], [1, 2, 3]).low is None
    assert cluster_bootstrap([0, 1, 1], [1, 1, 1]).low is None


def test_resamples_without_the_statistic_are_left_out() -> None:
    # A ratio whose denominator is 0 in every third resample.
    values = np.zeros((30, 2))
    values[:] = [1, 0]
    values[0] = [1, 1]
    found = bootstrap(values, np.arange(30), statistic=ratio)
    assert found is not None
    assert 0 < found.defined.size < found.draws.size
    assert np.isfinite(found.interval() or (np.nan,)).all()


# scipy 1.17.1: binomtest(k, n).proportion_ci(method="exact")
@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.3084971078187608),
        (10, 10, 0.6915028921812392, 1.0),
        (3, 10, 0.06673951117773447, 0.6524528500599973),
        (499, 999, 0.4680381612463486, 0.5309610377862614),
    ],
)
def test_clopper_pearson_is_exact(k: int, n: int, low: float, high: float) -> None:
    from scipy.stats import binomtest

    assert clopper_pearson(k, n) == pytest.approx((low, high), abs=1e-3)
    theirs = binomtest(k, n).proportion_ci(method="exact")
    assert clopper_pearson(k, n) == pytest.approx((theirs.low, theirs.high), abs=1e-10)


def test_clopper_pearson_covers_at_least_as_often_as_it_says() -> None:
    from scipy.stats import binom

    for share in (0.02, 0.3, 0.5, 0.97):
        bounds = [clopper_pearson(k, 25) for k in range(26)]
        covered = sum(
            binom.pmf(k, 25, share) for k, (low, high) in enumerate(bounds) if low <= share <= high
        )
        assert covered >= 0.95
