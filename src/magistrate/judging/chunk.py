"""One chunk of readings through the engine: asked, answered, read, let out."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from magistrate.errors import EngineError
from magistrate.judging.asking import Asked, Asker, part_of, reading_key_of
from magistrate.judging.caching import CachedChunk, ResponseCache
from magistrate.judging.judge import Judge
from magistrate.judging.judgments import judgment_of, was_cut_short
from magistrate.judging.outbox import Outbox
from magistrate.judging.plan import Reading
from magistrate.judging.spending import Spending
from magistrate.judging.window import OnOverflow
from magistrate.messages import Completion, Request
from magistrate.records import Judgment


@dataclass(frozen=True, slots=True)
class Manner:
    """How readings are made, beside what identifies the judge."""

    on_overflow: OnOverflow = "truncate"
    cache: ResponseCache | None = None
    spending: Spending = field(default_factory=Spending)
    offline: bool = False
    """The engine has all the answers there will be: what it lacks stays open, and nothing is asked
    again."""


class ChunkJudge:
    """Judges chunks of readings."""

    def __init__(self, judge: Judge, manner: Manner) -> None:
        """Take the judge and how it is asked."""
        self._judge = judge
        self._manner = manner
        self._asker = Asker(judge, manner.on_overflow)

    def judge(
        self, readings: Sequence[Reading], wanted: Container[str]
    ) -> Iterator[list[Judgment]]:
        """Yield the wanted judgments of the readings as soon as they are known.

        Those of an engine whose output depends on the batch leave in sequence.

        Raises:
            EngineError: The engine cannot go on; all that was known has been yielded.
            CostLimitError: The next request could pass the limit; as above.
        """
        outbox = Outbox(readings, wanted, in_sequence=self._judge.engine.info.batch_dependent)
        asked: dict[str, Asked] = {}
        for reading in readings:
            outcome = self._asker.ask(reading)
            if isinstance(outcome, Judgment):
                outbox.add(outcome)
            else:
                asked[reading.key] = outcome
        short: dict[str, Judgment] = {}
        try:
            cached = self._cached(asked)
            yield from self._first_replies(asked, cached, outbox, short)
            yield from self._longer_replies(asked, cached, outbox, short)
        except (Exception, KeyboardInterrupt):
            # The engine gave up or the user stopped it: what is known is not lost.
            for judgment in short.values():
                outbox.add(judgment)
            if rest := outbox.rest():
                yield rest
            raise
        for key, item in asked.items():
            if key not in outbox and not self._manner.offline:
                error = "the engine returned no completion for this request"
                outbox.add(short.get(key) or self._asker.failure(item.reading, error))
        if rest := outbox.rest():
            yield rest

    def _cached(self, asked: dict[str, Asked]) -> CachedChunk | None:
        if self._manner.cache is None:
            return None
        return CachedChunk(
            self._manner.cache,
            self._judge.spec.id,
            [
                (request, item.reading.repeat)
                for item in asked.values()
                for request in item.requests
            ],
            batch_dependent=self._judge.engine.info.batch_dependent,
        )

    def _first_replies(
        self,
        asked: dict[str, Asked],
        cached: CachedChunk | None,
        outbox: Outbox,
        short: dict[str, Judgment],
    ) -> Iterator[list[Judgment]]:
        requests = [request for item in asked.values() for request in item.requests]
        for item in self._answered(requests, asked, cached.hits if cached else {}):
            judgment = judgment_of(self._judge, item)
            if was_cut_short(judgment) and not self._manner.offline:
                short[judgment.key] = judgment
                continue
            yield from self._settle(judgment, item, cached, outbox)

    def _longer_replies(
        self,
        asked: dict[str, Asked],
        cached: CachedChunk | None,
        outbox: Outbox,
        short: dict[str, Judgment],
    ) -> Iterator[list[Judgment]]:
        """Ask once more, with more room, for the verdicts that the limit cut short."""
        requests: list[Request] = []
        for key in list(short):
            if longer := self._longer(asked[key]):
                requests += asked[key].ask_again(longer)
            else:
                yield from self._settle(short.pop(key), asked[key], cached, outbox)
        for item in self._answered(requests, asked, {}):
            short.pop(item.reading.key, None)
            yield from self._settle(judgment_of(self._judge, item), item, cached, outbox)

    def _longer(self, item: Asked) -> dict[int, Request]:
        """Return the requests with more room, by part; none where the window has no more."""
        longer = {}
        for part, (request, known) in enumerate(zip(item.requests, item.completions, strict=True)):
            if known is not None and known.finish_reason == "length":
                more = self._asker.with_more_room(request, known.usage.prompt_tokens)
                if more is not None:
                    longer[part] = more
        return longer

    def _answered(
        self, requests: Sequence[Request], asked: dict[str, Asked], hits: dict[str, Completion]
    ) -> Iterator[Asked]:
        """Yield each reading when the last of the requests to it is answered."""
        open_parts: dict[str, set[int]] = {}
        for request in requests:
            open_parts.setdefault(reading_key_of(request.key), set()).add(part_of(request.key))
        for completion in self._complete(requests, hits):
            key, part = reading_key_of(completion.key), part_of(completion.key)
            if part not in open_parts.get(key, ()):
                raise EngineError(
                    f"engine '{self._judge.spec.engine}' answered a request twice, or one that was "
                    f"not made ({completion.key}); this is a fault of the engine"
                )
            open_parts[key].discard(part)
            asked[key].take(completion)
            if not open_parts[key]:
                yield asked[key]

    def _complete(
        self, requests: Sequence[Request], hits: dict[str, Completion]
    ) -> Iterator[Completion]:
        """Yield completions: those at hand, then the engine's, in slices that the money allows."""
        yield from (hits[request.key] for request in requests if request.key in hits)
        left = [request for request in requests if request.key not in hits]
        spending, engine = self._manner.spending, self._judge.engine
        while left:
            number = spending.affordable(left, engine, self._asker.window)
            now, left = left[:number], left[number:]
            with ExitStack() as stack:
                completions = engine.complete(now)
                if hasattr(completions, "close"):  # so that requests under way end with us
                    stack.callback(completions.close)
                for answered, completion in enumerate(completions, 1):
                    spending.add(completion.cost)
                    yield completion
                    if answered < number:
                        spending.check()

    def _settle(
        self, judgment: Judgment, item: Asked, cached: CachedChunk | None, outbox: Outbox
    ) -> Iterator[list[Judgment]]:
        if cached is not None and judgment.status == "ok":
            cached.keep(known for known in item.completions if known is not None)
        outbox.add(judgment)
        if ready := outbox.ready():
            yield ready
