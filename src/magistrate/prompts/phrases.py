"""Where a verdict in words stands: labels and rankings, on the first line or at the end.

The same rules hold for every kind of body. Verdict first: the first line, after blank lines and
mere headings, begins with the verdict. Reasons first: the last line that ends with a framed
verdict, or with one behind a label such as ``Verdict:``; or the last line of all, if it is the
verdict and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from magistrate.prompts.frames import SENTENCE_END, Framed, find_framed, is_quoted
from magistrate.prompts.numerals import fold_line
from magistrate.prompts.rules import VERDICT, Failure, Found, Place, Value, cut, show
from magistrate.prompts.scores import is_heading


@dataclass(frozen=True, slots=True)
class Body:
    """A verdict at the start of a text."""

    value: Value
    rest: str


BodyReader: TypeAlias = Callable[[str, bool], Body | Failure | None]
"""Reads a verdict at the start of a text; the flag says whether something announced it."""


class Phrase:
    """What to look for; made once for each family."""

    def __init__(
        self,
        read: BodyReader,
        frames: tuple[str, ...],
        place: Place,
        *,
        due: str,
        words: str,
        first_words: str,
        stems: tuple[str, ...],
        ends_in_sentence: bool = False,
    ) -> None:
        """Compile what announces the verdict.

        Args:
            read: Reads the verdict itself.
            frames: What may stand around it.
            place: Where it stands.
            due: What should stand there, in words.
            words: Pattern of nouns that announce the verdict, such as ``verdict|decision``.
            first_words: Further ones, that do so only where the verdict stands first.
            stems: Lower-case text of which ``words`` always has some: lines without it, and these
                are most, are passed over quickly.
            ends_in_sentence: Whether the last sentence of the last line may be the verdict too.
        """
        self.read = read
        self.frames = tuple(frame for frame in frames if frame != VERDICT)
        self.may_stand_alone = VERDICT in frames
        self.place = place
        self.due = due
        self.stems = stems
        self.ends_in_sentence = ends_in_sentence
        self.announces = _announcement(words)
        self.announces_first = _announcement(f"{words}|{first_words}")


@dataclass(frozen=True, slots=True)
class _Seen:
    """What a line holds."""

    outcome: Found | Failure
    complete: bool
    """Whether more text cannot make another verdict of it."""


_OPENING = (
    r"(?:(?:so|thus|hence|therefore|in\s+(?:conclusion|summary)|my|the|your|final|overall)"
    r"[\s,]+)*"
)
_LINE_START = re.compile(r"[\s*_`>#\"'“‘(\[-]*")
_SENTENCE_START = re.compile(r"[.!?…\"”')\]*]\s+(?=\S)|[。！？](?=\S)")
_PROSE = re.compile(r"[.!;,:。–—-]")
_NEXT_SENTENCE = re.compile(r"[.!;。](?:\s|$)|。")
_MOST_SHORT_WORDS = 4


def read_phrase(lines: Sequence[str], phrase: Phrase, *, is_cut: bool) -> Found | Failure:
    """Read the verdict of a reply, given as lines with their ends; at least one is not blank."""
    read = _read_first if phrase.place == "first" else _read_last
    return read(lines, phrase, is_cut=is_cut)


def _read_first(lines: Sequence[str], phrase: Phrase, *, is_cut: bool) -> Found | Failure:
    filled = (i for i, line in enumerate(lines) if line.strip() and not is_heading(line))
    start = next(filled, None)
    if start is None:
        return cut("the verdict") if is_cut else _no_verdict("the reply", lines[-1], phrase)
    line = lines[start]
    if _only_announces(line, phrase):
        start = next(filled, start)
        line = line.rstrip() + " " + lines[start]
    seen = _at_start(line, phrase)
    may_go_on = is_cut and start + 1 >= len(lines) and not line.endswith(("\n", "\r"))
    if may_go_on and (seen is None or not seen.complete):
        return cut("the verdict")
    if seen is None:
        return _no_verdict("the first line", line, phrase)
    if isinstance(seen.outcome, Failure):
        return seen.outcome
    reasons = seen.outcome.reasons + "\n" + "".join(lines[start + 1 :])
    return Found(seen.outcome.value, reasons)


def _read_last(lines: Sequence[str], phrase: Phrase, *, is_cut: bool) -> Found | Failure:
    filled = [i for i, line in enumerate(lines) if line.strip(" \t\r\n*_`-=~")]
    next_filled = 0
    for start in reversed(filled):
        line = lines[start]
        is_last = start == filled[-1]
        if not is_last and _only_announces(line, phrase):
            line = line.rstrip() + " " + lines[next_filled]
        next_filled = start
        seen = _at_end(line, phrase, is_last=is_last)
        if seen is None:
            continue
        ended = line.endswith(("\n", "\r"))
        if is_cut and not (is_last and (seen.complete or ended)):
            break
        if isinstance(seen.outcome, Failure):
            return seen.outcome
        return Found(seen.outcome.value, "".join(lines[:start]) + seen.outcome.reasons)
    return cut("the verdict") if is_cut else _no_verdict("the end of the reply", lines[-1], phrase)


def _at_start(line: str, phrase: Phrase) -> _Seen | None:
    """Return the verdict that a line begins with; prose may follow a framed or labelled one."""
    for frame in phrase.frames:
        for framed in find_framed(line, frame)[:1]:
            if _is_opening(framed.before, phrase):
                return _framed_at_start(framed, phrase)
    if not phrase.may_stand_alone:
        return None
    announced = phrase.announces_first.match(fold_line(line), _start_of(line))
    text = line[announced.end() :] if announced else line
    body = phrase.read(text, announced is not None)
    if isinstance(body, Failure):
        return _Seen(body, complete=False)
    if body is not None and announced and _PROSE.match(body.rest):
        return _Seen(Found(body.value, body.rest.lstrip(" .,;:!。–—-")), complete=True)
    if body is not None and SENTENCE_END.match(body.rest):
        # What follows may still make prose of it: ``1.`` of ``1. First``.
        return _Seen(Found(body.value), complete=False)
    return _Seen(_unknown(text, phrase), complete=False) if announced else None


def _framed_at_start(framed: Framed, phrase: Phrase) -> _Seen:
    body = phrase.read(framed.body, True)
    if isinstance(body, Failure):
        return _Seen(body, framed.closed)
    if body is None or (body.rest and (framed.closed or not _PROSE.match(body.rest))):
        return _Seen(_unknown(framed.body, phrase), framed.closed)
    reasons = framed.rest if framed.closed else body.rest
    return _Seen(
        Found(body.value, reasons.lstrip(" .,;:!。–—-*_`\"'")), framed.closed or bool(body.rest)
    )


def _at_end(line: str, phrase: Phrase, *, is_last: bool) -> _Seen | None:
    """Return the verdict that a line ends with."""
    seen = [
        _framed_at_end(line, found, phrase)
        for frame in phrase.frames
        if (found := find_framed(line, frame))
    ]
    if phrase.may_stand_alone:
        seen.append(_labelled_at_end(line, phrase))
        if is_last and not any(seen):
            seen.append(_whole_line(line, phrase))
    known = [each for each in seen if each is not None]
    # What one frame takes for nonsense may be plain in another: "Therefore, the order is: A > B".
    good = [each for each in known if isinstance(each.outcome, Found)]
    return next(iter(good or known), None)


def _framed_at_end(line: str, found: Sequence[Framed], phrase: Phrase) -> _Seen | None:
    last = found[-1]
    if last.closed and not SENTENCE_END.match(last.rest):
        return None
    if is_quoted(last.before, last.rest if last.closed else last.body):
        return None
    body = phrase.read(last.body, True)
    if isinstance(body, Failure):
        return _Seen(body, last.closed)
    if body is None or (body.rest and (last.closed or not _NEXT_SENTENCE.match(body.rest))):
        return _Seen(_unknown(last.body, phrase), last.closed)
    others = {_value(phrase.read(other.body, True)) for other in found[:-1]} - {None, body.value}
    if others and not last.before.rstrip(" *_`\"'“").endswith((":", "：")):
        words = f"the line names several verdicts, in {show(line)}"
        return _Seen(Failure("several_labels", words), last.closed)
    return _Seen(
        Found(body.value, _without_last_sentence(last.before)), last.closed or bool(body.rest)
    )


def _labelled_at_end(line: str, phrase: Phrase) -> _Seen | None:
    """Return a verdict behind a label that starts the line or its last sentence."""
    folded = fold_line(line)
    lowered = folded.casefold()
    if not any(stem in lowered for stem in phrase.stems):
        return None
    starts = [0, *[found.end() for found in _SENTENCE_START.finditer(folded)][-1:]]
    for start in reversed(starts):
        announced = phrase.announces.match(folded, _start_of(folded, start))
        if announced is None:
            continue
        text = line[announced.end() :]
        body = phrase.read(text, True)
        if isinstance(body, Failure):
            return _Seen(body, complete=False)
        if body is not None and (not body.rest or _PROSE.match(body.rest)):
            if start and not SENTENCE_END.match(body.rest):
                continue
            return _Seen(Found(body.value, line[:start]), bool(body.rest))
        if len(text.split()) <= _MOST_SHORT_WORDS:
            return _Seen(_unknown(text, phrase), complete=False)
    return None


def _whole_line(line: str, phrase: Phrase) -> _Seen | None:
    """Return a verdict that is all of the reply's last line."""
    starts = [0]
    if phrase.ends_in_sentence:
        starts += [found.end() for found in _SENTENCE_START.finditer(line)][-1:]
    for start in reversed(starts):
        body = phrase.read(line[start:], False)
        if isinstance(body, Failure):
            return _Seen(body, complete=False)
        if body is not None and SENTENCE_END.match(body.rest):
            return _Seen(Found(body.value, line[:start]), complete=False)
    return None


