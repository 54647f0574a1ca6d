"""The loop of a live cascade: what judges answer goes to the router, what it sends up to judges."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from queue import Empty, SimpleQueue

from magistrate.cascade.live_folder import Pairs
from magistrate.cascade.live_money import Purse
from magistrate.cascade.live_routing import UNKNOWN, Router
from magistrate.cascade.live_tiers import Answered, Ended, Event, Tier
from magistrate.errors import CostLimitError, EngineError
from magistrate.formats.base import Notice
from magistrate.records import Status
from magistrate.store.progress import OnProgress, Progress

_WAKE_SECONDS = 0.2
_SECONDS_BETWEEN_REPORTS = 0.1
_TAKEN_AT_ONCE = 1_000
_SECONDS_TO_STOP = 1.0
_SECONDS_TO_CLOSE = 15.0

_STATUS: dict[int, Status] = {1: "ok", 2: "unparsed", 3: "error"}


class Loop:
    """One process's work on a cascade."""

    def __init__(
        self,
        pairs: Pairs,
        tiers: Sequence[Tier],
        router: Router,
        events: SimpleQueue[Event],
        purse: Purse,
        *,
        waits_for_all: bool = False,
        on_progress: OnProgress | None = None,
        tell: Callable[[Notice], None] = lambda _: None,
    ) -> None:
        """Take what was made ready.

        Args:
            pairs: What is judged.
            tiers: The judges, not started.
            router: The policy.
            events: Where the judges' answers come.
            purse: The money.
            waits_for_all: Whether nothing goes up before the first judge has read all.
            on_progress: Told how far it is.
            tell: Told what the user should know.
        """
        self._pairs, self._tiers, self._router = pairs, tiers, router
        self._events, self._purse = events, purse
        self._waits_for_all = waits_for_all
        self._on_progress, self._tell = on_progress, tell
        self._stored: list[dict[int, Answered]] = [{} for _ in tiers]
        self._waiting: list[set[int]] = [set() for _ in tiers]
        self._answers: Counter[int] = Counter()
        self._sent = 0
        self._resumed = 0
        self._fresh = 0
        self._began = time.monotonic()
        self._reported_at = 0.0
        self.broken: dict[int, EngineError] = {}
        """Judges that broke down, by place."""
        self.out_of_money: CostLimitError | None = None

    def run(self) -> None:
        """Go on until nothing more can be done.

        Raises:
            KeyboardInterrupt: The user asked to stop; the judges have ended.
            RunError: The disk is full or a folder cannot be written.
        """
        self._take_up()
        try:
            for tier in self._tiers:
                tier.start()
            self._route()
            while any(self._waiting):
                self._wait()
                if self._fresh >= max(1, len(self._pairs) // 500) or self._events.empty():
                    self._route()
                self._report()
        except BaseException:
            self._stop()
            raise
        for tier in self._tiers:
            tier.finish()
        for tier in self._tiers:
            tier.join(_SECONDS_TO_CLOSE)
        self._drain()
        self._report(last=True)

    def _take_up(self) -> None:
        """Read what the judges said before, and give all that is open to the first one."""
        for tier, stored in zip(self._tiers, self._stored, strict=True):
            for sample, judgments, decision in tier.run.known():
                pair = self._pairs.number.get(sample.text_id)
                if pair is not None:
                    stored[pair] = tier.answer(pair, decision, judgments)
        start, count = self._router.start, len(self._pairs)
        first = self._tiers[start]
        everything = iter(range(count))
        while block := list(islice(everything, _TAKEN_AT_ONCE)):
            first.run.take(self._pairs.sample(pair) for pair in block)
        self._sent = count
        for answered in self._stored[start].values():
            self._note(answered)
        self._resumed = sum(self._answers.values())
        self._waiting[start] = set(range(count)) - self._stored[start].keys()
        if self._waiting[start]:
            first.put_all(range(count))

    def _route(self) -> None:
        """Send up what the router says; what is known of it already is answered at once."""
        self._fresh = 0
        if self._waits_for_all:
            start = self._router.start
            all_in = not self._waiting[start] or start in self._router.down
            self._router.quota = None if all_in else 0
        while sent := self._router.send():
            self._sent += len(sent)
            again = False
            new: dict[int, list[int]] = {}
            for pair, tier in sent:
                if (known := self._stored[tier].get(pair)) is not None:
                    self._note(known)
                    self._resumed += 1
                    again = True
                else:
                    new.setdefault(tier, []).append(pair)
            for tier, pairs in new.items():
                self._waiting[tier].update(pairs)
                self._tiers[tier].put(pairs)
            if not again:
                return

    def _wait(self) -> None:
        """Take the events that are there; at least one, or a moment's time."""
        try:
            self._take(self._events.get(timeout=_WAKE_SECONDS))
        except Empty:
            return
        self._drain()

    def _drain(self) -> None:
        while True:
            try:
                event = self._events.get_nowait()
            except Empty:
                return
            self._take(event)

    def _take(self, event: Event) -> None:
        if isinstance(event, Answered):
            self._waiting[event.tier].discard(event.pair)
            self._note(event)
            return
        self._ended(event)

    def _note(self, answered: Answered) -> None:
        self._router.answer(answered.pair, answered.tier, answered.kind, answered.confidence)
        self._answers[answered.kind] += 1
        self._fresh += 1

    def _ended(self, event: Ended) -> None:
        error, number = event.error, event.tier
        self._waiting[number].clear()
        if error is None:
            return
        if isinstance(error, CostLimitError):
            self._router.spent.add(number)
            self.out_of_money = error
            self._tell(Notice(kind="budget-used-up", message=str(error)))
        elif isinstance(error, EngineError):
            self._router.down.add(number)
            self.broken[number] = error
            self._tell(
                Notice(
                    kind="judge-broke-down",
                    message=f"{self._tiers[number].run.judge.spec.name} asks nothing more: "
                    f"{error}; the other judges go on",
                )
            )
        else:
            raise error

    def _stop(self) -> None:
        """End the judges; what they know by now is kept."""
        self._purse.close()
        for tier in self._tiers:
            tier.stop()
        ended = [tier.join(_SECONDS_TO_STOP) for tier in self._tiers]
        for tier, has_ended in zip(self._tiers, ended, strict=True):
            if not has_ended:  # it waits for a server: let that end too
                tier.run.judge.close()
        for tier in self._tiers:
            tier.join(_SECONDS_TO_CLOSE)
        while not self._events.empty():
            event = self._events.get_nowait()
            if isinstance(event, Answered):
                self._note(event)

    def _report(self, *, last: bool = False) -> None:
        now = time.monotonic()
        if self._on_progress is None or (
            not last and now - self._reported_at < _SECONDS_BETWEEN_REPORTS
        ):
            return
        self._reported_at = now
        counts: Counter[Status] = Counter()
        for kind, number in self._answers.items():
            if kind != UNKNOWN:
                counts[_STATUS[kind]] += number
        self._on_progress(
            Progress(
                done=sum(self._answers.values()),
                total=self._sent,
                resumed=self._resumed,
                counts=counts,
                seconds=now - self._began,
                cost=self._purse.spent,
            )
        )
