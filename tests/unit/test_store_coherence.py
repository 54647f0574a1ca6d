"""What a judgment may say at once, and what contradicts itself."""

from __future__ import annotations

from typing import Any

import pytest

from magistrate.records import Judgment, Probabilities
from magistrate.store.coherence import TieGap, contradictions


def judgment(answers: int = 2, **values: Any) -> Judgment:
    return Judgment(
        key="0" * 24,
        sample_id="0" * 24,
        judge="j",
        order=tuple(range(answers)),
        status=values.pop("status", "ok"),
        **values,
    )


def shares(first: float, tie: float, second: float) -> Probabilities:
    return Probabilities(first=first, tie=tie, second=second)


SOUND = {
    "preference alone": judgment(preference="first"),
    "the better score": judgment(preference="second", scores=(5, 8)),
    "a tie within some gap": judgment(preference="tie", scores=(7, 8)),
    "the likeliest": judgment(preference="second", probabilities=shares(0.3, 0.2, 0.5)),
    "equal sides": judgment(preference="tie", probabilities=shares(0.4, 0.2, 0.4)),
    "equal up to rounding": judgment(
        preference="first", probabilities=shares(0.4, 0.2, 0.4 + 1e-12)
    ),
    "probabilities outweigh expected scores": judgment(
        preference="first", probabilities=shares(0.5, 0.1, 0.4), scores=(5.9, 6.1)
    ),
    "approximate probabilities say no more than a guess": judgment(
        preference="first", probabilities=shares(0.3, 0.2, 0.5), approximate=True, scores=(8, 7)
    ),
    "one answer": judgment(1, scores=(4,)),
    "ranks": judgment(3, ranking=(2, 1, 3)),
    "ranks and scores": judgment(3, ranking=(2, 1, 2), scores=(5, 9, 5)),
    "ranks shared within a gap": judgment(3, ranking=(1, 1, 3), scores=(8, 8.5, 2)),
    "a failure": judgment(status="error", error="gone"),
}


@pytest.mark.parametrize("one", SOUND.values(), ids=SOUND)
def test_what_a_judge_may_say(one: Judgment) -> None:
    assert list(contradictions(one)) == []


UNSOUND = {
    "the worse score": (
        judgment(preference="first", scores=(5, 8)),
        "preference is first, and by its scores 5 and 8 it is second",
    ),
    "a winner of equal scores": (
        judgment(preference="first", scores=(8, 8)),
        "preference is first, and by its scores 8 and 8 it is tie",
    ),
    "the less likely": (
        judgment(preference="first", probabilities=shares(0.3, 0.2, 0.5)),
        "preference is first, and the likeliest by its probabilities second (0.3, 0.2, 0.5)",
    ),
    "no tie": (
        judgment(preference="tie", probabilities=shares(0.5, 0.2, 0.3)),
        "preference is tie, and the likeliest by its probabilities first (0.5, 0.2, 0.3)",
    ),
    "the worse score, whatever approximate probabilities say": (
        judgment(
            preference="first", probabilities=shares(0.5, 0, 0.5), approximate=True, scores=(5, 8)
        ),
        "preference is first, and by its scores 5 and 8 it is second",
    ),
    "no preference": (
        judgment(probabilities=shares(0.5, 0.2, 0.3)),
        "there is no preference, and yet what it is made from",
    ),
    "nothing": (judgment(), "status is ok, and there is no verdict"),
    "too many scores": (
        judgment(scores=(1, 2, 3), preference="first"),
        "there are 3 scores for 2 answers",
    ),
    "a pair's verdict on three": (
        judgment(3, preference="first"),
        "there is a preference of a pair, and the answers are 3",
    ),
    "the better rank for the worse score": (
        judgment(3, ranking=(1, 2, 3), scores=(5, 9, 2)),
        "answers 2 and 1 have ranks 2 and 1, and scores 9 and 5",
    ),
    "two ranks for one score": (
        judgment(3, ranking=(1, 2, 3), scores=(9, 9, 2)),
        "answers 1 and 2 have ranks 1 and 2, and scores 9 and 9",
    ),
}


@pytest.mark.parametrize(("one", "words"), UNSOUND.values(), ids=UNSOUND)
def test_what_contradicts_itself(one: Judgment, words: str) -> None:
    assert words in list(contradictions(one))


def test_one_gap_for_ties_in_a_whole_run() -> None:
    gap = TieGap()
    assert gap.add(judgment(preference="tie", scores=(7, 8)), 1) is None
    assert gap.add(judgment(preference="first", scores=(9, 7)), 2) is None
    assert gap.add(judgment(preference="second", scores=(7, 8.5)), 3) is None
    assert gap.add(judgment(preference="second", scores=(7, 8)), 4) == (
        "preference is second for scores 7 and 8, and on line 1 a gap of 1 is a tie"
    )
    assert gap.add(judgment(preference="tie", scores=(9, 7)), 5) == (
        "preference is tie for scores 9 and 7, and on line 3 a gap of 1.5 is none"
    )


@pytest.mark.parametrize(
    "one",
    [
        judgment(status="error"),
        judgment(preference="tie"),
        judgment(preference="tie", scores=(1, 9), probabilities=shares(0.1, 0.8, 0.1)),
        judgment(3, ranking=(1, 2, 3), scores=(9, 8, 7)),
    ],
)
def test_what_has_no_gap_says_nothing_of_it(one: Judgment) -> None:
    gap = TieGap()
    assert gap.add(one, 1) is None
    assert gap == TieGap()
