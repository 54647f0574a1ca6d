"""The file of the response cache: where it is, how it is laid out, what it holds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from magistrate.errors import RunError
from magistrate.prompts.catalog import home_folder

CACHE_BYTES = 10**9
"""How large the file may grow."""

FORMAT = 1
"""Version of the file's layout, as SQLite's ``user_version``."""

_PATIENCE_SECONDS = 10.0

_SCHEMA = (
    "DROP TABLE IF EXISTS responses",  # of another version
    (
        "CREATE TABLE responses "
        "(key TEXT PRIMARY KEY, value BLOB NOT NULL, used INTEGER NOT NULL) WITHOUT ROWID"
    ),
    "CREATE INDEX by_use ON responses (used)",
    f"PRAGMA user_version = {FORMAT}",
)


def cache_file() -> Path:
    """Return where the cache of this user is; it need not exist."""
    return home_folder() / "cache" / "responses.sqlite"


@dataclass(frozen=True, slots=True)
class CacheState:
    """What a cache holds."""

    path: Path
    responses: int
    bytes: int
    """Size of the file."""
    limit: int = CACHE_BYTES


def cache_state(path: Path | None = None) -> CacheState:
    """Return what the cache holds.

    Raises:
        RunError: It cannot be read.
    """
    path = path or cache_file()
    if not path.exists():
        return CacheState(path, 0, 0)
    try:
        with closing(connect(path)) as connection:
            (count,) = connection.execute("SELECT count(*) FROM responses").fetchone()
    except sqlite3.Error as error:
        raise RunError(
            f"{path} cannot be read: {error}; 'magistrate cache clear' removes it"
        ) from error
    return CacheState(path, count, path.stat().st_size)


def clear_cache(path: Path | None = None) -> int:
    """Remove all that the cache holds, and return how many bytes that were.

    A process that is using the cache goes on with an empty one.

    Raises:
        RunError: It cannot be removed.
    """
    path = path or cache_file()
    if not path.exists():
        return 0
    size = path.stat().st_size
    try:
        with closing(connect(path)) as connection:
            with connection:
                connection.execute("DELETE FROM responses")
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return max(0, size - path.stat().st_size)
    except sqlite3.DatabaseError as error:
        if is_busy(error):
            raise RunError(
                f"{path} is in use by another process; try again when it has ended"
            ) from error
        try:
            for ending in ("", "-wal", "-shm"):
                Path(f"{path}{ending}").unlink(missing_ok=True)
        except OSError as failure:
            raise RunError(f"{path} cannot be removed: {failure.strerror}") from failure
        return size


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, and lay it out if it is new or of another version.

    Raises:
        sqlite3.Error: It is no database, is damaged, or another process holds it for long.
    """
    connection = sqlite3.connect(path, timeout=_PATIENCE_SECONDS)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if pragma(connection, "user_version") != FORMAT:
            connection.execute("BEGIN IMMEDIATE")
            if pragma(connection, "user_version") != FORMAT:  # nobody else was quicker
                for statement in _SCHEMA:
                    connection.execute(statement)
            connection.commit()
    except BaseException:
        connection.close()
        raise
    return connection


def pragma(connection: sqlite3.Connection, name: str) -> int:
    """Return a number that SQLite knows of the file."""
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


def is_busy(error: sqlite3.Error) -> bool:
    """Whether the only thing wrong is that another process is at the file."""
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
