"""Agreement with annotators and the baselines by hand-counted cases."""

import pytest

from magistrate.metrics.agreement import Compared, measure_agreement
from magistrate.metrics.baselines import longer_wins
from magistrate.metrics.columns import PairCollector
from magistrate.metrics.gold import annotator_vote, gold_label, majority
from magistrate.metrics.intervals import Rate, proportion
from magistrate.records import Answer, Decision, Gold, Preference, Sample, Turn
from magistrate.report.evaluation_pairs import evaluate_pairs


def pair(*votes: Preference, first: str = "aa", second: str = "b", question: str = "?") -> Sample:
    return Sample(
        question=question,
        answers=(Answer(text=first), Answer(text=second)),
        gold=tuple(Gold(preference=vote) for vote in votes),
    )


def says(preference: Preference | None, confidence: float | None = None) -> Decision:
    status = "ok" if preference else "unparsed"
    return Decision(
        row=0, sample_id="s", status=status, preference=preference, confidence=confidence, rule="r"
    )


def test_majority_looks_at_every_pair_of_annotators() -> None:
    # The first and the third agree: a rule that compares neighbours only misses it.
    assert majority(("first", "second", "first")) == "first"
    assert majority(("second", "first", "first")) == "first"
    assert majority(("first", "second", "tie")) == "no majority"
    assert majority(("first", "second")) == "no majority"
    assert majority(("tie",)) == "tie"
    assert majority(("first", "first", "second", "tie")) == "first"
    assert majority(("first", "first", "second", "second", "tie")) == "no majority"


def test_votes_are_derived_where_no_preference_stands() -> None:
    assert annotator_vote(Gold(probability_second=0.7)) == "second"
    assert annotator_vote(Gold(probability_second=0.5)) == "tie"
    assert annotator_vote(Gold(scores=(3.0, 1.0))) == "first"
    assert annotator_vote(Gold(ranking=(2, 1))) == "second"
    assert annotator_vote(Gold(label="yes")) is None
    assert (
        gold_label(Sample(question="?", answers=(Answer(text="a"),), gold=(Gold(label="x"),)))
        is None
    )


def test_counts_and_rules() -> None:
    judged = [
        (pair("first", question="1"), says("first", 0.9)),
        (pair("first", question="2"), says("tie", 0.4)),
        (pair("second", question="3"), says("first", 0.8)),
        (pair("tie", question="4"), says("tie", 0.5)),
        (pair("first", question="5"), says(None)),
        (pair("first", question="6"), None),
        (pair("first", "second", "tie", question="7"), says("first", 0.9)),
        (pair(question="8"), says("first", 0.9)),
    ]
    result = measure_agreement(judged)
    assert result is not None
    assert (result.labelled, result.no_majority, result.not_ok) == (7, 1, 2)
    decisive, classes = result.decisive, result.three_class
    assert (decisive.judge.value, decisive.judge.n) == (1.5 / 3, 3)
    assert decisive.longer_wins.value == pytest.approx(2 / 3)
    assert decisive.first_wins.value == pytest.approx(2 / 3)
    assert decisive.random.value == 0.5
    assert (classes.judge.value, classes.judge.n) == (2 / 4, 4)
    assert classes.random.value == 1.5 / 4
    assert result.confident_half is not None
    assert (result.confident_half.judge.value, result.confident_half.judge.n) == (1 / 2, 2)


def test_without_labels_there_is_no_agreement_and_without_confidence_no_half() -> None:
    assert measure_agreement([(pair(), says("first"))]) is None
    result = measure_agreement([(pair("first"), says("first"))])
    assert result is not None
    assert result.confident_half is None
    # Where some decisions alone tell it, half of those would not be half of the pairs.
    result = measure_agreement(
        [(pair("first"), says("first", 0.9)), (pair("first", question="2"), says("first"))]
    )
    assert result is not None
    assert result.confident_half is None


def test_labels_without_any_decision_give_no_value() -> None:
    result = measure_agreement([(pair("first"), says(None))])
    assert result is not None
    assert (result.not_ok, result.decisive.judge.value, result.decisive.random.value) == (
        1,
        None,
        None,
    )


def test_equal_confidence_does_not_follow_the_sequence_in_the_file() -> None:
    judged = [
        (
            pair("first", question=str(i)),
            says("first" if i < 10 else "second", 0.5).model_copy(update={"sample_id": str(i)}),
        )
        for i in range(20)
    ]
    there, back = measure_agreement(judged), measure_agreement(reversed(judged))
    assert there == back
    assert there is not None
    assert there.confident_half is not None
    assert there.confident_half.judge.value not in (0.0, 1.0)


def judged_pairs(questions: int, answers_each: int) -> list[tuple[Sample, Decision]]:
    """Return pairs whose questions are right or wrong as a whole, with ties among them."""
    said: tuple[Preference, ...] = ("first", "second", "first", "tie")
    return [
        (
            pair(
                "tie" if question % 7 == 3 else "first",
                question=str(question),
                first="a" * (1 + (question + k) % 5),
                second="bbb",
            ),
            says(said[question % 4], 0.5),
        )
        for question in range(questions)
        for k in range(answers_each)
    ]


def rates(compared: Compared) -> dict[str, Rate]:
    names = ("judge", "longer_wins", "first_wins", "random")
    return {name.replace("_", " "): getattr(compared, name) for name in names}


@pytest.mark.parametrize(("questions", "each"), [(40, 5), (40, 1), (8, 5)])
def test_intervals_are_those_of_evaluate(questions: int, each: int) -> None:
    judged = judged_pairs(questions, each)
    short = measure_agreement(judged)
    columns = PairCollector()
    for row, (sample, decision) in enumerate(judged):
        columns.add(row, sample, (), decision)
    full = evaluate_pairs(columns.result())
    assert short is not None
    assert full is not None
    for row in full.baselines[:4]:
        assert rates(short.three_class)[row.name] == row.accuracy
        assert rates(short.decisive)[row.name] == row.decisive


def test_pairs_of_one_question_count_as_one_and_lone_pairs_have_wilsons_interval() -> None:
    alone, together = (measure_agreement(judged_pairs(40, each)) for each in (1, 10))
    assert alone is not None
    assert together is not None
    one, many = alone.three_class.judge, together.three_class.judge
    assert one == proportion(round(one.value * one.n), one.n)  # type: ignore[operator]
    assert (many.value, many.n) == (one.value, 10 * one.n)
    # Ten copies of each question say nothing more than one.
    width = one.high - one.low  # type: ignore[operator]
    assert many.high - many.low == pytest.approx(width, rel=0.15)  # type: ignore[operator]


def test_length_counts_all_turns_of_an_answer() -> None:
    turns = (Turn(role="assistant", text="long " * 9), Turn(role="user", text="and?"))
    sample = Sample(
        question="?", answers=(Answer(text="x", turns=turns), Answer(text="medium length"))
    )
    assert longer_wins(sample) == "first"
    assert longer_wins(pair(first="ab", second="cd")) == "tie"
