"""The judges of a live cascade at work: a thread or several for each, answers in one queue.

Judging itself is what ``magistrate judge`` does, into a run folder for each judge. While a server
is asked, the judge that computes here goes on: all together take about as long as the slowest.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from queue import SimpleQueue

from magistrate.cascade.live_money import Purse, TierSpending
from magistrate.cascade.live_routing import FAILED, OK, UNREAD
from magistrate.judging.chunk import Manner
from magistrate.judging.window import OnOverflow
from magistrate.records import Decision, Judgment, Sample
from magistrate.store.cache import SqliteCache
from magistrate.store.growing import GrowingRun

SERVERS = frozenset({"openai"})
"""Engines that several threads may ask at once."""
THREADS = 4
"""For each server: while one waits for the last answers of its pairs, the others go on."""
PAIRS_AT_ONCE = 64
"""Pairs that a thread takes for a server; others take what their engine computes at once."""
_WAKE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Answered:
    """A judge read a pair."""

    pair: int
    tier: int
    kind: int
    """As :mod:`magistrate.cascade.live_routing` names them."""
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Ended:
    """A judge asks nothing more."""

    tier: int
    error: BaseException | None
    """What ended it; None where it was told that nothing more comes."""


Event = Answered | Ended


@dataclass(slots=True)
class _Open:
    """A pair under way."""

    pair: int
    sample: Sample
    missing: set[str]
    found: dict[str, Judgment]


class Tier:
    """One judge: give it pairs with :meth:`put`; its answers come as events."""

    def __init__(
        self,
        number: int,
        run: GrowingRun,
        sample_of: Callable[[int], Sample],
        events: SimpleQueue[Event],
        *,
        name: str,
        is_last: bool,
        purse: Purse,
        on_overflow: OnOverflow = "truncate",
        open_cache: Callable[[], AbstractContextManager[SqliteCache | None]] = nullcontext,
    ) -> None:
        """Take what it needs; nothing is asked yet.

        Args:
            number: Its place, from 0.
            run: Its run folder.
            sample_of: The sample of a pair.
            events: Where answers go.
            name: As the purse knows it.
            is_last: Whether nobody comes after it: then whatever is not ok waits.
            purse: The money of the cascade.
            on_overflow: As :func:`magistrate.judge`.
            open_cache: Makes the response cache of one thread.
        """
        self.number, self.run, self.is_last = number, run, is_last
        self.name = name
        self._sample_of, self._events, self._purse = sample_of, events, purse
        self._on_overflow, self._open_cache = on_overflow, open_cache
        info = run.judge.engine.info
        # With a limit of money the sequence in which pairs are paid for matters.
        is_server = info.engine in SERVERS
        self._count = THREADS if is_server and purse.limit is None else 1
        self._block = PAIRS_AT_ONCE if is_server else max(1, info.preferred_batch // 2)
        self._repeats_chunks = info.batch_dependent
        self._all: Sequence[int] | None = None
        self._waiting: deque[int] = deque()
        self._changed = threading.Condition()
        self._no_more = False
        self._halt = threading.Event()
        self._alive = self._count
        self._error: BaseException | None = None
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Begin to ask."""
        self._threads = [
            threading.Thread(target=self._work, name=f"cascade-{self.name}-{i}", daemon=True)
            for i in range(self._count)
        ]
        for thread in self._threads:
            thread.start()

    def put_all(self, pairs: Sequence[int]) -> None:
        """Give it the whole input at once, before it starts: then chunks are those of a plain run.

        So an engine whose last digits depend on the batch says the same after every resume.
        """
        self._all = pairs
        self._alive = self._count = 1

    def put(self, pairs: Sequence[int]) -> None:
        """Give it pairs, in the sequence in which they are to be asked."""
        with self._changed:
            self._waiting.extend(pairs)
            self._changed.notify_all()

    def finish(self) -> None:
        """Say that nothing more comes."""
        with self._changed:
            self._no_more = True
            self._changed.notify_all()

    def stop(self) -> None:
        """Ask for nothing more, also of what it has."""
        self._halt.set()
        self.finish()

    def join(self, seconds: float) -> bool:
        """Wait for its threads; return whether all have ended."""
        for thread in self._threads:
            thread.join(seconds)
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        spending = TierSpending(self._purse, self.name)
        try:
            with self._open_cache() as cache:
                manner = Manner(on_overflow=self._on_overflow, cache=cache, spending=spending)
                if self._all is not None:
                    self._judge(self._all, manner)
                while block := self._take():
                    self._judge(block, manner)
                    spending.done(broken_off=self._halt.is_set())
        except BaseException as error:  # handed to whoever takes the events
            self._error = self._error or error
            self._halt.set()
        finally:
            spending.done(broken_off=self._halt.is_set())
            with self._changed:
                self._alive -= 1
                last = not self._alive
                self._changed.notify_all()
            if last:
                self._events.put(Ended(self.number, self._error))

    def _take(self) -> list[int]:
        """Return the next pairs; none when there will be none."""
        with self._changed:
            while not self._waiting and not self._no_more and not self._halt.is_set():
                self._changed.wait(_WAKE_SECONDS)
            if self._halt.is_set():
                return []
            number = min(self._block, len(self._waiting))
            return [self._waiting.popleft() for _ in range(number)]

    def _judge(self, pairs: Sequence[int], manner: Manner) -> None:
        if self._all is None:
            self.run.take(self._sample_of(pair) for pair in pairs)
        under_way: dict[str, _Open] = {}
        with closing(self.run.reader()) as reader:

            def samples() -> Iterator[Sample]:
                for pair in pairs:
                    sample = self._sample_of(pair)
                    keys = self.run.plan.keys_of(sample)
                    missing = {key for key in keys if self.run.is_missing(key)}
                    if missing:
                        found = {
                            key: known
                            for key in keys
                            if key not in missing and (known := reader.get(key)) is not None
                        }
                        one = _Open(pair, sample, missing, found)
                        under_way.update(dict.fromkeys(missing, one))
                    if missing or self._repeats_chunks:
                        yield sample

            with closing(self.run.judge_these(samples(), manner)) as batches:
                for batch in batches:
                    for judgment in batch:
                        self._note(under_way, judgment)
                    if self._halt.is_set():
                        return

    def _note(self, under_way: dict[str, _Open], judgment: Judgment) -> None:
        one = under_way.pop(judgment.key)
        one.missing.discard(judgment.key)
        one.found[judgment.key] = judgment
        if not one.missing:
            keys = self.run.plan.keys_of(one.sample)
            judgments = [one.found[key] for key in keys]
            decision = self.run.merged(0, one.sample, judgments)
            self._events.put(self.answer(one.pair, decision, judgments))

    def answer(self, pair: int, decision: Decision, judgments: Sequence[Judgment]) -> Answered:
        """Return what a decision of this judge means for the routing."""
        kind = OK
        if decision.status != "ok":
            kind = FAILED if self.is_last or decision.status == "error" else UNREAD
        return Answered(pair, self.number, kind, sureness(decision, judgments))


def sureness(decision: Decision, judgments: Sequence[Judgment]) -> float | None:
    """Return how sure a judge is of a decision.

    Its confidence; of a judge without probabilities the share of its readings that say what was
    decided. None where that cannot be told either.
    """
    if decision.status != "ok":
        return None
    if decision.confidence is not None:
        return decision.confidence
    if decision.preference is not None:
        said = [one.preference for one in judgments]
        return said.count(decision.preference) / len(said)
    if decision.ranking is not None:
        ranked = [one.ranking for one in judgments]
        return ranked.count(decision.ranking) / len(ranked)
    return None
