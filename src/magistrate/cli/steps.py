"""Which step of a longer piece of work is under way: a spinner on a terminal, else a line."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from magistrate.cli.progress import SECONDS_TO_FIRST_LINE
from magistrate.cli.terminal import Terminal, stderr_is_terminal

if TYPE_CHECKING:
    from rich.status import Status


class StepView:
    """Shows the step that is under way; entered around the work."""

    def __init__(self, terminal: Terminal, label: str) -> None:
        """Name the work; nothing is shown when the terminal is quiet."""
        self._terminal = terminal
        self._label = label
        self._status: Status | None = None
        self._begun = time.monotonic()

    def step(self, name: str) -> None:
        """Say which step begins; where there is no terminal only if the work takes long."""
        if self._status is not None:
            self._status.update(f"{self._label}: {name}")
        elif time.monotonic() - self._begun >= SECONDS_TO_FIRST_LINE:
            self._terminal.note(f"{self._label}: {name}")

    def __enter__(self) -> Self:
        """Draw the spinner, if there is a terminal for it."""
        if not self._terminal.quiet and stderr_is_terminal():
            from rich.console import Console

            self._status = Console(stderr=True).status(self._label)
            self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take the spinner away."""
        if self._status is not None:
            self._status.stop()
