"""Scores on a scale: find the lines where they must stand, read them, check them.

>>> rules = ScoreRules(count=1, low=1, high=5, place="last", frames=("[RESULT] {verdict}",))
>>> read_scores(["It is right. ", "[RESULT] 4"], rules, is_cut=False).value
(4.0,)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from magistrate.prompts.frames import SENTENCE_END, find_framed, is_quoted
from magistrate.prompts.rules import VERDICT, Failure, Found, Reason, ScoreRules, cut, show
from magistrate.prompts.scores import (
    Score,
    ScoreLine,
    announced,
    is_heading,
    read_score_line,
)

_NOT_NUMBERS = re.compile(r"\b(?:nan|inf|infinity|none|null|n/a|unknown)\b", re.IGNORECASE)
_DECORATION = re.compile(r"[\s*_`>#\"'“-]*")
_GO_ON_A_NUMBER = ".,．，٫"


@dataclass(frozen=True, slots=True)
class _Announced:
    """Scores that something announces."""

    before: str
    body: str
    framed: bool = False
    closed: bool = False
    """Whether the frame has an end, so that the scores can have lost nothing."""


def read_scores(lines: Sequence[str], rules: ScoreRules, *, is_cut: bool) -> Found | Failure:
    """Read the scores of a reply, given as lines with their ends; at least one is not blank."""
    read = _read_first if rules.place == "first" else _read_last
    return read(lines, rules, is_cut=is_cut)


def _read_first(lines: Sequence[str], rules: ScoreRules, *, is_cut: bool) -> Found | Failure:
    """Read the first line that is neither blank nor a mere heading such as ``Scores:``."""
    filled = (i for i, line in enumerate(lines) if line.strip() and not is_heading(line))
    start = next(filled, None)
    if start is None:
        return cut("the verdict") if is_cut else _no_verdict("the reply", lines[-1], rules)
    framed = _framed_at_start(lines[start], rules)
    if framed is not None:
        end, line = start + 1, framed.body
        if not line.strip() and (following := next(filled, None)) is not None:
            end, line = following + 1, lines[following]
        scanned = read_score_line(line, labelled=True)
    elif VERDICT in rules.frames:
        end, line = _join_named(lines, start, rules, step=1)
        scanned = read_score_line(line)
    else:
        end, line, scanned = start + 1, lines[start], None
    # The line after a named score may be the beginning of the next named one.
    reach = end + 1 if scanned and scanned.is_named else end
    closed = framed is not None and framed.closed
    if is_cut and reach >= len(lines) and not closed and not _is_complete(line, scanned, rules):
        return cut("the verdict")
    if scanned is None:
        return _no_verdict("the first line", line, rules)
    rest = framed.before if framed and framed.closed else scanned.rest
    return check_scores(scanned.scores, line, rules, reasons=rest + "\n" + "".join(lines[end:]))


def _read_last(lines: Sequence[str], rules: ScoreRules, *, is_cut: bool) -> Found | Failure:
    """Read the last announced verdict, or the last line if it holds scores and nothing else."""
    filled = [i for i, line in enumerate(lines) if line.strip(" \t\r\n*_`-=~")]
    for start in reversed(filled):
        tail = _announced(lines[start], rules)
        if tail is None and (start != filled[-1] or VERDICT not in rules.frames):
            continue
        begin, line = start, tail.body if tail else lines[start]
        if tail is None:
            begin, line = _join_named(lines, start, rules, step=-1)
        elif start != filled[-1] and (is_heading(line) or not line.strip()):
            line = line.rstrip() + " " + lines[filled[filled.index(start) + 1]]
        scanned = read_score_line(line)
        if tail is None and scanned is None:
            continue
        complete = (tail is not None and tail.closed) or _is_complete(line, scanned, rules)
        if is_cut and not (start == filled[-1] and complete):
            break
        if scanned is None:
            return _no_verdict("the last verdict", line, rules)
        before = tail.before if tail else ""
        return check_scores(scanned.scores, line, rules, reasons="".join(lines[:begin]) + before)
    return cut("the verdict") if is_cut else _no_verdict("the end of the reply", lines[-1], rules)


def _framed_at_start(line: str, rules: ScoreRules) -> _Announced | None:
    """Return what stands in a frame that begins the line; ``before`` is what follows it."""
    for frame in rules.frames:
        for framed in find_framed(line, frame)[:1] if frame != VERDICT else ():
            if _DECORATION.fullmatch(framed.before):
                return _Announced(framed.rest, framed.body, framed=True, closed=framed.closed)
    return None


def _announced(line: str, rules: ScoreRules) -> _Announced | None:
    """Return the last scores of a line that a frame or a label announces."""
    for frame in rules.frames:
        if frame == VERDICT:
            tail = announced(line)
            if tail is not None:
                return _Announced(line.removesuffix(tail), tail)
            continue
        for framed in find_framed(line, frame)[-1:]:
            if is_quoted(framed.before, framed.rest if framed.closed else framed.body):
                continue
            if not framed.closed or SENTENCE_END.match(framed.rest):
                return _Announced(framed.before, framed.body, framed=True, closed=framed.closed)
    return None


def _join_named(
    lines: Sequence[str], start: int, rules: ScoreRules, *, step: Literal[1, -1]
) -> tuple[int, str]:
    """Join lines such as ``Answer 1: 8`` and ``Answer 2: 9`` into one.

    Returns:
        The end of what was read (after the last line for ``step`` 1, the first line for -1), and
        the line to read.
    """
    line, place = lines[start], start
    scanned = read_score_line(line)
    while scanned and scanned.is_named and len(scanned.scores) < rules.count:
        following = place + step
        while 0 <= following < len(lines) and not lines[following].strip():
            following += step
        if not 0 <= following < len(lines):
            break
        pieces = (
            (line.rstrip(), lines[following]) if step == 1 else (lines[following].rstrip(), line)
        )
        joined = ", ".join(pieces)
        more = read_score_line(joined)
        if more is None or not more.is_named:
            break
        line, place, scanned = joined, following, more
    return (place + 1 if step == 1 else place), line


def _is_complete(line: str, scanned: ScoreLine | None, rules: ScoreRules) -> bool:
    """Whether a verdict on the last line of a cut text can have lost nothing.

    A number that touches the cut may have lost digits; only the top of the scale cannot, since
    nothing longer is within the scale.
    """
    ended = line.endswith(("\n", "\r"))
    if scanned is None:
        return ended
    if len(scanned.scores) < rules.count:
        return ended and not scanned.is_named
    touches = not scanned.rest and (line[-1:].isalnum() or line[-1:] in _GO_ON_A_NUMBER)
    last = scanned.scores[-1]
    return not touches or rules.high in (last.value, last.out_of)


def check_scores(
    scores: Sequence[Score], line: str, rules: ScoreRules, *, reasons: str
) -> Found | Failure:
    """Return the scores if they are as many as due, in their sequence and on the scale."""
    if len(scores) != rules.count:
        reason: Reason = "too_few_scores" if len(scores) < rules.count else "too_many_scores"
        due = f"{rules.count} {'is' if rules.count == 1 else 'are'} due"
        return Failure(reason, f"found {len(scores)} where {due} in {show(line)}")
    names = [score.name for score in scores]
    if None not in names and rules.count > 1:
        scores = sorted(scores, key=lambda score: score.name or 0)
        if sorted(names, key=lambda name: name or 0) != list(range(1, rules.count + 1)):
            return Failure(
                "mixed_names", f"the scores do not name each answer once in {show(line)}"
            )
    elif any(names) and rules.count > 1:
        return Failure("mixed_names", f"some scores name an answer, some do not, in {show(line)}")
    values = tuple(score.value for score in scores)
    fixed = len(rules.fixed)
    if values[:fixed] != rules.fixed:
        given = " ".join(f"{value:g}" for value in rules.fixed)
        return Failure("wrong_start", f"the reply should begin with {given}, found {show(line)}")
    return _off_scale(scores[fixed:], line, rules) or Found(values[fixed:], reasons)


def _off_scale(scores: Sequence[Score], line: str, rules: ScoreRules) -> Failure | None:
    scale = f"{rules.low:g} to {rules.high:g}"
    for score in scores:
        if score.out_of is not None and score.out_of != rules.high:
            return Failure(
                "wrong_scale",
                f"a score out of {score.out_of:g}, the scale is {scale}, in {show(line)}",
            )
        if not rules.low <= score.value <= rules.high:
            return Failure("out_of_scale", f"{score.value:g} is not within {scale} in {show(line)}")
    return None


def _no_verdict(where: str, line: str, rules: ScoreRules) -> Failure:
    due = "one score" if rules.count == 1 else f"{rules.count} scores"
    if _NOT_NUMBERS.search(line) and len(line.split()) <= rules.count + 3:
        return Failure("not_a_number", f"{where} should hold {due}, found {show(line)}")
    return Failure("no_verdict", f"{where} should hold {due} alone, found {show(line)}")
