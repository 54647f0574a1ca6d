"""Requests to token ids without torch: control tokens in the template's own words, never in data.

Only the template's own words may hold control tokens. Slots are encoded by a second copy of the
tokenizer that knows no control tokens, so no question or answer can contain one. What does not fit
into the model's window is cut out of the middle of the longest slot, and reported.

Judges with a head read and are trained this way, on ONNX Runtime and in torch alike: the same
sample gives the same ids everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokenizers import Tokenizer

from magistrate.engines.room import cut_middle, share_room
from magistrate.messages import Message, Part, Request

_REPLACEMENT = "\ufffd"


@dataclass(frozen=True, slots=True)
class Reading:
    """One request as token ids.

    Attributes:
        ids: At most the model's window.
        truncated: Tokens cut from each slot; slots that fit are not named.
    """

    ids: list[int]
    truncated: dict[str, int]


class SlotEncoder:
    """Encodes prompts of own words and slots for one model."""

    def __init__(self, tokenizer: str | bytes, max_tokens: int) -> None:
        """Take the tokenizer.

        Args:
            tokenizer: The contents of a ``tokenizer.json``.
            max_tokens: Longest reading, the template's words included.
        """
        spec = json.loads(tokenizer)
        self._words = Tokenizer.from_str(json.dumps(spec))
        # Without its added tokens the tokenizer has no way to write a control token; unless the
        # vocabulary of its model holds them as ordinary words (those of T5 and DeBERTa do).
        self._plain = Tokenizer.from_str(json.dumps({**spec, "added_tokens": []}))
        for copy in (self._words, self._plain):
            copy.no_truncation()
            copy.no_padding()
        self._controls = _controls(spec)
        self._max_tokens = max_tokens

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` takes, encoded as plain text."""
        return len(self.plain_ids(text))

    def plain_ids(self, text: str) -> list[int]:
        """Return the ids of data, none of which is a control token."""
        return self._without_controls(clean(text))

    def encode(self, prompts: Sequence[Sequence[Message]]) -> list[Reading]:
        """Turn prompts into token ids that fit the model's window."""
        parts = [[part for message in prompt for part in message.parts] for prompt in prompts]
        texts = sorted({clean(p.text.strip()) for row in parts for p in row if p.slot is not None})
        encoded = self._plain.encode_batch(texts, add_special_tokens=False)
        ids = {
            text: found.ids
            if self._controls.isdisjoint(found.ids)
            else self._without_controls(text)
            for text, found in zip(texts, encoded, strict=True)
        }
        return [self._lay_out(row, ids) for row in parts]

    def encode_requests(self, requests: Sequence[Request]) -> list[Reading]:
        """Turn requests into token ids that fit the model's window."""
        return self.encode([request.messages for request in requests])

    def _without_controls(self, text: str) -> list[int]:
        """Encode text; what comes out as a control token is taken apart until it does not."""
        encoding = self._plain.encode(text, add_special_tokens=False)
        if self._controls.isdisjoint(encoding.ids):
            return list(encoding.ids)
        safe: list[int] = []
        for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            if token not in self._controls:
                safe.append(token)
            elif end - start > 1:
                middle = (start + end) // 2
                safe += self._without_controls(text[start:middle])
                safe += self._without_controls(text[middle:end])
            elif text[start:end] != _REPLACEMENT:
                safe += self._without_controls(_REPLACEMENT)
        return safe

    def _lay_out(self, parts: Sequence[Part], slots: dict[str, list[int]]) -> Reading:
        pieces = [
            self._words.encode(part.text, add_special_tokens=False).ids
            if part.slot is None
            else slots[clean(part.text.strip())]
            for part in parts
        ]
        own = sum(len(ids) for part, ids in zip(parts, pieces, strict=True) if part.slot is None)
        open_to_cuts = [i for i, part in enumerate(parts) if part.slot is not None]
        room = max(self._max_tokens - own, 0)
        kept = share_room([len(pieces[i]) for i in open_to_cuts], room)
        truncated: dict[str, int] = {}
        for i, keep in zip(open_to_cuts, kept, strict=True):
            lost = len(pieces[i]) - keep
            slot = parts[i].slot
            if lost > 0 and slot is not None:
                truncated[slot] = truncated.get(slot, 0) + lost
                pieces[i] = cut_middle(pieces[i], keep)
        return Reading([token for ids in pieces for token in ids], truncated)


def clean(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, which have no UTF-8 form."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _controls(spec: dict[str, Any]) -> frozenset[int]:
    """Return the ids that data must not have: the special tokens, but that of unknown words."""
    unknown = spec["model"].get("unk_token")
    # Unigram models name it by its place in the vocabulary.
    place = spec["model"].get("unk_id")
    return frozenset(
        token["id"]
        for token in spec.get("added_tokens", ())
        if token["special"] and token["content"] != unknown and token["id"] != place
    )
