r"""Text in, verdict or a named reason out. Pure; every rule has its example.

Reading goes in four steps, each a function: leave out what the model only thought
(:func:`_replies`), find the lines where the verdict must stand (:func:`_read_first`,
:func:`_read_last`), read the scores (:mod:`magistrate.prompts.scores`), check them
(:func:`_check`). Whatever does not fit is named and never guessed: numbers are not joined, not
clipped to the scale, not picked out of prose.

>>> pair = VerdictRules(count=2, low=1, high=10)
>>> [parse(reply, pair).scores for reply in ("8, 9", "**8 9**", "8/10 9/10", "\n\n8\t9\nBecause.")]
[(8.0, 9.0), (8.0, 9.0), (8.0, 9.0), (8.0, 9.0)]
>>> parse("8 7 9", pair).error
"too_many_scores: found 3 where 2 are due in '8 7 9'"
>>> parse("[[90]]", VerdictRules(count=1, low=1, high=10)).error
"out_of_scale: 90 is not within 1 to 10 in '[[90]]'"
>>> parse("I'm sorry, but I cannot evaluate this.", pair).status
'refused'
>>> parse("8 1", pair, finish_reason="length").status
'truncated'
>>> reasons_first = VerdictRules(count=2, low=1, high=10, place="last")
>>> parse("Both are fine.\nScores: 3 4\nNo, wait.\nScores: 8 9", reasons_first).scores
(8.0, 9.0)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from magistrate.messages import FinishReason
from magistrate.prompts.base import Verdict
from magistrate.prompts.outcome import verdict_from_scores
from magistrate.prompts.refusals import looks_like_refusal
from magistrate.prompts.scores import Score, ScoreLine, announced, is_heading, read_score_line
from magistrate.records import Status

PARSER_VERSION = 1
"""Raised whenever the same text may read otherwise; part of every family's prompt hash."""

Place: TypeAlias = Literal["first", "last"]
"""Where the verdict stands: on the first line (scores first) or at the end (reasons first)."""

Reason: TypeAlias = Literal[
    "blank",
    "cut",
    "refused",
    "content_filter",
    "unclosed_thinking",
    "ambiguous_thinking",
    "no_verdict",
    "not_a_number",
    "too_few_scores",
    "too_many_scores",
    "out_of_scale",
    "wrong_scale",
    "mixed_names",
]
"""Why a text is no verdict; the first word of :attr:`Verdict.error`."""

_STATUS: dict[Reason, Status] = {
    "blank": "error",
    "cut": "truncated",
    "refused": "refused",
    "content_filter": "refused",
}
"""The status of a reason; all others are ``unparsed``."""

_THOUGHT = r"(?:think|thinking|thought|thoughts|reasoning)"
_THOUGHT_OPENS = re.compile(rf"\s*<{_THOUGHT}>", re.IGNORECASE)
_THOUGHT_CLOSES = re.compile(rf"</{_THOUGHT}>", re.IGNORECASE)
_NOT_NUMBERS = re.compile(r"\b(?:nan|inf|infinity|none|null|n/a|unknown)\b", re.IGNORECASE)
_SHOWN_CHARACTERS = 80
_MOST_CLOSINGS = 8
_GO_ON_A_NUMBER = ".,．，٫"


@dataclass(frozen=True, slots=True)
class VerdictRules:
    """What a verdict of one prompt looks like."""

    count: int
    """How many scores are due."""
    low: float
    high: float
    """Ends of the scale, both allowed."""
    place: Place = "first"
    tie_gap: float = 0.0
    """Scores at most this far apart are a tie."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A verdict's scores and what the judge said besides."""

    scores: tuple[float, ...]
    reasons: str


@dataclass(frozen=True, slots=True)
class _Failure:
    reason: Reason
    words: str


