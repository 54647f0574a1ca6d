"""What a file of judgments holds, found in one pass: where each key is, and how the file ends."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from magistrate.errors import RunDamagedError
from magistrate.ids import ID_HEX_DIGITS
from magistrate.records import STATUSES, Judgment, Status, Usage, from_json_line
from magistrate.store.lines import iterate_lines

FAILURES: frozenset[Status] = frozenset(STATUSES) - {"ok"}
"""Statuses that are judged again on the next resume: they are kept, but never stand for good."""

_USAGE_FIELDS = ("prompt_tokens", "completion_tokens", "cached_tokens", "requests")


@dataclass(slots=True)
class Totals:
    """What all lines of a file took, retried and replaced ones included: they were paid for."""

    usage: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_USAGE_FIELDS, 0))
    cost: float = 0.0

    def add(self, judgment: Judgment) -> None:
        """Add one line's usage and cost."""
        for name in _USAGE_FIELDS:
            self.usage[name] += getattr(judgment.usage, name)
        self.cost += judgment.cost

    def as_usage(self) -> Usage:
        """The tokens and requests as a record."""
        return Usage(**self.usage)


@dataclass(slots=True)
class JournalIndex:
    """Where the last line of every key is. Keys are held as 12 bytes, not as 24 characters."""

    offsets: dict[bytes, int] = field(default_factory=dict)
    """Key to the place, in bytes, where its last line starts."""
    failed: dict[bytes, Status] = field(default_factory=dict)
    """Keys whose last line is not ``ok``."""
    lines: int = 0
    """Lines in the file; more than keys where a failure was judged again."""
    whole_bytes: int = 0
    """Length of the file up to and with its last whole line."""
    tail_bytes: int = 0
    """Bytes after that: a line cut short, or the zeros that a power loss leaves."""
    totals: Totals = field(default_factory=Totals)
    digest: Any = field(default_factory=hashlib.sha256, compare=False, repr=False)
    """Hash of the whole lines, kept up as they come, so that the file is not read again for it."""

    def __len__(self) -> int:
        """Number of keys."""
        return len(self.offsets)

    def counts(self) -> dict[Status, int]:
        """Number of keys by the status of their last line; all statuses are named."""
        counts: dict[Status, int] = dict.fromkeys(STATUSES, 0)
        for status in self.failed.values():
            counts[status] += 1
        counts["ok"] = len(self.offsets) - len(self.failed)
        return counts

    def status_of(self, key: bytes) -> Status | None:
        """Return the status of a key's last line, or None for an unknown key."""
        if key not in self.offsets:
            return None
        return self.failed.get(key, "ok")

    @property
    def sha256(self) -> str:
        """SHA-256 of the file up to and with its last whole line, in hex."""
        return str(self.digest.hexdigest())

    def add(self, judgment: Judgment, line: bytes) -> None:
        """Note the judgment of the next line; it takes the place of an earlier one of its key."""
        key = bytes.fromhex(judgment.key)
        self.offsets[key] = self.whole_bytes
        self.whole_bytes += len(line)
        self.digest.update(line)
        if judgment.status == "ok":
            self.failed.pop(key, None)
        else:
            self.failed[key] = judgment.status
        self.lines += 1
        self.totals.add(judgment)


def read_index(path: Path) -> JournalIndex:
    """Read a file of judgments; a missing file is an empty one.

    What a crash leaves at the end is not part of the index: a last line without its newline, and
    lines with NUL bytes, which are blocks that never reached the disk.

    Raises:
        RunDamagedError: A line before the last is not a judgment; the message says which.
    """
    index = JournalIndex()
    torn: int | None = None
    for number, _, line in iterate_lines(path):
        if is_torn(line):
            torn = torn or number
            continue
        if torn is not None:
            raise RunDamagedError(_damaged_message(path, torn))
        try:
            index.add(judgment_of(line), line)
        except ValueError:
            raise RunDamagedError(_damaged_message(path, number)) from None
    if torn is not None:
        index.tail_bytes = path.stat().st_size - index.whole_bytes
    return index


def is_torn(line: bytes) -> bool:
    """Whether a crash left a line so: without its newline, or with blocks that stayed zero."""
    return not line.endswith(b"\n") or b"\0" in line


def judgment_of(line: bytes) -> Judgment:
    """Read a judgment from its line.

    Raises:
        ValueError: The line is not JSON, not a judgment, or its key is not a content id.
    """
    judgment = from_json_line(Judgment, line)
    if len(bytes.fromhex(judgment.key)) * 2 != ID_HEX_DIGITS:
        raise ValueError(f"key '{judgment.key}' does not have {ID_HEX_DIGITS} hex digits")
    return judgment


class JudgmentReader:
    """Reads judgments by key through an index. Close it, or use :func:`contextlib.closing`."""

    def __init__(self, path: Path, index: JournalIndex) -> None:
        """Open the file; one that does not exist has no judgments."""
        self._index = index
        self._file: BinaryIO = path.open("rb") if path.exists() else io.BytesIO()

    def get(self, key: str) -> Judgment | None:
        """Return the last judgment of a key, or None."""
        offset = self._index.offsets.get(bytes.fromhex(key))
        if offset is None:
            return None
        self._file.seek(offset)
        return judgment_of(self._file.readline())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def last_judgments(path: Path, index: JournalIndex) -> Iterator[Judgment]:
    """Yield the last judgment of every key, in the sequence of the file."""
    for _, offset, line in iterate_lines(path):
        if offset >= index.whole_bytes:
            return
        judgment = judgment_of(line)
        if index.offsets.get(bytes.fromhex(judgment.key)) == offset:
            yield judgment


def _damaged_message(path: Path, number: int) -> str:
    return (
        f"{path}, line {number}: this is not a whole judgment, and it is not merely the end that "
        f"a crash cut off. List all such lines with 'magistrate runs verify {path.parent}'; "
        f"'magistrate runs verify {path.parent} --repair' moves them aside, and the same judge "
        f"command then judges anew what they held"
    )
