"""A reading on its way to the engine: rendered, fitted into the window, made into requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from magistrate.errors import MagistrateError
from magistrate.judging.judge import Judge
from magistrate.judging.plan import Reading
from magistrate.judging.window import TOO_LONG, CutsItself, Fitted, OnOverflow, TooLongError, Window
from magistrate.messages import Completion, Message, Request, Sampling
from magistrate.records import Judgment, Sample, Status, Usage

MORE_ROOM = 2
"""A verdict that the limit of its length cut short is asked for once more, with so many times the
limit."""


@dataclass(slots=True)
class Asked:
    """A reading under way: its requests, and their completions as they come."""

    reading: Reading
    requests: tuple[Request, ...]
    """One per prompt; the keys are :func:`request_key`."""
    cuts: tuple[Mapping[str, int], ...]
    """Per prompt: tokens cut from each slot so that it fits."""
    completions: list[Completion | None]
    usage_before: Usage = field(default_factory=Usage)
    """What replies took that were asked for once more."""
    cost_before: float = 0.0
    seconds_before: float = 0.0

    def take(self, completion: Completion) -> None:
        """Put a completion in its place; a failed second try leaves the first reply there."""
        part = part_of(completion.key)
        if completion.error is not None and self.completions[part] is not None:
            self._bill(completion)
        else:
            self.completions[part] = completion

    def ask_again(self, longer: Mapping[int, Request]) -> list[Request]:
        """Make room for longer replies to some requests, by part; return the requests.

        What the first replies took stays on the bill. They stay in place until better ones come.
        """
        for part in longer:
            first = self.completions[part]
            if first is not None:
                self._bill(first)
                self.completions[part] = replace(first, usage=Usage(), cost=0.0, seconds=0.0)
        return list(longer.values())

    def _bill(self, completion: Completion) -> None:
        self.usage_before += completion.usage
        self.cost_before += completion.cost
        self.seconds_before += completion.seconds


def request_key(reading_key: str, part: int) -> str:
    """Return the key of a request: the same in every run, so that it can stand in files."""
    return f"{reading_key}/{part}"


def reading_key_of(key: str) -> str:
    """Return the key of the reading that a request belongs to."""
    return key.partition("/")[0]


def part_of(key: str) -> int:
    """Return which prompt of its reading a request is, from 0."""
    return int(key.partition("/")[2])


class Asker:
    """Makes a judge's requests."""

    def __init__(self, judge: Judge, on_overflow: OnOverflow = "truncate") -> None:
        """Take the judge, and what becomes of prompts that are too long."""
        self._judge = judge
        self._on_overflow = on_overflow
        self.sampling: Sampling = judge.sampling
        self.window = Window(judge.engine, self.sampling.max_tokens)

    def ask(self, reading: Reading) -> Asked | Judgment:
        """Return the requests of a reading, or its failed judgment when it cannot be asked."""
        family = self._judge.family
        answers = len(reading.sample.answers)
        if answers < family.min_answers or (family.max_answers and answers > family.max_answers):
            return self.failure(reading, self._unfit(answers))
        try:
            prompts = family.prompts(reading.sample, reading.order)
            if not self._judge.engine.info.images and any(m.images for p in prompts for m in p):
                return self.failure(reading, self._blind(reading.sample))
            fitted = self._fit(prompts)
        except TooLongError as error:
            return self.failure(reading, str(error), status="truncated")
        except MagistrateError as error:
            return self.failure(reading, str(error))
        return self._asked(reading, fitted, shown=1 if family.reads_alone else answers)

    def with_more_room(self, request: Request, prompt_tokens: int = 0) -> Request | None:
        """Return a request whose reply may be longer; None where the window has no more room.

        Args:
            request: One whose reply was cut short.
            prompt_tokens: What its prompt took, where the engine said so.
        """
        most = MORE_ROOM * request.sampling.max_tokens
        if self.window.context is not None:
            prompt_tokens = prompt_tokens or self.window.tokens(request.messages)
            most = min(most, self.window.context - prompt_tokens)
        if most <= request.sampling.max_tokens:
            return None
        return replace(request, sampling=replace(request.sampling, max_tokens=most))

    def overflow(self, reading: Reading) -> str | None:
        """Return in words why a reading may not be asked for its length; None when it may."""
        outcome = self.ask(reading)
        if isinstance(outcome, Judgment) and outcome.status == "truncated":
            return outcome.error
        return None

    def failure(self, reading: Reading, error: str, *, status: Status = "error") -> Judgment:
        """Return the judgment of a reading that came to nothing."""
        return Judgment(
            key=reading.key,
            sample_id=reading.sample.text_id,
            judge=self._judge.spec.name,
            order=reading.order,
            repeat=reading.repeat,
            status=status,
            error=error,
        )

    def _fit(self, prompts: Sequence[tuple[Message, ...]]) -> list[Fitted]:
        cut = self._on_overflow == "truncate"
        fitted = [self.window.fit(messages, cut=cut) for messages in prompts]
        engine = self._judge.engine
        if not cut and isinstance(engine, CutsItself):
            requests = [Request(key="", messages=messages) for messages in prompts]
            for slots in engine.cuts(requests):
                if slots:
                    where = ", ".join(f"{name} by {lost:,}" for name, lost in slots.items())
                    raise TooLongError(
                        f"{TOO_LONG} the model reads {engine.info.context_tokens:,} tokens and "
                        f"would have to shorten {where} tokens"
                    )
        return fitted

    def _asked(self, reading: Reading, prompts: Sequence[Fitted], *, shown: int) -> Asked:
        sampling = self.sampling
        if reading.repeat:
            sampling = replace(sampling, seed=sampling.seed + reading.repeat)
        choices = self._judge.choices(shown)
        requests = tuple(
            Request(request_key(reading.key, part), prompt.messages, sampling, choices)
            for part, prompt in enumerate(prompts)
        )
        return Asked(
            reading, requests, tuple(prompt.cut for prompt in prompts), [None] * len(requests)
        )

    def _blind(self, sample: Sample) -> str:
        count = len(sample.images)
        return (
            f"the prompt shows {count} image{'s' if count != 1 else ''}, and engine "
            f"'{self._judge.spec.engine}' reads text alone; use an engine that shows images, such "
            f"as openai, or a family that shows none"
        )

    def _unfit(self, answers: int) -> str:
        family = self._judge.family
        fewest, most = family.min_answers, family.max_answers
        if most is None:
            needed = f"at least {fewest}"
        else:
            needed = f"{fewest}" if most == fewest else f"{fewest} to {most}"
        return (
            f"the sample has {answers} answer{'s' if answers != 1 else ''}; "
            f"family '{family.name}' needs {needed}"
        )
