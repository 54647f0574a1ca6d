"""What the readers of peer formats share: checked fields, stored judgments, the reader itself.

A reader is a :class:`RowReader`: the keys that mark its format, and a function that turns the
:class:`Fields` of one row into an item. Whatever a row holds, the outcome is an item or a
:class:`RowError` that says what was found and what was needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import ValidationError

from magistrate.errors import what_is_needed
from magistrate.formats.base import Item, Notice, ReadOptions, RowError, Where
from magistrate.formats.readers.values import (
    as_number,
    as_numbers,
    decode,
    plain_id,
    show,
)
from magistrate.ids import content_id
from magistrate.records import Judgment, Sample

T = TypeVar("T")


class Fields:
    """One row being read: gives its fields with their types checked, and collects notices."""

    def __init__(self, row: Any, where: Where, options: ReadOptions, reader: str) -> None:
        self.row = row
        self.where = where
        self.options = options
        self.reader = reader
        self._notices: list[Notice] = []

    def has(self, key: str) -> bool:
        """Whether the row gives ``key`` and it is not null."""
        return isinstance(self.row, Mapping) and self.row.get(key) is not None

    def get(self, key: str) -> Any:
        """Return the value of ``key`` as it stands, None where there is none."""
        return self.row.get(key) if isinstance(self.row, Mapping) else None

    def text(self, key: str) -> str:
        """Return a field that must hold text; the empty text is text.

        Booleans and numbers, which some tools write for answers such as ``true``, are read as the
        text that JSON has for them, with a notice.

        Raises:
            RowError: The field is missing, null, a list or an object.
        """
        if isinstance(self.row, Mapping) and key not in self.row:
            raise RowError(f"'{key}' is missing; text is needed")
        return self.as_text(self.get(key), f"'{key}'")

    def optional_text(self, key: str) -> str | None:
        """Return a text field, None where it is missing or null."""
        return self.text(key) if self.has(key) else None

    def as_text(self, value: Any, name: str) -> str:
        """Return a value as text, under the same rules as :meth:`text`."""
        if isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            text = json.dumps(value)
            self.notice("not-text", f"{name} is JSON {text} and not a string; read as that text")
            return text
        raise RowError(f"{name} is {show(value)}; text is needed")

    def notice(self, kind: str, message: str) -> None:
        """Tell the user of something odd in this row that could be read."""
        self._notices.append(Notice(kind=kind, message=message))

    def id(self, *keys: str) -> str | None:
        """Return the first of ``keys`` that the row gives, as text; an empty id is none."""
        for key in keys:
            value = self.get(key)
            if value is not None and value != "":
                return plain_id(value)
        return None

    def number(self, key: str) -> float | None:
        """Return a finite number, also one that is written as text; None where there is none."""
        return as_number(self.get(key), f"'{key}'") if self.has(key) else None

    def numbers(self, key: str, count: int | None = None) -> tuple[float, ...] | None:
        """Return a list of finite numbers, of length ``count`` if given; None where it is null."""
        return as_numbers(self.get(key), f"'{key}'", count) if self.has(key) else None

    def choice(self, key: str, coding: Mapping[str, T]) -> T | None:
        """Return what a label means; null and missing labels give None.

        Args:
            key: The label's field. ``1``, ``1.0``, ``"1"`` and ``"1.0"`` are the same label.
            coding: Label text in lower case to meaning.

        Raises:
            RowError: The label is not in the coding.
        """
        return decode(self.get(key), f"'{key}'", coding) if self.has(key) else None

    def object(self, key: str) -> Fields:
        """Return the fields of an object inside the row; its notices go to this row.

        Raises:
            RowError: The field is no object.
        """
        value = self.get(key)
        if not isinstance(value, Mapping):
            raise RowError(f"'{key}' is {show(value)}; an object is needed")
        inner = Fields(value, self.where, self.options, self.reader)
        inner._notices = self._notices
        return inner

    def meta(self, *keys: str) -> dict[str, Any]:
        """Return the named fields that the row gives, for :attr:`Sample.meta`."""
        return {key: self.row[key] for key in keys if self.has(key)}

    def item(self, sample: Sample | None = None, judgments: Sequence[Judgment] = ()) -> Item:
        """Return the row's item, with the notices collected."""
        return Item(self.where, sample, tuple(judgments), tuple(self._notices))

    def judgment(
        self,
        *,
        judge: str,
        order: Sequence[int],
        ident: str | None,
        sample: Sample | None = None,
        **values: Any,
    ) -> Judgment:
        """Return a stored judgment; ``values`` are in the sample's own answer order.

        Args:
            judge: Name of the judge.
            order: Answers as the judge saw them.
            ident: The id that the file gives the judged sample; None to go by the row.
            sample: What was judged, if the row has its text. Without it ``sample_id`` is the
                file's own id, or ``row:N`` for row N of the file that the judgments belong to.
            values: Further fields of the judgment.
        """
        ident = ident or f"row:{self.where.row}"
        values.setdefault("status", "ok")
        sample_id = sample.text_id if sample else ident
        return Judgment(
            key=content_id([self.reader, ident, sample_id, list(order), judge]),
            sample_id=sample_id,
            judge=judge,
            order=tuple(order),
            **values,
        )


@dataclass(frozen=True, slots=True)
class RowReader:
    """A reader of one format, one row at a time."""

    name: str
    summary: str
    parse: Callable[[Fields], Item]
    keys: tuple[str, ...] = ()
    """Fields that every row has; rows are then objects."""
    without: tuple[str, ...] = ()
    """Fields that rows of similar formats have and rows of this one lack."""
    when: Callable[[Any, str], bool] = field(default=lambda _row, _file: True)
    """Whatever else marks the format, from a row and the file's name."""

    def matches(self, rows: Sequence[Any], file: str) -> bool:
        """Whether more than half of the rows look like this format; a few may be damaged."""
        return 2 * sum(1 for row in rows if self.looks(row, file)) > len(rows)

    def looks(self, row: Any, file: str) -> bool:
        """Whether one row looks like this format."""
        if self.keys and not isinstance(row, Mapping):
            return False
        if any(key not in row for key in self.keys) or any(key in row for key in self._banned(row)):
            return False
        return self.when(row, file)

    def read(self, row: Any, where: Where, options: ReadOptions) -> Item:
        """Turn one row into an item.

        Raises:
            RowError: The row cannot be used; the message says what was found and what was needed.
        """
        if self.keys and not isinstance(row, Mapping):
            needed = ", ".join(self.keys)
            raise RowError(f"the row is {show(row)}; an object with {needed} is needed")
        try:
            return self.parse(Fields(row, where, options, self.name))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise RowError(f"{place or 'the row'}: {what_is_needed(first)}") from error

    def _banned(self, row: Any) -> tuple[str, ...]:
        return self.without if isinstance(row, Mapping) else ()
