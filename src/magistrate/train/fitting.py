"""What a training row loses when it is too long: reasons first, then the middle of answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from magistrate.engines.base import EngineInfo
from magistrate.engines.hf.encoding import RequestEncoder
from magistrate.judging.window import TOO_LONG, TooLongError, Window
from magistrate.messages import Completion, Request
from magistrate.prompts.text_family import TextFamily
from magistrate.prompts.writing import ReplyPiece
from magistrate.train.targets import Target, reads_back

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])[\"')\]*]*\s+|[。！？]\s*|\s*\n\s*")
_TRIES = 4


def shorter_reasons(
    family: TextFamily, target: Target, count: Callable[[str], int], room: int
) -> tuple[ReplyPiece, ...]:
    """Return the reply with as many whole sentences of its reasons as fit, from the beginning.

    Args:
        family: Writes the reply.
        target: The whole reply.
        count: Tokens of a reply's text.
        room: Most tokens; a reply without reasons is returned even if it takes more.
    """
    ends = [found.start() for found in _SENTENCE_ENDS.finditer(target.reasons)]
    starts = ["", *dict.fromkeys(target.reasons[:end].rstrip() for end in ends)]

    def reply(kept: int) -> tuple[ReplyPiece, ...]:
        return family.reply_pieces(target.value, starts[kept])

    fits, fails = 0, len(starts)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        text = "".join(piece.text for piece in reply(middle))
        fits, fails = (middle, fails) if count(text) <= room else (fits, middle)
    while fits and not reads_back(family, target.shown, target.value, reply(fits)):
        fits -= 1
    return reply(fits)


def fit_prompt(
    encoder: RequestEncoder, request: Request, max_tokens: int, *, reply: int
) -> tuple[Request, dict[str, int]]:
    """Return a request whose slots are cut so that the reply has room, and what was cut.

    The cutting is that of judging: answers fairly, the question only when nothing else helps,
    the instruction never.

    Raises:
        TooLongError: The instruction and a little of each slot do not fit.
    """
    reserve = reply
    for _ in range(_TRIES):
        fitted = Window(_Room(encoder, max_tokens), reserve).fit(request.messages)
        cut_request = replace(request, messages=fitted.messages)
        prompt, _tree = encoder.encode(cut_request)
        over = len(prompt.ids) + reply - max_tokens
        if over <= 0:
            return cut_request, dict(fitted.cut)
        reserve += over
    raise TooLongError(
        f"{TOO_LONG} cut as far as it goes, {over:,} tokens more than {max_tokens:,}"
    )


@dataclass(frozen=True, slots=True)
class _Room:
    """What a window must know of an engine: how it counts, and how much its model reads."""

    encoder: RequestEncoder
    max_tokens: int

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(engine="train", model="", context_tokens=self.max_tokens)

    def count_tokens(self, text: str) -> int:
        return self.encoder.plain.count(text)

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        raise NotImplementedError("nothing is asked while rows are fitted")

    def close(self) -> None:
        """Do nothing: there is no model."""
