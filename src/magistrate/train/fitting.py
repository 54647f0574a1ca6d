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
from magistrate.train.targets import Target, reads_back

_SENTENCE_ENDS = re.compile(r"(?<=[.!?])[\"')\]*]*\s+|[。！？]\s*|\s*\n\s*")
_TRIES = 4


def shorter_reasons(
    family: TextFamily, target: Target, count: Callable[[str], int], room: int
) -> Target:
    """Return the reply with as many whole sentences of its reasons as fit, from the beginning.

    Args:
        family: Writes the reply.
        target: The whole reply.
        count: Tokens of a reply's text.
        room: Most tokens; a reply without reasons is returned even if it takes more.
    """
    ends = [found.start() for found in _SENTENCE_ENDS.finditer(target.reasons)]
    starts = ["", *dict.fromkeys(target.reasons[:end].rstrip() for end in ends)]

    def with_sentences(kept: int) -> Target:
        pieces = family.reply_pieces(target.value, starts[kept])
        return replace(target, pieces=pieces, reasons=starts[kept])

    fits, fails = 0, len(starts)
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if count(with_sentences(middle).text) <= room:
            fits = middle
        else:
            fails = middle
    while fits and not reads_back(family, with_sentences(fits)):
        fits -= 1
    return with_sentences(fits)


def fit_prompt(
    encoder: RequestEncoder, request: Request, found: int, room: int
) -> tuple[Request, dict[str, int]]:
    """Return a request whose slots are cut so that it fits, and what was cut.

    The cutting is that of judging: answers fairly, the question only when nothing else helps,
    the instruction never.

    Args:
        encoder: Counts tokens.
        request: One whose prompt is too long.
        found: Tokens of its prompt.
        room: Most tokens.

    Raises:
        TooLongError: The instruction and a little of each slot do not fit.
    """
    # A window guesses at most what a chat template adds; here that is known.
    guessed = Window(_Room(encoder, room), 0).tokens(request.messages)
    context = room + max(guessed - found, 0)
    for _ in range(_TRIES):
        try:
            fitted = Window(_Room(encoder, context), 0).fit(request.messages)
        except TooLongError:
            break
        shorter = replace(request, messages=fitted.messages)
        prompt, _tree = encoder.encode(shorter)
        if len(prompt.ids) <= room:
            return shorter, dict(fitted.cut)
        context -= len(prompt.ids) - room
    raise TooLongError(
        f"{TOO_LONG} the prompt takes {found:,} tokens and {room:,} fit beside the verdict, too "
        f"few for the instruction and a little of each text; raise the longest length"
    )


@dataclass(frozen=True, slots=True)
class _Room:
    """What a window must know of an engine: how it counts, and how much its model reads."""

    encoder: RequestEncoder
    tokens: int

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(engine="train", model="", context_tokens=self.tokens)

    def count_tokens(self, text: str) -> int:
        return self.encoder.plain.count(text)

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        raise AssertionError("nothing is asked while rows are fitted")

    def close(self) -> None:
        """Do nothing: there is no model."""
