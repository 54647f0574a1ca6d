"""The response cache: answers of judges, kept in one SQLite file for all runs of a user.

The file is a convenience and never the only place of anything: whatever goes wrong with it (locked,
damaged, full disk) is told once, and the run goes on without it. Several processes may use it at
once. When it grows over its size, what was not used for longest goes first.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from magistrate.formats.base import Notice
from magistrate.messages import Completion
from magistrate.store.cache_file import CACHE_BYTES, cache_file, connect, is_busy, pragma
from magistrate.store.completion_json import from_json, to_json

_KEEP_SHARE = 0.9
"""What is left after a clearing: so that not every further answer clears again."""
_SECONDS_BETWEEN_TOUCHES = 3600
"""A use is noted at most so often: noting each would turn every reading into a writing."""
_SECONDS_BETWEEN_WRITES = 0.25
_ROWS_AT_ONCE = 500

OnNotice = Callable[[Notice], None]


class SqliteCache:
    """A :class:`~magistrate.judging.caching.ResponseCache` in a file. It never fails a run."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        limit: int = CACHE_BYTES,
        on_notice: OnNotice | None = None,
    ) -> None:
        """Open the file, made if missing; one that is damaged is moved aside.

        Args:
            path: The file; the user's own when None.
            limit: How many bytes it may grow to.
            on_notice: Called when something is wrong with it.
        """
        self.path = path or cache_file()
        self.hits = 0
        """Answers taken from it so far."""
        self._limit = limit
        self._on_notice = on_notice
        self._rows: list[tuple[str, bytes, int]] = []
        self._flushed_at = 0.0
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._is_given_up = False
        self._safely(lambda: None)

    def find(self, keys: Sequence[str]) -> Mapping[str, Completion]:
        """Return what is kept under these keys."""
        self._flush()
        return self._safely(lambda: self._find(keys)) or {}

    def keep(self, items: Iterable[tuple[str, Completion]]) -> None:
        """Keep completions under their keys; those with what JSON cannot hold are left out.

        They are in the file a moment later: a transaction for each would cost more than reading it.
        """
        now = time.time()
        for key, completion in items:
            with suppress(TypeError):
                self._rows.append((key, to_json(completion), int(now)))
        if now - self._flushed_at >= _SECONDS_BETWEEN_WRITES:
            self._flush()

    def close(self) -> None:
        """Write what is left and close the file. Calling it twice is harmless."""
        self._flush()
        self._disconnect()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        self._flushed_at = time.time()
        if rows:
            self._safely(lambda: self._keep(rows))

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def __enter__(self) -> Self:
        """Return the cache."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def _find(self, keys: Sequence[str]) -> dict[str, Completion]:
        found: dict[str, Completion] = {}
        stale: list[str] = []
        now = int(time.time())
        for start in range(0, len(keys), _ROWS_AT_ONCE):
            block = keys[start : start + _ROWS_AT_ONCE]
            marks = ",".join("?" * len(block))
            query = f"SELECT key, value, used FROM responses WHERE key IN ({marks})"  # noqa: S608
            for key, value, used in self._open().execute(query, block):
                with suppress(ValueError, TypeError, KeyError):
                    found[key] = from_json(value)
                if now - used > _SECONDS_BETWEEN_TOUCHES:
                    stale.append(key)
        if stale:
            with self._open() as writing:
                writing.executemany(
                    "UPDATE responses SET used = ? WHERE key = ?", [(now, key) for key in stale]
                )
        return found

    def _keep(self, rows: Sequence[tuple[str, bytes, int]]) -> None:
        with self._open() as writing:
            writing.executemany("INSERT OR REPLACE INTO responses VALUES (?, ?, ?)", rows)
        self._clear_the_oldest()

    def _clear_the_oldest(self) -> None:
        connection = self._open()
        page = pragma(connection, "page_size")
        pages = pragma(connection, "page_count")
        # A page that was freed is used again, so the file does not grow over the limit.
        used = (pages - pragma(connection, "freelist_count")) * page
        if used <= self._limit:
            return
        (count,) = connection.execute("SELECT count(*) FROM responses").fetchone()
        surplus = max(1, int(count * (1 - _KEEP_SHARE * self._limit / used)))
        with connection as writing:
            writing.execute(
                "DELETE FROM responses WHERE key IN "
                "(SELECT key FROM responses ORDER BY used LIMIT ?)",
                (surplus,),
            )

    def _safely(self, work: Callable[[], Any]) -> Any:
        """Do something with the file; None when it cannot be done, which is told."""
        if self._is_given_up:
            return None
        for attempt in (1, 2):
            try:
                self._open()
                return work()
            except sqlite3.OperationalError as error:
                if is_busy(error):
                    return None  # another process is at it; this once it goes without
                return self._give_up(error)
            except sqlite3.DatabaseError as error:
                self._move_aside(error)
                if attempt == 2:
                    return self._give_up(error)
            except (OSError, sqlite3.Error) as error:
                return self._give_up(error)
        return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # What judges say of private answers is for nobody else on the machine.
            os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._inode = self.path.stat().st_ino
            self._connection = connect(self.path)
        return self._connection

    def _move_aside(self, error: sqlite3.Error) -> None:
        """Move a damaged file aside, unless another process has done so already."""
        self._disconnect()
        with suppress(OSError):
            if self.path.stat().st_ino != self._inode:
                return
            stamp = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S-%f")
            target = self.path.with_name(f"{self.path.stem}.damaged-{stamp}{self.path.suffix}")
            self.path.replace(target)
            for ending in ("-wal", "-shm"):
                Path(f"{self.path}{ending}").unlink(missing_ok=True)
            self._tell(
                f"the response cache was damaged ({error}) and was moved to {target}; a new one "
                f"is begun, and nothing else is lost"
            )

    def _give_up(self, error: Exception) -> None:
        self._disconnect()
        self._is_given_up = True
        self._tell(f"the response cache {self.path} cannot be used ({error}); going on without it")

    def _tell(self, message: str) -> None:
        if self._on_notice is not None:
            self._on_notice(Notice(kind="cache", message=message))
