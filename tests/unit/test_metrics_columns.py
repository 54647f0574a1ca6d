"""Pairs as columns: nothing said is nothing, and both orders stand in the sample's own frame."""

from __future__ import annotations

import math

import numpy as np

from magistrate.metrics.columns import NOTHING, PENDING, SPLIT, PairCollector
from magistrate.records import (
    STATUSES,
    Answer,
    Decision,
    Gold,
    Judgment,
    Preference,
    Probabilities,
    Sample,
    Status,
)


def pair(question: str = "q", *labels: Preference, names: bool = False) -> Sample:
    gold = tuple(
        Gold(annotator=f"a{i}" if names else None, preference=p) for i, p in enumerate(labels)
    )
    answers = (Answer(text="longer", model="x"), Answer(text="short"))
    return Sample(question=question, answers=answers, gold=gold, category="maths")


def reading(
    order: tuple[int, ...], preference: Preference | None, status: Status = "ok", repeat: int = 0
) -> Judgment:
    return Judgment(
        key=f"{order}{repeat}",
        sample_id="s",
        judge="j",
        order=order,
        repeat=repeat,
        status=status,
        preference=preference,
    )


def decision(preference: Preference | None, status: Status = "ok") -> Decision:
    ok = status == "ok"
    return Decision(
        row=0,
        sample_id="s",
        status=status,
        preference=preference,
        rule="r",
        confidence=0.75 if ok else None,
        probabilities=Probabilities(first=0.75, tie=0.05, second=0.2) if ok else None,
        scores=(8, 3) if ok else None,
    )


def test_what_is_said_and_what_is_not() -> None:
    collector = PairCollector()
    both = [reading((0, 1), "first"), reading((1, 0), "tie")]
    collector.add(0, pair("a", "first", "first", "second"), both, decision("first"))
    collector.add(1, pair("b", "first", "second"), [], None)
    failed = [reading((0, 1), None, "unparsed"), reading((1, 0), "second")]
    collector.add(2, pair("a"), failed, decision(None, "unparsed"))
    collector.add(3, Sample(question="q", answers=(Answer(text="alone"),)), [], None)
    columns = collector.result()
    assert collector.others == 1
    assert len(columns) == 3
    assert columns.said.tolist() == [1, NOTHING, NOTHING]
    assert columns.as_given.tolist() == [1, NOTHING, NOTHING]
    assert columns.swapped.tolist() == [0, NOTHING, -1]
    assert columns.gold.tolist() == [1, SPLIT, NOTHING]
    assert columns.status.tolist() == [0, PENDING, STATUSES.index("unparsed")]
    assert columns.ok.tolist() == [True, False, False]
    assert columns.question[0] == columns.question[2] != columns.question[1]
    assert columns.annotators == ("annotator 1", "annotator 2", "annotator 3")
    assert columns.votes[0].tolist() == [1, 1, -1]
    assert columns.votes[1].tolist() == [1, -1, NOTHING]
    assert columns.lengths[0].tolist() == [6, 5]
    assert columns.probability[0].tolist() == [0.75, 0.05, 0.2]
    assert math.isnan(columns.confidence[1])
    assert columns.scores[0].tolist() == [8, 3]
    assert columns.category.where("maths").all()
    assert not columns.category.where("law").any()
    assert columns.second_model.names == ("",)


def test_repeats_count_by_the_sign_of_their_mean() -> None:
    collector = PairCollector()
    readings = [reading((0, 1), p, repeat=i) for i, p in enumerate(("first", "second", "second"))]
    collector.add(0, pair(), readings, decision("second"))
    assert collector.result().as_given.tolist() == [-1]


def test_some_of_the_pairs() -> None:
    collector = PairCollector()
    for row, label in enumerate(("first", "second", "tie")):
        collector.add(row, pair(str(row), label), [], decision(label))  # type: ignore[arg-type]
    columns = collector.result()
    assert columns.take(np.array([True, False, True])).said.tolist() == [1, 0]
    assert columns.take(np.array([2])).row.tolist() == [2]
    assert len(columns.take(columns.gold == -1).category.codes) == 1


def test_named_annotators_keep_their_columns() -> None:
    collector = PairCollector()
    twice = Sample(
        question="q",
        answers=(Answer(text="1"), Answer(text="2")),
        gold=(Gold(annotator="ann", preference="first"), Gold(annotator="ann", preference="tie")),
    )
    collector.add(0, twice, [], None)
    collector.add(1, pair("r", "second", names=True), [], None)
    columns = collector.result()
    assert columns.annotators == ("ann", "ann again", "a0")
    assert columns.votes.tolist() == [[1, 0, NOTHING], [NOTHING, NOTHING, -1]]


def test_nothing_at_all() -> None:
    columns = PairCollector().result()
    assert len(columns) == 0
    assert columns.votes.shape == (0, 0)
    assert columns.probability.shape == (0, 3)
