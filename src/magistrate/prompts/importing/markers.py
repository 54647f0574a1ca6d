r"""Which pieces of a wording are its section markers: what opens and closes the places of data.

A peer names its sections in words of its own; nobody lists them. They are found by where they
stand: on the line of the data, or on the nearest line before and after it; then every line of the
same shape (``[...]``, ``<|...|>``, ``###``); then the line at the very end that cues the reply.

>>> markers_of(["[Q]\n\x00\n\n[Answer 1]\n\x00\n[End]\n\n[System]\nGrade.\n\n### Reply:"])
('[Q]', '[Answer {n}]', '[End]', '[System]', '### Reply:')
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from magistrate.prompts.untrusted import ANY_NUMBER

DATA = "\x00"
"""Stands in a text for data."""

NUMBER = "\x01"
"""Stands in a text for a number of ours."""

_LONGEST = 60
SHORTEST = 3
_QUOTES = re.compile(r"([\"'`])\1\1")
_DIGITS = re.compile(rf"[0-9]+|{NUMBER}")
_SHAPES = (
    re.compile(r"\[[^\[\]]{1,60}\]:?"),
    re.compile(r"<\|[^|]{1,60}\|>"),
    re.compile(r"###\s?[^#].{0,40}:"),
)


def markers_of(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the section markers of the messages of a prompt.

    Args:
        texts: The messages; :data:`DATA` for every piece of data, :data:`NUMBER` for numbers.
    """
    found: dict[str, None] = {}
    for text in texts:
        lines = text.split("\n")
        for number, line in enumerate(lines):
            if DATA in line:
                for piece in _around(lines, number):
                    found.update(dict.fromkeys(_marker(piece)))
    shapes = {shape for shape in _SHAPES for marker in found if shape.fullmatch(marker)}
    for text in texts:
        for line in text.split("\n"):
            if DATA not in line and any(shape.fullmatch(line.strip()) for shape in shapes):
                found.update(dict.fromkeys(_marker(line)))
    cue = texts[-1].rstrip().rpartition("\n")[2]
    if DATA not in cue and cue.endswith(":") and len(cue) <= _LONGEST:
        found.update(dict.fromkeys(_marker(cue)))
    return tuple(found)


def _around(lines: Sequence[str], number: int) -> Iterator[str]:
    """Return the pieces that stand around the data of a line."""
    before, *between, after = lines[number].split(DATA)
    yield _last_words(before) if _speaks(before) else _neighbour(lines, range(number - 1, -1, -1))
    yield from (piece for piece in between if _speaks(piece))
    yield (
        _first_words(after) if _speaks(after) else _neighbour(lines, range(number + 1, len(lines)))
    )


def _neighbour(lines: Sequence[str], places: range) -> str:
    """Return the nearest line that says something, unless data comes first."""
    for place in places:
        if DATA in lines[place]:
            break
        if _speaks(lines[place]):
            return _first_words(lines[place])
    return ""


def _speaks(piece: str) -> bool:
    """Whether a piece can be told from others: by a letter, or as quotation marks."""
    return any(sign.isalpha() for sign in piece) or _QUOTES.search(piece) is not None


def _first_words(piece: str) -> str:
    piece = piece.strip()
    if len(piece) <= _LONGEST:
        return piece
    return piece[:_LONGEST].rpartition(" ")[0] or piece[:_LONGEST]


def _last_words(piece: str) -> str:
    piece = piece.strip()
    if len(piece) <= _LONGEST:
        return piece
    return piece[-_LONGEST:].partition(" ")[2] or piece[-_LONGEST:]


def _marker(piece: str) -> Iterator[str]:
    """Return the marker that a piece makes, in the notation of ``family.toml``; none for some."""
    piece = piece.strip()
    if not any(sign.isalpha() for sign in piece):
        quotes = _QUOTES.search(piece)
        piece = quotes[0] if quotes else ""
    start = len(piece) - len(piece.lstrip("0123456789" + NUMBER))
    marker = (piece[:start].replace(NUMBER, "") + _DIGITS.sub(ANY_NUMBER, piece[start:])).strip()
    if len(marker.replace(ANY_NUMBER, "").strip()) >= SHORTEST:
        yield marker
