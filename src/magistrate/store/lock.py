"""One writer per run folder. The lock ends with its process, however the process ends."""

from __future__ import annotations

import json
import os
import socket
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from magistrate.errors import RunLockedError
from magistrate.store.disk import cannot_write

LOCK_FILE = ".lock"
HOLDER_FILE = ".lock-holder.json"
"""Who holds the lock, for messages only. Apart from the lock, which opening may empty."""


class RunLock:
    """The right to write to a run folder; enter it to get it."""

    def __init__(self, folder: Path) -> None:
        """Name the folder, which must exist."""
        self._folder = folder
        self._holder = folder / HOLDER_FILE
        self._lock = FileLock(folder / LOCK_FILE)

    def __enter__(self) -> Self:
        """Take the lock at once or fail.

        Raises:
            RunLockedError: Another process, or this one, is writing to the folder.
            RunError: The folder cannot be written.
        """
        try:
            self._lock.acquire(timeout=0)
        except Timeout:
            raise RunLockedError(self._locked_message()) from None
        except OSError as error:
            raise cannot_write(self._folder, error) from error
        with suppress(OSError):  # the name of the holder is a courtesy, not the lock
            self._holder.write_text(
                json.dumps(
                    {
                        "pid": os.getpid(),
                        "host": socket.gethostname(),
                        "since": datetime.now(UTC).isoformat(timespec="seconds"),
                    }
                )
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Give the lock back."""
        with suppress(OSError):
            self._holder.unlink(missing_ok=True)
        self._lock.release()

    def _locked_message(self) -> str:
        who = "another process"
        with suppress(OSError, ValueError, KeyError, TypeError):
            holder = json.loads(self._holder.read_text())
            who = f"process {holder['pid']} on {holder['host']} since {holder['since']}"
        return (
            f"{self._folder} is being written by {who}; "
            f"wait until it ends or stop it, or choose another folder with --out"
        )
