"""Why a reference is not used: rules that need no model, and what they cannot see.

The rules by words are crude on purpose, and each says what it found. None of them knows whether a
reference is true; only a gold answer, or a judge, does.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple, TypeAlias

from magistrate.data.embedding import share_nearer
from magistrate.errors import InputError
from magistrate.prompts.refusals import looks_like_refusal

Reason: TypeAlias = Literal[
    "empty", "refusal", "cut", "echo", "answer", "irrelevant", "harmful", "low-score", "wrong"
]
REASONS: dict[Reason, str] = {
    "empty": "nothing but blanks",
    "refusal": "begins as a refusal does",
    "cut": "the model had more to write",
    "echo": "says the question again",
    "answer": "equals one of the answers",
    "irrelevant": "its words fit other questions better than its own",
    "harmful": "has a word of the list, or a judge finds harm",
    "low-score": "a judge grades it too low",
    "wrong": "does not hold the known right answer",
}
"""What each reason means."""

FEWEST_QUESTIONS = 20
"""With fewer questions to compare with, nothing is called irrelevant."""
FEWEST_WORDS = 8
"""Shorter references (a number, a name) need not share a word with their question, and may well be
what a right answer says."""
MOST_NEARER = 0.1
"""A reference nearer to more than this share of the other questions is called irrelevant. Measured
(docs/data.md): of GPT-4's references for MT-bench 0 of 30 are dropped, and 27 of 30 when each is
given to another question; of GPT-3.5's for PandaLM 13 and 83 of 139."""

_ECHO = 0.9
_LONGEST_COMPARED = 4000
_WORD = re.compile(r"\w+")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")


class Fault(NamedTuple):
    """Why a reference is dropped."""

    reason: Reason
    detail: str


def squeezed(text: str) -> str:
    """Return a text without capitals, punctuation and superfluous blanks, to compare it.

    >>> squeezed("  The answer:  Forty-two! ")
    'the answer fortytwo'
    """
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_PUNCTUATION)
    return " ".join(plain.split())


def fault_of(
    reference: str, question: str, answers: Sequence[str], *, is_cut: bool = False
) -> Fault | None:
    """Return what is wrong with a reference by rules alone; None where they find nothing.

    Args:
        reference: The whole reference.
        question: All that the user says.
        answers: The answers that are to be judged by it.
        is_cut: Whether its model had more to write.
    """
    if not reference.strip():
        return Fault("empty", REASONS["empty"])
    if looks_like_refusal(reference):
        return Fault("refusal", f"begins: {reference.strip()[:60]!r}")
    if is_cut:
        return Fault("cut", "the limit of tokens ended it")
    own = squeezed(reference)
    if _is_echo(own, squeezed(question)):
        return Fault("echo", REASONS["echo"])
    if len(own.split()) >= FEWEST_WORDS:
        for place, answer in enumerate(answers, 1):
            if own == squeezed(answer):
                return Fault("answer", f"equals answer {place}")
    return None


def irrelevant(
    references: Sequence[str], questions: Sequence[str], own: Sequence[int]
) -> list[Fault | Literal["unchecked"] | None]:
    """Return which references fit other questions better than their own, by their words.

    ``unchecked`` stands for references that are too short, and for all where there are too few
    questions to compare with.

    Args:
        references: Texts.
        questions: Different questions.
        own: For each reference the place of its question.
    """
    found: list[Fault | Literal["unchecked"] | None] = ["unchecked"] * len(references)
    long_enough = [
        i for i, text in enumerate(references) if len(_WORD.findall(text)) >= FEWEST_WORDS
    ]
    if len(questions) < FEWEST_QUESTIONS or not long_enough:
        return found
    shares = share_nearer(
        [references[i] for i in long_enough], questions, [own[i] for i in long_enough]
    )
    for i, share in zip(long_enough, shares, strict=True):
        found[i] = (
            Fault("irrelevant", f"nearer to {share:.0%} of the other questions than to its own")
            if share > MOST_NEARER
            else None
        )
    return found


def holds(reference: str, gold: str) -> bool:
    """Whether a reference holds a known right answer: its words in sequence, or its number.

    >>> holds("So there are 1,250 of them.", "1250"), holds("It is Paris.", "paris")
    (True, True)
    >>> holds("There are 12500.", "1250")
    False
    """
    text, wanted = (squeezed(_THOUSANDS.sub("", each)) for each in (reference, gold))
    return bool(wanted) and re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", text) is not None


class WordRule:
    """A list of words and patterns that no reference may have."""

    def __init__(self, patterns: Iterable[str]) -> None:
        """Take regular expressions, one for each word; capitals do not matter.

        Raises:
            InputError: One is no regular expression.
        """
        self._patterns = []
        for pattern in patterns:
            try:
                self._patterns.append(re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))
            except re.error as error:
                raise InputError(f"'{pattern}' is no word or pattern: {error}") from error

    def fault_of(self, reference: str) -> Fault | None:
        """Return the first word found."""
        for pattern in self._patterns:
            if match := pattern.search(reference):
                return Fault("harmful", f"has {match[0]!r}")
        return None


def _is_echo(own: str, question: str) -> bool:
    if own == question:
        return True
    if not own or not question or not 0.8 < len(own) / len(question) < 1.25:
        return False
    if max(len(own), len(question)) > _LONGEST_COMPARED:
        return False
    return SequenceMatcher(None, own, question, autojunk=False).ratio() >= _ECHO
