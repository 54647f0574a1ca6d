"""Progress of a run on standard error: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from magistrate.cli.terminal import Terminal, stderr_is_terminal
from magistrate.report.text import counted, dollars, duration, harmless, three_digits

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress

    from magistrate.formats.base import Notice
    from magistrate.store.progress import Progress

SECONDS_TO_FIRST_LINE = 10.0
SECONDS_BETWEEN_LINES = 60.0


class ProgressView:
    """Shows how far a run is: give it to ``judge(on_progress=...)``, entered around the call."""

    def __init__(
        self,
        terminal: Terminal,
        label: str,
        noun: str = "reading",
        *,
        tells_resumed: bool = True,
    ) -> None:
        """Name what is under way; nothing is shown when the terminal is quiet.

        Args:
            terminal: Where it is shown.
            label: What is under way.
            noun: What is counted, one of it.
            tells_resumed: Whether to say at the beginning how much was there already; work whose
                steps depend on each other knows it only at the end.
        """
        self._label, self._noun, self._tells_resumed = label, noun, tells_resumed
        self._terminal = terminal
        self._bar: RichProgress | None = None
        self._next_line_at = time.monotonic() + SECONDS_TO_FIRST_LINE
        self.last: Progress | None = None
        """The last progress seen."""
        self.notices: list[Notice] = []
        """What was said while the run was under way."""

    def __enter__(self) -> Self:
        """Draw the bar, if there is a terminal for it."""
        if not self._terminal.quiet and stderr_is_terminal():
            self._bar = make_bar()
            self._bar.add_task(self._label, total=None, facts="reading")
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        """Show one progress report."""
        if self._tells_resumed and self.last is None and progress.resumed:
            self._say(
                f"{counted(progress.resumed, self._noun)} of {progress.total:,} already judged; "
                + ("nothing left to do" if progress.resumed == progress.total else "going on")
            )
        self.last = progress
        if self._bar is not None:
            task = self._bar.task_ids[0]
            self._bar.update(
                task, completed=progress.done, total=progress.total, facts=_facts(progress)
            )
        elif time.monotonic() >= self._next_line_at and progress.done < progress.total:
            self._next_line_at = time.monotonic() + SECONDS_BETWEEN_LINES
            share = f"{progress.done:,} of {counted(progress.total, self._noun)}"
            line = ", ".join(filter(None, (share, _facts(progress))))
            self._terminal.note(f"{self._label}: {line}")

    def notice(self, notice: Notice) -> None:
        """Say something that cannot wait for the end."""
        self.notices.append(notice)
        self._say(f"note: {notice.message}")

    @property
    def counts(self) -> dict[str, int]:
        """Readings judged before and in this process, and answers that the cache had."""
        if self.last is None:
            return {"already_judged": 0, "judged_now": 0, "from_cache": 0}
        resumed = self.last.resumed
        return {
            "already_judged": resumed,
            "judged_now": self.last.done - resumed,
            "from_cache": self.last.from_cache,
        }

    def _say(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(harmless(text), markup=False, highlight=False, soft_wrap=True)
        else:
            self._terminal.note(text)


def _facts(progress: Progress) -> str:
    """Return rate, time left and failures in words."""
    facts = []
    if progress.rate is not None:
        facts.append(f"{three_digits(progress.rate)}/s")
    if progress.seconds_left is not None and progress.done < progress.total:
        facts.append(f"{duration(progress.seconds_left)} left")
    if progress.cost:
        facts.append(dollars(progress.cost))
    if progress.from_cache:
        facts.append(f"{progress.from_cache:,} from the cache")
    failed = sum(count for status, count in progress.counts.items() if status != "ok")
    if failed:
        facts.append(f"{failed:,} not ok")
    return ", ".join(facts)


def make_bar() -> RichProgress:
    """Return a bar on standard error, without tasks."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[facts]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