def _announcement(words: str) -> re.Pattern[str]:
    return re.compile(
        rf"{_OPENING}(?:{words})[*_`\"'\s]*(?:(?:is|are)\b[*_`\"'\s]*[:=]?|[:=])[*_`\"'\s]*",
        re.IGNORECASE,
    )


def _without_last_sentence(text: str) -> str:
    """Leave out the sentence that a verdict ends: it announces and gives no reason."""
    starts = [found.end() for found in _SENTENCE_START.finditer(text + "X")]
    return text[: starts[-1]] if starts else ""


def _only_announces(line: str, phrase: Phrase) -> bool:
    """Whether a line ends where its verdict should begin."""
    if phrase.may_stand_alone:
        if is_heading(line):
            return True
        text = line.strip(" \t\r\n*_`")
        if text.endswith((":", "：")):
            tail = text[len(_without_last_sentence(text)) :]
            if phrase.announces.fullmatch(fold_line(tail)):
                return True
    # Only a frame without an end can be left open; it then ends the line.
    return any(
        not found.body.strip(" *_`\"'\r\n")
        for frame in phrase.frames
        if frame.endswith(VERDICT)
        for found in find_framed(line, frame)[-1:]
    )


def _start_of(line: str, position: int = 0) -> int:
    """Return where the words of a line begin, after bullets and decoration."""
    skipped = _LINE_START.match(line, position)
    return skipped.end() if skipped else position


def _is_opening(before: str, phrase: Phrase) -> bool:
    """Whether nothing but decoration or a label stands before a frame."""
    plain = _LINE_START.sub("", fold_line(before), count=1)
    return not plain or phrase.announces_first.fullmatch(plain) is not None


def _value(body: Body | Failure | None) -> Value | None:
    return body.value if isinstance(body, Body) else None


def _unknown(text: str, phrase: Phrase) -> Failure:
    return Failure("unknown_label", f"found {show(text)} where {phrase.due} is due")


def _no_verdict(where: str, line: str, phrase: Phrase) -> Failure:
    return Failure("no_verdict", f"{where} should hold {phrase.due}, found {show(line)}")
