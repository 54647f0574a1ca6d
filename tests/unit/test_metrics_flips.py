"""The flip rate: what counts, and what does not."""

from __future__ import annotations

import itertools

import pytest

from magistrate.metrics.flips import FlipCounter, flip_rate, outcome_of
from magistrate.metrics.intervals import wilson
from magistrate.records import Judgment, Preference, Status


def judgment(
    sample: str,
    preference: Preference | None,
    *,
    order: tuple[int, ...] = (0, 1),
    repeat: int = 0,
    status: Status = "ok",
) -> Judgment:
    return Judgment(
        key=f"{sample}{order}{repeat}",
        sample_id=sample,
        judge="j",
        order=order,
        repeat=repeat,
        status=status,
        preference=preference,
    )


def test_readings_with_two_and_more_outcomes_count() -> None:
    rate = flip_rate([["first", "first"], ["first", "tie", "first"], ["tie"], []])
    assert (rate.value, rate.n) == (0.5, 2)
    assert (rate.low, rate.high) == wilson(0.5, 2)
    assert flip_rate([["first"]]).value is None


REPEATS = [
    *(judgment("a", p, repeat=r) for r, p in enumerate(("first", "first", "first"))),
    *(judgment("a", p, repeat=r, order=(1, 0)) for r, p in enumerate(("first", "second"))),
    judgment("b", "tie"),
    judgment("b", None, repeat=1, status="unparsed"),
    judgment("c", "second"),
    judgment("c", "second", repeat=2),
]  # type: ignore[misc]


@pytest.mark.parametrize("turn", range(len(REPEATS)))
def test_the_sequence_does_not_matter_and_failures_have_no_outcome(turn: int) -> None:
    counter = FlipCounter()
    for each in itertools.chain(REPEATS[turn:], REPEATS[:turn]):
        counter.add(each)
    rate = counter.result()
    assert (rate.value, rate.n) == (1 / 3, 3)


def test_the_outcome_is_what_the_judge_decided() -> None:
    assert outcome_of(judgment("a", "tie")) == "tie"
    assert outcome_of(judgment("a", None, status="error")) is None
    scored = judgment("a", None).model_copy(update={"scores": (8.0,), "order": (0,)})
    assert outcome_of(scored) == (8.0,)
