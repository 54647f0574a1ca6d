"""Requests to token ids that fit the model's window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from magistrate.engines.hf.chat import ChatTemplate, ReplyFrame
from magistrate.engines.hf.plain import PlainTokenizer, readable
from magistrate.engines.room import cut_middle, share_room
from magistrate.errors import EngineError
from magistrate.messages import Message, Part

CUT = " [...] "
"""Stands where something was cut out."""

FEWEST_TOKENS = 16
"""A slot is left at least so many; where there is no room for that, nothing is asked."""

_TRIES = 4


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request as token ids.

    Attributes:
        ids: At least one.
        anchor: The template's own last words, after the last control token or datum.
        reply: What the chat template puts around a reply.
        truncated: Tokens cut from each slot; slots that are whole are not named.
    """

    ids: tuple[int, ...]
    anchor: str
    reply: ReplyFrame
    truncated: dict[str, int] = field(default_factory=dict)


class PromptEncoder:
    """Encodes the prompts of one model."""

    def __init__(self, chat: ChatTemplate, plain: PlainTokenizer, context: int | None) -> None:
        """Take the chat template, the tokenizer, and the model's window in tokens."""
        self._chat = chat
        self._plain = plain
        self._context = context

    def encode(self, messages: Sequence[Message], *, reserve: int, thinks: bool = True) -> Prompt:
        """Return a prompt that leaves room for the reply.

        Args:
            messages: The prompt.
            reserve: Tokens kept for the reply.
            thinks: Whether a model that can may think before it replies.

        Raises:
            EngineError: The template and the reply alone fill the window, there are no words at
                all, or the chat template refuses the messages.
        """
        parts = self._chat.lay_out(messages, thinks=thinks)
        framed = messages[0].role != "text" and self._chat.is_there
        ids = self._ids(parts, framed)
        if not ids:
            raise EngineError("the prompt is empty; there is nothing to reply to")
        truncated: dict[str, int] = {}
        if self._context is not None and len(ids) > self._context - reserve:
            parts, ids, truncated = self._cut(parts, framed, len(ids), self._context - reserve)
        roles = tuple(message.role for message in messages)
        return Prompt(tuple(ids), self._anchor(parts), self._chat.reply(roles, thinks), truncated)

    def _ids(self, parts: Sequence[Part], framed: bool) -> list[int]:
        spans = self._plain.spans(parts)
        ids = self._plain.encode_spans(spans)
        prefix = list(self._plain.prefix)
        # A chat template writes its own start sign; it must not stand there twice.
        if framed or not prefix or (spans and spans[0].control == prefix[0]):
            return ids
        return prefix + ids

    def _cut(
        self, parts: list[Part], framed: bool, found: int, room: int
    ) -> tuple[list[Part], list[int], dict[str, int]]:
        """Cut the slots, the longest first, until all fits."""
        data = [i for i, part in enumerate(parts) if part.slot is not None]
        texts = {i: readable(parts[i].text) for i in data}
        offsets = {i: self._plain.offsets(text) for i, text in texts.items()}
        sizes = [len(offsets[i]) for i in data]
        own = found - sum(sizes)
        mark = self._plain.count(CUT)
        left = room - own - mark * len(data)
        for _ in range(_TRIES):
            if left < sum(min(size, FEWEST_TOKENS) for size in sizes):
                break
            shorter = list(parts)
            truncated: dict[str, int] = {}
            for i, keep in zip(data, share_room(sizes, left), strict=True):
                lost = len(offsets[i]) - keep
                slot = parts[i].slot
                if lost > 0 and slot is not None:
                    truncated[slot] = truncated.get(slot, 0) + lost
                    shorter[i] = Part(_without_middle(texts[i], offsets[i], keep), slot)
            ids = self._ids(shorter, framed)
            if len(ids) <= room:
                return shorter, ids, truncated
            left -= len(ids) - room
        reserve = (self._context or 0) - room
        raise EngineError(
            f"too_long: the prompt's own words take {own:,} tokens, the data {sum(sizes):,}; the "
            f"model reads {self._context:,}, of which {reserve:,} are kept for the reply"
        )

    def _anchor(self, parts: Sequence[Part]) -> str:
        words = ""
        for part in reversed(parts):
            if part.slot is not None:
                break
            words = part.text + words
        return self._plain.after_last_control(words)


def _without_middle(text: str, offsets: list[tuple[int, int]], keep: int) -> str:
    """Return a text of which about ``keep`` tokens are left, with a mark where the middle was."""
    kept = cut_middle(list(range(len(offsets))), keep)
    head = [token for place, token in enumerate(kept) if token == place]
    tail = kept[len(head) :]
    start = text[: offsets[head[-1]][1]] if head else ""
    end = text[offsets[tail[0]][0] :] if tail else ""
    return start + CUT + end
