"""Two judges on the same samples; corrections; power."""

import numpy as np
import pytest

from magistrate.metrics.intervals import Rate, proportion
from magistrate.metrics.multiplicity import benjamini_hochberg, benjamini_yekutieli, holm
from magistrate.metrics.paired import MCNEMAR, NO_TEST, SIGN_FLIP, compare_paired, mcnemar
from magistrate.metrics.power import (
    labels_to_halve,
    smallest_effect,
    smallest_paired_effect,
    smallest_shift,
)


def test_mcnemar_of_a_table_in_the_literature() -> None:
    # 2 * P(X <= 1), X ~ B(6, 1/2): by hand (1 + 6) / 64 * 2.
    assert mcnemar(1, 5) == pytest.approx(14 / 64)
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(5, 1) == mcnemar(1, 5)


def test_right_and_wrong_on_distinct_questions_is_mcnemar() -> None:
    first, second = np.zeros(20), np.zeros(20)
    first[:11], second[10:14] = 1, 1
    found = compare_paired(first, second, np.arange(20))
    assert (found.only_first, found.only_second) == (10, 3)
    assert found.test == MCNEMAR
    assert found.p == pytest.approx(mcnemar(10, 3))
    assert found.difference.value == pytest.approx(7 / 20)
    assert (found.first, found.second) == (11 / 20, 4 / 20)


def test_half_points_are_tested_by_flipping_signs() -> None:
    first, second = np.zeros(40), np.zeros(40)
    first[:20] = 1
    second[:30] = 0.5
    found = compare_paired(first, second, np.arange(40))
    assert found.test == MCNEMAR  # each difference is one half
    first[35:] = 1
    found = compare_paired(first, second, np.arange(40))
    # 25 for the first (20 by a half, 5 by one), 10 by a half for the second: 10 of 22.5 halves.
    assert found.test == SIGN_FLIP
    weights = np.array([0.5] * 30 + [1.0] * 5)
    signs = np.random.default_rng(0).choice((-1, 1), size=(50_000, 35))
    assert found.p == pytest.approx((abs(signs @ weights) >= 10).mean(), abs=0.01)


def test_samples_of_one_question_flip_together() -> None:
    rng = np.random.default_rng(1)
    by_question = rng.choice((0.0, 1.0), size=12)
    first, second = np.repeat(by_question, 50), np.repeat(1 - by_question, 50)
    found = compare_paired(first, second, np.repeat(np.arange(12), 50))
    # 600 samples say no more than 12 questions.
    assert found.test == SIGN_FLIP
    assert found.p == pytest.approx(mcnemar(int(by_question.sum()), 12 - int(by_question.sum())))


@pytest.mark.parametrize("ties", [0.0, 0.3])
def test_equal_judges_are_told_apart_in_one_of_twenty_cases(ties: float) -> None:
    rng = np.random.default_rng(5)
    findings = 0
    for _ in range(400):
        question = rng.integers(0, 60, size=120)
        scores = [
            np.where(rng.random(120) < ties, 0.5, (rng.random(120) < 0.7).astype(float))
            for _ in range(2)
        ]
        found = compare_paired(*scores, question, resamples=10)
        findings += found.p is not None and found.p < 0.05
    assert findings / 400 < 0.085


def test_judges_that_never_differ_and_no_samples() -> None:
    same = compare_paired([1.0, 0.0], [1.0, 0.0], [1, 2])
    assert (same.p, same.test, same.difference.value) == (1.0, NO_TEST, 0.0)
    none = compare_paired([], [], [])
    assert (none.n, none.p, none.first) == (0, None, None)
    with pytest.raises(ValueError, match="equal length"):
        compare_paired([1.0], [1.0, 0.0], [1])


P = [0.01, 0.02, 0.03, 0.04, 0.5]


def test_corrections_against_worked_values() -> None:
    # R 4: p.adjust(P, "holm"), p.adjust(P, "BH"), p.adjust(P, "BY")
    assert holm(P) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.5])
    assert benjamini_hochberg(P) == pytest.approx([0.05, 0.05, 0.05, 0.05, 0.5])
    assert benjamini_yekutieli(P) == pytest.approx([0.1141667] * 4 + [1.0], abs=1e-6)
    for correct in (holm, benjamini_hochberg, benjamini_yekutieli):
        assert correct([]) == []
        assert correct([0.2]) == [0.2]
        assert correct(P[::-1]) == pytest.approx(correct(P)[::-1])


def test_holm_keeps_false_findings_to_one_family_in_twenty() -> None:
    p = np.random.default_rng(2).random((2000, 10))
    families = np.mean([min(holm(list(row))) < 0.05 for row in p])
    assert families < 0.065


def test_labels_to_halve_halve() -> None:
    for k, n in ((70, 100), (50, 50), (1, 400)):
        rate = proportion(k, n)
        more = labels_to_halve(rate)
        assert more is not None
        wider = rate.high - rate.low
        halved = [proportion(k / n * m, m) for m in (n + more, n + more - 1)]
        assert halved[0].high - halved[0].low <= wider / 2 < halved[1].high - halved[1].low
    assert labels_to_halve(Rate(value=0.3, n=40, low=0.25, high=0.34)) == 120
    assert labels_to_halve(Rate(value=None, n=0)) is None


@pytest.mark.parametrize(("n", "share"), [(100, 0.5), (400, 0.2), (60, 0.9)])
def test_the_smallest_effect_is_seen_in_four_of_five_cases(n: int, share: float) -> None:
    effect = smallest_effect(n, share)
    assert effect is not None
    true = share + effect if share <= 0.5 else share - effect
    drawn = np.random.default_rng(n).binomial(n, true, size=20_000) / n
    z = (drawn - share) / np.sqrt(share * (1 - share) / n)
    assert (abs(z) > 1.96).mean() == pytest.approx(0.8, abs=0.06)


def test_the_smallest_paired_effect_is_seen_in_four_of_five_cases() -> None:
    n, discordant = 800, 0.2
    effect = smallest_paired_effect(n, discordant)
    assert effect is not None
    rng = np.random.default_rng(7)
    cells = rng.multinomial(
        n, [(discordant + effect) / 2, (discordant - effect) / 2, 1 - discordant], 20_000
    )
    z = (cells[:, 0] - cells[:, 1]) / np.sqrt(cells[:, 0] + cells[:, 1])
    assert (abs(z) > 1.96).mean() == pytest.approx(0.8, abs=0.02)


def test_too_few_samples_could_not_have_shown_anything() -> None:
    assert smallest_effect(2, 0.5) is None
    assert smallest_effect(0, 0.5) is None
    assert smallest_paired_effect(3, 0.1) is None
    assert smallest_shift(1.0, 100) == pytest.approx(0.2802, abs=1e-3)
