"""Renaming the answers that reasons speak of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magistrate.prompts.mentions import inverse, swap_mentions

SWAPPED = (1, 0)

RENAMED = {
    "Assistant 1": "Assistant 2",
    "assistant 1's point": "assistant 2's point",
    "ASSISTANT 2": "ASSISTANT 1",
    "Assistant1 and assistant_2": "Assistant2 and assistant_1",
    "Assistant #1": "Assistant #2",
    "Assistant No. 1": "Assistant No. 2",
    "**Assistant 1**: Assistant **2**": "**Assistant 2**: Assistant **1**",
    "Assistant one, Assistant Two, CHATBOT ONE": "Assistant two, Assistant One, CHATBOT TWO",
    "assistant a is, assistant b's": "assistant b is, assistant a's",
    "Answer 1, Response 2, Model 1": "Answer 2, Response 1, Model 2",
    "Output (a) and output (b)": "Output (b) and output (a)",
    "Answer A; answer B's": "Answer B; answer A's",
    "Response [A]": "Response [B]",
    "Assistants 1 and 2": "Assistants 2 and 1",
    "Assistants 1, 2": "Assistants 2, 1",
    "Assistant 1 and 2 and Assistant A/B": "Assistant 2 and 1 and Assistant B/A",
    "answers A and B": "answers B and A",
    "responses 1 & 2": "responses 2 & 1",
    "Assistant 1 vs. Assistant 2": "Assistant 2 vs. Assistant 1",
    "the first assistant, The second one": "the second assistant, The first one",
    "The First Response; THE FIRST ANSWER": "The Second Response; THE SECOND ANSWER",
    "the first AI assistant's answer": "the second AI assistant's answer",
    "the 1st answer, the 2nd assistant": "the 2nd answer, the 1st assistant",
    "1st/2nd assistant": "2nd/1st assistant",
    "first and second answers": "second and first answers",
    "The first and the second response": "The second and the first response",
    "the first one hundred, the first one.": "the second one hundred, the second one.",
    "First answer is worse; second response wins": "Second answer is worse; first response wins",
    "My verdict: [[A]]": "My verdict: [[B]]",
    "[[A>>B]]": "[[B>>A]]",
    "Answer [[A]]": "Answer [[B]]",
    "Assistant 1. Then Assistant 2, which": "Assistant 2. Then Assistant 1, which",
    "Response 1 points out": "Response 2 points out",
    "助手1比助手 2更好": "助手2比助手 1更好",
    "回答１和回答A": "回答２和回答B",
    "助手一更好，助手二的": "助手二更好，助手一的",
    "第一个回答优于第二个回答": "第二个回答优于第一个回答",
    "第1位助手，第2个AI助手": "第2位助手，第1个AI助手",
    "第一和第二个回答": "第二和第一个回答",
    "第二个更好": "第一个更好",
}

LEFT_ALONE = (
    "Assistant 10 and Assistants 3 and 4",
    "10 points, step 1, line 2, point 1",
    "first of all; First, it says; secondly",
    "the first line of the first paragraph, the second step",
    "the first three answers; a 2 second response; a split-second response",
    "it first answers, must first answer, to second guess",
    "the answer 2, the correct answer B, the final answer 1, the answer 1/2",
    "it answers 2 questions, must output 1, the program outputs 1",
    "answer one question, the response a user wants",
    "model 1.5, Model 2-7B, Assistant 1%, model A1, Assistant 1st",
    "my_answer 1, subassistant 2",
    "the former and the latter",
    "A is better than B; the first is better",
    "[[C]], [[8]], [[A",
    "Assistant 01",
    "助手一直，回答一致，回答1个问题，第一个问题，助手10",
)


@pytest.mark.parametrize(("before", "after"), RENAMED.items())
def test_every_mention_of_two_answers_is_renamed(before: str, after: str) -> None:
    assert swap_mentions(before, SWAPPED) == after
    assert swap_mentions(after, SWAPPED) == before


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_what_may_speak_of_something_else_is_left_alone(text: str) -> None:
    assert swap_mentions(text, SWAPPED) == text


def test_of_three_answers_each_mention_follows_its_answer() -> None:
    # The sample's third answer stands first now, its first second, its second third.
    text = "Assistant 1, the second answer and Response C; Assistants 1, 2, and 3; [[B]]"
    renamed = "Assistant 2, the third answer and Response A; Assistants 2, 3, and 1; [[C]]"
    assert swap_mentions(text, (2, 0, 1)) == renamed


def test_the_given_order_leaves_the_very_text() -> None:
    text = "Assistant 1"
    assert swap_mentions(text, (0, 1)) is text


@pytest.mark.parametrize("order", [(0, 0), (1, 2), (1,)])
def test_what_is_no_permutation_is_refused(order: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="not a permutation"):
        swap_mentions("Assistant 1", order)


PIECES = (
    *("Assistant", "assistants", "ASSISTANT", "Answer", "answer", "answers", "Response", "Output"),
    *(
        "output",
        "model",
        "AI",
        "chatbot",
        "reply",
        "one",
        "two",
        "One",
        "the",
        "The",
        "THE",
        "first",
    ),
    *(
        "second",
        "Second",
        "FIRST",
        "third",
        "1st",
        "2nd",
        "11th",
        "a",
        "b",
        "A",
        "B",
        "C",
        "1",
        "2",
    ),
    *(
        "3",
        "10",
        "11",
        "１",
        "and",
        "or",
        "vs.",
        "/",
        "&",
        ",",
        ".",
        "#",
        "(",
        ")",
        "[[",
        "]]",
        "[",
        ">",
    ),
    *(
        "-",
        "_",
        "%",
        "*",
        "correct",
        "to",
        "an",
        "given",
        "助手",
        "回答",
        "第",
        "个",
        "位",
        "一",
        "二",
        "十",
    ),
    *("和", "、", "更", "\n", " ", " ", " ", " ", " ", "x", "No. ", "twenty", "hundred", "８"),
)
"""All that the patterns look at; a text drawn of these is dense with half and whole mentions."""

texts = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=30).map("".join))


@given(texts)
def test_swapping_twice_is_the_identity_for_any_text(text: str) -> None:
    assert swap_mentions(swap_mentions(text, SWAPPED), SWAPPED) == text


@given(texts, st.integers(2, 22).flatmap(lambda count: st.permutations(range(count))))
def test_a_permutation_and_its_inverse_are_the_identity(text: str, order: Sequence[int]) -> None:
    there = swap_mentions(text, order)
    assert swap_mentions(there, inverse(order)) == text


@given(st.permutations(range(6)))
def test_the_inverse_says_where_each_answer_stands(order: Sequence[int]) -> None:
    assert [order[place] for place in inverse(order)] == list(range(6))


def test_stored_reasons_of_real_judges_come_back_and_lose_no_mention(data_folder: Path) -> None:
    path = data_folder / "pandalm" / "gpt-3.5-turbo-testset-v1.json"
    reasons = [row["gpt_reason"] for row in json.loads(path.read_text(encoding="utf-8"))]
    for reason in reasons:
        swapped = swap_mentions(reason, SWAPPED)
        assert swap_mentions(swapped, SWAPPED) == reason
        assert swapped.count("Response 1") == reason.count("Response 2")
    assert sum("Response 1" in reason for reason in reasons) > 100
