"""A replayed cascade beside brute force: who decides, who is asked, what is right, costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.cascade.replay import replay
from magistrate.cascade.tiers import NOBODY, Tiers, route
from magistrate.cascade.trace import asked_shares, settled_shares, trace, value_at
from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING

NAN = float("nan")


def tiers(
    said: list[list[int]],
    confidence: list[list[float]],
    gold: list[int] | None,
    cost: list[list[float]] | None = None,
    question: list[int] | None = None,
) -> Tiers:
    n, count = len(said), len(said[0])
    return Tiers(
        names=tuple("abcdefg"[:count]),
        said=np.array(said, dtype=np.int8),
        confidence=np.array(confidence, dtype=np.float64),
        cost=np.array(cost if cost is not None else np.zeros((n, count)), dtype=np.float64),
        question=np.array(question if question is not None else range(n)),
        gold=None if gold is None else np.array(gold, dtype=np.int8),
    )


@st.composite
def small_tiers(draw: st.DrawFn, failures: bool = True) -> Tiers:
    """A few pairs, two or three judges, ties in confidence, unknown confidence, failures."""
    count = draw(st.integers(2, 3))
    n = draw(st.integers(1, 8))
    outcomes = st.sampled_from([1, 0, -1, NOTHING] if failures else [1, 0, -1])
    levels = st.sampled_from([0.25, 0.5, 0.5, 0.75, NAN])

    def table(of: st.SearchStrategy[float]) -> list[list[float]]:
        return draw(st.lists(st.lists(of, min_size=count, max_size=count), min_size=n, max_size=n))

    return tiers(
        table(outcomes),  # type: ignore[arg-type]
        table(levels),
        draw(st.lists(st.sampled_from([1, 0, -1]), min_size=n, max_size=n)),
        table(st.sampled_from([0.0, 0.5, 2.0])),
        draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)),
    )


def brute(given: Tiers, threshold: float) -> tuple[list[int], list[int], float, int]:
    """Walk every pair through the judges: who decides it, asked of each, cost, and right ones."""
    count = len(given.names)
    decides, asked, cost, right = [], [0] * count, 0.0, 0
    for pair in range(len(given)):
        for tier in range(count):
            asked[tier] += 1
            cost += given.cost[pair, tier]
            said, sure = given.said[pair, tier], given.confidence[pair, tier]
            last = tier == count - 1
            if last or (said != NOTHING and not np.isnan(sure) and sure >= threshold):
                decides.append(tier)
                right += int(given.gold is not None and said == given.gold[pair])
                break
    return decides, asked, cost, right


@given(small_tiers())
@settings(max_examples=150, deadline=None)
def test_every_threshold_is_what_a_walk_through_the_judges_gives(given_tiers: Tiers) -> None:
    path = trace(given_tiers)
    assert path.asked[-1][0] == 0
    for place, passed in enumerate(path.threshold, 1):
        threshold = np.nextafter(passed, np.inf) if np.isfinite(passed) else -1e9
        decides, asked, cost, right = brute(given_tiers, threshold)
        assert path.asked[:, place].tolist() == asked
        assert path.cost[place] == pytest.approx(cost)
        assert path.right[place] == right
        shares = settled_shares(asked_shares(given_tiers.reach, float(place), path))
        assert shares.argmax(axis=1).tolist() == decides
        assert shares.max(axis=1).tolist() == [1.0] * len(given_tiers)


@given(small_tiers(failures=False), st.floats(0, 1))
@settings(max_examples=30, deadline=None)
def test_no_budget_is_exceeded_and_none_is_left_unused(given_tiers: Tiers, budget: float) -> None:
    path = trace(given_tiers)
    n = len(given_tiers)
    found = replay(given_tiers, (budget,), curve=()).points[0]
    assert found.asked[-1] <= budget + 1e-8
    possible = path.asked[-1][-1] / n
    assert found.asked[-1] == pytest.approx(min(budget, possible))
    place = path.place(path.asked[-1], budget * n)
    asked = asked_shares(given_tiers.reach, place, path)
    assert asked.mean(axis=0) == pytest.approx(np.array(found.asked))
    assert (asked * given_tiers.cost).sum() / n == pytest.approx(found.cost)
    shares = settled_shares(asked)
    assert shares.min() >= 0
    assert shares.sum(axis=1) == pytest.approx(np.ones(n))
    assert found.accuracy.value == pytest.approx(value_at(path.right, place) / n)


@given(small_tiers())
@settings(max_examples=100, deadline=None)
def test_more_is_asked_and_paid_with_every_rise_of_the_threshold(given_tiers: Tiers) -> None:
    path = trace(given_tiers)
    assert (np.diff(path.threshold) > 0).all()
    assert (np.diff(path.asked, axis=1) >= 0).all()
    assert (np.diff(path.cost) >= 0).all()
    assert (path.asked[:-1] >= path.asked[1:]).all()  # nobody is asked before those before him


@given(small_tiers(failures=False), st.floats(0, 20))
@settings(max_examples=30, deadline=None)
def test_money_is_never_exceeded(given_tiers: Tiers, limit: float) -> None:
    least = float(given_tiers.cost[:, 0].sum())
    if limit < least:
        with pytest.raises(InputError, match="do not even pay the cheapest judge"):
            replay(given_tiers, max_costs=(limit,), curve=())
        return
    found = replay(given_tiers, max_costs=(limit,), curve=()).points[0]
    assert found.cost * len(given_tiers) <= limit + 1e-6
    assert found.max_cost == limit


@given(small_tiers(), st.lists(st.sampled_from([0.3, 0.5, 0.6, np.inf]), min_size=3, max_size=3))
@settings(max_examples=100, deadline=None)
def test_thresholds_of_their_own_route_as_a_walk_does(
    given_tiers: Tiers, thresholds: list[float]
) -> None:
    count = len(given_tiers.names)
    found = route(given_tiers, thresholds[:count])
    for pair, who in enumerate(found):
        sure = [
            given_tiers.said[pair, tier] != NOTHING
            and given_tiers.confidence[pair, tier] >= thresholds[tier]
            for tier in range(count)
        ]
        assert who == (sure.index(True) if any(sure) else NOBODY)


def test_golden_values_by_hand() -> None:
    # Four pairs; judge a is right on the two surest, b on all but the surest.
    made = tiers(
        said=[[1, -1], [1, 1], [1, -1], [1, 0]],
        confidence=[[0.9, NAN], [0.8, NAN], [0.6, NAN], [0.5, NAN]],
        gold=[1, 1, -1, 0],
        cost=[[0.25, 1.0]] * 4,
    )
    found = replay(made, (0.0, 0.25, 0.375, 0.5, 0.75, 1.0), curve=())
    assert [point.accuracy.value for point in found.points] == [0.5, 0.75, 0.875, 1.0, 1.0, 0.75]
    assert [point.asked for point in found.points] == [
        (1.0, share) for share in (0.0, 0.25, 0.375, 0.5, 0.75, 1.0)
    ]
    assert [point.cost for point in found.points] == [0.25, 0.5, 0.625, 0.75, 1.0, 1.25]
    assert [point.threshold for point in found.points] == [0.5, 0.6, 0.8, 0.8, 0.9, None]
    assert [point.part for point in found.points] == [1.0, 1.0, 0.5, 1.0, 1.0, 1.0]
    # Passing on by chance moves from 1/2 to 3/4; an oracle passes on the last two alone.
    assert [point.random for point in found.points] == [0.5, 0.5625, 0.59375, 0.625, 0.6875, 0.75]
    assert [point.oracle for point in found.points] == [0.5, 0.75, 0.875, 1.0, 1.0, 1.0]
    assert [point.gap_closed.value for point in found.points] == [0, 1, 1.5, 2, 2, 1]
    assert [rate.value for rate in found.alone] == [0.5, 0.75]
    assert [point.like_last for point in found.points][-1] == 1.0
    goals = {one.goal: one.point for one in found.recommended}
    assert goals["100% of the gap closed"].budget == 0.25
    assert goals["most right"].budget == 0.5
    assert replay(made, target=0.9, curve=()).recommended[0].point.budget == 0.5


def test_ties_in_confidence_are_passed_on_by_chance() -> None:
    made = tiers([[1, -1]] * 4, [[0.5, NAN]] * 4, [-1, -1, -1, 1])
    point = replay(made, (0.5,), curve=()).points[0]
    assert point.accuracy.value == pytest.approx(0.5 * 0.25 + 0.5 * 0.75)
    assert (point.part, point.asked[-1]) == (0.5, 0.5)


def test_pairs_of_unknown_confidence_go_first() -> None:
    made = tiers([[1, -1]] * 3, [[0.9, NAN], [NAN, NAN], [0.5, NAN]], [-1, -1, -1])
    found = replay(made, (1 / 3,), curve=())
    path = trace(made)
    shares = asked_shares(made.reach, path.place(path.asked[-1], 1.0), path)
    assert shares[:, 1].tolist() == [0, 1, 0]
    assert found.points[0].threshold == 0.5
    assert found.unsure == (1,)


def test_failed_and_unlabelled_pairs_are_left_out_and_counted() -> None:
    made = tiers(
        [[1, 1], [NOTHING, 1], [1, NOTHING], [1, 1], [1, 1]],
        [[0.5, NAN]] * 5,
        [1, 1, 1, NOTHING, 8],
    )
    found = replay(made, (0.5,), curve=())
    assert (found.n, found.left_out) == (1, 4)
    with pytest.raises(InputError, match="nothing to replay"):
        replay(made.take(np.array([1, 2])), (0.5,))


def test_the_strong_judge_decides_what_is_passed_on() -> None:
    """The published cascade of arXiv 2403.02839 appends the weak judge's output either way."""
    made = tiers([[1, -1]] * 10, [[place / 10, NAN] for place in range(10)], [-1] * 10)
    found = replay(made, (0.0, 0.5, 1.0), curve=())
    assert [point.accuracy.value for point in found.points] == [0.0, 0.5, 1.0]


