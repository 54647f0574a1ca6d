"""Collect notices while a file streams by, in bounded memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from magistrate.formats.base import Notice

MAX_PER_KIND = 20
"""How many different messages of one kind are kept; the rest are only counted."""

MAX_ROWS_NAMED = 5
"""How many rows are named in one message."""


@dataclass(slots=True)
class _Entry:
    file: str | None
    count: int = 0
    rows: list[int] = field(default_factory=list)


class NoticeLog:
    """Notices, equal messages of one file merged with a count and their first rows."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str, str | None], _Entry] = {}
        self._per_kind: dict[str, int] = {}
        self._dropped: dict[str, int] = {}

    def add(
        self, kind: str, message: str, *, file: str | None = None, row: int | None = None
    ) -> None:
        """Note ``message``; with a row, equal messages are merged and their rows named."""
        key = (kind, message, file)
        entry = self._entries.get(key)
        if entry is None:
            if self._per_kind.get(kind, 0) >= MAX_PER_KIND:
                self._dropped[kind] = self._dropped.get(kind, 0) + 1
                return
            self._per_kind[kind] = self._per_kind.get(kind, 0) + 1
            entry = self._entries[key] = _Entry(file)
        entry.count += 1
        if row is not None and len(entry.rows) < MAX_ROWS_NAMED:
            entry.rows.append(row)

    def notices(self) -> tuple[Notice, ...]:
        """Return what was noted, in the order in which it first came up."""
        out = [
            Notice(kind=kind, message=_line(message, entry))
            for (kind, message, _), entry in self._entries.items()
        ]
        out += [
            Notice(kind=kind, message=f"and {count:,} more of this kind")
            for kind, count in self._dropped.items()
        ]
        return tuple(out)


def _line(message: str, entry: _Entry) -> str:
    head = f"{entry.file}: " if entry.file else ""
    if not entry.rows:
        return head + message
    named = ", ".join(str(row) for row in entry.rows)
    if entry.count == 1:
        return f"{head}{message} (row {named})"
    more = ", ..." if entry.count > len(entry.rows) else ""
    return f"{head}{message} ({entry.count:,} rows: {named}{more})"
