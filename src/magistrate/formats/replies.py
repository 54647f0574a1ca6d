"""Stored replies of judges: any file with a text in each row, a run's judgments, or plain lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Row
from magistrate.formats.notices import NoticeLog
from magistrate.formats.readers.values import show
from magistrate.formats.rows import Rows
from magistrate.formats.source import Source

FIELDS = (
    *("raw", "reply", "pred_text", "prediction", "judgment", "raw_completion", "completion"),
    *("response", "output", "target_output", "content", "text"),
)
"""Where a reply is looked for, in this sequence, unless a field is named."""

JUDGMENTS_FILE = "judgments.jsonl"


@dataclass(frozen=True, slots=True)
class StoredReply:
    """What a judge wrote about one sample."""

    row: int
    texts: tuple[str, ...]
    """One text, or one for each answer that was read alone."""
    answers: int | None = None
    """How many answers the judge saw, where the file says so."""
    finish_reason: str | None = None


class Replies:
    """The replies of one file, in its sequence. Rows without one come as bad rows."""

    def __init__(self, path: str, field: str | None = None) -> None:
        """Open the file.

        Args:
            path: A file, ``-``, or a run folder.
            field: Where each row keeps the reply; ``a.b`` is field b of object a, ``a.0`` the first
                of a list.

        Raises:
            InputError: The file cannot be read, or no row has a field of replies.
        """
        judgments = Path(path) / JUDGMENTS_FILE
        self._source = Source(str(judgments) if judgments.is_file() else path)
        self._lines = field is None and not _holds_objects(self._source)
        self._rows = None if self._lines else Rows(self._source)
        self.field = field or (None if self._lines else self._find_field())
        """Where replies are read from; None for plain lines."""

    def __iter__(self) -> Iterator[StoredReply | BadRow]:
        """Yield a reply for each row, or what is wrong with it."""
        if self._rows is None:
            yield from self._plain_lines()
            return
        for row in self._rows.read(NoticeLog()):
            yield row if isinstance(row, BadRow) else self._reply(row)

    def _plain_lines(self) -> Iterator[StoredReply | BadRow]:
        with self._source.open_text() as stream:
            for number, line in enumerate(stream, 1):
                text = line.decode("utf-8", "replace").rstrip("\r\n")
                if text.strip():
                    yield StoredReply(number, (text,))

    def _reply(self, row: Row) -> StoredReply | BadRow:
        value = _get(row.value, self.field or "") if isinstance(row.value, Mapping) else row.value
        texts = (value,) if isinstance(value, str) else value
        if (
            not isinstance(texts, list | tuple)
            or not texts
            or not all(isinstance(text, str) for text in texts)
        ):
            where = f"'{self.field}' is" if isinstance(row.value, Mapping) else "the row is"
            return BadRow(
                file=self._source.name,
                row=row.number,
                reason=f"{where} {show(value)}; the text of a reply is needed",
            )
        order = row.value.get("order") if isinstance(row.value, Mapping) else None
        reason = row.value.get("finish_reason") if isinstance(row.value, Mapping) else None
        return StoredReply(
            row=row.number,
            texts=tuple(texts),
            answers=len(order) if isinstance(order, list) and "raw" in row.value else None,
            finish_reason=reason if isinstance(reason, str) else None,
        )

    def _find_field(self) -> str:
        """Return the first known field of the first row that has one; empty for rows of text."""
        seen: dict[str, None] = {}
        if self._rows is not None:
            for row in self._rows.read(NoticeLog()):
                if isinstance(row, BadRow):
                    continue
                if isinstance(row.value, str):
                    return ""
                if not isinstance(row.value, Mapping):
                    continue
                for name in FIELDS:
                    if isinstance(row.value.get(name), str | list):
                        return name
                seen |= dict.fromkeys(map(str, row.value))
        raise InputError(
            f"{self._source.name}: no field of replies here (looked for {', '.join(FIELDS)}); name "
            f"it with --field, such as --field judgment.response; fields: "
            f"{', '.join(list(seen)[:20]) or 'none'}"
        )


def _holds_objects(source: Source) -> bool:
    """Whether a file holds JSON objects or texts, or is Parquet; else its lines are replies."""
    if source.is_parquet():
        return True
    source.check_text()
    head = source.head().lstrip()
    if head[:1] == b"{":
        return True
    first = head.splitlines()[0] if head else b""
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        # An array over several lines begins with an object; a reply such as [[A]] does not.
        return head[:1] == b"[" and head[1:].lstrip()[:1] in (b"{", b'"')
    texts = value if isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(item, str | dict) for item in texts)


def _get(value: Any, field: str) -> Any:
    for name in field.split("."):
        if isinstance(value, Mapping) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            return None
    return value
