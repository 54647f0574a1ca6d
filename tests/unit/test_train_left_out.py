"""What is left out of a training is told by reason, with a count and an example."""

from __future__ import annotations

from magistrate.train.left_out import LeftOut, by_reason
from magistrate.train.steps import Scan, nothing_to_learn


def test_reasons_are_counted_and_those_that_differ_in_numbers_are_one() -> None:
    found = by_reason([("no label", "x"), ("9 tokens", "a"), ("1,024 tokens", "b")])
    assert found == (LeftOut("9 tokens", 2, "a"), LeftOut("no label", 1, "x"))
    assert by_reason([]) == ()


def test_nothing_to_learn_says_how_many_and_why() -> None:
    unfit = by_reason([("the label is a tie", "131")] * 9 + [("no room", "132")])
    said = str(nothing_to_learn(Scan((), (), unfit, {})))
    assert "none of the 10 training samples" in said
    assert "9 samples: the label is a tie (e.g. sample 131); 1 sample: no room" in said
