"""Training examples: what is shown and what is said of it always belong together."""

from __future__ import annotations

import json
import random
from concurrent.futures import ThreadPoolExecutor
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate import read_samples
from magistrate.errors import InputError
from magistrate.metrics.gold import annotator_vote
from magistrate.prompts.mentions import inverse
from magistrate.records import Answer, Gold, Probabilities, Sample
from magistrate.train.examples import (
    Augmentation,
    Example,
    choose_gold,
    make_example,
    reordered_gold,
    sort_out,
)

WORDS = st.text("aAbB12 .,\n[]", max_size=12)
MENTIONS = st.sampled_from(
    [
        "Assistant 1",
        "Answer 2",
        "the first assistant",
        "assistants 1 and 2",
        "Assistant 10",
        "[[A]]",
    ]
)
TEXTS = st.lists(st.one_of(WORDS, MENTIONS), max_size=8).map(" ".join)
HALF = Augmentation(swap=0.5, drop_reference=0.5)


@st.composite
def golds(draw: st.DrawFn, count: int) -> Gold:
    """A label of so many answers; eighths, so that 1 - p is exact."""
    return Gold(
        preference=draw(st.sampled_from(["first", "second", "tie"])) if count == 2 else None,
        probability_second=draw(st.integers(0, 8)) / 8 if count == 2 else None,
        scores=tuple(draw(st.integers(1, 10)) for _ in range(count)),
        ranking=tuple(draw(st.integers(1, count)) for _ in range(count)),
        reasons=draw(TEXTS),
        with_reference=draw(st.sampled_from([True, False, None])),
    )


@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """A labelled sample of one to four answers, each of which says which it is."""
    count = draw(st.integers(1, 4))
    return Sample(
        question=draw(WORDS),
        answers=tuple(Answer(text=f"{place}", model=f"m{place}") for place in range(count)),
        reference=draw(st.one_of(st.none(), st.just("known"))),
        gold=(draw(golds(count)),),
        meta={"kept": True},
    )


def example(sample: Sample, *, epoch: int = 0, index: int = 0, **how: float) -> Example:
    """An example of a sample under an augmentation."""
    return make_example(sample, augmentation=Augmentation(**how), seed=7, epoch=epoch, index=index)


def teacher(scores: tuple[float, float], saw: bool | None, **more: Any) -> Gold:
    """A label whose reasons name the places of both answers, with their scores."""
    first, second = scores
    reasons = f"Assistant 1 gets {first:g} points; the second answer gets {second:g} points."
    return Gold(scores=scores, reasons=reasons, with_reference=saw, **more)


def a_pair(*gold: Gold, reference: str | None = "the truth") -> Sample:
    """A pair whose first answer is the good one."""
    answers = (Answer(text="good", model="a"), Answer(text="bad", model="b"))
    return Sample(question="?", answers=answers, reference=reference, gold=gold)


# Swapping.


@given(sample=samples(), order=st.permutations(range(4)))
def test_a_label_in_another_order_and_back_is_itself(sample: Sample, order: list[int]) -> None:
    shown = [place for place in order if place < len(sample.answers)]
    (gold,) = sample.gold
    assert reordered_gold(reordered_gold(gold, shown), inverse(shown)) == gold


@given(sample=samples(), seed=st.integers(), epoch=st.integers(-1, 9), index=st.integers(0, 10**9))
def test_all_that_belongs_to_an_answer_moves_with_it(
    sample: Sample, seed: int, epoch: int, index: int
) -> None:
    before = sample.model_dump_json()
    made = make_example(
        sample, augmentation=Augmentation(0.9, 0.5), seed=seed, epoch=epoch, index=index
    )
    (own,) = sample.gold
    assert sample.model_dump_json() == before, "the sample was changed"
    for place, answer in enumerate(made.order):
        assert made.sample.answers[place] == sample.answers[answer]
        assert own.scores
        assert made.gold.scores
        assert made.gold.ranking
        assert own.ranking
        assert made.gold.scores[place] == own.scores[answer]
        assert made.gold.ranking[place] == own.ranking[answer]
    assert made.sample.gold == (made.gold,)
    assert reordered_gold(made.gold, inverse(made.order)) == own
    assert made.sample.reference == (sample.reference if made.with_reference else None)
    assert made.sample.question == sample.question
    assert made.sample.meta == sample.meta


