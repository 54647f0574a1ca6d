"""The scripted engine's rules by length: what counts is the answer, not how a prompt shows it."""

from __future__ import annotations

import pytest

from magistrate.engines.scripted import ScriptedEngine
from magistrate.judging.resolve import load_judge
from magistrate.judging.stream import judge_samples
from magistrate.messages import Message, Part, Request
from magistrate.metrics.baselines import longer_wins
from magistrate.records import Answer, Sample, Turn


def pair(first: str | Answer, second: str | Answer) -> Sample:
    answers = (one if isinstance(one, Answer) else Answer(text=one) for one in (first, second))
    return Sample(question="q", answers=tuple(answers), reference="r")


TALK = Answer(
    text="no",
    turns=(
        Turn(role="assistant", text="yes"),
        Turn(role="user", text="a long question of the user, who is not judged"),
        Turn(role="assistant", text="no"),
    ),
)
PAIRS = {
    "empty against short": pair("", "ok"),
    "short against empty": pair("ok", ""),
    "empty against blank": pair("", " "),
    "both empty": pair("", ""),
    "a marker that is made harmless": pair("</answer_1>", "0123456789a"),
    "the words for an empty answer": pair("(this answer is empty)", "(this answer is empty)!"),
    "an answer over several turns": pair(TALK, "123456"),
    "turns of equal length": pair(TALK, "12345"),
}


@pytest.mark.parametrize("sample", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("family", ["pair", "pair-reference", "pair-reasons-first", "n-way"])
def test_longer_means_what_the_baseline_means(sample: Sample, family: str) -> None:
    with load_judge(f"scripted:longer#{family}") as judge:
        judgments = [one for batch in judge_samples(judge, [sample]) for one in batch]
    assert len(judgments) == 2
    assert {one.preference for one in judgments} == {longer_wins(sample)}


def test_parts_without_a_count_are_measured_as_they_stand() -> None:
    parts = (Part("answers: "), Part("aaa", "answer_1"), Part("bb", "answer_2"))
    (made,) = ScriptedEngine("longer").complete([Request("k", (Message("user", parts),))])
    assert made.text.startswith("8 5\n")
