"""Thresholds that keep a promise, checked by simulation: broken no more often than the risk."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from magistrate.cascade.guarantee import (
    Guarantee,
    Promise,
    fixed_sequence,
    guarantee,
    least_kept,
    upper_bound,
)
from magistrate.cascade.tiers import NOBODY, Tiers, route
from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING

PROMISE = Promise(alpha=0.15, delta=0.1)
DRAWS = 150


def drawn(rng: np.random.Generator, n: int, judges: int = 2, over: float = 0.0) -> Tiers:
    """Judges whose confidence is how often they are right, less ``over``, from 1/2 to 1."""
    sure = rng.uniform(0.5, 1, (n, judges))
    said = np.where(rng.random((n, judges)) < sure - over, 1, -1).astype(np.int8)
    return Tiers(
        names=("a", "b", "c")[:judges],
        said=said,
        confidence=sure,
        cost=np.zeros((n, judges)),
        question=np.arange(n),
        gold=np.ones(n, dtype=np.int8),
    )


def wrong_share(threshold: float, over: float) -> float:
    """True share wrong of what a judge keeps from a threshold: confidence is uniform above it."""
    return 1 - ((threshold + 1) / 2 - over)


def true_risk(found: Guarantee, over: float) -> float:
    """True share wrong of all that is kept, by independent judges."""
    kept = wrong = 0.0
    open_share = 1.0
    for threshold in found.thresholds:
        share = 0.0 if math.isinf(threshold) else 2 * (1 - threshold)
        kept += open_share * share
        wrong += open_share * share * (wrong_share(threshold, over) if share else 0)
        open_share *= 1 - share
    return wrong / kept if kept else 0.0


@pytest.mark.parametrize("over", [0.0, 0.3])
@pytest.mark.parametrize("with_judged", [True, False])
def test_the_promise_is_broken_no_more_often_than_its_risk(over: float, with_judged: bool) -> None:
    rng = np.random.default_rng(1)
    broken = 0
    for seed in range(DRAWS):
        judged = drawn(rng, 300).sure if with_judged else None
        found = guarantee(drawn(rng, 300, over=over), PROMISE, judged, seed=seed)
        broken += true_risk(found, over) > PROMISE.alpha
    # As many as the risk allows, and what chance adds once in ten thousand.
    assert broken <= binom.ppf(0.9999, DRAWS, PROMISE.delta)


def test_a_simulation_can_break_it() -> None:
    """The same simulation finds thresholds that only look good on the calibration pairs."""
    rng = np.random.default_rng(1)
    broken = 0
    for _ in range(DRAWS):
        pairs = drawn(rng, 300)
        levels = np.linspace(0.95, 0.5, 50)
        good = [
            level
            for level in levels
            if pairs.right[pairs.sure[:, 0] >= level, 0].mean() >= 1 - PROMISE.alpha
        ]
        broken += bool(good) and wrong_share(min(good), 0.0) > PROMISE.alpha
    assert broken > 2 * PROMISE.delta * DRAWS


def test_what_is_kept_uses_the_allowed_share() -> None:
    rng = np.random.default_rng(2)
    found = guarantee(drawn(rng, 20_000), PROMISE)
    for one in found.judges:
        assert one.threshold is not None
        assert 0.7 < one.threshold < 0.75  # 0.7 keeps exactly 15 % wrong
        assert one.bound is not None
        assert one.bound <= PROMISE.alpha
    pairs = drawn(rng, 20_000)
    decided = route(pairs, found.thresholds) != NOBODY
    assert decided.mean() == pytest.approx(found.coverage, abs=0.02)


def test_too_few_labels_are_refused_and_as_many_as_are_named_would_do() -> None:
    rng = np.random.default_rng(3)
    refused = enough = 0
    for seed in range(60):
        found = guarantee(drawn(rng, 60), PROMISE, seed=seed)
        if found.holds_nothing and found.labels_needed is not None:
            refused += 1
            assert found.labels_needed > 60
            assert found.coverage == 0
            more = guarantee(drawn(rng, found.labels_needed), PROMISE, seed=seed)
            enough += not more.holds_nothing
    assert refused > 30
    assert enough >= 0.8 * refused


def test_no_number_of_labels_helps_a_judge_that_guesses() -> None:
    rng = np.random.default_rng(4)
    found = guarantee(drawn(rng, 1_000, over=0.4), PROMISE)
    assert found.holds_nothing
    assert found.labels_needed is None


def test_failed_and_unsure_decisions_are_never_kept() -> None:
    rng = np.random.default_rng(5)
    pairs = drawn(rng, 2_000)
    said, sure = pairs.said.copy(), pairs.confidence.copy()
    said[::2, 0] = NOTHING
    sure[1::2, 0] = np.nan
    made = Tiers(pairs.names, said, sure, pairs.cost, pairs.question, pairs.gold)
    found = guarantee(made, PROMISE)
    assert found.judges[0].threshold is None
    assert found.judges[1].threshold is not None
    assert 0 not in route(made, found.thresholds)


def test_the_sequence_stops_at_the_first_failure() -> None:
    sure = np.linspace(1, 0, 100)
    right = np.ones(100, dtype=bool)
    right[40:60] = False
    thresholds = [0.7, 0.65, 0.5, 0.0]
    assert fixed_sequence(sure, right, thresholds, 0.2, 0.1) == 0.65
    # The last would pass on its own, but a failure came before it.
    assert fixed_sequence(sure, right, [0.0], 0.3, 0.1) == 0.0
    assert fixed_sequence(sure, right, [0.45, 0.0], 0.1, 0.1) is None
    assert fixed_sequence(sure, right, [2.0, 0.7], 0.2, 0.1) is None  # it keeps nothing


@pytest.mark.parametrize(("alpha", "delta"), [(0.15, 0.1), (0.05, 0.05), (0.3, 0.2), (0.5, 0.5)])
def test_the_least_number_kept_is_the_first_that_passes(alpha: float, delta: float) -> None:
    least = least_kept(alpha, delta)
    assert binom.cdf(0, least, alpha) <= delta
    assert least == 1 or binom.cdf(0, least - 1, alpha) > delta


def test_the_bound_is_where_so_few_errors_have_the_risks_probability() -> None:
    for wrong, kept, delta in [(0, 20, 0.1), (3, 40, 0.05), (10, 100, 0.2)]:
        bound = upper_bound(wrong, kept, delta)
        assert binom.cdf(wrong, kept, bound) == pytest.approx(delta)
    assert upper_bound(5, 5, 0.1) == 1.0


def test_wrong_input_is_said() -> None:
    pairs = drawn(np.random.default_rng(0), 50)
    with pytest.raises(InputError, match="between 0 and 1"):
        guarantee(pairs, Promise(alpha=0, delta=0.1))
    with pytest.raises(InputError, match="between 0 and 1"):
        guarantee(pairs, Promise(alpha=0.1, delta=1))
    blank = Tiers(pairs.names, pairs.said, pairs.confidence, pairs.cost, pairs.question, None)
    with pytest.raises(InputError, match="no calibration pair has a label"):
        guarantee(blank, PROMISE)


def test_equal_seeds_give_equal_thresholds() -> None:
    pairs = drawn(np.random.default_rng(6), 500)
    assert guarantee(pairs, PROMISE, seed=7) == guarantee(pairs, PROMISE, seed=7)
