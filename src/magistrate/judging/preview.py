"""What judging would send: prompts, token counts, cuts and costs. Nothing is sent."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from statistics import median

from magistrate.judging.asking import Asked, Asker, part_of
from magistrate.judging.judge import Judge
from magistrate.judging.plan import Plan
from magistrate.judging.window import CutsItself, OnOverflow
from magistrate.messages import MessageRole, Request
from magistrate.records import Judgment, Record, Sample

SHOWN_SAMPLES = 3
COUNTED_SAMPLES = 1_000
"""Samples whose tokens are counted. Of more they are drawn evenly, by the hash of their text."""


class ShownMessage(Record):
    """One message of a prompt."""

    role: MessageRole
    text: str
    images: tuple[str, ...] = ()
    """Paths or URLs of what is shown before the text."""


class ShownPrompt(Record):
    """A prompt as the judge would get it."""

    row: int
    """Place of the sample in the input, from 1."""
    source_id: str | None
    order: tuple[int, ...]
    answer: int | None
    """The sample's answer, from 0, that this prompt shows alone; None where it shows all."""
    messages: tuple[ShownMessage, ...]
    tokens: int
    cut: dict[str, int]
    """Tokens cut from each slot."""


class TokenCounts(Record):
    """Tokens of prompts, with what a chat template may add."""

    prompts: int
    """Prompts counted."""
    min: int
    median: float
    max: int
    total: int


class Preview(Record):
    """What judging would send and take."""

    samples: int
    readings: int
    """Judgments in all: distinct texts times orders times repeats."""
    to_judge: int
    """Of these, those that are still to be made."""
    prompts: tuple[ShownPrompt, ...]
    """Of the first samples."""
    counted_samples: int
    """Samples whose tokens were counted."""
    tokens: TokenCounts | None
    """None when no prompt could be made."""
    cut_readings: int
    """Of those counted: readings of which something is cut so that they fit."""
    cut_tokens: int
    not_asked: dict[str, int]
    """Of those counted: readings that cannot be asked, by the reason."""
    prompt_tokens: int
    """Estimate for all that is to be judged."""
    reply_tokens: int
    """The most that the replies can take."""
    price_unknown: bool
    """Whether judging costs money and nobody said how much."""
    cost: tuple[float, float] | None
    """In US dollars: with the shortest replies, with the longest; None where there is no price."""


def preview(
    judge: Judge,
    samples: Iterable[Sample],
    plan: Plan,
    *,
    on_overflow: OnOverflow = "truncate",
    done: Container[str] = frozenset(),
) -> Preview:
    """Look at what judging would send.

    Args:
        judge: Who would judge; its engine only counts tokens.
        samples: What would be judged; read once.
        plan: Which readings each sample gets.
        on_overflow: What becomes of prompts that are too long.
        done: Keys of judgments that exist already.
    """
    survey = _Survey(judge, plan, on_overflow, done)
    counted = heapq.nsmallest(COUNTED_SAMPLES, survey.pass_over(samples), lambda s: s.text_id)
    for sample in counted:
        survey.count(sample)
    return survey.result(len(counted))


class _Survey:
    """Counts over samples."""

    def __init__(
        self, judge: Judge, plan: Plan, on_overflow: OnOverflow, done: Container[str]
    ) -> None:
        self._judge = judge
        self._asker = Asker(judge, on_overflow)
        self._plan = plan
        self._done = done
        self._texts: set[bytes] = set()
        self._shown: list[ShownPrompt] = []
        self._samples = self._readings = self._to_judge = 0
        self._lengths: list[int] = []
        self._counted_readings = self._reply_tokens = 0
        self._cut_readings = self._cut_tokens = 0
        self._not_asked: Counter[str] = Counter()

    def pass_over(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Yield each distinct sample, and count readings on the way."""
        for row, sample in enumerate(samples, 1):
            self._samples += 1
            if row <= SHOWN_SAMPLES:
                self._show(row, sample)
            text = bytes.fromhex(sample.text_id)
            if text in self._texts:
                continue
            self._texts.add(text)
            keys = self._plan.keys_of(sample)
            self._readings += len(keys)
            self._to_judge += sum(key not in self._done for key in keys)
            yield sample

    def count(self, sample: Sample) -> None:
        """Count the tokens of a sample's prompts."""
        for reading in self._plan.readings_of(sample):
            if reading.repeat:
                continue
            asked = self._asker.ask(reading)
            if isinstance(asked, Judgment):
                self._not_asked[asked.error or "no reason given"] += 1
                continue
            self._counted_readings += 1
            for request in asked.requests:
                self._lengths.append(self._asker.window.tokens(request.messages))
                self._reply_tokens += _longest_reply(self._judge, request)
            lost = sum(sum(cut.values()) for cut in self._cuts(asked))
            self._cut_readings += bool(lost)
            self._cut_tokens += lost

    def result(self, counted_samples: int) -> Preview:
        """Return the whole."""
        scale = self._to_judge / self._counted_readings if self._counted_readings else 0.0
        prompt_tokens = round(sum(self._lengths) * scale)
        reply_tokens = round(self._reply_tokens * scale)
        price, cost = self._judge.engine.info.price, None
        if price is not None:
            prompts = prompt_tokens * price[0] / 1e6
            cost = (prompts, prompts + reply_tokens * price[1] / 1e6)
        return Preview(
            samples=self._samples,
            readings=self._readings,
            to_judge=self._to_judge,
            prompts=tuple(self._shown),
            counted_samples=counted_samples,
            tokens=self._token_counts(),
            cut_readings=self._cut_readings,
            cut_tokens=self._cut_tokens,
            not_asked=dict(self._not_asked.most_common()),
            prompt_tokens=prompt_tokens,
            reply_tokens=reply_tokens,
            price_unknown=self._judge.engine.info.price_unknown,
            cost=cost,
        )

    def _show(self, row: int, sample: Sample) -> None:
        asked = self._asker.ask(self._plan.readings_of(sample)[0])
        if isinstance(asked, Judgment):
            return
        order = asked.reading.order
        for request, cut in zip(asked.requests, self._cuts(asked), strict=True):
            self._shown.append(
                ShownPrompt(
                    row=row,
                    source_id=sample.source_id,
                    order=order,
                    answer=order[part_of(request.key)] if self._plan.reads_alone else None,
                    messages=tuple(
                        ShownMessage(role=message.role, text=message.text, images=message.images)
                        for message in request.messages
                    ),
                    tokens=self._asker.window.tokens(request.messages),
                    cut=dict(cut),
                )
            )

    def _cuts(self, asked: Asked) -> list[dict[str, int]]:
        engine = self._judge.engine
        if isinstance(engine, CutsItself):
            return engine.cuts(asked.requests)
        return [dict(cut) for cut in asked.cuts]

    def _token_counts(self) -> TokenCounts | None:
        if not self._lengths:
            return None
        return TokenCounts(
            prompts=len(self._lengths),
            min=min(self._lengths),
            median=median(self._lengths),
            max=max(self._lengths),
            total=sum(self._lengths),
        )


def _longest_reply(judge: Judge, request: Request) -> int:
    """Return how many tokens a reply can take; nothing is written where verdicts are weighed."""
    if request.choices or judge.engine.info.scores:
        return 0
    return request.sampling.max_tokens
