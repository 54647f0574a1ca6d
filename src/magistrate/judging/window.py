"""Prompts into a model's window: counted in tokens, cut fairly, and every cut marked.

What is the template's own is never cut. Of what came from data, the question and the rubric are
kept whole as long as the rest can do with what is left; the rest (answers, and whatever stands with
the question) is cut longest first down to one length, so that of two long answers as much is kept
of either. A cut takes out the middle, at blanks where there are some nearby, and a mark says how
much is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from magistrate.engines.base import Engine
from magistrate.engines.room import share_room
from magistrate.messages import Message, Part, Request

OnOverflow: TypeAlias = Literal["truncate", "skip", "error"]
"""What becomes of a prompt that is too long: it is cut, it is not asked, or nothing is judged."""

ON_OVERFLOW: tuple[OnOverflow, ...] = ("truncate", "skip", "error")

CUT_VERSION = 1
"""Raised whenever a prompt may be cut otherwise; part of what identifies a judge."""

KEPT_WHOLE = frozenset({"question", "rubric", "reply", "follow_up"})
"""Slots that are cut only when nothing else helps."""

FEWEST_TOKENS = 32
"""A slot is left at least so many tokens; before it gets fewer, the question is cut too."""

MESSAGE_TOKENS = 16
"""What a chat template may put around a message."""

PROMPT_TOKENS = 48
"""What it may put before the first one: a start sign, a system prompt of the model's own."""

IMAGE_TOKENS = 1000
"""What an image takes, about; providers count from 85 to 3000."""

TOO_LONG = "too_long:"
"""The first word of what is said of a prompt that does not fit, by engines too."""

_TEXTS_REMEMBERED = 1024
_STEPS = 10
_NEAR_TOKENS = 3
_NEAR_CHARACTERS = 40


class TooLongError(Exception):
    """A prompt does not fit; the message says what was found and how much there is."""


