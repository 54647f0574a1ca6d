"""Wins, ties and losses by hand-counted cases."""

import pytest

from magistrate.metrics.intervals import proportion
from magistrate.metrics.wins import answer_names, count_wins
from magistrate.records import Answer, Decision, Preference, Sample, Status


def pair(first: str | None, second: str | None, question: str = "?") -> Sample:
    return Sample(
        question=question, answers=(Answer(text="a", model=first), Answer(text="b", model=second))
    )


def says(preference: Preference | None, status: Status = "ok") -> Decision:
    return Decision(row=0, sample_id="s", status=status, preference=preference, rule="r")


def test_a_model_in_both_places_is_one_model() -> None:
    results = count_wins(
        [
            (pair("a", "b", "1"), says("first")),
            (pair("b", "a", "2"), says("second")),
            (pair("a", "b", "3"), says("tie")),
            (pair("b", "a", "4"), says("first")),
        ]
    )
    assert [(r.model, r.wins, r.ties, r.losses) for r in results] == [
        ("a", 2, 1, 1),
        ("b", 1, 1, 2),
    ]
    assert results[0].win_rate.value == 2.5 / 4


def test_only_ok_decisions_count() -> None:
    results = count_wins(
        [(pair("a", "b", str(i)), says("first")) for i in range(30)]
        + [(pair("a", "b"), says(None, status)) for status in ("unparsed", "error", "truncated")]
    )
    assert results[0].win_rate == proportion(30, 30)
    assert [r.wins + r.ties + r.losses for r in results] == [30, 30]


def test_unnamed_models_are_named_by_place() -> None:
    assert answer_names(pair(None, "")) == ("first answer", "second answer")
    assert answer_names(pair("m", "m")) == ("m (first answer)", "m (second answer)")
    many = Sample(question="?", answers=tuple(Answer(text=str(i)) for i in range(4)))
    assert answer_names(many)[2:] == ("third answer", "answer 4")


def test_three_answers_are_compared_pairwise_by_ranking_then_by_scores() -> None:
    sample = Sample(question="?", answers=tuple(Answer(text=m, model=m) for m in "abc"))
    ranked = Decision(row=0, sample_id="s", status="ok", ranking=(1, 1, 3), rule="r")
    scored = Decision(row=1, sample_id="s", status="ok", scores=(2.0, 9.0, 5.0), rule="r")
    results = {
        r.model: (r.wins, r.ties, r.losses)
        for r in count_wins([(sample, ranked), (sample, scored)])
    }
    assert results == {"a": (1, 1, 2), "b": (3, 1, 0), "c": (1, 0, 3)}


def test_single_answers_have_a_mean_score_and_no_win_rate() -> None:
    judged = [
        (
            Sample(question=str(score), answers=(Answer(text="x", model="m"),)),
            Decision(row=0, sample_id="s", status="ok", scores=(score,), rule="r"),
        )
        for score in (6.0, 7.0, 8.0)
    ]
    (result,) = count_wins(judged)
    assert (result.wins, result.ties, result.losses, result.win_rate.value) == (0, 0, 0, None)
    assert result.mean_score is not None
    assert result.mean_score.value == 7.0
    # Student's t: 7 ± 4.303 / sqrt(3).
    assert result.mean_score.low == pytest.approx(7 - 4.3027 / 3**0.5)


def test_nothing_judged_is_no_model() -> None:
    assert count_wins([(pair("a", "b"), says(None, "error"))]) == ()
