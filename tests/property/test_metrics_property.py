"""What must hold of every rate, whatever the data."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.metrics.agreement import measure_agreement
from magistrate.metrics.gold import majority
from magistrate.metrics.intervals import Rate, mean_of_points, mean_of_scores, proportion
from magistrate.metrics.wins import count_wins
from magistrate.records import Answer, Decision, Gold, Preference, Sample

PREFERENCES: tuple[Preference, ...] = ("first", "tie", "second")
MIRROR: dict[Preference, Preference] = {"first": "second", "tie": "tie", "second": "first"}

points = st.lists(
    st.tuples(st.sampled_from((0.0, 0.5, 1.0)), st.integers(0, 60)), min_size=1, max_size=120
)
pairs = st.lists(
    st.tuples(
        st.sampled_from(PREFERENCES),
        st.lists(st.sampled_from(PREFERENCES), max_size=3),
        st.integers(0, 30),
        st.floats(0, 1),
        st.text("x", max_size=3),
        st.text("x", max_size=3),
    ),
    max_size=40,
)


def contains_its_value(rate: Rate, low: float = 0.0, high: float = 1.0) -> bool:
    assert rate.value is not None
    assert rate.low is not None
    assert rate.high is not None
    return low <= rate.low <= rate.value <= rate.high <= high


@given(st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_contains_the_share_and_stays_inside(case: tuple[int, int]) -> None:
    assert contains_its_value(proportion(*case))


@given(st.integers(1, 1000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_mirrors_and_narrows_with_more_samples(case: tuple[int, int]) -> None:
    k, n = case
    rate, mirror, more = proportion(k, n), proportion(n - k, n), proportion(4 * k, 4 * n)
    assert (mirror.low, mirror.high) == pytest.approx((1 - rate.high, 1 - rate.low))  # type: ignore[operator]
    assert more.high - more.low < rate.high - rate.low  # type: ignore[operator]


@settings(deadline=None)
@given(points)
def test_mean_of_points_is_bounded_mirrored_and_blind_to_sequence(
    cases: list[tuple[float, int]],
) -> None:
    values, clusters = zip(*cases, strict=True)
    rate = mean_of_points(values, clusters)
    assert contains_its_value(rate)
    mirror = mean_of_points([1 - value for value in values], clusters)
    assert (mirror.value, mirror.low, mirror.high) == pytest.approx(
        (1 - rate.value, 1 - rate.high, 1 - rate.low)  # type: ignore[operator]
    )
    assert mean_of_points(values[::-1], clusters[::-1]) == rate


@settings(deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=2, max_size=80))
def test_mean_of_scores_lies_within_its_interval(scores: list[float]) -> None:
    rate = mean_of_scores(scores, range(len(scores)))
    if min(scores) == max(scores):
        assert (rate.low, rate.high) == (None, None)
    elif len(scores) < 20:
        assert contains_its_value(rate, low=-2000, high=2000)
    else:
        assert contains_its_value(rate, min(scores) - 1e-6, max(scores) + 1e-6)


@given(st.permutations(["first", "first", "second", "tie", "second"]))
def test_majority_does_not_depend_on_who_votes_first(votes: list[Preference]) -> None:
    assert majority(votes) == "no majority"
    assert majority([*votes, "second"]) == "second"


def judged(cases: list[tuple], swap: bool) -> list[tuple[Sample, Decision]]:  # type: ignore[type-arg]
    rows = []
    for row, (said, votes, question, confidence, first, second) in enumerate(cases):
        answers = (Answer(text=first, model="a"), Answer(text=second, model="b"))
        sample = Sample(
            question=str(question),
            answers=answers[::-1] if swap else answers,
            gold=tuple(Gold(preference=MIRROR[vote] if swap else vote) for vote in votes),
        )
        decision = Decision(
            row=row,
            sample_id=str(row),
            status="ok",
            preference=MIRROR[said] if swap else said,
            # Distinct, so that the more confident half is the same after the swap.
            confidence=(confidence + row) / (len(cases) + 1),
            rule="r",
        )
        rows.append((sample, decision))
    return rows


@settings(deadline=None)
@given(pairs)
def test_swapping_the_answers_changes_no_result(cases: list[tuple]) -> None:  # type: ignore[type-arg]
    there, back = judged(cases, swap=False), judged(cases, swap=True)
    assert count_wins(there) == count_wins(back)
    one, other = measure_agreement(there), measure_agreement(back)
    if one is None or other is None:
        assert one is other
        return
    for name in ("decisive", "confident_half", "three_class"):
        ours, theirs = getattr(one, name), getattr(other, name)
        if ours is None or theirs is None:
            assert ours is theirs
            continue
        assert ours.judge == theirs.judge
        assert ours.longer_wins == theirs.longer_wins
        assert ours.random == theirs.random


@settings(deadline=None)
@given(pairs)
def test_wins_of_one_are_losses_of_the_other(cases: list[tuple]) -> None:  # type: ignore[type-arg]
    results = {r.model: r for r in count_wins(judged(cases, swap=False))}
    if not results:
        assert not cases
        return
    a, b = results["a"], results["b"]
    assert (a.wins, a.ties, a.losses) == (b.losses, b.ties, b.wins)
    assert a.wins + a.ties + a.losses == len(cases) == a.win_rate.n
    assert a.win_rate.value == pytest.approx(1 - b.win_rate.value)  # type: ignore[operator]
    assert a.win_rate.low == pytest.approx(1 - b.win_rate.high)  # type: ignore[operator]
