"""One line of a reply as scores, or nothing: the grammar of a verdict line.

::

    line    = [label] score {separator score} [full stop]       label: "Scores:", "Rating is", ...
    score   = [name] number [out of] [unit]                     name:  "Answer 1:", "B ="
    out of  = "/ 10" or "out of 10"                             unit:  "points", "分"

After a *labelled* verdict, prose may follow a full stop, dash, colon or comma. Anything else on the
line makes it no verdict line: scores are never picked out of prose.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from magistrate.prompts.frames import is_quoted
from magistrate.prompts.numerals import CHINESE_NUMERAL, fold_line, number_of

_DECORATION = re.compile("[*_`~|\"'\\[\\](){}$\u200b-\u200f\u2060\ufeff]+")
_BULLET = re.compile(r"^\s*(?:(?:[-+•]\s|[>#]+)\s*)+")

_NUMBER = rf"(?:[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|{CHINESE_NUMERAL})"
_SCORE = re.compile(
    rf"""
    (?: (?:scores?\s+(?:for|of)\s+)? (?:the\s+)?
        (?: (?:answer|assistant|response|model|candidate|output|回答|答案|助手) \s* [#]? \s*
            (?P<name>[1-9][0-9]?|[a-h]) (?:'?s)? (?:\s+(?:score|rating|grade))?
            \s* (?:[:=-]|is|gets)
          | (?P<letter>[a-h]) \s* [:=]
        ) \s*
    )?
    (?P<number>{_NUMBER})
    (?: \s* (?:/|out\s+of) \s* (?P<out_of>[1-9][0-9]*) )?
    (?: \s* (?:points?|pts?|stars?|分) )?
    (?! [\w%°] | \.[0-9] )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_SEPARATOR = re.compile(r"\s*[,;]\s*(?:and\s+)?|\s+(?:and\s+)?", re.IGNORECASE)
_END = re.compile(r"\s*[.,;]*\s*$")
_PROSE_AFTER_LABELLED = re.compile(r"\s*[.,;:-]+(?!\s*[0-9+-])\s*(?P<prose>.*)$", re.DOTALL)
_LABEL_WORDS = r"""
    (?:(?:my|the|your|final|overall|total|here\s+(?:are|is)) \s+)*
    (?: scores? | ratings? | grades? | marks? | verdicts? | 最终评分 | 评分 | 得分 | 分数 | 打分 )
    (?: \s+ (?:is|are) )?
"""
_LABEL = re.compile(
    rf"\s* {_LABEL_WORDS} \s* (?: [:=] \s* | (?={_NUMBER}) )", re.VERBOSE | re.IGNORECASE
)
_LABEL_INSIDE = re.compile(
    rf"""
    (?: (?<=[.!?…"”')\]*])\s+ | (?<=[。！？]) )     # only where a sentence ends: not in a quotation
    (?= [*_`]* {_LABEL_WORDS} [\s*_]* [:=：])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_BRACKETED_END = re.compile(
    r"(?:\[\[[^\[\]]{1,20}\]\](?:\s|,|;|and\b)*)+(?=[.\s\"'”*_`)]*$)", re.IGNORECASE
)
_BRACKETED = re.compile(r"\[\[\s*[0-9]")
_HEADING = re.compile(r"[^0-9]{1,80}:\s*|`{3,}\w*|#{1,6}\s[^0-9]{1,80}|[-=*_]{3,}")
_LONGEST_NUMBER = 32
_MOST_SCORES = 1000


@dataclass(frozen=True, slots=True)
class Score:
    """One score as it was written."""

    value: float
    out_of: float | None = None
    """10 in ``8/10``."""
    name: int | None = None
    """Which shown answer the score names, from 1 (``Answer 2: 9``, ``B: 9``)."""


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """A line that is a verdict."""

    scores: tuple[Score, ...]
    labelled: bool = False
    rest: str = ""
    """Prose after a labelled verdict."""

    @property
    def is_named(self) -> bool:
        """Whether every score names its answer."""
        return all(score.name is not None for score in self.scores)


def announced(line: str) -> str | None:
    """Return the part of a line that announces a verdict, to the line's end; None if none does.

    A verdict is announced by a label at the start of the line, by a label that starts a line's last
    sentence and is followed by scores alone, or by double brackets at the line's end.

    >>> announced("**Final scores:** 8 9"), announced("Scores vary between people.")
    ('**Final scores:** 8 9', None)
    >>> announced("It is right. Rating: [[8]]"), announced("I would rate it a [[8]].")
    ('Rating: [[8]]', '[[8]].')
    """
    starts_with_label = _LABEL.match(_plain(line)) is not None
    starts = [found.start() for found in _LABEL_INSIDE.finditer(line)][-1:]
    if starts_with_label:
        starts.append(0)
    starts.extend(
        found.start() for found in _BRACKETED_END.finditer(line) if _is_own(line, found.start())
    )
    for start in starts:
        tail = line[start:].lstrip() if start else line
        scanned = read_score_line(tail)
        if scanned is not None and (start == 0 or not scanned.rest):
            return tail
    return line if starts_with_label else None


def _is_own(line: str, start: int) -> bool:
    """Whether scores in brackets at a line's end are the judge's: not quoted, nor one of several.

    >>> _is_own('The answer says "[[10]]"', 17), _is_own("Either [[3]] or [[4]]", 16)
    (False, False)
    """
    before = line[:start]
    if is_quoted(before, line[start:]):
        return False
    return _BRACKETED.search(before) is None or before.rstrip(" *_`\"'“").endswith((":", "："))


def is_heading(line: str) -> bool:
    """Whether the line only announces what follows: ``Scores:``, ``## Verdict``, a code fence.

    >>> is_heading("**My scores:**"), is_heading("Answer 1:")
    (True, False)
    """
    return _HEADING.fullmatch(fold_line(line).strip().strip("*_ ")) is not None


def read_score_line(line: str, *, labelled: bool = False) -> ScoreLine | None:
    """Read a line that is a verdict and nothing else; None for any other line.

    Args:
        line: The line, with or without its end.
        labelled: Whether a label outside the line announces it, so that prose may follow.

    >>> read_score_line("Answer 1: 8/10, Answer 2: 7.5/10").scores
    (Score(value=8.0, out_of=10.0, name=1), Score(value=7.5, out_of=10.0, name=2))
    >>> read_score_line("8*9") is None, read_score_line("8 of the 10 claims are wrong") is None
    (True, True)
    """
    plain = _plain(line)
    label = _LABEL.match(plain)
    position = label.end() if label else _skip_blanks(plain)
    scores: list[Score] = []
    while (found := _SCORE.match(plain, position)) is not None:
        score = _score(found)
        if score is None or len(scores) == _MOST_SCORES:
            return None
        scores.append(score)
        position = found.end()
        separator = _SEPARATOR.match(plain, position)
        if separator is None or _SCORE.match(plain, separator.end()) is None:
            break
        position = separator.end()
    if not scores:
        return None
    if _END.match(plain, position):
        return ScoreLine(tuple(scores), labelled=labelled or label is not None)
    prose = _PROSE_AFTER_LABELLED.match(plain, position)
    if (labelled or label) and prose:
        return ScoreLine(tuple(scores), labelled=True, rest=prose["prose"].strip())
    return None


def _plain(line: str) -> str:
    """Return the line without Markdown, quotes and brackets, in ASCII digits."""
    return _BULLET.sub("", _DECORATION.sub(_blank, fold_line(line)))


def _blank(found: re.Match[str]) -> str:
    """Blank decoration, but not between digits: there it would join or split a number."""
    text, start, end = found.string, found.start(), found.end()
    between_digits = text[start - 1 : start].isdigit() and text[end : end + 1].isdigit()
    return found[0] if between_digits else " "


def _score(found: re.Match[str]) -> Score | None:
    if len(found["number"]) > _LONGEST_NUMBER or len(found["out_of"] or "") > _LONGEST_NUMBER:
        return None
    value = number_of(found["number"])
    if value is None:
        return None
    name = found["name"] or found["letter"]
    place = None
    if name:
        place = int(name) if name.isdigit() else ord(name.lower()) - ord("a") + 1
    return Score(value, float(found["out_of"]) if found["out_of"] else None, place)


def _skip_blanks(text: str) -> int:
    return len(text) - len(text.lstrip())