def parse(text: str, rules: VerdictRules, finish_reason: FinishReason = "stop") -> Verdict:
    """Read a verdict from what a judge wrote. Never raises on any text.

    Args:
        text: The completion alone, never the prompt.
        rules: What is due.
        finish_reason: Anything but ``stop`` means that the text may lack its end.

    Returns:
        A verdict with status ``ok``, or another status whose ``error`` starts with a
        :data:`Reason`.
    """
    outcome = _read(text, rules, cut=finish_reason != "stop")
    if isinstance(outcome, _Found):
        return verdict_from_scores(
            outcome.scores, tie_gap=rules.tie_gap, reasons=outcome.reasons.strip() or None
        )
    if finish_reason == "content_filter":
        outcome = _Failure("content_filter", "the provider's content filter stopped the reply")
    status = _STATUS.get(outcome.reason, "unparsed")
    return Verdict(status=status, error=f"{outcome.reason}: {outcome.words}")


def _read(text: str, rules: VerdictRules, *, cut: bool) -> _Found | _Failure:
    replies = _replies(text, rules)
    if isinstance(replies, _Failure):
        return _cut("its thoughts") if cut else replies
    outcomes = [_read_reply(reply, rules, cut=cut) for reply in replies]
    if len({o.scores if isinstance(o, _Found) else None for o in outcomes}) > 1:
        return _Failure(
            "ambiguous_thinking", "the reply closes its thoughts several times; its parts disagree"
        )
    return outcomes[0]


def _replies(text: str, rules: VerdictRules) -> list[str] | _Failure:
    """Return what may be the reply proper, with the model's thoughts left out.

    Thoughts stand in ``<think>`` ... ``</think>`` at the start; some servers swallow the opening
    tag. A closing tag may also be a quotation from a hostile answer, in thoughts or in reasons. So
    the reply may begin after each closing tag, and all readings must agree.
    """
    opened = False
    while _THOUGHT_OPENS.match(text):
        opened = True
        close = _THOUGHT_CLOSES.search(text)
        if close is None:
            return _Failure("unclosed_thinking", "the reply is a thought that never ends")
        text = text[close.end() :]
    tails = [text[close.end() :] for close in _THOUGHT_CLOSES.finditer(text)]
    if len(tails) > _MOST_CLOSINGS:
        return _Failure("ambiguous_thinking", f"the reply closes its thoughts {len(tails)} times")
    if opened or not tails:
        return [text, *tails]
    # Without an opening tag the start is a thought, unless the verdict already stands there.
    if rules.place == "first" and isinstance(_read_reply(text, rules, cut=False), _Found):
        return [text]
    return tails


def _read_reply(text: str, rules: VerdictRules, *, cut: bool) -> _Found | _Failure:
    if not text.strip():
        return _cut("a word") if cut else _Failure("blank", "the judge wrote nothing")
    read = _read_first if rules.place == "first" else _read_last
    outcome = read(text.splitlines(keepends=True), rules, cut=cut)
    if (
        isinstance(outcome, _Failure)
        and outcome.reason in ("no_verdict", "cut")
        and looks_like_refusal(text)
    ):
        return _Failure("refused", f"the judge declined: {_show(text)}")
    return outcome


def _read_first(lines: Sequence[str], rules: VerdictRules, *, cut: bool) -> _Found | _Failure:
    """Read the first line that is neither blank nor a mere heading such as ``Scores:``."""
    filled = [i for i, line in enumerate(lines) if line.strip() and not is_heading(line)]
    if not filled:
        return _cut("the verdict") if cut else _no_verdict("the reply", lines[-1], rules)
    start = filled[0]
    end, line = _join_named(lines, start, rules, step=1)
    scanned = read_score_line(line)
    # The line after a named score may be the beginning of the next named one.
    reach = end + 1 if scanned and scanned.is_named else end
    ends_reply = cut and reach >= len(lines)
    if ends_reply and not _is_complete(line, scanned, rules):
        return _cut("the verdict")
    if scanned is None:
        return _no_verdict("the first line", line, rules)
    return _check(scanned, line, rules, reasons=scanned.rest + "\n" + "".join(lines[end:]))


