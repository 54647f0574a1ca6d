"""Routing: whatever sequence answers come in, the same pairs go up, none in vain, none too many."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.cascade.live_routing import FAILED, OK, UNREAD, Router
from magistrate.cascade.tiers import Tiers
from magistrate.cascade.trace import asked_shares, settled_shares, trace

LEVELS = [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
Answer = tuple[int, float | None]


def play(router: Router, answers: list[list[Answer]], draw: random.Random) -> list[list[int]]:
    """Let judges answer in a random sequence; return which judges each pair went to."""
    waiting = [(pair, router.start) for pair in range(router.count)]
    asked: list[list[int]] = [[router.start] for _ in range(router.count)]
    while waiting:
        draw.shuffle(waiting)
        for _ in range(draw.randint(1, len(waiting))):
            pair, tier = waiting.pop()
            kind, sure = answers[pair][tier]
            router.answer(pair, tier, kind, sure if kind == OK else None)
        for pair, tier in router.send():
            asked[pair].append(tier)
            waiting.append((pair, tier))
    assert router.send() == []
    router.settle()
    return asked


def kinds() -> st.SearchStrategy[Answer]:
    good = st.sampled_from(LEVELS).map(lambda sure: (OK, sure))
    return st.one_of(good, good, good, st.just((UNREAD, None)), st.just((OK, None)))


@st.composite
def cascades(draw: st.DrawFn) -> tuple[list[list[Answer]], int]:
    tiers = draw(st.integers(2, 4))
    rows = draw(
        st.lists(st.lists(kinds(), min_size=tiers, max_size=tiers), min_size=1, max_size=25)
    )
    return rows, tiers


def reach_of(row: list[Answer], tiers: int) -> float:
    known = [sure for kind, sure in row[: tiers - 1] if kind == OK and sure is not None]
    return max(known, default=-math.inf)


@settings(max_examples=150, deadline=None)
@given(cascades(), st.integers(0, 25), st.integers(0, 1_000))
def test_by_rank_the_unsurest_go_up_and_nobody_is_asked_in_vain(
    made: tuple[list[list[Answer]], int], quota: int, seed: int
) -> None:
    answers, tiers = made
    router = Router(len(answers), tiers, quota=quota)
    asked = play(router, answers, random.Random(seed))
    last = [pair for pair, way in enumerate(asked) if tiers - 1 in way]
    assert len(last) == min(quota, len(answers))
    # Exactly those of the lowest confidence that any judge before the last has of them.
    ranked = sorted(range(len(answers)), key=lambda pair: (reach_of(answers[pair], tiers), pair))
    assert set(last) == set(ranked[:quota])
    # Who was asked between is who would have been with all known: unsure at the threshold reached.
    rest = [reach_of(answers[pair], tiers) for pair in ranked[quota:]]
    bar = min(rest, default=math.inf)
    for pair, way in enumerate(asked):
        before = -math.inf
        for tier in way[1:]:
            kind, sure = answers[pair][tier - 1]
            before = max(before, sure if kind == OK and sure is not None else -math.inf)
            assert before <= bar, "a judge was asked though an earlier one was sure enough"
    again = Router(len(answers), tiers, quota=quota)
    assert play(again, answers, random.Random(seed + 1)) == asked


@settings(max_examples=100, deadline=None)
@given(cascades(), st.one_of(st.none(), st.integers(0, 25)), st.integers(0, 1_000))
def test_with_thresholds_a_budget_is_kept_and_timing_changes_nothing(
    made: tuple[list[list[Answer]], int], quota: int | None, seed: int
) -> None:
    answers, tiers = made
    bars = tuple(0.45 + 0.1 * tier for tier in range(tiers - 1))

    def fresh() -> Router:
        return Router(len(answers), tiers, thresholds=bars, quota=quota)

    asked = play(fresh(), answers, random.Random(seed))
    assert play(fresh(), answers, random.Random(seed + 1)) == asked
    wanting = [
        pair
        for pair, row in enumerate(answers)
        if not any(
            kind == OK and sure is not None and sure >= bar
            for (kind, sure), bar in zip(row, bars, strict=False)
        )
    ]
    allowed = wanting if quota is None else wanting[:quota]
    assert [pair for pair, way in enumerate(asked) if tiers - 1 in way] == allowed
    router = fresh()
    play(router, answers, random.Random(seed))
    for pair in range(len(answers)):
        route = router.route(pair)
        if pair in allowed:
            assert route.tier == tiers - 1
        elif pair in wanting:
            assert route.state == "budget"
        else:
            assert route.state == "settled"
            assert route.threshold == bars[route.tier]


@pytest.mark.parametrize("tiers", [2, 3])
def test_a_budget_decides_as_the_replay_of_all_confidences_does(tiers: int) -> None:
    draw = np.random.default_rng(1)
    n = 300
    sure = draw.permuted(np.linspace(0.34, 0.99, n * tiers)).reshape(n, tiers)
    stored = Tiers(
        names=tuple("abc"[:tiers]),
        said=np.ones((n, tiers), dtype=np.int8),
        confidence=sure,
        cost=np.ones((n, tiers)),
        question=np.arange(n),
        gold=np.ones(n, dtype=np.int8),
    )
    answers: list[list[Answer]] = [[(OK, float(one)) for one in row] for row in sure]
    for share in (0.0, 0.1, 0.5, 1.0):
        router = Router(n, tiers, quota=int(share * n))
        play(router, answers, random.Random(2))
        path = trace(stored)
        place = path.place(path.asked[-1], share * n)
        expected = settled_shares(asked_shares(stored.reach, place, path)).argmax(axis=1)
        assert [router.route(pair).tier for pair in range(n)] == expected.tolist()


def test_a_judge_without_a_threshold_that_helps_is_not_asked() -> None:
    router = Router(4, 3, thresholds=(math.inf, 0.8, 0.9))
    answers: list[list[Answer]] = [
        [(OK, 0.99), (OK, 0.85), (OK, 0.99)],
        [(OK, 0.99), (OK, 0.7), (OK, 0.95)],
        [(OK, 0.99), (UNREAD, None), (OK, 0.5)],
        [(OK, 0.99), (OK, None), (FAILED, None)],
    ]
    assert play(router, answers, random.Random(0)) == [[1], [1, 2], [1, 2], [1, 2]]
    states = [router.route(pair).state for pair in range(4)]
    assert states == ["settled", "settled", "abstained", "stopped"]


def test_a_pair_whose_judge_failed_waits_and_holds_its_place_in_the_budget() -> None:
    router = Router(3, 2, quota=1)
    router.answer(0, 0, FAILED, None)
    router.answer(1, 0, OK, 0.4)
    router.answer(2, 0, OK, 0.9)
    assert router.send() == []
    router.settle()
    assert [router.route(pair).state for pair in range(3)] == ["stopped", "settled", "settled"]
    router.answer(0, 0, OK, 0.95)  # asked again
    assert router.send() == [(1, 1)]


def test_a_streamed_threshold_is_that_of_the_first_pairs() -> None:
    sures = [0.4, 0.5, 0.6, 0.7, 0.45, 0.95]
    answers: list[list[Answer]] = [[(OK, one), (OK, 1.0)] for one in sures]
    router = Router(6, 2, quota=3, share_of_first=(4, 0.5))
    asked = play(router, answers, random.Random(3))
    assert router.thresholds == (0.6,)
    assert [1 in way for way in asked] == [True, True, False, False, True, False]


def test_many_pairs_are_routed_in_reasonable_time() -> None:
    import time

    n = 200_000
    sure = np.random.default_rng(0).random(n)
    router = Router(n, 2, quota=n // 2)
    begun = time.perf_counter()
    for pair in range(n):
        router.answer(pair, 0, OK, float(sure[pair]))
    assert len(router.send()) == n // 2
    router.settle()
    assert time.perf_counter() - begun < 10
