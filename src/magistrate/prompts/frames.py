"""What stands around a verdict: ``[[{verdict}]]``, ``[RESULT] {verdict}``.

A frame is literal text with one ``{verdict}`` in it. Letter case, the number of blanks, and
Markdown between its words do not matter.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from magistrate.prompts.numerals import fold_line
from magistrate.prompts.rules import VERDICT

DECORATION = r"""\s*_`"'“”‘’"""
"""Inside a character set: what may stand beside words and means nothing."""

SENTENCE_END = re.compile(rf"[{DECORATION}.!。,;)\]}}]*$")
"""What may follow a verdict that ends its line."""

_MOST_IN_A_LINE = 200

_QUOTES = (
    (re.compile(r"[“«「『]"), re.compile(r"[”»」』]")),
    (re.compile(r"(?<!\w)[‘']"), re.compile(r"(?<=\S)[’'](?!\w)")),
)
_SAYS_SO = re.compile(
    r"(?:^|:|：|\b(?:verdict|decision|choice|rating|score|grade|answer)\s+is)[\s*_`]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Framed:
    """A frame found in a line."""

    body: str
    """What stands in the place of the verdict."""
    before: str
    """The line up to the frame."""
    rest: str
    """The line after the frame; empty where the frame has no end."""
    closed: bool
    """Whether the frame has an end, so that the body can have lost nothing."""


def find_framed(line: str, frame: str) -> list[Framed]:
    """Return all places of a line where a frame stands, from left to right.

    A frame that ends in the verdict reaches to the next of its kind, or to the end of the line.

    >>> [found.body for found in find_framed("Either [[A]] or **[[B]]**.", "[[{verdict}]]")]
    ['A', 'B']
    >>> find_framed("So the **final decision is:** Tie.", "final decision is {verdict}")[0].body
    'Tie.'
    """
    before, after = _patterns(frame)
    folded = fold_line(line)
    starts = list(islice(before.finditer(folded), _MOST_IN_A_LINE))
    framed: list[Framed] = []
    for place, start in enumerate(starts):
        end = starts[place + 1].start() if place + 1 < len(starts) else len(folded)
        if after is None:
            framed.append(Framed(folded[start.end() : end], line[: start.start()], "", False))
        elif close := after.search(folded, start.end(), end):
            body = folded[start.end() : close.start()]
            framed.append(Framed(body, line[: start.start()], line[close.end() :], True))
    return framed


def is_quoted(before: str, after: str) -> bool:
    """Whether what stands between two texts is quoted from somebody else.

    Quotation marks around a verdict that a colon announces are the judge's own.

    >>> is_quoted('The answer says "', '", which is odd.'), is_quoted('My verdict: "', '"')
    (True, False)
    """
    opened = _open_quote(before)
    return opened is not None and _SAYS_SO.search(before[:opened]) is None and _closes(after)


def _open_quote(before: str) -> int | None:
    """Return where a quotation begins that is still open at the end of a text."""
    doubles = [at for at, sign in enumerate(before) if sign == '"']
    if len(doubles) % 2:
        return doubles[-1]
    for opening, closing in _QUOTES:
        opens = [found.start() for found in opening.finditer(before)]
        closes = [found.start() for found in closing.finditer(before)]
        if len(opens) > len(closes):
            return opens[-1]
    return None


def _closes(after: str) -> bool:
    return '"' in after or any(closing.search(f"x{after}") for _, closing in _QUOTES)


def start_pattern(frame: str) -> str:
    """Return the pattern of what stands before the verdict in a frame."""
    return _patterns(frame)[0].pattern


@lru_cache(maxsize=256)
def _patterns(frame: str) -> tuple[re.Pattern[str], re.Pattern[str] | None]:
    before, _, after = (part.strip() for part in frame.partition(VERDICT))
    # Only a frame without an end takes in the colon after it; inside a frame all is verdict.
    gap = rf"[{DECORATION}]" if after else rf"[{DECORATION}:=]"
    close = re.compile(rf"[{DECORATION}]*{_literal(after)}", re.IGNORECASE) if after else None
    many = "+" if _is_letter(before[-1]) else "*"
    return re.compile(f"{_literal(before)}{gap}{many}", re.IGNORECASE), close


def _literal(text: str) -> str:
    words = rf"[{DECORATION}]+".join(re.escape(fold_line(word)) for word in text.split())
    start = r"(?<!\w)" if _is_letter(text[:1]) else ""
    return start + words


def _is_letter(sign: str) -> bool:
    """Whether a sign belongs to a word that blanks set apart; Chinese writes none."""
    return sign.isascii() and sign.isalnum()
