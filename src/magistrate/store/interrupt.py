"""Stopping on request: Ctrl-C and SIGTERM end a run between writes, never inside one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Self


class RunInterrupted(KeyboardInterrupt):
    """The run was asked to stop; what was judged is on disk and the run can go on later.

    A :class:`KeyboardInterrupt`, so that code which lets Ctrl-C through lets this through too.
    """

    def __init__(self, message: str, number: int = signal.SIGINT) -> None:
        """Keep the message for the user and the signal's number.

        By custom the process then ends with ``exit_code``: 128 plus the signal's number.
        """
        super().__init__(message)
        self.number = number
        self.exit_code = 128 + int(number)


class Interruption:
    """While entered, SIGINT and SIGTERM raise :class:`RunInterrupted`, but not inside a shield.

    Handlers that a host program set are left alone, and outside the main thread (where Python
    allows no handlers) nothing is changed.
    """

    def __init__(self) -> None:
        self._shields = 0
        self._pending: int | None = None
        self._previous: dict[int, signal.Handlers | object] = {}

    def __enter__(self) -> Self:
        """Install the handlers."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                current = signal.getsignal(number)
                if current in (signal.default_int_handler, signal.SIG_DFL):
                    self._previous[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Put the earlier handlers back."""
        for number, previous in self._previous.items():
            signal.signal(number, previous)  # type: ignore[arg-type]  # what getsignal returned
        self._previous.clear()

    @contextmanager
    def shield(self) -> Iterator[None]:
        """Hold signals back until the block ends."""
        self._shields += 1
        try:
            yield
        finally:
            self._shields -= 1
        if self._pending is not None and not self._shields:
            number, self._pending = self._pending, None
            raise _stopped(number)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self._shields:
            self._pending = number
        else:
            raise _stopped(number)


def _stopped(number: int) -> RunInterrupted:
    name = signal.Signals(number).name
    return RunInterrupted(
        f"stopped by {name}; what was written before is safe, and the same command goes on", number
    )
