"""Starts vLLM: within a time, without its noise, and with an error that says what was wrong.

vLLM runs its model in processes of its own, and says why one of them failed nowhere but on their
output. So that output goes to a file while vLLM runs, and the last error in it into ours. Whoever
sets ``VLLM_LOGGING_LEVEL`` sees all of it instead.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import IO, Any

from magistrate.errors import EngineError

LEVEL = "VLLM_LOGGING_LEVEL"
_READY = "VLLM_ENGINE_READY_TIMEOUT_S"
_GRACE_SECONDS = 5.0
_LOOK_SECONDS = 0.5
_MOST_READ = 200_000
_ERROR = re.compile(r"\b([A-Z]\w*(?:Error|Exception|Exit|Interrupt)): (.+)")
_SAYS_NOTHING = re.compile(
    r"Engine core initialization failed|WorkerProc initialization failed|root cause"
)


class Log:
    """What vLLM's processes print; nothing where the user wants to see it themselves."""

    def __init__(self) -> None:
        """Open a file that goes when it is closed."""
        self._file: IO[bytes] | None = None
        if LEVEL not in os.environ:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as vLLM does

    @contextlib.contextmanager
    def catching(self) -> Iterator[None]:
        """Send what this process and those it starts print into the file."""
        if self._file is None:
            yield
            return
        os.environ[LEVEL] = "ERROR"
        os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        kept = [os.dup(number) for number in (1, 2)]
        try:
            for number in (1, 2):
                os.dup2(self._file.fileno(), number)
            yield
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            for number, old in zip((1, 2), kept, strict=True):
                os.dup2(old, number)
                os.close(old)
            os.environ.pop(LEVEL, None)

    def last_error(self) -> str | None:
        """Return the last error that was printed and says something; None without one."""
        if self._file is None:
            return None
        size = os.fstat(self._file.fileno()).st_size
        start = max(0, size - _MOST_READ)
        # Reading must not move the place where the processes write.
        text = os.pread(self._file.fileno(), size - start, start).decode("utf-8", "replace")
        found = [
            f"{kind}: {words.strip()}"
            for kind, words in _ERROR.findall(text)
            if not _SAYS_NOTHING.search(words)
        ]
        return found[-1] if found else None

    def close(self) -> None:
        """Give up the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def start(arguments: dict[str, Any], name: str, seconds: float, log: Log) -> Any:
    """Return a running ``vllm.LLM``.

    Args:
        arguments: What it takes.
        name: Of the model, for messages.
        seconds: How long it may take to start.
        log: Where its output goes; closed when it fails.

    Raises:
        EngineError: It failed, or did not start in time; the message says why.
    """
    # vLLM's own limit must not come before ours.
    os.environ.setdefault(_READY, str(int(seconds) + 60))
    watch = _Watch(seconds)
    try:
        with log.catching(), watch:
            import vllm

            return vllm.LLM(**arguments)
    except BaseException as error:  # its processes' ends come back as several kinds
        said = log.last_error() or f"{type(error).__name__}: {error}"
        log.close()
        if watch.has_ended_it:
            raise EngineError(
                f"vLLM did not start {name} within {seconds:g} s and was ended; give it longer "
                f"with the engine option start_timeout=SECONDS, or see what it does with "
                f"{LEVEL}=INFO in the environment"
            ) from error
        if not isinstance(error, Exception):
            raise
        raise EngineError(f"vLLM cannot run {name}: {' '.join(said.split())}") from error


class _Watch:
    """Ends the processes that are started under it, once its time is over; late ones at once."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._before: set[int | None] = set()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.has_ended_it = False

    def __enter__(self) -> None:
        self._before = {child.pid for child in multiprocessing.active_children()}
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        wait = self._seconds
        while not self._is_over.wait(wait):
            self._end()
            wait = _LOOK_SECONDS

    def _end(self) -> None:
        started = [
            child for child in multiprocessing.active_children() if child.pid not in self._before
        ]
        self.has_ended_it = self.has_ended_it or bool(started)
        for child in started:
            child.terminate()
        until = time.monotonic() + _GRACE_SECONDS
        for child in started:
            child.join(max(0.0, until - time.monotonic()))
            if child.is_alive():
                child.kill()
