"""Text from questions, answers and names, made such that all of it can be seen.

Characters that steer the display instead of being shown (bidirectional overrides, zero-width
joints in words, terminal escapes, tags) can make a text look like another one. In a report they
stand as their code in angle brackets. Joiners that scripts and emoji need are kept.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_KEPT = frozenset("\n\t\u200c\u200d")
"""Line breaks, tabs, and the joiners of Persian, Indic scripts and emoji."""
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_PLAIN = re.compile(r"[\n\t\x20-\x7e]*")


def pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield parts of a text: as it is, or (True) the name of a character that would not be seen.

    >>> list(pieces("a\u202eb"))
    [('a', False), ('U+202E', True), ('b', False)]
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if _PLAIN.fullmatch(text):
        if text:
            yield text, False
        return
    start = 0
    for place, character in enumerate(text):
        if character in _KEPT or unicodedata.category(character) not in _HIDDEN:
            continue
        if place > start:
            yield text[start:place], False
        yield f"U+{ord(character):04X}", True
        start = place + 1
    if start < len(text):
        yield text[start:], False


def seen(text: str) -> str:
    r"""Return a text on one line in which nothing is hidden.

    >>> seen("gpt\u200b4\nturbo")
    'gpt‹U+200B›4 turbo'
    """
    shown = "".join(f"‹{part}›" if hidden else part for part, hidden in pieces(text))
    return " ".join(shown.split())


def cut(text: str, most: int) -> tuple[str, int]:
    """Return the beginning of a text and how many characters were left out."""
    return (text, 0) if len(text) <= most else (text[:most], len(text) - most)
