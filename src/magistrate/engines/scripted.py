"""The scripted engine: replies by a fixed rule, without a model.

For tests, documentation and baselines. The rule is the model's name, with options after commas:
``scripted:longer``, ``scripted:first,delay=0.01``, ``scripted:random,nonsense=0.1,fail=0.05``.

========  ==========================================================================
rule      scores that the engine writes
========  ==========================================================================
longer    8 for the longest answer, 5 for the others, 7 for all when equally long
shorter   8 for the shortest answer, 5 for the others, 7 for all when equally short
first     8 for the answer shown first, 5 for the others
last      8 for the answer shown last, 5 for the others
tie       7 for all
random    drawn from 1 to 10 by a hash of the prompt, so the same prompt scores alike
swayed    8 for the winner, 5 for the others; the winner is drawn by a hash of the prompt,
          with odds that its tastes give (``swayed,position=0.8,length=1``: planted
          biases of known size, see :mod:`magistrate.engines.tastes`)
echo      none: repeats the last text that came from data, as a model that answers badly
words     none: words of that text in a sequence drawn by a hash, as one that babbles
nonsense  none: a sentence without a verdict
refuse    none: the engine declines
fail      none: the call fails
========  ==========================================================================

The scores are written in the form that the judge's family reads: on its scale, as its label, as a
ranking, as JSON. Where two scores are even and the family knows no tie, a hash of the prompt
decides. Without a family they stand as they are.

Lengths are those of the answers as they were written: an empty answer has none, whatever words
stand for it in the prompt.

Options: ``delay`` (seconds a request), ``nonsense``, ``refuse``, ``fail`` (share of requests,
0 to 1, that end that way instead; which ones is decided by a hash of the prompt).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from magistrate.engines.base import EngineInfo
from magistrate.engines.options import NoOptions, read_options
from magistrate.engines.tastes import STRONGEST, TASTES, swayed_scores
from magistrate.errors import EngineError
from magistrate.ids import content_id
from magistrate.messages import Completion, Request
from magistrate.records import Usage

RULES = (
    "longer", "shorter", "first", "last", "tie", "random", "swayed", "echo", "words", "nonsense",
    "refuse", "fail",
)  # fmt: skip
_SHARES = ("nonsense", "refuse", "fail")
_HIGH, _MIDDLE, _LOW = 8, 7, 5


class WritesReplies(Protocol):
    """A family that knows how a judge would put its scores."""

    def reply_of(self, scores: Sequence[float], reasons: str = "", *, coin: bool = True) -> str:
        """Return the reply; see :meth:`magistrate.prompts.text_family.TextFamily.reply_of`."""
        ...


@dataclass(frozen=True, slots=True)
class ScriptedEngine:
    """Answers every request by one rule."""

    rule: str
    delay: float = 0.0
    nonsense: float = 0.0
    refuse: float = 0.0
    fail: float = 0.0
    tastes: Mapping[str, float] = field(default_factory=dict)
    """Of the rule ``swayed``: how strongly it is drawn to what; see ``engines/tastes.py``."""
    family: WritesReplies | None = field(default=None, repr=False, compare=False)
    """Puts the scores into words."""

    def playing(self, family: Any) -> ScriptedEngine:
        """Return the engine as a judge of a family, where that can put scores into words."""
        return replace(self, family=family) if hasattr(family, "reply_of") else self

    @property
    def info(self) -> EngineInfo:
        """The rule and its options."""
        return EngineInfo(
            engine="scripted",
            model=self.rule,
            images=True,  # it looks at none, as it reads no question
            keeps_answers=False,
            settings={
                **{share: getattr(self, share) for share in _SHARES if getattr(self, share)},
                **self.tastes,
            },
        )

    def count_tokens(self, text: str) -> int:
        """Count words: the engine has no tokenizer."""
        return len(text.split())

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        """Answer the requests in sequence."""
        for request in requests:
            if self.delay:
                time.sleep(self.delay)
            yield self._answer(request)

    def close(self) -> None:
        """Nothing to free."""

    def _answer(self, request: Request) -> Completion:
        text = "".join(message.text for message in request.messages)
        draw = int(content_id([text, request.sampling.seed])[:8], 16) / 16**8
        ending = self._ending(draw)
        is_cut = False
        if ending == "fail":
            return Completion(
                key=request.key, finish_reason="error", error="the scripted engine was told to fail"
            )
        if ending == "nonsense":
            reply = "Both answers have something to say about the matter."
        elif ending == "refuse":
            reply = "I cannot evaluate these answers."
        elif self.rule in ("echo", "words"):
            reply, is_cut = self._writing(request, draw)
        else:
            reply = self._verdict(request, draw)
        usage = Usage(
            prompt_tokens=self.count_tokens(text),
            completion_tokens=self.count_tokens(reply),
            requests=1,
        )
        return Completion(
            key=request.key,
            text=reply,
            finish_reason="length" if is_cut else "stop",
            usage=usage,
            seconds=self.delay,
        )

    def _writing(self, request: Request, draw: float) -> tuple[str, bool]:
        """Return what a model without sense writes, and whether it ran out of room."""
        last = [part.text for part in request.messages[-1].parts if part.slot is not None]
        said = last[-1] if last else request.messages[-1].text
        if self.rule == "words" and (pool := said.split()):
            digits = content_id(["words", draw, self.rule])
            count = 3 + int(digits[:2], 16) % 20
            places = (int(content_id([digits, place])[:8], 16) for place in range(count))
            said = " ".join(pool[place % len(pool)] for place in places)
        words = said.split()
        room = request.sampling.max_tokens
        return (said, False) if len(words) <= room else (" ".join(words[:room]), True)

    def _ending(self, draw: float) -> str:
        if self.rule in _SHARES:
            return self.rule
        bound = 0.0
        for share in _SHARES:
            bound += getattr(self, share)
            if draw < bound:
                return share
        return "verdict"

    def _verdict(self, request: Request, draw: float) -> str:
        lengths: dict[str, int] = {}
        for message in request.messages:
            for part in message.parts:
                if part.slot and (part.slot == "answer" or part.slot.startswith("answer_")):
                    own = len(part.text) if part.characters is None else part.characters
                    lengths[part.slot] = lengths.get(part.slot, 0) + own
        if self.rule == "swayed":
            scores = swayed_scores(request, self.tastes)
        else:
            scores = self._scores(list(lengths.values()), draw)
        reasons = f"Scored by the rule '{self.rule}'."
        if self.family is not None:
            coin = int(content_id(["coin", draw])[0], 16) % 2 == 0
            return self.family.reply_of(scores, reasons, coin=coin)
        return f"{' '.join(map(str, scores))}\n{reasons}"

    def _scores(self, lengths: Sequence[int], draw: float) -> list[int]:
        count = len(lengths)
        if self.rule == "tie":
            return [_MIDDLE] * count
        if self.rule == "random":
            digits = content_id([draw, count])
            return [1 + int(digits[2 * i : 2 * i + 2], 16) % 10 for i in range(count)]
        if self.rule in ("first", "last"):
            chosen = 0 if self.rule == "first" else count - 1
            return [_HIGH if place == chosen else _LOW for place in range(count)]
        best = max(lengths) if self.rule == "longer" else min(lengths)
        if len(set(lengths)) == 1:
            return [_MIDDLE] * count
        return [_HIGH if length == best else _LOW for length in lengths]


def open_engine(
    model: str, url: str | None = None, options: Mapping[str, str] | None = None
) -> ScriptedEngine:
    """Open a scripted engine from ``rule[,option=value...]``.

    Raises:
        EngineError: The rule or an option is unknown, or a value is not a number in range.
    """
    read_options(NoOptions, "scripted", options or {})
    rule, *settings = model.split(",")
    if rule not in RULES:
        raise EngineError(f"scripted engine: no rule '{rule}'; rules: {', '.join(RULES)}")
    values: dict[str, Any] = {}
    tastes: dict[str, float] = {}
    known = ("delay", *_SHARES, *(TASTES if rule == "swayed" else ()))
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in known:
            raise EngineError(f"scripted engine: no option '{name}'; options: {', '.join(known)}")
        try:
            value = float(text)
        except ValueError:
            raise EngineError(
                f"scripted engine: option '{name}' needs a number, found '{text}'"
            ) from None
        low, high = (-STRONGEST, STRONGEST) if name in TASTES else (0, 60 if name == "delay" else 1)
        if not low <= value <= high:
            raise EngineError(f"scripted engine: option '{name}={text}' is out of range")
        (tastes if name in TASTES else values)[name] = value
    return ScriptedEngine(rule, tastes=tastes, **values)
