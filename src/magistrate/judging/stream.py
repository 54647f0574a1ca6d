"""Samples in, judgments out, chunk by chunk. Never touches the disk.

The plan (which readings, in which chunk, in which sequence) depends on the samples and settings
alone, never on what is already done. So a run that was killed and resumed yields the same
judgments in the same sequence as one that was not.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from magistrate.errors import MagistrateError
from magistrate.judging.judge import Judge
from magistrate.judging.orders import (
    Orders,
    preference_in_own_order,
    probabilities_in_own_order,
    to_own_order,
)
from magistrate.judging.plan import Plan, Reading
from magistrate.messages import Completion, Message, Request
from magistrate.prompts.base import Verdict
from magistrate.records import Judgment, Sample, Usage


def judge_samples(
    judge: Judge,
    samples: Iterable[Sample],
    *,
    orders: Orders = "both",
    repeats: int = 1,
    done: Container[str] = frozenset(),
) -> Iterator[list[Judgment]]:
    """Yield new judgments in the plan's sequence, as soon as they are known.

    Args:
        judge: Who judges.
        samples: What is judged; may be a stream.
        orders: ``both`` or ``given``.
        repeats: How often each order is read.
        done: Keys of judgments that exist already; these are not yielded again.

    Raises:
        EngineError: The engine cannot go on; all judgments made before have been yielded.
    """
    size = judge.engine.info.preferred_batch
    chunk: list[Reading] = []
    planned: set[bytes] = set()
    plan = Plan.of(judge, orders=orders, repeats=repeats)
    for sample in samples:
        for reading in plan.readings_of(sample):
            compact_key = bytes.fromhex(reading.key)
            if compact_key not in planned:
                planned.add(compact_key)
                chunk.append(reading)
        if len(chunk) >= size:
            yield from _judge_chunk(judge, chunk, done)
            chunk = []
    yield from _judge_chunk(judge, chunk, done)


@dataclass(slots=True)
class _Pending:
    """A reading under way: its requests' completions, filled in as they come."""

    reading: Reading
    completions: list[Completion | None]


class _Outbox:
    """Lets judgments out in the plan's sequence, whatever sequence they come in."""

    def __init__(self, sequence: Sequence[Reading], wanted: Container[str]) -> None:
        self._keys = [reading.key for reading in sequence]
        self._wanted = wanted
        self._finished: dict[str, Judgment] = {}
        self._position = 0

    def __contains__(self, key: str) -> bool:
        return key in self._finished

    def add(self, judgment: Judgment) -> None:
        self._finished[judgment.key] = judgment

    def ready(self) -> list[Judgment]:
        """Take out the judgments whose predecessors are all finished."""
        start = self._position
        while self._position < len(self._keys) and self._keys[self._position] in self._finished:
            self._position += 1
        return self._take(self._keys[start : self._position])

    def rest(self) -> list[Judgment]:
        """Take out what is left, with gaps."""
        start, self._position = self._position, len(self._keys)
        return self._take(self._keys[start:])

    def _take(self, keys: Sequence[str]) -> list[Judgment]:
        return [
            self._finished[key] for key in keys if key in self._finished and key in self._wanted
        ]


def _judge_chunk(
    judge: Judge, chunk: Sequence[Reading], done: Container[str]
) -> Iterator[list[Judgment]]:
    missing = [reading for reading in chunk if reading.key not in done]
    if not missing:
        return
    to_run = chunk if judge.engine.info.batch_dependent else missing
    outbox = _Outbox(to_run, {reading.key for reading in missing})
    pending, requests = _prepare(judge, to_run, outbox)
    try:
        for completion in judge.engine.complete(requests):
            index, part = map(int, completion.key.split("/"))
            item = pending[index]
            item.completions[part] = completion
            if all(known is not None for known in item.completions):
                outbox.add(_judgment(judge, item))
                if ready := outbox.ready():
                    yield ready
    except (Exception, KeyboardInterrupt):
        # The engine gave up or the user stopped it: what is known is not lost.
        if rest := outbox.rest():
            yield rest
        raise
    for item in pending:
        if item.reading.key not in outbox:
            outbox.add(
                _failure(judge, item.reading, "the engine returned no completion for this request")
            )
    if rest := outbox.rest():
        yield rest


