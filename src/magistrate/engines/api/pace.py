"""How fast requests go out: how many at once, how many a minute, how many tokens a minute.

All of it lives on one event loop, so nothing here needs a lock against threads.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from types import TracebackType

SECONDS_BETWEEN_HALVINGS = 1.0
"""Refusals within this time are one overload: requests that were under way together."""


class Gate:
    """Lets a number of requests through at once: fewer when the server is overloaded.

    The number is halved at an overload, and grows by one for each round of successes, up to its
    first value ("additive increase, multiplicative decrease", as TCP does it: Chiu and Jain, 1989).
    """

    def __init__(self, most: int) -> None:
        """Open it for ``most`` requests."""
        self.most = most
        self.width = float(most)
        self.inside = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._halved_at = float("-inf")

    async def __aenter__(self) -> None:
        """Wait for a place."""
        while self.inside >= max(1, int(self.width)):
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            except BaseException:
                if turn.done() and not turn.cancelled():
                    self._let_in()  # the place was ours and is not needed
                else:
                    self._waiting.remove(turn)
                raise
        self.inside += 1

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Free the place."""
        self.inside -= 1
        self._let_in()

    def overloaded(self) -> None:
        """Let half as many through from now on."""
        now = time.monotonic()
        if now - self._halved_at >= SECONDS_BETWEEN_HALVINGS:
            self._halved_at = now
            self.width = max(1.0, min(self.width, self.inside) / 2)

    def succeeded(self) -> None:
        """Let a little more through."""
        if self.width < self.most:
            self.width = min(self.most, self.width + 1 / self.width)
            self._let_in()

    def _let_in(self) -> None:
        free = max(1, int(self.width)) - self.inside
        while self._waiting and free > 0:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1


class Pacer:
    """Spreads requests over time, evenly and without a burst at the beginning.

    In any time of T seconds at most ``1 + T * requests_per_minute / 60`` requests go out, and their
    tokens are at most those of one request more than the limit allows in that time.
    """

    def __init__(self, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        """Take the limits; None for none."""
        self._seconds_a_request = 60 / requests_per_minute if requests_per_minute else 0.0
        self._seconds_a_token = 60 / tokens_per_minute if tokens_per_minute else 0.0
        self._has_limits = bool(requests_per_minute or tokens_per_minute)
        self._next_request = 0.0
        self._next_tokens = 0.0
        self._paused_until = 0.0
        self._queue = asyncio.Lock()

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens are limited, so that they must be counted."""
        return self._seconds_a_token > 0

    async def turn(self, tokens: int) -> None:
        """Wait until a request of so many tokens may go out; first come, first served."""
        if not self._has_limits and self._paused_until <= time.monotonic():
            return
        async with self._queue:
            while (wait := self._wait()) > 0:
                await asyncio.sleep(wait)
            now = time.monotonic()
            self._next_request = now + self._seconds_a_request
            self._next_tokens = max(self._next_tokens, now) + tokens * self._seconds_a_token

    def correct(self, tokens: int) -> None:
        """Say that a request took so many tokens more (or fewer) than it was let out for."""
        self._next_tokens += tokens * self._seconds_a_token

    def pause(self, seconds: float) -> None:
        """Let nothing out for so long: the server asked for it."""
        self._paused_until = max(self._paused_until, time.monotonic() + seconds)

    def _wait(self) -> float:
        """Return the seconds until the next request may go out; none left when not above 0."""
        opens = max(self._paused_until, self._next_request, self._next_tokens)
        return opens - time.monotonic()
