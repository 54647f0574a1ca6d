"""Writing that a crash cannot leave half done, and plain words for what a disk refuses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from magistrate.errors import RunError

NOTHING_CHANGED = "nothing there was changed"


def temporary_path(path: Path) -> Path:
    """Return where the next contents of ``path`` are built before they take its place."""
    return path.with_name(f".{path.name}.new")


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the contents of a file: after a crash it holds the old ones or the new ones.

    Raises:
        RunError: The disk is full or the folder cannot be written.
    """
    with writing(path):
        temporary = temporary_path(path)
        try:
            with temporary.open("wb") as file:
                file.write(data)
                flush_to_disk(file.fileno())
            put_in_place(temporary, path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise


def put_in_place(temporary: Path, path: Path) -> None:
    """Move a finished file to its name, and make the move itself durable."""
    temporary.replace(path)
    flush_folder(path.parent)


def flush_to_disk(descriptor: int) -> None:
    """Wait until the file's data is on the disk."""
    os.fsync(descriptor)


def flush_folder(folder: Path) -> None:
    """Wait until the folder's entries are on the disk, where the system can tell."""
    if os.name == "nt":  # folders cannot be opened there
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def writing(path: Path, safe: str = NOTHING_CHANGED) -> Iterator[None]:
    """Turn what the system says of a failed write into a :class:`RunError`.

    Args:
        path: What is being written; named in the message.
        safe: What of the run is unharmed, in words.
    """
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error, safe) from error


def cannot_write(path: Path, error: OSError, safe: str = NOTHING_CHANGED) -> RunError:
    """Return the error for a write that the system refused: what, why, and what to do."""
    reason = error.strerror or type(error).__name__
    return RunError(
        f"{path} cannot be written: {reason}; {safe}. Free space or give write access and run "
        f"the same command again, or choose another folder with --out"
    )
