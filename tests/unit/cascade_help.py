"""Judges for tests of live cascades: as sure as the question tells them to be, failing as told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from judging_help import PairFamily, slot_text

from magistrate.engines.base import EngineInfo
from magistrate.errors import EngineError
from magistrate.judging.judge import Judge, make_judge
from magistrate.messages import Completion, Request
from magistrate.prompts.base import Verdict
from magistrate.records import Answer, Gold, Probabilities, Sample, Usage

Rule = Callable[[str], str]
"""From a question to what the judge says: ``0.8 longer``, ``0.6 shorter``, ``nonsense``, ``fail``,
``down``, or a longer text that is no verdict."""


@dataclass
class SureEngine:
    """Follows a rule."""

    name: str
    rule: Rule
    delay: float = 0.0
    cost: float = 0.0
    values: dict[str, Any] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)
    """Questions, in the sequence in which they were asked; one a reading."""
    times: list[float] = field(default_factory=list)

    @property
    def info(self) -> EngineInfo:
        # Replies of 20 tokens at most: at its dearest a request costs what it does cost.
        return EngineInfo(
            **{
                "engine": "sure",
                "model": self.name,
                "keeps_answers": False,
                "preferred_batch": 8,
                "price": (0.0, self.cost * 1e6 / 20) if self.cost else None,
            }
            | self.values
        )

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def complete(self, requests: Sequence[Request]) -> Iterator[Completion]:
        for request in requests:
            time.sleep(self.delay)
            question = slot_text(request, "question")
            self.seen.append(question)
            self.times.append(time.monotonic())
            said = self.rule(question)
            if said == "down":
                raise EngineError("the engine is down")
            if said == "fail":
                yield Completion(request.key, finish_reason="error", error="told to fail")
                continue
            first, second = (len(slot_text(request, f"answer_{n}")) for n in (1, 2))
            if " " in said:
                sure, which = said.split(" ")
                side = "a" if (first > second) == (which == "longer") else "b"
                said = f"{sure} {side}"
            yield Completion(
                request.key,
                text=said,
                usage=Usage(prompt_tokens=10, completion_tokens=2, requests=1),
                cost=self.cost,
            )

    def close(self) -> None:
        pass


class SureFamily(PairFamily):
    """Reads ``0.8 a``: answer shown first, with that probability."""

    name = "sure"
    prompt_hash = "sure-1"

    def __init__(self, has_probabilities: bool = True) -> None:
        super().__init__()
        self.has_probabilities = has_probabilities

    def read(
        self, completions: Sequence[Completion], sample: Sample, order: Sequence[int]
    ) -> Verdict:
        said = completions[0].text.split()
        if len(said) != 2:
            return Verdict("unparsed", error="no verdict")
        sure, side = float(said[0]), said[1]
        if not self.has_probabilities:
            return Verdict("ok", "first" if side == "a" else "second")
        first, second = (sure, 1 - sure) if side == "a" else (1 - sure, sure)
        return Verdict(
            "ok",
            "first" if side == "a" else "second",
            probabilities=Probabilities(first=first, tie=0, second=second),
        )


def sure_judge(
    name: str,
    rule: Rule,
    *,
    delay: float = 0.0,
    cost: float = 0.0,
    has_probabilities: bool = True,
    **values: Any,
) -> tuple[Judge, SureEngine]:
    """A judge and its engine, which remembers what it was asked."""
    engine = SureEngine(name, rule, delay, cost, values)
    return make_judge(name, SureFamily(has_probabilities), engine), engine  # type: ignore[arg-type]


def as_told(question: str) -> str:
    """As sure of the longer answer as the question says: ``3 p=0.7``."""
    return f"{question.split('p=')[1].split()[0]} longer"


def pairs(*sures: float, label: bool = False, wrong: Sequence[int] = ()) -> list[Sample]:
    """Pairs whose first answer is the longer one, each with how sure a judge is of it.

    People prefer the longer one, but for those numbered in ``wrong``.
    """
    return [
        Sample(
            question=f"{number} p={sure}",
            answers=(Answer(text="a long answer", model="x"), Answer(text="short", model="y")),
            gold=(Gold(preference="second" if number in wrong else "first"),) if label else (),
        )
        for number, sure in enumerate(sures)
    ]
