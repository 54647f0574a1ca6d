"""Samples in, judgments out, chunk by chunk. Never touches the disk.

The plan (which readings, in which chunk, in which sequence) depends on the samples and settings
alone, never on what is already done. So a run that was killed and resumed yields the same
judgments as one that was not; in the same sequence, where the engine computes them here. Answers of
a server leave as they come, since each is paid for.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from magistrate.judging.asking import Asker
from magistrate.judging.chunk import ChunkJudge, Manner
from magistrate.judging.judge import Judge
from magistrate.judging.orders import Orders
from magistrate.judging.plan import Plan, Reading
from magistrate.judging.window import OnOverflow
from magistrate.messages import Request
from magistrate.records import Judgment, Sample


def judge_samples(
    judge: Judge,
    samples: Iterable[Sample],
    *,
    orders: Orders = "both",
    repeats: int = 1,
    done: Container[str] = frozenset(),
    manner: Manner | None = None,
) -> Iterator[list[Judgment]]:
    """Yield new judgments, chunk by chunk of the plan, as soon as they are known.

    Args:
        judge: Who judges.
        samples: What is judged; may be a stream.
        orders: ``both`` or ``given``.
        repeats: How often each order is read.
        done: Keys of judgments that exist already; these are not yielded again.
        manner: What becomes of long prompts, where answers are kept, what may be spent.

    Raises:
        EngineError: The engine cannot go on; all judgments made before have been yielded.
        CostLimitError: The next request could pass the limit; as above.
    """
    info = judge.engine.info
    plan = Plan.of(judge, orders=orders, repeats=repeats)
    chunk_judge = ChunkJudge(judge, manner or Manner())
    for chunk in chunks_of(samples, plan, info.preferred_batch):
        missing = [reading for reading in chunk if reading.key not in done]
        if missing:
            to_run = chunk if info.batch_dependent else missing
            yield from chunk_judge.judge(to_run, {reading.key for reading in missing})


def requests_for(
    judge: Judge,
    samples: Iterable[Sample],
    *,
    orders: Orders = "both",
    repeats: int = 1,
    done: Container[str] = frozenset(),
    on_overflow: OnOverflow = "truncate",
    short: Container[str] = frozenset(),
) -> Iterator[Request]:
    """Yield the requests that are still to be made, for somebody else to answer.

    Readings that cannot be asked have none; :func:`judge_samples` says of each why.

    Args:
        judge: Who judges.
        samples: What is judged; may be a stream.
        orders: ``both`` or ``given``.
        repeats: How often each order is read.
        done: Keys of readings that need no request.
        on_overflow: What becomes of prompts that are too long.
        short: Keys of readings whose replies need more room than they had.
    """
    asker = Asker(judge, on_overflow)
    plan = Plan.of(judge, orders=orders, repeats=repeats)
    for chunk in chunks_of(samples, plan, judge.engine.info.preferred_batch):
        for reading in chunk:
            if reading.key not in done:
                asked = asker.ask(reading)
                if isinstance(asked, Judgment):
                    continue
                for request in asked.requests:
                    more = asker.with_more_room(request) if reading.key in short else None
                    yield more or request


def chunks_of(samples: Iterable[Sample], plan: Plan, size: int) -> Iterator[list[Reading]]:
    """Yield the plan's readings in chunks of at least ``size``, each reading once.

    The readings of one sample are never torn apart.
    """
    chunk: list[Reading] = []
    planned: set[bytes] = set()
    for sample in samples:
        for reading in plan.readings_of(sample):
            compact_key = bytes.fromhex(reading.key)
            if compact_key not in planned:
                planned.add(compact_key)
                chunk.append(reading)
        if len(chunk) >= size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
