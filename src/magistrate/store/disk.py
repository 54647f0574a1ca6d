"""Writing that a crash cannot leave half done, and plain words for what a disk refuses."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from magistrate.errors import RunError

NOTHING_CHANGED = "nothing there was changed"

_BLOCK_BYTES = 1 << 20


class NewFile:
    """The next contents of a file: built beside it, then put in its place, or dropped.

    After a crash the file holds the old contents or the new ones, never a part.
    """

    def __init__(self, path: Path) -> None:
        """Name the file."""
        self._path = path
        self._temporary = path.with_name(f".{path.name}.new")
        self._file: BinaryIO | None = None

    def __enter__(self) -> Self:
        """Begin.

        Raises:
            RunError: The disk is full or the folder cannot be written; so do the other methods. Or
                a device, a pipe or a folder is in the place of the file.
        """
        if self._path.exists() and not self._path.is_file():
            raise RunError(
                f"{self._path} is no ordinary file, so it cannot be replaced; name another file"
            )
        with writing(self._path):
            self._file = self._temporary.open("wb")
        return self

    def write(self, data: bytes) -> None:
        """Add bytes."""
        try:
            self._open_file.write(data)
        except OSError as error:
            raise cannot_write(self._path, error) from error

    def copy_from(self, path: Path, size: int) -> None:
        """Add the first ``size`` bytes of another file."""
        with writing(self._path), path.open("rb") as source:
            while size and (block := source.read(min(size, _BLOCK_BYTES))):
                self._open_file.write(block)
                size -= len(block)

    def put_in_place(self) -> None:
        """Make the new contents the file's contents, for good."""
        with writing(self._path):
            self._open_file.flush()
            flush_to_disk(self._open_file.fileno())
            self._open_file.close()
            self._temporary.replace(self._path)
            self._file = None
            flush_folder(self._path.parent)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Drop what was not put in place."""
        if self._file is not None:
            with suppress(OSError):  # closing writes out what is buffered
                self._file.close()
            with suppress(OSError):
                self._temporary.unlink(missing_ok=True)

    @property
    def _open_file(self) -> BinaryIO:
        if self._file is None:
            raise ValueError("the new file is not open; enter it first")
        return self._file


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the contents of a file in one step.

    Raises:
        RunError: The disk is full or the folder cannot be written.
    """
    with NewFile(path) as new:
        new.write(data)
        new.put_in_place()


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
