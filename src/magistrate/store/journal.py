"""The file of judgments while a run writes to it: append-only, whole lines, safe against a kill.

Every batch is handed to the operating system at once, so a killed process loses nothing of it.
That it also survives a power loss is made sure of once a second and at the end: waiting for the
disk at every batch would cost more than a fast judge.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from magistrate.formats.base import Notice
from magistrate.records import Judgment, Status
from magistrate.store.disk import cannot_write, flush_folder, flush_to_disk, writing
from magistrate.store.index import FAILURES, read_index
from magistrate.store.lines import to_line

SECONDS_BETWEEN_FLUSHES = 1.0

_OPEN_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)


class Journal:
    """Appends judgments to a file. A container of the keys that need no further reading."""

    def __init__(self, path: Path, *, retry: Collection[Status] = FAILURES) -> None:
        """Open the file, made if missing, and cut off what a crash left half written.

        Args:
            path: ``judgments.jsonl`` of a run whose lock is held.
            retry: Failures that count as not judged yet.

        Raises:
            RunDamagedError: A line before the end is not a judgment.
            RunError: The file cannot be written.
        """
        self._path = path
        self._retry = frozenset(retry)
        self.index = read_index(path)
        self.notices = tuple(self._tail_notice())
        self._flushed_at = time.monotonic()
        with writing(path):
            self._descriptor = os.open(path, _OPEN_FLAGS, 0o666)
            try:
                os.ftruncate(self._descriptor, self.index.whole_bytes)
                os.lseek(self._descriptor, self.index.whole_bytes, os.SEEK_SET)
                flush_to_disk(self._descriptor)
                flush_folder(path.parent)
            except OSError:
                os.close(self._descriptor)
                raise

    def __contains__(self, key: object) -> bool:
        """Whether a key (24 hex digits) needs no further reading."""
        status = self.index.status_of(bytes.fromhex(key)) if isinstance(key, str) else None
        return status is not None and status not in self._retry

    @property
    def settled(self) -> int:
        """Number of keys that need no further reading."""
        counts = self.index.counts()
        return sum(counts[status] for status in counts if status not in self._retry)

    def append(self, judgments: Iterable[Judgment]) -> None:
        """Write judgments, one a line.

        Raises:
            RunError: The disk took only a part. The file then ends after the last line that was
                written whole, and the index agrees with it.
        """
        batch = list(judgments)
        lines = [to_line(judgment) for judgment in batch]
        start = self.index.whole_bytes
        try:
            _write_all(self._descriptor, b"".join(lines))
            if time.monotonic() - self._flushed_at > SECONDS_BETWEEN_FLUSHES:
                self._flush()
        except OSError as error:
            self._keep_whole_lines(batch, lines, start)
            raise cannot_write(self._path, error, self._safe_words()) from error
        self._note(batch, lines)

    def flush(self) -> None:
        """Wait until all lines are on the disk.

        Raises:
            RunError: The disk failed.
        """
        with writing(self._path, self._safe_words()):
            self._flush()

    def close(self) -> None:
        """Flush and close. Calling it twice is harmless.

        Raises:
            RunError: The disk failed at the last moment.
        """
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            with writing(self._path, "what was written before is unharmed"):
                flush_to_disk(descriptor)
        finally:
            os.close(descriptor)

    def __enter__(self) -> Self:
        """Return the journal."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def _flush(self) -> None:
        flush_to_disk(self._descriptor)
        self._flushed_at = time.monotonic()

    def _tail_notice(self) -> Iterable[Notice]:
        if self.index.tail_bytes:
            yield Notice(
                kind="half-written-line",
                message=(
                    f"{self._path}: the last {self.index.tail_bytes} bytes were not a whole line "
                    f"(an earlier process was stopped while it wrote) and were dropped; "
                    f"what they held is judged again"
                ),
            )

    def _note(self, batch: Iterable[Judgment], lines: Iterable[bytes]) -> None:
        for judgment, line in zip(batch, lines, strict=False):
            self.index.add(judgment, line)

    def _keep_whole_lines(self, batch: list[Judgment], lines: list[bytes], start: int) -> None:
        """After a failed write: keep the lines that got through whole, cut the rest."""
        end = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        kept, position = 0, start
        while kept < len(lines) and position + len(lines[kept]) <= end:
            position += len(lines[kept])
            kept += 1
        with suppress(OSError):  # if even this fails, the next opening cuts the tail
            os.ftruncate(self._descriptor, position)
        os.lseek(self._descriptor, position, os.SEEK_SET)
        self._note(batch[:kept], lines[:kept])

    def _safe_words(self) -> str:
        return f"the {len(self.index)} judgments before are safe in it"


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        view = view[written:]
