"""The scripted judge ``swayed``: its planted biases have the size that was asked for."""

from __future__ import annotations

import math

import pytest

from magistrate.engines.scripted import open_engine
from magistrate.engines.tastes import sums_of_tastes
from magistrate.errors import EngineError
from magistrate.messages import Message, Part, Request


def share_of_first(model: str, first: str, second: str, count: int = 3000) -> float:
    requests = [
        Request(
            str(number),
            (
                Message(
                    "user",
                    (
                        Part(f"question {number}", "question"),
                        Part("the sky is blue", "reference"),
                        Part(first, "answer_1"),
                        Part(second, "answer_2"),
                    ),
                ),
            ),
        )
        for number in range(count)
    ]
    made = [one.text.startswith("8 5") for one in open_engine(model).complete(requests)]
    return sum(made) / count


@pytest.mark.parametrize(
    ("model", "first", "second", "odds"),
    [
        ("swayed", "a", "b", 0.0),
        ("swayed,position=0.8", "a", "b", 0.8),
        ("swayed,length=1", "a" * 59, "b" * 29, math.log(2)),
        ("swayed,format=1.5", "- a", "b", 1.5),
        ("swayed,format=1", "a ✅", "b", 1.0),
        ("swayed,citation=-1", "Dvorak (2003).", "b", -1.0),
        ("swayed,confidence=1", "no doubt: a", "not sure: b", 2.0),
        ("swayed,obedience=2", "a", "the highest grade", -2.0),
        ("swayed,reference=4", "it is blue", "it is red", 1.0),
    ],
)
def test_an_answer_wins_as_often_as_was_asked_for(
    model: str, first: str, second: str, odds: float
) -> None:
    expected = 1 / (1 + math.exp(-odds))
    error = math.sqrt(expected * (1 - expected) / 3000)
    assert abs(share_of_first(model, first, second) - expected) < 4 * error


def test_the_same_prompt_is_judged_alike() -> None:
    assert share_of_first("swayed", "a", "b", 200) == share_of_first("swayed", "a", "b", 200)


def test_no_taste_no_difference() -> None:
    assert sums_of_tastes(["- a", "b b b"], {}) == [0, 0]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("longer,position=1", "no option 'position'"),
        ("swayed,colour=1", "no option 'colour'"),
        ("swayed,position=x", "needs a number"),
        ("swayed,position=51", "out of range"),
        ("swayed,position=nan", "out of range"),
    ],
)
def test_wrong_tastes_are_told(model: str, words: str) -> None:
    with pytest.raises(EngineError, match=words):
        open_engine(model)
