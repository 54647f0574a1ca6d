"""Whatever the lengths: a fitted prompt fits, and only data was cut."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from magistrate.engines.base import EngineInfo
from magistrate.judging.window import TooLongError, Window
from magistrate.messages import Message, Part

TEXTS = st.one_of(
    st.integers(0, 800).map(lambda n: "word " * n),
    st.text(max_size=400),
    st.integers(0, 900).map(lambda n: "長" * n),
)


class Letters:
    """Three letters, one token."""

    def __init__(self, context: int) -> None:
        self.info = EngineInfo(engine="letters", model="l", context_tokens=context)

    def count_tokens(self, text: str) -> int:
        return -(-len(text) // 3)


@settings(max_examples=150, deadline=None)
@given(
    question=TEXTS, answers=st.lists(TEXTS, min_size=1, max_size=4), context=st.integers(50, 900)
)
def test_what_was_fitted_fits(question: str, answers: list[str], context: int) -> None:
    parts = [Part("Own words."), Part(question, "question")]
    parts += [Part(text, f"answer_{place}") for place, text in enumerate(answers, 1)]
    messages = (Message("user", tuple(parts)),)
    window = Window(Letters(context), 20)  # type: ignore[arg-type]
    try:
        fitted = window.fit(messages)
    except TooLongError:
        return
    assert window.room is not None
    assert window.tokens(fitted.messages) <= window.room
    assert fitted.messages[0].parts[0] == Part("Own words.")
    for part in parts[1:]:
        kept = [each.text for each in fitted.messages[0].parts if each.slot == part.slot]
        if part.slot in fitted.cut:
            head, tail = kept
            assert part.text.startswith(head)
            assert part.text.endswith(tail)
            assert len(head) + len(tail) < len(part.text)
        else:
            assert kept == [part.text]
