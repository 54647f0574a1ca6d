"""What a model's chat template puts around messages.

The template is rendered once for each sequence of roles, with a mark in place of every message; the
text between the marks is the template's own, and may hold control tokens. So no message can change
what the template does, and nothing that a message says passes through it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from magistrate.errors import EngineError
from magistrate.ids import content_id
from magistrate.messages import Message, Part

# Unicode noncharacters, which no text holds.
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_MARK = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")

_FIXED_DATE = "{%- macro strftime_now(format) -%}26 Jul 2024{%- endmacro -%}"
"""Templates that print today's date would make another prompt tomorrow."""

_PARAGRAPH = "\n\n"


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the messages of one sequence of roles.

    Attributes:
        pieces: One more than there are messages: before the first, between them, after the last.
        joins: The system message and the first of the user are one, since the template has no
            place for a system message.
    """

    pieces: tuple[str, ...]
    joins: bool = False


@dataclass(frozen=True, slots=True)
class ReplyFrame:
    """What stands around a reply.

    Attributes:
        before: Blanks between the prompt and the reply.
        after: What follows the reply; begins with the sign that ends a turn.
    """

    before: str = ""
    after: str = ""


class ChatTemplate:
    """A tokenizer's chat template, or none."""

    def __init__(self, tokenizer: Any, *, use: bool = True) -> None:
        """Take the template.

        Args:
            tokenizer: A tokenizer of transformers.
            use: Whether to use its template, if it has one.
        """
        self._tokenizer = tokenizer
        self._source = _source(tokenizer) if use else None
        # Bound to the instance, so that the cache goes when the instance goes.
        self._frame = lru_cache(maxsize=64)(self._make_frame)
        self.reply = lru_cache(maxsize=64)(self._reply)

    @property
    def name(self) -> str:
        """A hash of the template; ``none`` without one."""
        return "none" if self._source is None else content_id(self._source)[:16]

    @property
    def is_there(self) -> bool:
        """Whether there is a template."""
        return self._source is not None

    def lay_out(self, messages: Sequence[Message], *, thinks: bool = True) -> list[Part]:
        """Return the parts of a whole prompt: the template's own words have no slot.

        Args:
            messages: The prompt; a single message of role ``text`` is taken as it is. If the last
                one is the assistant's, the reply goes on from it.
            thinks: Whether a model that can may think before it replies.

        Raises:
            EngineError: The template refuses the roles.
        """
        if messages[0].role == "text":
            return [part for message in messages for part in message.parts]
        if self._source is None:
            return self._joined(messages)
        frame = self._frame(tuple(message.role for message in messages), thinks)
        contents = [list(message.parts) for message in messages]
        if frame.joins:
            first = [*contents[0], Part(_PARAGRAPH), *contents[1]]
            contents = [first, *contents[2:]]
        parts = [Part(frame.pieces[0])]
        for content, piece in zip(contents, frame.pieces[1:], strict=True):
            parts += [*content, Part(piece)]
        return [part for part in parts if part.text]

    def _reply(self, roles: tuple[str, ...], thinks: bool = True) -> ReplyFrame:
        """Return what the template puts around a reply to messages of these roles."""
        if self._source is None or roles[0] == "text" or roles[-1] == "assistant":
            return ReplyFrame()
        if self._frame(roles, thinks).joins:
            roles = roles[1:]
        prompt = self._render(roles, prompt=True, thinks=thinks)
        try:
            whole = self._render((*roles, "assistant"), prompt=False, thinks=thinks)
        except EngineError:
            return ReplyFrame()
        mark = f"{_OPEN}{len(roles)}{_CLOSE}"
        if not whole.startswith(prompt) or whole.count(mark) != 1:
            return ReplyFrame()
        before, after = whole[len(prompt) :].split(mark)
        return ReplyFrame(before if not before.strip() else "", after)

    def _make_frame(self, roles: tuple[str, ...], thinks: bool) -> Frame:
        goes_on = roles[-1] == "assistant"
        try:
            return Frame(_pieces(self._render(roles, not goes_on, thinks), len(roles), goes_on))
        except EngineError:
            if roles[0] != "system" or len(roles) == 1:
                raise
        rest = roles[1:]
        return Frame(_pieces(self._render(rest, not goes_on, thinks), len(rest), goes_on), True)

    def _render(self, roles: Sequence[str], prompt: bool, thinks: bool) -> str:
        source = self._source or ""
        if "strftime_now" in source:
            source = _FIXED_DATE + source
        chat = [
            {"role": role, "content": f"{_OPEN}{place}{_CLOSE}"} for place, role in enumerate(roles)
        ]
        settings = {} if thinks else {"enable_thinking": False}
        try:
            text = self._tokenizer.apply_chat_template(
                chat, chat_template=source, tokenize=False, add_generation_prompt=prompt, **settings
            )
        except Exception as error:  # Jinja's own errors, and whatever a template's code runs into
            raise EngineError(
                f"the model's chat template does not take messages of {', '.join(roles)}: {error}; "
                f"use a family of other roles, or the engine option chat_template=none"
            ) from error
        return str(text)

    def _joined(self, messages: Sequence[Message]) -> list[Part]:
        parts: list[Part] = []
        for message in messages:
            parts += [*message.parts, Part(_PARAGRAPH)]
        return parts[:-1] if messages[-1].role == "assistant" else parts


def _source(tokenizer: Any) -> str | None:
    if not getattr(tokenizer, "chat_template", None):
        return None
    return str(tokenizer.get_chat_template())


def _pieces(text: str, count: int, goes_on: bool) -> tuple[str, ...]:
    """Split a rendered template at its marks.

    Raises:
        EngineError: A message is missing, stands twice, or in another place.
    """
    found = _MARK.split(text)
    if found[1::2] != [str(place) for place in range(count)]:
        raise EngineError(
            "the model's chat template leaves out a message, or changes their sequence; "
            "use the engine option chat_template=none"
        )
    pieces = found[::2]
    if goes_on:
        pieces[-1] = ""
    return tuple(pieces)
