"""How a question and one answer become token ids. The encoder engine does the same at run time.

The template is part of the judge folder. Its own words may hold control tokens; the question and
the answer are encoded apart and as plain text, so no text of theirs becomes a control token or
merges with the template. What does not fit into the window is cut out of their middles, the longer
one first.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from tokenizers import Tokenizer

BEFORE = "<|im_start|>user\n"
BETWEEN = "<|im_end|>\n<|im_start|>assistant\n"
AFTER = "<|im_end|>"
TEMPLATE = BEFORE + "{{ question }}" + BETWEEN + "{{ answer }}" + AFTER
EMPTY = "(no response)"
CONTROL = re.compile(r"(<\|im_start\|>|<\|im_end\|>)")


@dataclass(frozen=True)
class Reading:
    """One question and answer as the model sees them.

    Attributes:
        ids: Token ids, at most the window.
        log_length: The length feature, log(1 + characters of the answer).
        cut: Tokens left out of question and answer.
    """

    ids: list[int]
    log_length: float
    cut: int


def squeeze(ids: list[int], room: int) -> list[int]:
    """Keep the first two thirds and the last third of what fits: openings and endings matter."""
    if len(ids) <= room:
        return ids
    tail = room // 3
    return ids[: room - tail] + ids[len(ids) - tail :]


class Layout:
    """Builds readings within a window of ``max_tokens``."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        self.tokenizer = tokenizer
        self.before, self.between, self.after = map(self.words, (BEFORE, BETWEEN, AFTER))
        own = len(self.before) + len(self.between) + len(self.after)
        self.room = max_tokens - own

    def encode(self, text: str) -> list[int]:
        """Ids of plain text; lone surrogates become replacement characters."""
        clean = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        ids: list[int] = self.tokenizer.encode(clean, add_special_tokens=False).ids
        return ids

    def words(self, template: str) -> list[int]:
        """Ids of the template's own words, control tokens included."""
        ids: list[int] = []
        for piece in CONTROL.split(template):
            known = self.tokenizer.token_to_id(piece) if CONTROL.fullmatch(piece) else None
            ids += self.encode(piece) if known is None else [known]
        return ids

    def read(self, question: str, answer: str) -> Reading:
        """Lay out one question and one answer."""
        q, a = self.encode(question.strip()), self.encode(answer.strip() or EMPTY)
        # The shorter one keeps up to half of the room, the longer one gets what is left.
        short = min(len(q), len(a), self.room // 2)
        room_q, room_a = (
            (short, self.room - short) if len(q) <= len(a) else (self.room - short, short)
        )
        short_q, short_a = squeeze(q, room_q), squeeze(a, room_a)
        cut = len(q) + len(a) - len(short_q) - len(short_a)
        ids = [*self.before, *short_q, *self.between, *short_a, *self.after]
        return Reading(ids, math.log1p(len(answer)), cut)
