"""Replies of engines on disk: append-only, one a line, safe against a kill.

The folder ``NAME.asked`` beside an output holds ``replies.jsonl``. Each reply stands under a hash
of what was asked, of whom and how, so the same question is never asked (nor paid) twice, whatever
the command that asks it. The last line of a key counts; a failure is kept and asked again.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from magistrate.formats.base import Notice
from magistrate.messages import FinishReason
from magistrate.records import Record, Usage, from_json_line
from magistrate.store.disk import cannot_write, flush_to_disk, writing
from magistrate.store.lines import iterate_lines, to_line

SECONDS_BETWEEN_FLUSHES = 1.0

_OPEN_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)


class Reply(Record):
    """What an engine wrote, or why it wrote nothing."""

    key: str
    """Content hash of the prompt, of the engine with all that changes its output, of the
    sampling."""
    model: str
    """Name of the model in data."""
    text: str = ""
    finish_reason: FinishReason = "stop"
    error: str | None = None
    """Why there is no reply; then it is asked again by the next command."""
    usage: Usage = Usage()
    cost: float = 0.0
    """US dollars."""
    seconds: float = 0.0

    @property
    def is_cut(self) -> bool:
        """Whether the model had more to write than it was allowed."""
        return self.finish_reason == "length"

    @property
    def is_empty(self) -> bool:
        """Whether nothing but blanks was written."""
        return not self.text.strip()


class ReplyFile:
    """The replies of a folder whose lock is held. Use it as a context manager."""

    def __init__(self, folder: Path) -> None:
        """Read what is there, and cut off what a kill left half written.

        Args:
            folder: An existing folder.

        Raises:
            RunError: The file cannot be read or written.
        """
        self._path = folder / "replies.jsonl"
        self._known: dict[str, Reply] = {}
        self._failed: dict[str, Reply] = {}
        self.cost = 0.0
        """US dollars, all replies together."""
        self.usage = Usage()
        self.notices: list[Notice] = []
        whole = self._read()
        self._flushed_at = time.monotonic()
        with writing(self._path):
            self._descriptor = os.open(self._path, _OPEN_FLAGS, 0o666)
            os.ftruncate(self._descriptor, whole)
            os.lseek(self._descriptor, whole, os.SEEK_SET)

    def reply(self, key: str) -> Reply | None:
        """Return what was written under a key, failures left out."""
        return self._known.get(key)

    def failure(self, key: str) -> Reply | None:
        """Return the last failure under a key that has no reply."""
        return self._failed.get(key)

    def append(self, reply: Reply) -> None:
        """Write a reply.

        Raises:
            RunError: The disk took it not, or not whole; the lines before are safe.
        """
        data = memoryview(to_line(reply))
        start = os.lseek(self._descriptor, 0, os.SEEK_CUR)
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
            if time.monotonic() - self._flushed_at > SECONDS_BETWEEN_FLUSHES:
                flush_to_disk(self._descriptor)
                self._flushed_at = time.monotonic()
        except OSError as error:
            with suppress(OSError):  # if even this fails, the next opening cuts the tail
                os.ftruncate(self._descriptor, start)
                os.lseek(self._descriptor, start, os.SEEK_SET)
            raise cannot_write(self._path, error, "the replies before are safe in it") from error
        self._note(reply)

    def close(self) -> None:
        """Flush and close. Calling it twice is harmless."""
        if self._descriptor < 0:
            return
        descriptor, self._descriptor = self._descriptor, -1
        try:
            with writing(self._path, "what was written before is unharmed"):
                flush_to_disk(descriptor)
        finally:
            os.close(descriptor)

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _read(self) -> int:
        """Take in all whole lines; return where the last one ends, in bytes."""
        whole = damaged = 0
        for _, offset, line in iterate_lines(self._path):
            if not line.endswith(b"\n"):
                break
            whole = offset + len(line)
            try:
                self._note(from_json_line(Reply, line))
            except ValueError:
                damaged += 1
        if damaged:
            self.notices.append(
                Notice(
                    kind="damaged-replies",
                    message=f"{self._path}: {damaged:,} lines cannot be read; what they held is "
                    f"asked again",
                )
            )
        return whole

    def _note(self, reply: Reply) -> None:
        self.cost += reply.cost
        self.usage += reply.usage
        if reply.error is not None:
            if reply.key not in self._known:
                self._failed[reply.key] = reply
            return
        self._failed.pop(reply.key, None)
        self._known[reply.key] = reply