def _prepare(
    judge: Judge, readings: Sequence[Reading], outbox: _Outbox
) -> tuple[list[_Pending], list[Request]]:
    """Return the requests of the readings; those that cannot be asked fail into the outbox."""
    pending: list[_Pending] = []
    requests: list[Request] = []
    for reading in readings:
        prompts = _render(judge, reading)
        if isinstance(prompts, Judgment):
            outbox.add(prompts)
            continue
        requests.extend(_requests(judge, reading, prompts, index=len(pending)))
        pending.append(_Pending(reading, [None] * len(prompts)))
    return pending, requests


def _render(judge: Judge, reading: Reading) -> tuple[tuple[Message, ...], ...] | Judgment:
    """Return the prompts of a reading, or its failed judgment when the sample does not fit."""
    family = judge.family
    count = len(reading.sample.answers)
    if count < family.min_answers or (family.max_answers and count > family.max_answers):
        most = family.max_answers
        needed = (
            f"{family.min_answers}"
            if most == family.min_answers
            else f"at least {family.min_answers}"
            if most is None
            else f"{family.min_answers} to {most}"
        )
        return _failure(
            judge,
            reading,
            f"the sample has {count} answer{'s' if count != 1 else ''}; "
            f"family '{family.name}' needs {needed}",
        )
    try:
        return family.prompts(reading.sample, reading.order)
    except MagistrateError as error:
        return _failure(judge, reading, str(error))


def _requests(
    judge: Judge, reading: Reading, prompts: tuple[tuple[Message, ...], ...], *, index: int
) -> Iterator[Request]:
    sampling = judge.family.sampling
    if reading.repeat:
        sampling = replace(sampling, seed=sampling.seed + reading.repeat)
    for part, messages in enumerate(prompts):
        yield Request(key=f"{index}/{part}", messages=messages, sampling=sampling)


def _judgment(judge: Judge, item: _Pending) -> Judgment:
    reading = item.reading
    completions = [known for known in item.completions if known is not None]
    failed = next((known for known in completions if known.error is not None), None)
    if failed is not None:
        verdict = Verdict(status="error", error=failed.error)
    else:
        verdict = judge.family.read(completions, reading.sample, reading.order)
    order = reading.order
    texts = [known.text for known in completions if known.text]
    return Judgment(
        key=reading.key,
        sample_id=reading.sample.text_id,
        judge=judge.spec.name,
        order=order,
        repeat=reading.repeat,
        status=verdict.status,
        preference=preference_in_own_order(verdict.preference, order)
        if verdict.preference
        else None,
        scores=to_own_order(verdict.scores, order) if verdict.scores else None,
        ranking=to_own_order(verdict.ranking, order) if verdict.ranking else None,
        probabilities=probabilities_in_own_order(verdict.probabilities, order)
        if verdict.probabilities
        else None,
        reasons=verdict.reasons,
        raw="\n\n".join(texts) if texts else None,
        error=verdict.error,
        finish_reason=completions[-1].finish_reason,
        truncated_tokens=_truncated_answers(completions, order, alone=judge.family.reads_alone),
        truncated_question_tokens=max(
            (known.truncated.get("question", 0) for known in completions), default=0
        ),
        usage=sum((known.usage for known in completions), Usage()),
        cost=sum(known.cost for known in completions),
        seconds=sum(known.seconds for known in completions),
    )


def _truncated_answers(
    completions: Sequence[Completion], order: tuple[int, ...], *, alone: bool
) -> tuple[int, ...]:
    """Return the tokens cut from each answer in own order; empty when nothing was cut."""
    if alone:
        shown = [known.truncated.get("answer", 0) for known in completions]
    else:
        cut = completions[0].truncated
        shown = [cut.get(f"answer_{place + 1}", 0) for place in range(len(order))]
    return to_own_order(shown, order) if any(shown) else ()


def _failure(judge: Judge, reading: Reading, error: str) -> Judgment:
    return Judgment(
        key=reading.key,
        sample_id=reading.sample.text_id,
        judge=judge.spec.name,
        order=reading.order,
        repeat=reading.repeat,
        status="error",
        error=error,
    )
