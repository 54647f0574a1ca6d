"""An event loop in a thread of its own, so that it works where another loop runs already."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_GATHER_SECONDS = 0.05
"""Items are handed over in bunches, at least so often: to wake another thread for each would cost
more than all else that is done for it."""
_WAKE_SECONDS = 0.5
"""Ctrl-C is seen at least so often, also where a waiting thread cannot be interrupted."""
_CLOSE_SECONDS = 10.0


class Job(Generic[T]):
    """A coroutine under way on the loop. It hands out items; they can be taken as they come."""

    def __init__(self) -> None:
        self._bunches: SimpleQueue[list[T] | None] = SimpleQueue()
        self._coming: list[T] = []
        self._taken: deque[T] = deque()
        self._task: asyncio.Task[Any] | None = None
        self._over = threading.Event()
        self.error: BaseException | None = None
        """What the coroutine ended with."""

    def put(self, item: T) -> None:
        """Hand out an item. Called on the loop."""
        if not self._coming:
            asyncio.get_running_loop().call_later(_GATHER_SECONDS, self._hand_over)
        self._coming.append(item)

    def take(self) -> T | None:
        """Wait for the next item; None when there are no more.

        Raises:
            KeyboardInterrupt: The user asked to stop.
        """
        while not self._taken:
            try:
                bunch = self._bunches.get(timeout=_WAKE_SECONDS)
            except Empty:
                continue
            if bunch is None:
                return None
            self._taken.extend(bunch)
        return self._taken.popleft()

    @property
    def is_over(self) -> bool:
        """Whether the coroutine has ended; items may be left."""
        return self._over.is_set()

    def wait(self) -> None:
        """Wait until the coroutine is over."""
        while not self._over.wait(_WAKE_SECONDS):
            pass

    def begin(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[Any]]) -> None:
        """Begin the coroutine. Called on the loop."""
        task = asyncio.get_running_loop().create_task(self._run(work))
        self._task = task
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        # Not in the coroutine: one that is cancelled before its first step never runs.
        task.add_done_callback(lambda _: self._finish(work))

    def cancel(self) -> None:
        """End the coroutine. Called on the loop."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except BaseException as error:  # handed to whoever takes the items
            self.error = error

    def _finish(self, work: Coroutine[Any, Any, None]) -> None:
        work.close()
        self._hand_over()
        self._bunches.put(None)
        self._over.set()

    def _hand_over(self) -> None:
        if self._coming:
            bunch, self._coming = self._coming, []
            self._bunches.put(bunch)


class LoopThread:
    """A thread that runs an event loop until it is closed."""

    def __init__(self, at_the_end: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Start it.

        Args:
            at_the_end: What is run on the loop before it ends.
        """
        self._at_the_end = at_the_end
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._lock = threading.Lock()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="magistrate-api", daemon=True)
        self._thread.start()

    def start(self, make: Callable[[Job[T]], Coroutine[Any, Any, None]]) -> Job[T]:
        """Begin a coroutine and return its job."""
        job: Job[T] = Job()

        with self._lock:
            if self._is_closed:
                raise RuntimeError("the loop is closed")
            self._loop.call_soon_threadsafe(lambda: job.begin(make(job), self._tasks))
        return job

    def stop(self, job: Job[Any]) -> None:
        """Cancel a job, and wait until all that it began has ended."""
        if job.is_over:
            return
        with self._lock:
            if not self._is_closed:
                self._loop.call_soon_threadsafe(job.cancel)
        job.wait()

    def close(self) -> None:
        """Cancel everything and end the thread. Calling it twice is harmless."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        if threading.current_thread() is not self._thread:
            self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(self._end())
        finally:
            asyncio.set_event_loop(None)
            self._loop.close()

    async def _end(self) -> None:
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._at_the_end()
        # Two turns of the loop, so that closed connections let go of their sockets.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