@runtime_checkable
class CutsItself(Protocol):
    """An engine that cuts prompts on its own, so that nobody else must."""

    def cuts(self, requests: Sequence[Request]) -> list[dict[str, int]]:
        """Return for each request how many tokens it would cut from which slot."""
        ...


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that fits."""

    messages: tuple[Message, ...]
    cut: Mapping[str, int] = field(default_factory=dict)
    """Tokens cut from each slot; slots that are whole are not named."""


def mark(tokens: int) -> str:
    """Return what stands where something was cut out."""
    return f" [... {tokens} token{'' if tokens == 1 else 's'} left out ...] "


class Window:
    """The room that an engine's model has for a prompt."""

    def __init__(self, engine: Engine, reserve: int) -> None:
        """Measure it.

        Args:
            engine: Counts tokens, and knows its context.
            reserve: Tokens kept for the reply.
        """
        self._count = lru_cache(maxsize=_TEXTS_REMEMBERED)(engine.count_tokens)
        self.context = engine.info.context_tokens
        """Tokens of prompt and reply together; None when unknown."""
        self._reserve = reserve
        self._cuts_itself = isinstance(engine, CutsItself)

    @property
    def room(self) -> int | None:
        """Tokens for the prompt; None when they are unknown, or the engine's own affair."""
        if self.context is None or self._cuts_itself:
            return None
        return self.context - self._reserve

    def tokens(self, messages: Sequence[Message]) -> int:
        """Return how many tokens a prompt takes at most, with what a chat template adds."""
        return _frame(messages) + sum(
            self._count(part.text) for message in messages for part in message.parts
        )

    def fit(self, messages: tuple[Message, ...], *, cut: bool = True) -> Fitted:
        """Return the prompt so that it fits.

        Args:
            messages: The prompt.
            cut: Whether it may be cut.

        Raises:
            TooLongError: It may not be cut, or there is no room for the template and a little of
                each slot.
        """
        room = self.room
        if room is None or self._surely_fits(messages, room):
            return Fitted(messages)
        tokens = self.tokens(messages)
        if tokens <= room:
            return Fitted(messages)
        if not cut:
            raise TooLongError(self._too_long("the prompt takes", tokens))
        return self._cut(messages, room)

    def _surely_fits(self, messages: tuple[Message, ...], room: int) -> bool:
        """Whether it fits without counting: no tokenizer makes more tokens than ASCII letters."""
        most = _frame(messages)
        for message in messages:
            for part in message.parts:
                text = part.text
                most += len(text) + 1 if text.isascii() else self._count(text)
                if most > room:
                    return False
        return True

    def _cut(self, messages: tuple[Message, ...], room: int) -> Fitted:
        parts = [part for message in messages for part in message.parts]
        sizes = [self._count(part.text) for part in parts]
        own = _frame(messages) + sum(
            size for part, size in zip(parts, sizes, strict=True) if part.slot is None
        )
        data = [i for i, part in enumerate(parts) if part.slot is not None]
        # A little is set aside: a text in two halves may take a token more than in one.
        allotted = self._allot(
            [sizes[i] for i in data],
            [parts[i].slot in KEPT_WHOLE for i in data],
            room - own - len(data),
            own,
        )
        cut: dict[str, int] = {}
        pieces: dict[int, tuple[Part, ...]] = {}
        for i, keep in zip(data, allotted, strict=True):
            slot = parts[i].slot
            if keep < sizes[i] and slot is not None:
                pieces[i], missing = self._without_middle(parts[i], sizes[i], keep)
                cut[slot] = cut.get(slot, 0) + missing
        fitted, place = [], 0
        for message in messages:
            own_pieces: list[Part] = []
            for part in message.parts:
                own_pieces.extend(pieces.get(place, (part,)))
                place += 1
            fitted.append(replace(message, parts=tuple(own_pieces)))
        return Fitted(tuple(fitted), cut)

    def _allot(self, sizes: Sequence[int], whole: Sequence[bool], room: int, own: int) -> list[int]:
        """Return how many tokens each slot may keep."""
        soft = [i for i, kept in enumerate(whole) if not kept]
        firm = [i for i, kept in enumerate(whole) if kept]
        fewest = sum(min(FEWEST_TOKENS, sizes[i]) for i in soft)
        for_firm = min(sum(sizes[i] for i in firm), room - fewest)
        if for_firm < sum(min(FEWEST_TOKENS, sizes[i]) for i in firm):
            raise TooLongError(self._too_long("the prompt's own words take", own))
        allotted = [0] * len(sizes)
        for i, keep in zip(firm, share_room([sizes[i] for i in firm], for_firm), strict=True):
            allotted[i] = keep
        left = room - sum(allotted)
        for i, keep in zip(soft, share_room([sizes[i] for i in soft], left), strict=True):
            allotted[i] = keep
        return allotted

    def _without_middle(self, part: Part, size: int, keep: int) -> tuple[tuple[Part, ...], int]:
        """Return the part in at most ``keep`` tokens, mark included, and how many it lost."""
        room = max(keep - self._count(mark(size)), 2)
        text, tail_room = part.text, room // 3
        head = _longest(lambda n: self._count(text[:n]), len(text), size, room - tail_room)
        tail = _longest(lambda n: self._count(text[len(text) - n :]), len(text), size, tail_room)
        head_text, tail_text = _at_blanks(text[:head], text[len(text) - tail :])
        missing = max(1, size - self._count(head_text) - self._count(tail_text))
        return (
            Part(head_text, part.slot),
            Part(mark(missing)),
            Part(tail_text, part.slot),
        ), missing

    def _too_long(self, what: str, tokens: int) -> str:
        return (
            f"{TOO_LONG} {what} {tokens:,} tokens; the model reads {self.context:,}, of which "
            f"{self._reserve:,} are kept for the reply"
        )


def _frame(messages: Sequence[Message]) -> int:
    if len(messages) == 1 and messages[0].role == "text":
        return 2  # start and end signs
    images = sum(len(message.images) for message in messages)
    return PROMPT_TOKENS + MESSAGE_TOKENS * len(messages) + IMAGE_TOKENS * images


def _longest(measure: Callable[[int], int], length: int, size: int, target: int) -> int:
    """Return about the most characters that take at most ``target`` tokens.

    Args:
        measure: Tokens of so many characters.
        length: Characters of the whole text.
        size: Its tokens, more than ``target``.
        target: Tokens to keep.
    """
    low, low_tokens, high, high_tokens = 0, 0, length, size
    for step in range(_STEPS):
        if high - low <= 1 or target - low_tokens <= _NEAR_TOKENS:
            break
        # By proportion, and by halves where the text is not even.
        share = (target - low_tokens) / (high_tokens - low_tokens) if step < _STEPS // 2 else 0.5
        middle = min(max(low + int((high - low) * share), low + 1), high - 1)
        tokens = measure(middle)
        if tokens <= target:
            low, low_tokens = middle, tokens
        else:
            high, high_tokens = middle, tokens
    return low


def _at_blanks(head: str, tail: str) -> tuple[str, str]:
    """Shorten the head to end, and the tail to begin, at a blank that is nearby."""
    ends = max(head.rfind(" "), head.rfind("\n"))
    if len(head) - ends <= _NEAR_CHARACTERS and ends > 0:
        head = head[:ends]
    starts = [at for at in (tail.find(" "), tail.find("\n")) if 0 <= at < _NEAR_CHARACTERS]
    if starts and min(starts) + 1 < len(tail):
        tail = tail[min(starts) + 1 :]
    return head, tail
