"""Read question and answers back from the prompts that MT-bench shows to its judges.

The layouts are marked by fixed lines. A text that holds such a line itself makes the prompt
ambiguous; it is then not read at all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from magistrate.formats.readers.dialogue import alternate
from magistrate.records import Answer, Turn, reference_of_turns

_REFERENCE = r"(?:\[The Start of Reference Answer\]\n(.*?)\n\[The End of Reference Answer\]\n\n)?"
_SINGLE = re.compile(
    r"\[Question\]\n(.*?)\n\n"
    + _REFERENCE
    + r"\[The Start of Assistant's Answer\]\n(.*)\n\[The End of Assistant's Answer\]\s*$",
    re.DOTALL,
)
_PAIR = re.compile(
    r"\[User Question\]\n(.*?)\n\n"
    + _REFERENCE
    + r"\[The Start of Assistant A's Answer\]\n(.*)\n\[The End of Assistant A's Answer\]\n\n"
    r"\[The Start of Assistant B's Answer\]\n(.*)\n\[The End of Assistant B's Answer\]\s*$",
    re.DOTALL,
)
_MARKS = (
    "[The Start of Assistant's Answer]",
    "[The End of Assistant's Answer]",
    "[The Start of Assistant A's Answer]",
    "[The End of Assistant A's Answer]",
    "[The Start of Assistant B's Answer]",
    "[The End of Assistant B's Answer]",
    "[The Start of Reference Answer]",
    "[User Question]",
    "[Question]",
)


Talk = tuple[str, str, str, str]
"""User, assistant, user, assistant."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a judge saw, in the order of the prompt."""

    question: str | tuple[Turn, ...]
    answers: tuple[Answer, ...]
    reference: str | None = None


def read_single(prompt: str, model: str | None) -> Seen | None:
    """Return question and answer of a prompt for one answer, None if it has another layout.

    In the two-turn layout the second answer is judged, so the question is the dialogue before it.
    """
    dialogue = _conversation(prompt, "A")
    if dialogue is not None:
        first, reply, second, answer = dialogue
        question = (
            Turn(role="user", text=first),
            Turn(role="assistant", text=reply),
            Turn(role="user", text=second),
        )
        return Seen(question, (Answer(text=answer, model=model),), _two_turn_reference(prompt))
    found = _SINGLE.search(prompt)
    if found is None or _ambiguous(prompt):
        return None
    return Seen(found[1], (Answer(text=found[3], model=model),), found[2])


def read_pair(prompt: str, models: tuple[str | None, str | None]) -> Seen | None:
    """Return question and answers of a prompt for a pair, None if it has another layout."""
    first, second = _conversation(prompt, "A"), _conversation(prompt, "B")
    if first is not None and second is not None:
        answers = tuple(
            alternate((talk[0], talk[2]), (talk[1], talk[3]), model)
            for talk, model in zip((first, second), models, strict=True)
        )
        return Seen(first[0], answers, _two_turn_reference(prompt))
    found = _PAIR.search(prompt)
    if found is None or _ambiguous(prompt):
        return None
    texts = (found[3], found[4])
    answers = tuple(Answer(text=t, model=m) for t, m in zip(texts, models, strict=True))
    return Seen(found[1], answers, found[2])


def _ambiguous(prompt: str) -> bool:
    return any(prompt.count(mark) > 1 for mark in _MARKS)


def _conversation(prompt: str, side: str) -> Talk | None:
    """Return the four turns of one assistant's conversation in a two-turn prompt."""
    return _four_turns(
        prompt,
        f"<|The Start of Assistant {side}'s Conversation with User|>",
        f"<|The End of Assistant {side}'s Conversation with User|>",
        f"### Assistant {side}:",
    )


def _two_turn_reference(prompt: str) -> str | None:
    talk = _four_turns(
        prompt, "<|The Start of Reference Answer|>", "<|The End of Reference Answer|>",
        "### Reference answer:",
    )  # fmt: skip
    return reference_of_turns((talk[1], talk[3])) if talk else None


def _four_turns(prompt: str, start: str, end: str, speaker: str) -> Talk | None:
    if prompt.count(start) != 1 or prompt.count(end) != 1:
        return None
    block = prompt.partition(start)[2].partition(end)[0]
    parts = re.split(rf"(?:^|\n\n)(### User:|{re.escape(speaker)})\n", block)
    marks, texts = parts[1::2], parts[2::2]
    if marks != ["### User:", speaker] * 2:
        return None
    return texts[0], texts[1], texts[2], texts[3].removesuffix("\n\n")
