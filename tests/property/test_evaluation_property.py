"""What must hold of every measure of agreement, whatever was said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from magistrate.metrics.annotators import describe, majority_of
from magistrate.metrics.classification import averaged, classify, confusion
from magistrate.metrics.columns import NOTHING, SPLIT
from magistrate.metrics.kappa import cohen_of, fleiss, krippendorff
from magistrate.metrics.position import position_bias
from magistrate.metrics.thresholds import auroc, best_threshold, tuned_on_test

outcomes = st.sampled_from((1, 0, -1))
maybe = st.sampled_from((1, 0, -1, NOTHING))
judged = st.lists(st.tuples(outcomes, maybe, st.integers(0, 8)), min_size=1, max_size=60)
voted = st.lists(st.tuples(maybe, maybe, maybe), min_size=1, max_size=40)


def columns(rows: list[tuple[int, ...]]) -> tuple[np.ndarray, ...]:
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def turned(outcomes: np.ndarray) -> np.ndarray:
    """Return outcomes with the two answers swapped."""
    return np.where(np.abs(outcomes) <= 1, -outcomes, outcomes)


@given(judged)
def test_swapping_all_answers_changes_no_measure(rows: list[tuple[int, ...]]) -> None:
    gold, said, question = columns(rows)
    one = classify(gold, said, question)
    other = classify(turned(gold), turned(said), question)
    for name in ("accuracy", "accuracy_of_all", "without_ties", "decisive", "kappa_linear"):
        assert getattr(one, name).value == pytest.approx(getattr(other, name).value)
    assert one.macro.f1.value == pytest.approx(other.macro.f1.value)
    assert one.classes["first"] == other.classes["second"]


@given(judged, st.permutations((1, 0, -1)))
def test_names_of_the_classes_do_not_matter_to_kappa_and_macro_f1(
    rows: list[tuple[int, ...]], names: list[int]
) -> None:
    gold, said, _ = columns(rows)
    renamed = dict(zip((1, 0, -1), names, strict=True)) | {NOTHING: NOTHING}
    new_gold, new_said = (np.array([renamed[x] for x in c.tolist()]) for c in (gold, said))
    ok = said != NOTHING
    assert cohen_of(gold[ok], said[ok]) == pytest.approx(
        cohen_of(new_gold[ok], new_said[ok]), nan_ok=True
    )
    assume(ok.any())
    before, after = (
        averaged(confusion(g, s).astype(float), "macro")
        for g, s in ((gold, said), (new_gold, new_said))
    )
    assert np.allclose(before, after)


@given(judged)
def test_micro_averages_are_the_accuracy_and_nothing_leaves_its_range(
    rows: list[tuple[int, ...]],
) -> None:
    gold, said, question = columns(rows)
    found = classify(gold, said, question)
    assert found.micro.precision == found.micro.recall == found.micro.f1
    if found.accuracy.value is not None:
        assert found.micro.f1.value == pytest.approx(found.accuracy.value)
        assert found.weighted.recall.value == pytest.approx(found.accuracy.value)
    for averaged_ in (found.macro, found.weighted):
        for rate in (averaged_.precision, averaged_.recall, averaged_.f1):
            assert rate.value is None or 0 <= rate.value <= 1
    assert found.kappa.value is None or -1 <= found.kappa.value <= 1
    assert sum(map(sum, found.confusion)) == len(rows)


@given(judged)
def test_counting_not_ok_as_wrong_never_helps(rows: list[tuple[int, ...]]) -> None:
    found = classify(*columns(rows))
    if found.accuracy.value is not None:
        assert found.accuracy_of_all.value is not None
        assert found.accuracy_of_all.value <= found.accuracy.value + 1e-12


@given(judged)
def test_kappa_is_that_of_scikit_learn(rows: list[tuple[int, ...]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    gold, said, _ = columns(rows)
    ok = said != NOTHING
    assume(len(np.unique(np.concatenate([gold[ok], said[ok]]))) > 1)
    theirs = metrics.cohen_kappa_score(gold[ok], said[ok])
    assert cohen_of(gold[ok], said[ok]) == pytest.approx(theirs)


@given(st.lists(st.tuples(maybe, maybe, st.integers(0, 8)), min_size=1, max_size=60))
def test_the_two_biases_add_up_and_trade_places_when_orders_do(
    rows: list[tuple[int, ...]],
) -> None:
    as_given, swapped, question = columns(rows)
    found = position_bias(as_given, swapped, question)
    if found is None:
        return
    first, second, total = (
        rate.value for rate in (found.toward_first, found.toward_second, found.total_bias)
    )
    assert first is not None
    assert second is not None
    assert total == pytest.approx(first + second)
    assert found.delta_bias.value == pytest.approx(abs(first - second))
    assert found.consistent.value == pytest.approx(1 - first - second)
    # Named the other way round, the same readings say the same of the places.
    again = position_bias(turned(swapped), turned(as_given), question)
    assert again is not None
    assert again.toward_first.value == pytest.approx(first)
    # Taking the second order for the first turns one bias into the other.
    other = position_bias(swapped, as_given, question)
    assert other is not None
    assert other.toward_first.value == pytest.approx(second)


@given(voted)
def test_a_majority_has_more_votes_than_any_other(rows: list[tuple[int, ...]]) -> None:
    votes = np.array(rows)
    for row, outcome in zip(votes.tolist(), majority_of(votes).tolist(), strict=True):
        counts = sorted((row.count(code) for code in (1, 0, -1)), reverse=True)
        if outcome == NOTHING:
            assert counts[0] == 0
        elif outcome == SPLIT:
            assert counts[0] == counts[1] > 0
        else:
            assert row.count(outcome) == counts[0] > counts[1]


@given(voted, st.permutations((0, 1, 2)))
def test_the_sequence_of_annotators_does_not_matter(
    rows: list[tuple[int, ...]], order: list[int]
) -> None:
    votes = np.array(rows)
    question = np.arange(len(votes))
    one = describe(votes, ("a", "b", "c"), question)
    other = describe(votes[:, order], ("a", "b", "c"), question)
    assert (one is None) == (other is None)
    if one is None or other is None:
        return
    assert (one.labels, one.unanimous, one.three_way) == (
        other.labels,
        other.unanimous,
        other.three_way,
    )
    for name in ("fleiss", "krippendorff", "krippendorff_ordinal"):
        assert getattr(one, name) == pytest.approx(getattr(other, name))


@given(st.lists(st.tuples(outcomes, outcomes, outcomes), min_size=2, max_size=60))
def test_alpha_and_fleiss_come_together_as_samples_grow(rows: list[tuple[int, ...]]) -> None:
    """With complete ratings they differ by chance's correction for small samples alone."""
    votes = np.array(rows)
    assume(len(np.unique(votes)) > 1)
    n = votes.size
    counts = np.stack([(votes == code).sum(1) for code in (1, 0, -1)], axis=1)
    alpha, kappa = krippendorff(votes), fleiss(counts)
    assert 1 - alpha == pytest.approx((1 - kappa) * (n - 1) / n)


scored = st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=50)


@given(scored)
def test_negated_scores_give_the_other_side_of_auroc(rows: list[tuple[int, bool]]) -> None:
    scores, positive = columns(rows)
    one, other = auroc(scores, positive), auroc(-scores, positive)
    if one.value is None:
        assert other.value is None
        return
    assert other.value == pytest.approx(1 - one.value)
    assert one.low is not None
    assert one.high is not None
    assert 0 <= one.low <= one.value <= one.high <= 1


@given(scored)
def test_no_threshold_beats_the_best_one(rows: list[tuple[int, bool]]) -> None:
    scores, positive = columns(rows)
    scores, positive = scores.astype(float), positive.astype(bool)
    found = best_threshold(scores, positive)
    reached = ((scores > found) == positive).mean()
    assert reached == max(((scores > t - 0.5) == positive).mean() for t in range(11))
    tuned = tuned_on_test(scores, positive)
    assert tuned.accuracy is not None
    assert tuned.accuracy <= reached + 1e-12
