"""Exit codes, and errors told in one clear message."""

from __future__ import annotations

import json
import os
import sys
import traceback
from contextlib import suppress
from typing import Any

from magistrate.errors import MagistrateError

OK = 0
FAILED = 1
BAD_INPUT = 2
BAD_JUDGE = 3
BAD_RUN = 4
NOTHING_JUDGED = 5
COST_LIMIT = 6
WAITING = 7
INTERRUPTED = 130
READER_GONE = 141

EXIT_CODES: dict[int, str] = {
    OK: "done; bad rows and failed readings, if any, are listed in the output",
    FAILED: "the system refused something (such as space for the output), or magistrate has a "
    "fault; `--debug` shows where",
    BAD_INPUT: "a mistake in the command or its input; with `--strict` also any bad row",
    BAD_JUDGE: "the judge, its family or its engine cannot be used",
    BAD_RUN: "the run folder cannot be used: locked, damaged, not writable, or of another run",
    NOTHING_JUDGED: "the run ended, but not one sample has an `ok` decision",
    COST_LIMIT: "the next request could pass `--max-cost`; what was judged is kept, and the same "
    "command with a higher limit goes on",
    WAITING: "pairs of a cascade wait for a judge that failed on them; the same command asks again",
    INTERRUPTED: "stopped by Ctrl-C (143 by SIGTERM); the same command goes on where it stopped",
    READER_GONE: "the program that read the output closed it, as `head` does",
}
"""Exit code to its meaning; ``docs/cli.md`` is made from it."""


_UNEXPECTED = "unexpected"


class CommandError(Exception):
    """An error as it is told: what kind, in words, and the exit code."""

    def __init__(self, kind: str, message: str, exit_code: int) -> None:
        """Keep all three."""
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.exit_code = exit_code

    def as_json(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints instead of a result."""
        return {"error": {"type": self.kind, "message": self.message, "exit_code": self.exit_code}}


def describe(error: BaseException) -> CommandError:
    """Say an error in words a user can act on."""
    if isinstance(error, MagistrateError):
        return CommandError(type(error).__name__, str(error), error.exit_code)
    if isinstance(error, KeyboardInterrupt):
        code = getattr(error, "exit_code", INTERRUPTED)
        return CommandError("Interrupted", str(error) or "stopped", code)
    if isinstance(error, OSError) and error.strerror:
        return CommandError(
            "OSError", f"{error.filename or 'the output'}: {error.strerror}", FAILED
        )
    message = f"{_UNEXPECTED} {type(error).__name__}: {error}"
    return CommandError(type(error).__name__, message, FAILED)


def report(error: BaseException, *, as_json: bool, debug: bool) -> int:
    """Tell an error: words on standard error, with ``as_json`` also an object on standard output.

    Returns:
        The exit code.
    """
    told = describe(error)
    if debug:
        traceback.print_exception(error)
    show_message(f"magistrate: {told.message}")
    if told.message.startswith(_UNEXPECTED) and not debug:
        show_message("magistrate: this is a fault of the program; --debug shows where it happened")
    if as_json:
        try:
            print_json(told.as_json())
        except OSError:  # it may be this output that has no room; the exit code still tells
            discard_output()
    return told.exit_code


def show_message(text: str) -> None:
    """Write a line to standard error; text from data cannot control the terminal."""
    from magistrate.report.text import harmless

    # A log that takes nothing more is no reason to stop the work it tells of.
    with suppress(OSError):
        print("\n".join(map(harmless, text.splitlines())), file=sys.stderr, flush=True)


def discard_output() -> None:
    """Let what is still in the buffer of standard output go where exiting cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def print_json(value: dict[str, Any]) -> None:
    """Write one JSON object to standard output, in ASCII, which every terminal and pipe can take.

    Raises:
        ValueError: A number is NaN or infinite.
    """
    print(json.dumps(value, indent=2, allow_nan=False), flush=True)
