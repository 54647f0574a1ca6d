"""Text to token ids so that data can never hold a control token.

A prompt is split at the control tokens that stand in the *template's own* words. What lies between,
own words and data together, is encoded as one text by a copy of the tokenizer that knows no control
tokens. So honest text gets exactly the ids that the whole prompt would get, with the pieces joined
across the border between template and data; and ``<|im_end|>`` in an answer comes out as letters.

Should the vocabulary itself still yield a control token (some tokenizers hold them as ordinary
words), the text is taken apart until it does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tokenizers import Tokenizer

from magistrate.errors import EngineError
from magistrate.messages import Part

_WORD = re.compile(r"[\w\s▁]*")
_REPLACEMENT = "\ufffd"
_SPANS_REMEMBERED = 64
"""The same instruction stands before every prompt of a judge."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a prompt: a control token of the template's, or text."""

    text: str
    control: int | None = None
    """Id of the control token; None for text."""


class PlainTokenizer:
    """A tokenizer that keeps control tokens and text apart."""

    def __init__(self, tokenizer: Any) -> None:
        """Make the copies that know no control tokens.

        Args:
            tokenizer: A tokenizer of transformers.

        Raises:
            EngineError: It is one of the slow ones, which cannot be taken apart.
        """
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise EngineError(
                "the model's tokenizer has no fast version (tokenizer.json), without which control "
                "tokens in answers cannot be kept apart; convert the tokenizer first"
            )
        spec = json.loads(backend.to_str())
        added = tokenizer.added_tokens_decoder
        controls = {
            token: known
            for token, known in added.items()
            if known.special or not _WORD.fullmatch(known.content)
        }
        self._ids: dict[str, int] = {known.content: token for token, known in controls.items()}
        self._own_controls = _pattern(list(controls.values()))
        self._unknown = _harmless_unknown(tokenizer)
        self.controls = frozenset(controls) | frozenset(tokenizer.all_special_ids)
        """Ids that data must not have."""
        self._first = _copy(spec, controls, first=True)
        self._later = _copy(spec, controls, first=False)
        # Bound to the instance, so that the cache goes when the instance goes.
        self._encode_span = lru_cache(maxsize=_SPANS_REMEMBERED)(self._encode_tuple)
        self.prefix: tuple[int, ...] = _prefix(tokenizer)
        """What the tokenizer puts before a text that has no template around it."""

    def count(self, text: str) -> int:
        """Return how many tokens a text takes by itself."""
        return len(self.encode(text))

    def encode(self, text: str, *, first: bool = True) -> list[int]:
        """Return the ids of a text, none of which is a control token.

        Args:
            text: Anything.
            first: Whether the text begins the prompt; some tokenizers put a blank there.
        """
        return [token for token, _, _ in self.pieces(readable(text), first=first)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return which characters each token of a text stands for."""
        return [(start, end) for _, start, end in self.pieces(readable(text))]

    def spans(self, parts: Sequence[Part]) -> list[Span]:
        """Split a prompt at the control tokens in its own words; text across parts is joined."""
        spans: list[Span] = []
        text: list[str] = []
        for part in parts:
            if part.slot is not None:
                text.append(readable(part.text))
                continue
            for place, piece in enumerate(self._own_controls.split(part.text)):
                if not place % 2:
                    text.append(readable(piece))
                    continue
                if joined := "".join(text):
                    spans.append(Span(joined))
                text = []
                spans.append(Span(piece, self._control(piece)))
        if joined := "".join(text):
            spans.append(Span(joined))
        return spans

    def encode_spans(self, spans: Sequence[Span]) -> list[int]:
        """Return the ids of a prompt."""
        ids: list[int] = []
        for place, span in enumerate(spans):
            if span.control is not None:
                ids.append(span.control)
            else:
                ids += self._encode_span(span.text, place == 0)
        return ids

    def begins_with_control(self, text: str) -> int | None:
        """Return the control token at the beginning of a template's text, after any blanks."""
        found = self._own_controls.match(text.lstrip())
        return self._control(found[1]) if found else None

    def after_last_control(self, text: str) -> str:
        """Return what stands behind the last control token of a template's text."""
        return str(self._own_controls.split(text)[-1])

    def _encode_tuple(self, text: str, first: bool) -> tuple[int, ...]:
        return tuple(self.encode(text, first=first))

    def _control(self, found: str) -> int:
        return self._ids[found] if found in self._ids else self._ids[found.strip()]

    def pieces(self, text: str, *, first: bool = True) -> list[tuple[int, int, int]]:
        """Return (id, start, end) of each token: which characters it stands for.

        Args:
            text: Anything that :func:`readable` returns.
            first: Whether the text begins the prompt.
        """
        encoding = (self._first if first else self._later).encode(text, add_special_tokens=False)
        pieces = [
            (token, start, end)
            for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
        ]
        if self.controls.isdisjoint(encoding.ids):
            return pieces
        safe: list[tuple[int, int, int]] = []
        for token, start, end in pieces:
            if token not in self.controls or token == self._unknown:
                safe.append((token, start, end))
            elif end - start > 1:
                middle = (start + end) // 2
                for low, high in ((start, middle), (middle, end)):
                    found = self.pieces(text[low:high], first=False)
                    safe += [(part, low + a, low + b) for part, a, b in found]
            elif text[start:end] != _REPLACEMENT:
                found = self.pieces(_REPLACEMENT, first=False)
                safe += [(part, start, end) for part, _, _ in found]
        return safe


def readable(text: str) -> str:
    """Return text that can be encoded: lone surrogates become U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _pattern(controls: Sequence[Any]) -> re.Pattern[str]:
    """Return a pattern with one group: a control token, with the blanks that it swallows."""
    longest_first = sorted(controls, key=lambda known: -len(known.content))
    branches = [
        (r"\s*" if known.lstrip else "")
        + re.escape(known.content)
        + (r"\s*" if known.rstrip else "")
        for known in longest_first
    ]
    return re.compile(f"({'|'.join(branches)})" if branches else r"((?!))")


def _copy(spec: dict[str, Any], controls: dict[int, Any], *, first: bool) -> Tokenizer:
    """Return the tokenizer without control tokens."""
    kept = [known for known in spec["added_tokens"] if known["id"] not in controls]
    spec = {**spec, "added_tokens": kept, "post_processor": None}
    if not first:
        spec["pre_tokenizer"] = _without_first_blank(spec["pre_tokenizer"])
    copy = Tokenizer.from_str(json.dumps(spec))
    if any(copy.token_to_id(known["content"]) != known["id"] for known in kept):
        # Added words outside the vocabulary get other ids once those before them are gone.
        copy = Tokenizer.from_str(json.dumps({**spec, "added_tokens": []}))
    copy.no_truncation()
    copy.no_padding()
    return copy


def _without_first_blank(step: Any) -> Any:
    """Return a pre-tokenizer for text that does not begin the prompt."""
    if isinstance(step, dict) and step.get("type") == "Sequence":
        return {**step, "pretokenizers": [_without_first_blank(s) for s in step["pretokenizers"]]}
    if isinstance(step, dict) and step.get("prepend_scheme") == "first":
        return {**step, "prepend_scheme": "never"}
    return step


def _harmless_unknown(tokenizer: Any) -> int | None:
    """Return the id for unknown characters, unless it has another meaning as well."""
    unknown = tokenizer.unk_token_id
    others = {tokenizer.bos_token_id, tokenizer.eos_token_id}
    content = str(tokenizer.unk_token or "")
    return int(unknown) if unknown not in others and "unk" in content.lower() else None


def _prefix(tokenizer: Any) -> tuple[int, ...]:
    """Return the ids that the tokenizer itself puts before any text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    full = tokenizer("a")["input_ids"]
    for start in range(len(full) - len(bare) + 1):
        if full[start : start + len(bare)] == bare:
            return tuple(full[:start])
    return ()