@given(sample=samples(), epoch=st.integers(0, 99), index=st.integers(0, 10**6))
def test_equal_arguments_make_equal_examples(sample: Sample, epoch: int, index: int) -> None:
    again = Sample.model_validate_json(sample.model_dump_json())
    one, two = (
        make_example(each, augmentation=HALF, seed=3, epoch=epoch, index=index)
        for each in (sample, again)
    )
    assert one == two


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("the first assistant is right", "the second assistant is right"),
        ("Answer 1 is right", "Answer 2 is right"),
        ("assistant 1 is right", "assistant 2 is right"),
        ("Assistants 1 and 2 are alike", "Assistants 2 and 1 are alike"),
        ("Assistant 10 is not here", "Assistant 10 is not here"),
        ("Assistant 1 beats Assistant 2", "Assistant 2 beats Assistant 1"),
    ],
)
def test_every_kind_of_mention_is_renamed(said: str, meant: str) -> None:
    sample = a_pair(Gold(scores=(9, 2), reasons=said))
    assert example(sample, swap=1).gold.reasons == meant
    assert example(sample, swap=0).gold.reasons == said


def test_a_probability_turns_round_with_the_answers() -> None:
    sample = a_pair(Gold(probability_second=0.25))
    kept, swapped = example(sample, swap=0), example(sample, swap=1)
    assert (kept.preference, swapped.preference) == ("first", "second")
    assert kept.probabilities == Probabilities(first=0.75, tie=0, second=0.25)
    assert swapped.probabilities == Probabilities(first=0.25, tie=0, second=0.75)


def test_a_hard_label_is_a_point() -> None:
    tie = example(a_pair(Gold(preference="tie")), swap=1)
    assert tie.probabilities == Probabilities(first=0, tie=1, second=0)
    assert example(a_pair(Gold(preference="first")), swap=1).probabilities == Probabilities(
        first=0, tie=0, second=1
    )


# JudgeLM's published code, and what it does to labels.


def judgelm_epoch(records: list[dict[str, Any]], draw: random.Random) -> None:
    """Do what JudgeLM's data set does to each of its stored records, as one process."""
    for record in records:
        if draw.random() < 0.5:  # reference support: the other judgement takes the place of text
            record["text"] = record["text_w_reference"]
        if draw.random() < 0.5:  # swap augmentation, of the bodies and the text alone
            record["bodies"].reverse()
            first, second = record["text"]
            record["text"] = (second, first)


def test_changing_records_in_place_mislabels_and_ours_never_does() -> None:
    draw = random.Random(0)
    records = [
        {"bodies": ["good", "bad"], "text": (9, 2), "text_w_reference": (8, 3)} for _ in range(4000)
    ]
    theirs = []
    for _ in range(3):
        judgelm_epoch(records, draw)
        wrong = sum((r["bodies"][0] == "good") != (r["text"][0] > r["text"][1]) for r in records)
        theirs.append(wrong / len(records))
    assert theirs == pytest.approx([0, 0.25, 0.375], abs=0.03)

    sample = a_pair(teacher((9, 2), False), teacher((8, 3), True))
    for epoch in range(12):
        for index in range(200):
            made = make_example(sample, augmentation=HALF, seed=0, epoch=epoch, index=index)
            good = [answer.text for answer in made.sample.answers].index("good")
            high, low = (8, 3) if made.with_reference else (9, 2)
            assert made.gold.scores is not None
            assert made.gold.reasons is not None
            assert made.gold.scores[good] == high
            assert made.gold.scores[1 - good] == low
            named = "Assistant 1" if good == 0 else "Assistant 2"
            assert f"{named} gets {high} points" in made.gold.reasons
            other = "second" if good == 0 else "first"
            assert f"the {other} answer gets {low} points" in made.gold.reasons
            assert made.preference == ("first" if good == 0 else "second")
            assert made.label_fits


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("8 7", ""),  # no newline: JudgeLM leaves the scores unswapped
        ("8, 7\nAssistant 1 is good.", "Assistant 2 is good."),  # there '7 8,'
        ("\n8 7\nAssistant 1 is good.", "Assistant 2 is good."),  # there the blank line breaks it
        ("8 7\nAssistant 1 is good.", "Assistant 2 is good."),
    ],
)
def test_judgelms_texts_are_swapped_right_whatever_their_form(
    tmp_path: Path, text: str, reasons: str
) -> None:
    sample = judgelm_record(tmp_path, text=text, score=[8, 7])
    made = example(sample, swap=1, drop_reference=0)
    assert made.gold.scores == (7, 8)
    assert (made.gold.reasons or "") == reasons
    assert [answer.text for answer in made.sample.answers] == ["bad", "good"]


