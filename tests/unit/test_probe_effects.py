"""The estimators of the probes, against hand counts, other libraries and simulated audits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import spearmanr, ttest_1samp

from magistrate.probes.effects import (
    above_tolerance,
    balanced_difference,
    mean_difference,
    rank_correlation,
)
from magistrate.probes.making import paired_effect, settled
from magistrate.probes.records import Effect
from magistrate.probes.simulation import BIAS, KINDS, Simulated, Size, audits, truth

RNG = np.random.default_rng(7)
AUDITS = 500
SIZE = Size(questions=200, pairs=1)


def test_single_pairs_give_the_adjusted_interval_of_bonett_and_price() -> None:
    differences = [1] * 12 + [-1] * 5 + [0] * 33
    found = mean_difference(differences, range(50))
    assert found is not None
    gained, lost, n = 13 / 52, 6 / 52, 52
    variance = (gained + lost - (gained - lost) ** 2) / n
    half = 2.0076 * math.sqrt(variance * n / (n - 1))  # Student's t with 51 degrees of freedom
    assert found.value == pytest.approx(7 / 50)
    assert found.low == pytest.approx(gained - lost - half, abs=1e-4)
    assert found.high == pytest.approx(gained - lost + half, abs=1e-4)


def test_many_pairs_give_the_t_test() -> None:
    values = RNG.uniform(-1, 1, 20_000) + 0.01
    values = values.clip(-1, 1)
    found = mean_difference(values, range(20_000))
    assert found is not None
    assert found.p == pytest.approx(ttest_1samp(values, 0).pvalue, abs=1e-3)


def test_pairs_of_one_question_that_say_the_same_count_once() -> None:
    values = RNG.choice([-1.0, 0.0, 1.0], 200)
    alone = mean_difference(values, range(200))
    fourfold = mean_difference(np.repeat(values, 4), np.repeat(range(200), 4))
    assert alone is not None
    assert fourfold is not None
    assert fourfold.value == pytest.approx(alone.value)
    assert fourfold.high - fourfold.low == pytest.approx(alone.high - alone.low, rel=0.03)


def test_no_difference_at_all_is_no_proof_that_there_is_none() -> None:
    found = mean_difference([0.0] * 50, range(50))
    assert found is not None
    assert (found.value, found.p) == (0, 1)
    assert found.low < -0.02 < 0.02 < found.high
    assert found.detectable > 0.05


def test_nothing_gives_nothing() -> None:
    assert mean_difference([], []) is None
    assert balanced_difference([0.5, 1], [1, 1], [1, 2]) is None
    assert rank_correlation([1, 1, 1], [1, 2, 3], [1, 2, 3]) is None


def test_groups_weigh_the_same_whatever_their_size() -> None:
    found = balanced_difference([1.0] * 2 + [0.0] * 18, [0] * 2 + [1] * 18, range(20))
    assert found is not None
    assert found.value == pytest.approx(0.5)


@pytest.mark.parametrize(("wins", "found"), [(0, False), (5, False), (8, False), (12, True)])
def test_a_null_answer_may_win_what_is_tolerated(wins: int, found: bool) -> None:
    p, excess = above_tolerance([1.0] * wins + [0.0] * (100 - wins), range(100), 0.05)
    assert (p < 0.05) is found
    assert 0.04 < excess < 0.08


def test_correlations_are_spearman_s_and_the_partial_one_takes_out_the_third() -> None:
    third = RNG.normal(size=400)
    first, second = third + RNG.normal(size=400), third + RNG.normal(size=400)
    plain = rank_correlation(first, second, range(400))
    partial = rank_correlation(first, second, range(400), third)
    assert plain is not None
    assert partial is not None
    assert plain.value == pytest.approx(spearmanr(first, second).statistic)
    assert plain.low > 0.3
    assert partial.low < 0 < partial.high


def test_correlations_of_few_pairs_stay_numbers() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        said, gold = rng.choice([-1, 1], 6), rng.choice([-1, 1], 6)
        found = rank_correlation(said, rng.normal(size=6), range(6), gold)
        assert found is None or -1 <= found.low <= found.value <= found.high <= 1


def effect(p: float | None, detectable: float = 0.04) -> Effect:
    return Effect(probe="p", name="n", measure="m", means="", p=p, detectable=detectable)


def test_findings_are_corrected_together_and_a_hint_is_no_all_clear() -> None:
    effects = [effect(0.001), effect(0.04), effect(0.6), effect(0.7, 0.3), effect(None)]
    done = settled(effects)
    found = ["bias", "too few to tell", "none found", "too few to tell", "observed"]
    assert [one.finding for one in done] == found
    assert done[1].q == pytest.approx(0.08)
    assert settled([effect(0.04)])[0].finding == "bias", "alone it needs no correction"
    assert settled([effect(0.6, 0.08)], matters=0.05)[0].finding == "too few to tell"


def test_pairs_without_an_ok_reading_are_left_out_and_counted() -> None:
    differences = np.array([0.5, np.nan, 0.0, np.nan])
    found = paired_effect("p", "n", differences, np.arange(4), lambda value: f"{value}")
    assert (found.n, found.value, found.not_ok.value) == (2, 0.25, 0.5)
    lost = paired_effect("p", "n", np.array([np.nan]), np.arange(1), lambda _: "")
    assert (lost.finding, lost.p, lost.not_ok.value) == ("not measured", None, 1.0)


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_a_planted_bias_is_recovered_and_covered(kind: Simulated) -> None:
    planted = truth(kind, BIAS, SIZE)
    effects = audits(kind, BIAS, SIZE, AUDITS)
    values = np.array([one.value for one in effects], dtype=float)
    covered = np.mean([one.low <= planted <= one.high for one in effects])  # type: ignore[operator]
    assert abs(values.mean() - planted) < 4 * values.std() / math.sqrt(AUDITS) + 0.003
    assert 0.93 <= covered <= 0.97


def test_without_a_bias_findings_are_as_rare_as_they_claim() -> None:
    found = [audits(kind, 0.0, SIZE, AUDITS, seed=3) for kind in KINDS]
    false = [any(e.finding == "bias" for e in settled(one)) for one in zip(*found, strict=True)]
    assert np.mean(false) <= 0.06  # nominal 0.05; the share of 500 has an error of 0.01


def test_the_smallest_effect_is_found_in_about_four_of_five_audits() -> None:
    kind = next(one for one in KINDS if one.name == "position")
    bias = 0.31
    effects = audits(kind, bias, SIZE, AUDITS)
    detectable = np.mean([one.detectable for one in effects])  # type: ignore[arg-type]
    found = np.mean([one.p < 0.05 for one in effects])  # type: ignore[operator]
    assert truth(kind, bias, SIZE) == pytest.approx(detectable, abs=0.005)
    assert 0.75 < found < 0.87