def _read_last(lines: Sequence[str], rules: VerdictRules, *, cut: bool) -> _Found | _Failure:
    """Read the last announced verdict, or the last line if it holds scores and nothing else."""
    filled = [i for i, line in enumerate(lines) if line.strip(" \t\r\n*_`-=~")]
    for start in reversed(filled):
        tail = announced(lines[start])
        if tail is None and start != filled[-1]:
            continue
        begin, line = start, tail or lines[start]
        if tail is None:
            begin, line = _join_named(lines, start, rules, step=-1)
        elif is_heading(line) and start != filled[-1]:
            line = line.rstrip() + " " + lines[filled[filled.index(start) + 1]]
        scanned = read_score_line(line)
        if tail is None and scanned is None:
            continue
        if cut and not (start == filled[-1] and _is_complete(line, scanned, rules)):
            break
        if scanned is None:
            return _no_verdict("the last verdict", line, rules)
        before = lines[start].removesuffix(tail) if tail else ""
        return _check(scanned, line, rules, reasons="".join(lines[:begin]) + before)
    return _cut("the verdict") if cut else _no_verdict("the end of the reply", lines[-1], rules)


def _join_named(
    lines: Sequence[str], start: int, rules: VerdictRules, *, step: Literal[1, -1]
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


def _is_complete(line: str, scanned: ScoreLine | None, rules: VerdictRules) -> bool:
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


def _check(
    scanned: ScoreLine, line: str, rules: VerdictRules, *, reasons: str
) -> _Found | _Failure:
    """Return the scores if they are as many as due, in their sequence and on the scale."""
    found = len(scanned.scores)
    if found != rules.count:
        reason: Reason = "too_few_scores" if found < rules.count else "too_many_scores"
        due = f"{rules.count} {'is' if rules.count == 1 else 'are'} due"
        return _Failure(reason, f"found {found} where {due} in {_show(line)}")
    scores = scanned.scores
    if scanned.is_named and rules.count > 1:
        scores = tuple(sorted(scores, key=lambda score: score.name or 0))
        if [score.name for score in scores] != list(range(1, rules.count + 1)):
            return _Failure(
                "mixed_names", f"the scores do not name each answer once in {_show(line)}"
            )
    elif any(score.name for score in scores) and rules.count > 1:
        return _Failure("mixed_names", f"some scores name an answer, some do not, in {_show(line)}")
    return _off_scale(scores, line, rules) or _Found(tuple(s.value for s in scores), reasons)


def _off_scale(scores: Sequence[Score], line: str, rules: VerdictRules) -> _Failure | None:
    scale = f"{rules.low:g} to {rules.high:g}"
    for score in scores:
        if score.out_of is not None and score.out_of != rules.high:
            return _Failure(
                "wrong_scale",
                f"a score out of {score.out_of:g}, the scale is {scale}, in {_show(line)}",
            )
        if not rules.low <= score.value <= rules.high:
            return _Failure(
                "out_of_scale", f"{score.value:g} is not within {scale} in {_show(line)}"
            )
    return None


def _no_verdict(where: str, line: str, rules: VerdictRules) -> _Failure:
    due = "one score" if rules.count == 1 else f"{rules.count} scores"
    if _NOT_NUMBERS.search(line) and len(line.split()) <= rules.count + 3:
        return _Failure("not_a_number", f"{where} should hold {due}, found {_show(line)}")
    return _Failure("no_verdict", f"{where} should hold {due} alone, found {_show(line)}")


def _cut(what: str) -> _Failure:
    return _Failure("cut", f"the token limit cut the reply before the end of {what}")


def _show(text: str) -> str:
    shown = " ".join(text.split())
    if len(shown) > _SHOWN_CHARACTERS:
        shown = shown[:_SHOWN_CHARACTERS] + "…"
    return f"'{shown}'"