def test_three_scores_of_two_answers_are_no_label(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a list of 2 numbers is needed"):
        judgelm_record(tmp_path, text="8 7 9\nWell.", score=[8, 7, 9])
    sample = a_pair(Gold(scores=(8, 7, 9)))
    assert sort_out([sample])[0] == []
    with pytest.raises(InputError, match="cannot be learned from: no annotator gave"):
        example(sample)


def test_judgelms_two_labels_go_with_the_reference(tmp_path: Path) -> None:
    sample = judgelm_record(
        tmp_path, text="1 10\nNo.", score=[1, 10], text_w_reference="1 5\nYes.",
        score_w_reference=[1, 5], reference={"text": "known"},
    )  # fmt: skip
    shown, hidden = example(sample, drop_reference=0, swap=0), example(sample, drop_reference=1)
    assert (shown.gold.scores, shown.sample.reference) == ((1, 5), "known")
    assert set(hidden.gold.scores or ()) == {1, 10}
    assert hidden.sample.reference is None


def judgelm_record(folder: Path, **values: Any) -> Sample:
    """Read a record of JudgeLM's training file."""
    row = {
        "question_id": 0, "question_body": "?", "answer1_body": "good", "answer2_body": "bad",
        "answer1_model_id": "a", "answer2_model_id": "b", **values,
    }  # fmt: skip
    file = folder / "train.jsonl"
    file.write_text(json.dumps(row) + "\n", "utf-8")
    (sample,) = read_samples(file)
    return sample


# References.


@pytest.mark.parametrize("drop", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("swap", [0.0, 0.3, 1.0])
def test_shares_are_what_their_names_say(swap: float, drop: float) -> None:
    sample = a_pair(Gold(scores=(9, 2)))
    count = 4000
    made = [example(sample, index=i, swap=swap, drop_reference=drop) for i in range(count)]
    for share, probability in (
        (sum(one.order == (1, 0) for one in made), swap),
        (sum(one.sample.reference is None for one in made), drop),
    ):
        bound = 4.5 * sqrt(count * probability * (1 - probability))
        assert abs(share - count * probability) <= bound


def test_swap_and_drop_do_not_depend_on_each_other() -> None:
    sample = a_pair(Gold(scores=(9, 2)))
    made = [make_example(sample, augmentation=HALF, seed=1, epoch=2, index=i) for i in range(4000)]
    both = sum(one.order == (1, 0) and not one.with_reference for one in made)
    assert abs(both - 1000) < 4.5 * sqrt(4000 * 0.25 * 0.75)
    without = [
        make_example(
            sample.model_copy(update={"reference": None}),
            augmentation=HALF,
            seed=1,
            epoch=2,
            index=i,
        )
        for i in range(200)
    ]
    assert [one.order for one in without] == [one.order for one in made[:200]]


def test_every_other_order_of_several_answers_is_as_likely() -> None:
    answers = tuple(Answer(text=str(place)) for place in range(3))
    sample = Sample(question="?", answers=answers, gold=(Gold(scores=(1, 2, 3)),))
    orders = [example(sample, index=i, swap=1).order for i in range(5000)]
    assert set(map(tuple, orders)) == {(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}
    for order in set(orders):
        assert abs(orders.count(order) - 1000) < 4.5 * sqrt(5000 * 0.2 * 0.8)


def test_epochs_and_samples_differ() -> None:
    sample = a_pair(Gold(scores=(9, 2)))
    by_epoch = [
        tuple(example(sample, epoch=e, index=i, swap=0.5).order for i in range(64))
        for e in range(20)
    ]
    assert len(set(by_epoch)) == 20
    assert len(set(zip(*by_epoch, strict=True))) == 64


def test_workers_and_shards_do_not_matter() -> None:
    sample = a_pair(teacher((9, 2), False), teacher((8, 3), True))
    pool = [sample.model_copy(update={"source_id": str(i)}) for i in range(90)]

    def one(index: int) -> Example:
        return make_example(pool[index], augmentation=HALF, seed=5, epoch=4, index=index)

    alone = [one(index) for index in range(90)]
    with ThreadPoolExecutor(4) as workers:
        assert list(workers.map(one, range(90))) == alone
    sharded = {index: one(index) for rank in (2, 0, 1) for index in range(rank, 90, 3)}
    assert [sharded[index] for index in range(90)] == alone


@pytest.mark.parametrize("value", [-0.1, 1.5])
def test_a_share_that_is_none_is_refused(value: float) -> None:
    with pytest.raises(InputError, match=r"drop_reference is .* from 0 to 1 is needed"):
        Augmentation(drop_reference=value)


# Which label counts.


def test_the_label_that_fits_what_is_shown_counts_and_else_the_other_is_told() -> None:
    without, unknown = teacher((9, 2), False), teacher((7, 6), None)
    both = a_pair(without, teacher((8, 3), True))
    assert example(both, drop_reference=0).gold.with_reference is True
    assert example(both, drop_reference=1).gold.with_reference is False
    only = example(a_pair(without), drop_reference=0)
    assert only.with_reference
    assert only.gold.with_reference is False
    assert not only.label_fits
    between = example(a_pair(without, unknown), drop_reference=0, swap=0)
    assert between.gold.scores == (7, 6)
    assert between.label_fits


def test_a_reference_that_is_not_there_is_not_shown() -> None:
    made = example(a_pair(teacher((9, 2), False), reference=" "), drop_reference=0)
    assert not made.with_reference
    assert made.sample.reference is None
    assert made.label_fits


def test_merged_labels_come_before_single_ones_and_named_ones_before_all() -> None:
    one = teacher((9, 2), None, annotator="one")
    merged = teacher((5, 6), None, annotator="merged:mean")
    sample = a_pair(one, merged)
    assert choose_gold(sample, with_reference=True) == merged
    assert choose_gold(sample, with_reference=True, annotator="one") == one
    missing = choose_gold(sample, with_reference=True, annotator="two")
    assert missing == "no label is by annotator 'two' (found: one, merged:mean)"


def test_the_majority_counts_and_a_draw_is_no_label() -> None:
    first, second, tie = (Gold(preference=p) for p in ("first", "second", "tie"))  # type: ignore[arg-type]
    won = choose_gold(a_pair(first, second, Gold(scores=(2, 9))), with_reference=False)
    assert won == second
    drawn = choose_gold(a_pair(first, second, tie), with_reference=False)
    assert drawn == "its annotators disagree without a majority (first 1, second 1, tie 1)"
    indices, unusable = sort_out(
        [a_pair(first, second), a_pair(first), a_pair(), a_pair(Gold(label="yes"))]
    )
    assert indices == [1]
    assert [one.index for one in unusable] == [0, 2, 3]
    assert "disagree" in unusable[0].reason
    assert "no annotator gave" in unusable[1].reason


def test_a_draw_in_either_way_of_showing_leaves_a_sample_out() -> None:
    torn = (
        Gold(preference="first", with_reference=True),
        Gold(preference="tie", with_reference=True),
    )
    sample = a_pair(Gold(preference="first", with_reference=False), *torn)
    assert sort_out([sample])[0] == []


def test_of_single_answers_the_middle_score_counts() -> None:
    gold = tuple(Gold(scores=(score,)) for score in (9, 3, 7, 4))
    sample = Sample(question="?", answers=(Answer(text="a"),), gold=gold)
    chosen = choose_gold(sample, with_reference=False)
    assert isinstance(chosen, Gold)
    assert chosen.scores == (4,)


@settings(max_examples=40)
@given(st.lists(st.sampled_from(["first", "second", "tie"]), min_size=1, max_size=5))
def test_the_majority_is_that_of_evaluation(votes: list[Any]) -> None:
    sample = a_pair(*(Gold(preference=vote) for vote in votes))
    chosen = choose_gold(sample, with_reference=False)
    leading = max(map(votes.count, set(votes)))
    leaders = {vote for vote in votes if votes.count(vote) == leading}
    if len(leaders) > 1:
        assert isinstance(chosen, str)
    else:
        assert isinstance(chosen, Gold)
        assert {annotator_vote(chosen)} == leaders
