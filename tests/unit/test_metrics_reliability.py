"""The reliability diagram and the calibration error."""

from __future__ import annotations

import numpy as np
import pytest

from magistrate.metrics.reliability import measure_reliability


def test_the_error_is_the_weighted_distance_from_the_diagonal() -> None:
    sure = [0.55, 0.55, 0.95, 0.95, 0.95, 0.95]
    right = [True, False, True, True, True, False]
    found = measure_reliability(sure, right, range(6))
    assert found is not None
    assert found.ece == pytest.approx((2 * abs(0.5 - 0.55) + 4 * abs(0.75 - 0.95)) / 6)
    assert found.confidence == pytest.approx(np.mean(sure))
    assert found.right.value == pytest.approx(4 / 6)
    filled = {k: one for k, one in enumerate(found.bins) if one.right.n}
    assert {k: (one.right.n, one.right.value) for k, one in filled.items()} == {
        5: (2, 0.5),
        9: (4, 0.75),
    }


@pytest.mark.parametrize(
    ("sure", "place"), [(0.0, 0), (0.1, 0), (0.1001, 1), (0.3, 2), (0.7, 6), (1.0, 9)]
)
def test_bins_hold_their_upper_end(sure: float, place: int) -> None:
    found = measure_reliability([sure], [True], [0])
    assert found is not None
    assert [k for k, one in enumerate(found.bins) if one.right.n] == [place]


@pytest.mark.parametrize("n", [300, 40_000])
def test_chance_is_what_calibrated_judges_show(n: int) -> None:
    rng = np.random.default_rng(5)
    errors, above = [], 0
    for _ in range(60):
        sure = rng.uniform(0.4, 1.0, n)
        found = measure_reliability(sure, rng.random(n) < sure, np.arange(n))
        assert found is not None
        errors.append(found.ece)
        above += found.ece > found.chance
    assert np.mean(errors) == pytest.approx(found.expected, rel=0.12)
    assert above <= 9  # 5 % of 60 are 3; nine or more come up once in a thousand


def test_a_judge_that_is_too_sure_is_above_chance() -> None:
    rng = np.random.default_rng(6)
    sure = rng.uniform(0.8, 1.0, 2_000)
    found = measure_reliability(sure, rng.random(2_000) < 0.6, np.arange(2_000))
    assert found is not None
    assert found.ece == pytest.approx(0.3, abs=0.03)
    assert found.ece > 5 * found.chance


def test_without_samples_there_is_nothing() -> None:
    assert measure_reliability([], [], []) is None
