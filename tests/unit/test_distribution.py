"""Exact distributions over verdicts: what is asked for, and what is made of the answer."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest

from magistrate.errors import FamilyError
from magistrate.messages import Choices, Completion
from magistrate.prompts.catalog import load_family
from magistrate.prompts.distribution import (
    LEAST_MASS,
    Distribution,
    distribution_of,
    verdict_from_joint,
)
from magistrate.prompts.options import MOST_VERDICTS
from magistrate.prompts.text_family import TextFamily
from magistrate.records import Answer, Sample

TEN = tuple(str(score) for score in range(1, 11))


def sample(count: int = 2) -> Sample:
    return Sample(
        question="Why?",
        answers=tuple(Answer(text=f"Answer {k}.") for k in range(count)),
        reference="Ref.",
        rubric="Be kind.",
    )


def completion(probabilities: Sequence[float], key: str = "0") -> Completion:
    logs = tuple(math.log(p) if p else -math.inf for p in probabilities)
    return Completion(key=key, choices=logs)


def peaked(*peaks: tuple[int, int, float]) -> list[float]:
    """A joint distribution over two scores: all mass on a few pairs."""
    joint = [0.0] * 100
    for first, second, share in peaks:
        joint[(first - 1) * 10 + second - 1] = share
    return joint


@pytest.mark.parametrize(
    ("name", "count", "choices"),
    [
        ("pair", 2, Choices(TEN, " ", 2)),
        ("judgelm", 2, Choices(TEN, " ", 2)),
        ("n-way", 3, Choices(TEN, " ", 3)),
        ("n-way", 4, None),
        ("single", 1, Choices(TEN, " ", 1)),
        ("single", 2, Choices(TEN, " ", 1)),
        ("judgelm-single", 1, Choices(tuple(f" {score}" for score in TEN), "", 1)),
        ("judgelm-reasons-first", 2, Choices(tuple(f" {score}" for score in TEN), "", 2)),
        ("pandalm", 2, Choices(("1", "2", "Tie"), " ", 1)),
        ("auto-j-pair", 2, Choices((" Response 1", " Response 2", " Tie"), " ", 1)),
        ("auto-j-single", 1, Choices(TEN, " ", 1)),
        ("prometheus-absolute", 1, Choices(tuple(f" {k}" for k in range(1, 6)), "", 1)),
        ("prometheus-relative", 2, Choices((" A", " B"), " ", 1)),
        ("mt-bench-pair", 2, Choices(("A", "B", "C"), " ", 1)),
        ("ab-token", 2, Choices(("A", "B"), " ", 1)),
        ("alpaca-eval-ranking", 2, None),
    ],
)
def test_what_a_reply_can_say(name: str, count: int, choices: Choices | None) -> None:
    family = load_family(name, mode="score")
    assert family.choices(count) == choices
    assert choices is None or choices.total <= MOST_VERDICTS
    assert load_family(name).choices(count) is None, "a judge that explains must write"


def test_a_pair_of_scores() -> None:
    family = load_family("pair", mode="score")
    given = completion(peaked((8, 6, 0.4), (8, 8, 0.2), (3, 9, 0.3)))
    verdict = family.read([given], sample(), (0, 1))
    assert verdict.status == "ok"
    assert verdict.probabilities is not None
    assert verdict.probabilities.first == pytest.approx(4 / 9)
    assert verdict.probabilities.tie == pytest.approx(2 / 9)
    assert verdict.probabilities.second == pytest.approx(3 / 9)
    assert verdict.preference == "first"
    assert verdict.scores == pytest.approx((8 * 6 / 9 + 3 * 3 / 9, 6 * 4 / 9 + 8 * 2 / 9 + 3))
    assert verdict.mass == pytest.approx(0.9)
    assert not verdict.approximate


def test_the_likeliest_outcome_need_not_have_the_higher_expected_score() -> None:
    family = load_family("pair", mode="score")
    verdict = family.read([completion(peaked((9, 8, 0.6), (1, 10, 0.4)))], sample(), (0, 1))
    assert verdict.preference == "first"
    assert verdict.scores is not None
    assert verdict.scores[0] < verdict.scores[1]


def test_answers_read_alone_are_independent() -> None:
    family = load_family("single", mode="score")
    one = [0.0] * 9 + [0.5]
    two = [0.0] * 7 + [0.25, 0.0, 0.25]
    verdict = family.read([completion(one), completion(two)], sample(), (0, 1))
    assert verdict.scores == pytest.approx((10, 9))
    assert verdict.probabilities is not None
    assert (verdict.probabilities.first, verdict.probabilities.tie) == pytest.approx((0.5, 0.5))
    assert verdict.mass == pytest.approx(0.5), "that of the answer with the least"
    alone = family.read([completion(two)], sample(1), (0,))
    assert (alone.scores, alone.preference, alone.probabilities) == ((9.0,), None, None)


def test_several_answers_are_ranked_by_expected_scores() -> None:
    family = load_family("n-way", mode="score")
    joint = [0.0] * 1000
    for (one, two, three), share in {(2, 9, 5): 0.5, (4, 9, 5): 0.5}.items():
        joint[(one - 1) * 100 + (two - 1) * 10 + three - 1] = share
    verdict = family.read([completion(joint)], sample(3), (0, 1, 2))
    assert verdict.scores == pytest.approx((3, 9, 5))
    assert verdict.ranking == (3, 1, 2)
    assert (verdict.preference, verdict.probabilities) == (None, None)
    singles = load_family("single", mode="score")
    given = [completion([0.0] * k + [1.0] + [0.0] * (9 - k)) for k in (1, 8, 8)]
    assert singles.read(given, sample(3), (0, 1, 2)).ranking == (3, 1, 1)


def test_labels_with_one_meaning_are_added_up() -> None:
    family = load_family("pandalm", mode="score")
    verdict = family.read([completion([0.2, 0.3, 0.3])], sample(), (0, 1))
    assert verdict.probabilities is not None
    assert (verdict.preference, verdict.scores) == ("tie", None)
    assert verdict.probabilities.tie == pytest.approx(0.375)
    no_tie = load_family("ab-token", mode="score")
    verdict = no_tie.read([completion([0.7, 0.2])], sample(), (0, 1))
    assert verdict.probabilities is not None
    assert verdict.probabilities.tie == 0
    assert verdict.preference == "first"


def test_a_fixed_start_leaves_the_scores_of_the_judge() -> None:
    family = load_family("judgelm-single", mode="score")
    verdict = family.read([completion([0.0] * 6 + [0.9, 0.1, 0, 0])], sample(1), (0,))
    assert verdict.scores == pytest.approx((7.1,))


def test_a_judge_that_would_write_something_else_has_no_verdict() -> None:
    family = load_family("pair", mode="score")
    faint = completion([LEAST_MASS / 200] * 100)
    verdict = family.read([faint], sample(), (0, 1))
    assert verdict.status == "unparsed"
    assert (verdict.error or "").startswith("no_mass: ")
    assert verdict.mass == pytest.approx(LEAST_MASS / 2)
    assert verdict.preference is verdict.scores is verdict.probabilities is None
    nothing = family.read([completion([0.0] * 100)], sample(), (0, 1))
    assert (nothing.status, nothing.mass) == ("unparsed", 0.0)
    alone = load_family("single", mode="score")
    half = alone.read([completion([0.1] * 10), completion([1e-6] * 10)], sample(), (0, 1))
    assert (half.error or "").endswith("(answer 2)")


@pytest.mark.parametrize(
    "logprobs",
    [
        (0.0,) * 99,
        (-3.0,) * 101,
        (math.nan, *(-3.0,) * 99),
        (0.5, *(-9.0,) * 99),
        (-1.0,) * 100,
    ],
)
def test_a_faulty_distribution_is_an_error(logprobs: tuple[float, ...]) -> None:
    family = load_family("pair", mode="score")
    verdict = family.read([Completion(key="0", choices=logprobs)], sample(), (0, 1))
    assert verdict.status == "error"
    assert (verdict.error or "").startswith("bad_choices: ")


def test_a_distribution_that_nobody_asked_for_is_an_error() -> None:
    family = load_family("alpaca-eval-ranking")
    verdict = family.read([Completion(key="0", choices=(0.0,))], sample(), (0, 1))
    assert verdict.status == "error"


def test_a_failed_completion_is_an_error_whatever_it_holds() -> None:
    family = load_family("pair", mode="score")
    failed = Completion(key="0", choices=(0.0,) * 100, error="out of memory")
    assert family.read([failed], sample(), (0, 1)).error == "out of memory"


def test_tiny_probabilities_keep_their_shares() -> None:
    found = distribution_of([-0.5, -700.5, -800.0], 3)
    assert isinstance(found, Distribution)
    assert found.shares[1] == pytest.approx(math.exp(-700))


@pytest.mark.parametrize("gap", [0.0, 1.0])
def test_the_tie_gap_counts(gap: float) -> None:
    shares = [1 / 100] * 100
    verdict = verdict_from_joint(
        Distribution(tuple(shares), 1.0), tuple(map(float, range(1, 11))), 2, tie_gap=gap
    )
    expected = sum(
        1 / 100 for one, two in itertools.product(range(10), repeat=2) if abs(one - two) <= gap
    )
    assert verdict.probabilities is not None
    assert verdict.probabilities.tie == pytest.approx(expected)
    assert verdict.probabilities.first == pytest.approx(verdict.probabilities.second)


def test_a_family_without_a_score_mode_says_so() -> None:
    file = load_family("pair").file.model_copy(update={"score_mode": None})
    with pytest.raises(FamilyError, match="does not say how to stop"):
        TextFamily(file, where="x", mode="score")
