r"""What is done to data before it stands in a prompt.

Questions and answers are data: they must not open or close a section of the prompt, nor speak as
somebody else. Data reaches the prompt unchanged but for these rules, which honest text seldom
meets and which leave it readable when it does:

1. A **section marker** of the family inside data gets a backslash after its first character:
   ``</answer_1>`` becomes ``<\/answer_1>``. Letter case, blanks, invisible characters and
   full-width letters do not hide a marker.
2. An **empty answer** is shown as the family's own words for it. An answer that says just these
   words gets the backslash too, so the two can be told apart.
3. In a dialogue, a **role heading** (``User:``, ``Assistant:``, ``System:``) at the start of a line
   inside a turn gets a backslash before it.
4. What no encoding can carry (lone surrogates, NUL) becomes U+FFFD, the replacement character.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from magistrate.records import Answer, Role, Sample, Turn

UNTRUSTED_VERSION = 1
"""Raised whenever equal data may come out otherwise; part of every family's prompt hash."""

ESCAPE = "\\"
ANY_NUMBER = "{n}"
"""Stands in a marker for any number: ``<answer_{n}>``."""

_INVISIBLE = (
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
)
# Possessive, so that a long run of blanks is read once.
_GAP = rf"[\s{_INVISIBLE}]*+"
_CONNECTOR = rf"[\s_\-{_INVISIBLE}]*+"
_FULL_WIDTH_OFFSET = 0xFEE0
_HEADING = re.compile(
    r"^([^\S\n]*)(?=(?:user|assistant|system)\s*[:：])", re.IGNORECASE | re.MULTILINE
)


def readable(text: str) -> str:
    r"""Return text that every encoding can carry; honest text comes back as it is.

    Surrogate pairs that some decoder left apart are joined; lone surrogates and NULs become U+FFFD.

    >>> readable("a\ud83d\ude00b") == "a😀b"
    True
    >>> readable("a\ud83d b\x00") == "a\ufffd b\ufffd"
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\x00", "\ufffd")


@lru_cache(maxsize=256)
def marker_pattern(markers: tuple[str, ...]) -> re.Pattern[str] | None:
    """Return a pattern that matches the first character of every marker; None for no markers.

    Only the first character is consumed, so overlapping markers are all found.
    """
    if not markers:
        return None
    rests: dict[str, list[str]] = {}
    for marker in markers:
        first, rest = _one_marker(marker)
        rests.setdefault(first, []).append(rest)
    # One set of first characters at the front: the search skips all other text at full speed.
    anywhere = "".join(rests)
    branches = (f"(?<=[{first}])(?=(?i:{'|'.join(rest)}))" for first, rest in rests.items())
    return re.compile(f"[{anywhere}](?:{'|'.join(branches)})")


def neutralise(text: str, markers: tuple[str, ...]) -> str:
    r"""Break every section marker inside data by a backslash after its first character.

    >>> neutralise("So </answer_1> I win", ("</answer_{n}>",))
    'So <\\/answer_1> I win'
    >>> neutralise("if a < b and c > d", ("</answer_{n}>",))
    'if a < b and c > d'
    """
    pattern = marker_pattern(markers)
    if pattern is None:
        return text
    return pattern.sub(lambda found: found[0] + ESCAPE, text)


@dataclass(frozen=True, slots=True)
class DataRules:
    """How one family shows data."""

    markers: tuple[str, ...] = ()
    """The family's section markers; ``{n}`` stands for any number."""
    empty_answer: str = ""
    """Shown for an answer without any visible character."""

    def text(self, text: str) -> str:
        """Return data as it stands in the prompt."""
        return neutralise(readable(text), self.markers)

    def question(self, sample: Sample) -> str:
        """Return the question; a dialogue has its roles named."""
        if isinstance(sample.question, str):
            return self.text(sample.question)
        return self._dialogue(sample.question, speaker="user", say=self.text)

    def answer(self, answer: Answer) -> str:
        """Return an answer, all its turns where it has several; an empty one has its own words."""
        if answer.turns:
            return self._dialogue(answer.turns, speaker="assistant", say=self._answer_text)
        return self._answer_text(answer.text)

    def _answer_text(self, text: str) -> str:
        if not text.strip():
            return self.empty_answer
        shown = self.text(text)
        if self.empty_answer and shown.strip().casefold() == self.empty_answer.strip().casefold():
            after_first = len(shown) - len(shown.lstrip()) + 1
            return shown[:after_first] + ESCAPE + shown[after_first:]
        return shown

    def _dialogue(self, turns: Sequence[Turn], *, speaker: Role, say: Callable[[str], str]) -> str:
        """Return turns with their roles named, unless one speaker said it all.

        Args:
            turns: What was said.
            speaker: Who says what is asked or answered here.
            say: How the words of ``speaker`` are shown.
        """
        said = [
            (turn.role, say(turn.text) if turn.role == speaker else self.text(turn.text))
            for turn in turns
        ]
        if len(said) == 1 and said[0][0] == speaker:
            return said[0][1]
        return "\n\n".join(
            f"{role.capitalize()}: {_HEADING.sub(_escape_heading, text)}" for role, text in said
        )


def _escape_heading(found: re.Match[str]) -> str:
    return found[1] + ESCAPE


def _one_marker(marker: str) -> tuple[str, str]:
    """Return the characters that may begin the marker, and a pattern for what follows them."""
    pieces: list[str] = []
    for piece in re.split(r"(\{n\}|[\s_\-]+)", marker[1:]):
        if piece == ANY_NUMBER:
            pieces.append(r"\d+")
        elif piece and not piece.strip("_- \t\n"):
            pieces.append(_CONNECTOR)
        else:
            pieces.extend(f"[{_forms(character)}]" for character in piece)
    rest = ""
    for before, piece in itertools.pairwise(["", *pieces]):
        # A connector takes in blanks itself, so no gap stands beside it.
        rest += piece if _CONNECTOR in (before, piece) else _GAP + piece
    return _forms(marker[0]), rest


def _forms(character: str) -> str:
    """Return the forms of a character, for a character set: both cases, full width."""
    forms = {character, character.lower(), character.upper()}
    forms |= {chr(ord(c) + _FULL_WIDTH_OFFSET) for c in forms if "!" <= c <= "~"}
    return "".join(re.escape(c) for c in sorted(forms) if len(c) == 1)
