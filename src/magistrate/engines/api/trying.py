"""One request to a server, sent until it is answered, refused, or out of tries or time."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass

from magistrate.engines.api.budget import Budget
from magistrate.engines.api.client import Client, Response
from magistrate.engines.api.failures import Fatal, Problem, TryAgain
from magistrate.engines.api.pace import Gate, Pacer
from magistrate.engines.api.prices import Price
from magistrate.engines.api.replies import GarbledError, Reply, read_reply
from magistrate.engines.api.settings import ApiOptions
from magistrate.engines.api.waiting import backoff, spread, used_up
from magistrate.errors import MagistrateError

LEAST_SECONDS = 0.05
"""Of a try, when the deadline is near."""

_DRAW = random.Random()  # noqa: S311  # spreads waits; nothing is secret about them


class AbandonedError(Exception):
    """The engine is stopping; the request is left for another time."""


class Halt:
    """Says to all requests of one call that the engine is stopping, and why. Keeps their time."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self.error: MagistrateError | None = None
        self._event = asyncio.Event()
        self.in_flight: set[asyncio.Task[object]] = set()
        """Tasks whose request is with the server, and may be paid for already."""

    def lap(self) -> float:
        """Return the seconds since the last call: each completion's share of the wall time."""
        last, self._last = self._last, time.monotonic()
        return self._last - last

    def stop(self, error: MagistrateError) -> None:
        """Stop; the first reason stands."""
        if self.error is None:
            self.error = error
        self._event.set()

    def check(self) -> None:
        """Raise :class:`AbandonedError` when the engine is stopping."""
        if self.error is not None:
            raise AbandonedError

    async def wait(self) -> None:
        """Wait until the engine is stopping."""
        await self._event.wait()

    async def sleep(self, seconds: float) -> None:
        """Sleep, or raise :class:`AbandonedError` as soon as the engine is stopping."""
        try:
            await asyncio.wait_for(self._event.wait(), seconds)
        except TimeoutError:
            return
        raise AbandonedError


@dataclass(frozen=True, slots=True)
class Call:
    """One request as it is sent."""

    path: str
    body: bytes
    key: str
    """The same for all tries."""
    tokens: int
    """What prompt and reply may take together."""
    most: float
    """The most that it can cost, in US dollars."""


@dataclass(slots=True)
class Tries:
    """What became of the tries of one request."""

    options: ApiOptions
    sent: int = 0
    failures: int = 0
    """Tries that count; those that the server told to wait do not."""
    begun: float | None = None
    """When the first try was sent."""

    @property
    def seconds(self) -> float:
        """Since the first try."""
        return 0.0 if self.begun is None else time.monotonic() - self.begun

    def next_limit(self) -> float:
        """Return how long the next try may take."""
        if self.begun is None:
            self.begun = time.monotonic()
        left = self.options.deadline - self.seconds
        return max(LEAST_SECONDS, min(self.options.try_timeout, left))

    def note(self, error: TryAgain) -> None:
        """Count a failure."""
        if error.blame != "rate" or error.wait is None:
            self.failures += 1

    def wait_after(self, error: TryAgain) -> float | None:
        """Return how long to wait before the next try; None when there is none."""
        if error.wait is not None:
            wait = spread(error.wait, _DRAW)
        else:
            wait = backoff(max(1, self.failures), _DRAW)
        is_over = self.failures > self.options.max_retries
        return None if is_over or self.seconds + wait > self.options.deadline else wait


class Sender:
    """Sends requests, as fast as it may."""

    def __init__(self, client: Client, options: ApiOptions, price: Price | None) -> None:
        """Take what all requests share."""
        self.client = client
        self.gate = Gate(options.max_concurrency)
        self.pacer = Pacer(options.requests_per_minute, options.tokens_per_minute)
        self.budget = Budget(options.max_cost)
        self._options = options
        self._price = price

    async def send(self, call: Call, tries: Tries, halt: Halt) -> Reply:
        """Send a request until it is answered.

        Raises:
            TryAgain: There are no tries or no time left.
            Refused: The server will not take it.
            Fatal: The server will take none, or asks for more patience than there is.
            CostLimitError: It could pass the limit.
            AbandonedError: The engine is stopping.
        """
        while True:
            try:
                return await self._try(call, tries, halt)
            except TryAgain as error:
                wait = tries.wait_after(error)
                if wait is None:
                    self._check_patience(error)
                    raise
            await halt.sleep(wait)

    def _check_patience(self, error: TryAgain) -> None:
        """Stop at a server that asks to wait for longer than any request may take."""
        if error.wait is not None and error.wait > self._options.deadline:
            words = (
                f"{error.words}; it asks to wait {error.wait:,.0f} s, which is longer than the "
                f"deadline of {self._options.deadline:g} s: go on later, or set deadline=SECONDS"
            )
            raise Fatal(Problem(0, words)) from None

    async def _try(self, call: Call, tries: Tries, halt: Halt) -> Reply:
        async with self.gate:
            await self.pacer.turn(call.tokens)
            halt.check()
            await self.budget.reserve(call.most)
            cost = 0.0
            try:
                response, reply = await self._exchange(call, tries, halt)
                cost = self.cost_of(reply, call.most)
            except TryAgain as error:
                cost = call.most if error.may_be_billed else 0.0
                self._slow_down(error)
                tries.note(error)
                raise
            except asyncio.CancelledError:
                cost = call.most
                raise
            finally:
                self.budget.settle(call.most, cost)
            self.gate.succeeded()
        if reply.usage is not None:
            took = reply.usage.prompt_tokens + reply.usage.completion_tokens
            self.pacer.correct(took - call.tokens)
        if (wait := used_up(response.headers, time.time())) is not None:
            self.pacer.pause(min(wait, self._options.deadline))
        return reply

    async def _exchange(self, call: Call, tries: Tries, halt: Halt) -> tuple[Response, Reply]:
        limit = tries.next_limit()
        tries.sent += 1
        task = asyncio.current_task()
        if task is not None:
            halt.in_flight.add(task)
        try:
            response = await self.client.post(call.path, call.body, limit=limit, key=call.key)
        finally:
            if task is not None:
                halt.in_flight.discard(task)
        try:
            return response, read_reply(response.body, response.content_type)
        except GarbledError as error:
            raise TryAgain("garbled", str(error), may_be_billed=True) from None

    def _slow_down(self, error: TryAgain) -> None:
        if error.blame in ("rate", "server"):
            if error.blame == "rate" or error.wait is not None:
                self.gate.overloaded()
            if error.wait is not None:
                self.pacer.pause(min(error.wait, self._options.deadline))

    def cost_of(self, reply: Reply, otherwise: float) -> float:
        """Return what a reply cost.

        Args:
            reply: The reply.
            otherwise: What to assume of a server that does not say how many tokens it took.
        """
        if self._price is None:
            return reply.cost or 0.0
        return otherwise if reply.usage is None else self._price.cost(reply.usage)
