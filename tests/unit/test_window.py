"""Prompts cut to fit: fairly, marked, recorded; the template and the question stay whole."""

from __future__ import annotations

import pytest
from judging_help import WordEngine, words

from magistrate.judging.window import (
    MESSAGE_TOKENS,
    PROMPT_TOKENS,
    TooLongError,
    Window,
    mark,
)
from magistrate.messages import Message, Part

FRAME = PROMPT_TOKENS + MESSAGE_TOKENS


def window(room: int, reserve: int = 10, **values: object) -> Window:
    """Return a window with so much room for the words of one message."""
    context = room + reserve + FRAME
    return Window(WordEngine(values={"context_tokens": context, **values}), reserve)


def prompt(question: str, *answers: str, **others: str) -> tuple[Message, ...]:
    parts = [Part("own words "), Part(question, "question"), Part(" | ")]
    for place, answer in enumerate(answers, 1):
        parts += [Part(answer, f"answer_{place}"), Part(" | ")]
    parts += [Part(text, slot) for slot, text in others.items()]
    return (Message("user", tuple(parts)),)


def shown(messages: tuple[Message, ...], slot: str) -> str:
    return " ".join(part.text for part in messages[0].parts if part.slot == slot)


def test_what_fits_is_not_touched() -> None:
    messages = prompt("q", words(50), words(50))
    fitted = window(200).fit(messages)
    assert fitted.messages == messages
    assert fitted.cut == {}


def test_nothing_is_cut_where_the_context_is_unknown() -> None:
    messages = prompt("q", words(5000))
    assert Window(WordEngine(), 10).fit(messages).messages == messages


def test_two_long_answers_are_cut_alike_and_a_short_one_not_at_all() -> None:
    messages = prompt("q", words(30, "short"), words(600, "b"), words(900, "c"))
    frame = window(400)
    fitted = frame.fit(messages)
    assert set(fitted.cut) == {"answer_2", "answer_3"}
    kept = [len(shown(fitted.messages, f"answer_{n}").split()) for n in (1, 2, 3)]
    assert kept[0] == 30
    assert abs(kept[1] - kept[2]) <= 4
    assert fitted.cut["answer_2"] == 600 - kept[1]
    assert fitted.cut["answer_3"] == 900 - kept[2]
    assert frame.room is not None
    assert frame.tokens(fitted.messages) <= frame.room
    assert kept[1] > 150  # the room is used


def test_the_question_and_the_template_stay_whole() -> None:
    messages = prompt(words(300, "q"), words(500), words(500))
    fitted = window(450).fit(messages)
    assert shown(fitted.messages, "question") == words(300, "q")
    own = [part.text for part in fitted.messages[0].parts if part.slot is None]
    assert [text for text in own if "left out" not in text] == ["own words ", " | ", " | ", " | "]


def test_a_question_that_is_too_long_alone_is_cut_and_every_answer_keeps_a_little() -> None:
    fitted = window(200).fit(prompt(words(5000, "q"), words(300), words(20)))
    assert fitted.cut["question"] > 4800
    assert len(shown(fitted.messages, "answer_1").split()) >= 15
    assert len(shown(fitted.messages, "answer_2").split()) == 20


def test_a_cut_takes_the_middle_and_says_how_much_is_missing() -> None:
    fitted = window(120).fit(prompt("q", words(1000)))
    texts = [part.text for part in fitted.messages[0].parts]
    place = texts.index(mark(fitted.cut["answer_1"]))
    assert fitted.messages[0].parts[place].slot is None  # the mark is ours, not the answer's
    assert texts[place - 1].startswith("w0 w1 ")
    assert texts[place + 1].endswith(" w999")
    assert len(texts[place - 1]) > len(texts[place + 1])


def test_what_stands_with_the_question_is_cut_like_an_answer() -> None:
    fitted = window(300).fit(prompt("q", words(60), context_1=words(4000, "c"), rubric=words(40)))
    assert set(fitted.cut) == {"context_1"}


def test_a_template_without_room_is_too_long_and_says_the_numbers() -> None:
    with pytest.raises(
        TooLongError, match=r"too_long: .* own words take .* reads 1\d\d, of which 10"
    ):
        window(40).fit(prompt(words(100, "q"), words(100), words(100)))


def test_what_may_not_be_cut_is_too_long() -> None:
    with pytest.raises(TooLongError, match=r"too_long: the prompt takes 1,0\d\d tokens"):
        window(300).fit(prompt("q", words(1000)), cut=False)


def test_an_engine_that_cuts_itself_is_left_alone() -> None:
    class Cutting(WordEngine):
        def cuts(self, requests: object) -> list[dict[str, int]]:
            return []

    messages = prompt("q", words(5000))
    cutting = Window(Cutting(values={"context_tokens": 100}), 10)
    assert cutting.fit(messages).messages == messages


def test_tokens_are_counted_only_where_letters_do_not_tell() -> None:
    class Counting(WordEngine):
        counted = 0

        def count_tokens(self, text: str) -> int:
            self.counted += 1
            return super().count_tokens(text)

    engine = Counting(values={"context_tokens": 4000})
    Window(engine, 10).fit(prompt("q", words(100), words(100)))
    assert engine.counted == 0
    Window(engine, 10).fit(prompt("q", "ﷺ" * 10))  # one character of this may become many
    assert engine.counted == 1
