"""A judge for tests of judging: counts words as tokens, replies as told, remembers what it saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from magistrate.engines.base import EngineInfo
from magistrate.judging.judge import Judge, make_judge
from magistrate.messages import Choices, Completion, Message, Part, Request, Sampling
from magistrate.prompts.base import Verdict
from magistrate.records import Answer, Probabilities, Sample, Usage

Reply = Callable[[Request], Completion]


def say(text: str, **values: Any) -> Reply:
    """Return what replies with a text; usage is by words."""

    def reply(request: Request) -> Completion:
        written = len(text.split())
        return Completion(
            request.key,
            text=text,
            usage=Usage(prompt_tokens=count_words(request), completion_tokens=written, requests=1),
            **values,
        )

    return reply


def count_words(request: Request) -> int:
    return sum(len(message.text.split()) for message in request.messages)


def slot_text(request: Request, slot: str) -> str:
    return "".join(
        part.text for message in request.messages for part in message.parts if part.slot == slot
    )


@dataclass
class WordEngine:
    """One word, one token."""

    reply: Reply = field(default_factory=lambda: say("8 5"))
    values: dict[str, Any] = field(default_factory=dict)
    """Fields of its info."""
    seen: list[Request] = field(default_factory=list)
    batches: list[int] = field(default_factory=list)

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(**{"engine": "words", "model": "w", "keeps_answers": False} | self.values)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        self.batches.append(len(requests))
        for request in requests:
            self.seen.append(request)
            yield self.reply(request)

    def close(self) -> None:
        pass


class PairFamily:
    """Two answers, two scores on the first line; in score mode the distribution over both."""

    name = "two"
    prompt_hash = "two-1"
    min_answers = 2
    max_answers: int | None = 2
    reads_alone = False

    def __init__(self, mode: str = "reason", max_tokens: int = 20) -> None:
        self.mode = mode
        self.sampling = Sampling(max_tokens=max_tokens)

    def choices(self, count: int) -> Choices:
        return Choices(("1", "2"), " ", count)

    def prompts(self, sample: Sample, order: Sequence[int]) -> tuple[tuple[Message, ...], ...]:
        parts = [Part("Judge these. "), Part(sample.question_text, "question")]
        for place, answer in enumerate(order, 1):
            parts += [
                Part(f" Answer {place}: "),
                Part(sample.answers[answer].text, f"answer_{place}"),
            ]
        return ((Message("user", tuple(parts)),),)

    def read(
        self, completions: Sequence[Completion], sample: Sample, order: Sequence[int]
    ) -> Verdict:
        completion = completions[0]
        if completion.choices:
            return Verdict("ok", "first", probabilities=Probabilities(first=1, tie=0, second=0))
        said = completion.text.split("\n")[0].split()
        if len(said) != 2:
            cut = completion.finish_reason == "length"
            return Verdict("truncated" if cut else "unparsed", error="cut: no two scores")
        first, second = map(float, said)
        outcome = "tie" if first == second else "first" if first > second else "second"
        return Verdict("ok", outcome, (first, second))  # type: ignore[arg-type]


def word_judge(
    reply: Reply | None = None, *, mode: str = "reason", max_tokens: int = 20, **values: Any
) -> tuple[Judge, WordEngine]:
    engine = WordEngine(reply or say("8 5"), values)
    return make_judge("words", PairFamily(mode, max_tokens), engine), engine  # type: ignore[arg-type]


def pair(question: str = "q", first: str = "a long answer", second: str = "short") -> Sample:
    return Sample(question=question, answers=(Answer(text=first), Answer(text=second)))


def words(number: int, word: str = "w") -> str:
    return " ".join(f"{word}{i}" for i in range(number))