def test_the_surer_of_two_cheap_judges_is_taken() -> None:
    """The published weak-weak selection takes the first judge whatever their confidence."""
    made = tiers(
        [[1, -1, 0], [1, -1, 0], [1, -1, 0]],
        [[0.6, 0.9, NAN], [0.9, 0.6, NAN], [NAN, 0.1, NAN]],
        [-1, 1, -1],
    )
    assert replay(made, (0.5,), curve=()).surest_cheap.value == 1.0
    first_always = made.right[:, 0].mean()
    assert first_always == pytest.approx(1 / 3)


def test_ranks_put_judges_on_one_scale() -> None:
    made = tiers([[1, 1, 1]] * 4, [[0.1, 7, 0], [0.2, 9, 0], [0.2, 8, 0], [NAN, 6, 0]], [1] * 4)
    ranks = made.by_rank().confidence
    assert ranks[:, 0] == pytest.approx([1 / 3, 1, 1, NAN], nan_ok=True)
    assert ranks[:, 1].tolist() == [0.5, 1.0, 0.75, 0.25]


def test_one_pair_of_each_question() -> None:
    made = tiers([[1, 1]] * 6, [[0.5, 0.5]] * 6, [1] * 6, question=[3, 3, 1, 1, 1, 2])
    chosen = made.one_per_question(seed=1)
    assert sorted(made.question[chosen].tolist()) == [1, 2, 3]
    assert chosen.tolist() == made.one_per_question(seed=1).tolist()


def test_wrong_input_is_said() -> None:
    with pytest.raises(InputError, match="two judges"):
        tiers([[1]], [[0.5]], [1])
    made = tiers([[1, 1]], [[0.5, 0.5]], None)
    with pytest.raises(InputError, match="no labels"):
        trace(made)
    with pytest.raises(InputError, match="no share of pairs"):
        replay(tiers([[1, 1]], [[0.5, 0.5]], [1]), (50,))


def test_a_gap_that_may_not_exist_has_no_interval() -> None:
    rng = np.random.default_rng(0)
    gold = np.ones(200, dtype=np.int8)
    said = np.where(rng.random((200, 2)) < 0.7, 1, -1)
    made = tiers(said.tolist(), rng.random((200, 2)).tolist(), gold.tolist())
    point = replay(made, (0.5,), curve=()).points[0]
    alone = made.right.mean(axis=0)
    if alone[1] <= alone[0]:
        assert point.gap_closed.value is None
    else:
        assert point.gap_closed.low is None
