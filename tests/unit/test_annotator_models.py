"""Rules that merge several annotators' votes: values by hand, and annotators of known skill."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from magistrate.data.annotator_models import (
    NO_VOTE,
    Merged,
    dawid_skene,
    mean_of,
    weighted_by_agreement,
)
from magistrate.data.merging import codes_of, gold_by_annotator

Codes = NDArray[np.int8]
FIRST, TIE, SECOND = 0, 1, 2


def one_hot(codes: Codes) -> NDArray[np.float64]:
    shares = np.full((*codes.shape, 3), np.nan)
    voted = codes != NO_VOTE
    shares[voted] = np.eye(3)[codes[voted]]
    return shares


def annotators(skills: list[float], n: int = 600, seed: int = 0) -> tuple[Codes, Codes]:
    """The truth, and votes that are right as often as the skills say, else wrong at random."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, 3, n).astype(np.int8)
    votes = np.empty((n, len(skills)), dtype=np.int8)
    for column, skill in enumerate(skills):
        wrong = (truth + draw.integers(1, 3, n)) % 3
        votes[:, column] = np.where(draw.random(n) < skill, truth, wrong)
    return truth, votes


def accuracy(merged: Merged, truth: Codes) -> float:
    return float((codes_of(merged.shares) == truth).mean())


def everybodys_gold(gold: Codes, columns: int) -> Codes:
    return np.repeat(gold[:, None], columns, axis=1)


def test_the_mean_is_over_those_who_voted() -> None:
    votes = np.array([[[1, 0, 0], [0.2, 0.2, 0.6]], [[np.nan] * 3, [0, 1, 0]], [[np.nan] * 3] * 2])
    merged = mean_of(votes)
    np.testing.assert_allclose(merged.shares[:2], [[0.6, 0.1, 0.3], [0, 1, 0]])
    assert np.isnan(merged.shares[2]).all()


def test_weights_by_agreement_are_those_worked_out_by_hand() -> None:
    # 100 questions with gold, one pair each; outcomes first and second alone, so K = 2. Annotator
    # 0 is right in 79 of 100: a = 80/102; annotator 1 in 59: a = 60/102.
    gold = np.tile(np.array([FIRST, SECOND], dtype=np.int8), 50)
    other = np.where(gold == FIRST, SECOND, FIRST).astype(np.int8)
    place = np.arange(100)
    votes = np.stack([np.where(place < 79, gold, other), np.where(place < 59, gold, other)], axis=1)
    # One more pair, without gold, of which 0 says first and 1 second.
    votes = np.concatenate([votes, [[FIRST, SECOND]]]).astype(np.int8)
    gold = np.concatenate([gold, [NO_VOTE]]).astype(np.int8)
    merged = weighted_by_agreement(
        one_hot(votes), everybodys_gold(gold, 2), np.arange(101, dtype=np.uint64)
    )
    np.testing.assert_allclose(merged.skill, [80 / 102, 60 / 102])
    np.testing.assert_allclose(merged.weights, [math.log(80 / 22), math.log(60 / 42)])
    # Its weights are those of the four fifths that it is not in: near the ones above.
    odds = merged.shares[100, FIRST] / merged.shares[100, SECOND]
    assert odds == pytest.approx((80 / 22) / (60 / 42), rel=0.25)
    assert merged.shares[100, TIE] == 0


def test_weights_of_a_pair_do_not_know_its_own_gold_label() -> None:
    truth, votes = annotators([0.8, 0.6], n=60)
    clusters = np.arange(60, dtype=np.uint64)
    before = weighted_by_agreement(one_hot(votes), everybodys_gold(truth, 2), clusters)
    changed = truth.copy()
    changed[7] = (truth[7] + 1) % 3
    after = weighted_by_agreement(one_hot(votes), everybodys_gold(changed, 2), clusters)
    np.testing.assert_array_equal(before.shares[7], after.shares[7])
    assert not np.array_equal(before.shares, after.shares)


def test_weighing_beats_the_majority_where_annotators_differ() -> None:
    truth, votes = annotators([0.95, 0.45, 0.45, 0.45])
    gold = truth.copy()
    gold[200:] = NO_VOTE
    clusters = np.arange(len(truth), dtype=np.uint64)
    weighted = weighted_by_agreement(one_hot(votes), everybodys_gold(gold, 4), clusters)
    assert accuracy(weighted, truth) > 0.92 > accuracy(mean_of(one_hot(votes)), truth) + 0.1


def test_who_is_worse_than_chance_counts_for_nothing() -> None:
    truth, votes = annotators([0.8, 0.05])
    clusters = np.arange(len(truth), dtype=np.uint64)
    merged = weighted_by_agreement(one_hot(votes), everybodys_gold(truth, 2), clusters)
    assert merged.weights[1] == 0
    np.testing.assert_array_equal(codes_of(merged.shares), votes[:, 0])


def test_without_gold_all_count_alike() -> None:
    votes = np.array([[FIRST, FIRST, SECOND], [TIE, SECOND, SECOND]], dtype=np.int8)
    none = np.full((2, 3), NO_VOTE, dtype=np.int8)
    merged = weighted_by_agreement(one_hot(votes), none, np.arange(2, dtype=np.uint64))
    assert codes_of(merged.shares).tolist() == [FIRST, SECOND]
    assert np.isnan(merged.skill).all()


def test_a_human_is_measured_by_the_other_humans_and_a_teacher_by_all() -> None:
    # Columns: teacher, three humans.
    codes = np.array(
        [
            [FIRST, FIRST, FIRST, SECOND],
            [FIRST, FIRST, SECOND, NO_VOTE],
            [TIE, NO_VOTE, NO_VOTE, SECOND],
        ],
        dtype=np.int8,
    )
    gold = gold_by_annotator(codes, [False, True, True, True])
    assert gold[:, 0].tolist() == [FIRST, NO_VOTE, SECOND]
    assert gold[0].tolist() == [FIRST, NO_VOTE, NO_VOTE, FIRST]
    assert gold[1].tolist() == [NO_VOTE, SECOND, FIRST, NO_VOTE]
    assert gold[2].tolist() == [SECOND, SECOND, SECOND, NO_VOTE]


def test_dawid_skene_beats_the_majority_when_annotators_are_bad() -> None:
    pytest.importorskip("crowdkit", reason="needs the extra 'crowd'")
    # One is systematically wrong and two hardly know; two are good.
    truth, votes = annotators([0.9, 0.85, 0.4, 0.4, 0.1])
    merged = dawid_skene(votes)
    majority = accuracy(mean_of(one_hot(votes)), truth)
    assert accuracy(merged, truth) > majority + 0.05
    assert accuracy(merged, truth) > 0.88
    np.testing.assert_allclose(merged.skill, [0.9, 0.85, 0.4, 0.4, 0.1], atol=0.08)
    np.testing.assert_allclose(merged.shares.sum(1), 1)


def test_dawid_skene_leaves_pairs_without_votes_and_does_with_gaps() -> None:
    pytest.importorskip("crowdkit", reason="needs the extra 'crowd'")
    truth, votes = annotators([0.9, 0.8, 0.8], n=200)
    votes[3] = NO_VOTE
    votes[10:60, 0] = NO_VOTE
    merged = dawid_skene(votes)
    assert np.isnan(merged.shares[3]).all()
    assert accuracy(merged, truth) > 0.85


def test_outcomes_are_told_from_distributions_as_records_tell_them() -> None:
    shares = np.array([[0.5, 0, 0.5], [0.4, 0.4, 0.2], [0.2, 0.5, 0.3], [np.nan] * 3])
    assert codes_of(shares).tolist() == [TIE, FIRST, TIE, NO_VOTE]
