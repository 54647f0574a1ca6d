"""What readers of files found in the wild produce, and the protocol that each reader follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from magistrate.records import Judgment, Record, Sample

KEY_FIELD = "_key"
"""Where a row of a JSON object of rows (``{"id": {...}, ...}``) keeps its key."""

VALUE_FIELD = "_value"
"""Where such a row keeps its value if that is no object (``{"id": "text", ...}``)."""


class Row(NamedTuple):
    """A row as the file holds it."""

    number: int
    """As :attr:`Where.row`."""
    value: Any
    """A parsed JSON value; for CSV, TSV and Parquet a dict from column to cell."""


@dataclass(frozen=True, slots=True)
class Where:
    """Place of a row in a file."""

    file: str
    """Path as the user gave it."""
    row: int
    """Number of the record, from 1 (for JSON Lines of one object a line: the line number)."""


class BadRow(Record):
    """A row that could not be used, with the reason; good rows are never lost to it."""

    file: str
    row: int
    reason: str


class Notice(Record):
    """Something the user should know about the input, such as two rows with one id."""

    kind: str
    """A stable word: ``duplicate-id``, ``unmatched-id``, ``unequal-length``, ``encoding``, ..."""
    message: str


class RowError(ValueError):
    """Raised by a reader for a row that it cannot use; the message is the reason shown."""


@dataclass(frozen=True, slots=True)
class Item:
    """What one row holds: a sample, other judges' stored judgments, or both.

    A row of a file of questions, which has nothing to judge yet, gives an item with neither.
    """

    where: Where
    sample: Sample | None = None
    judgments: tuple[Judgment, ...] = ()
    notices: tuple[Notice, ...] = ()
    """What was odd about the row but could be read, such as an answer that was JSON true."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What the user said about how to read."""

    columns: Mapping[str, str] = field(default_factory=dict)
    """Our field name to the file's column name."""
    questions: Mapping[str, Any] = field(default_factory=dict)
    """Question records by id, for answer files that hold ids only."""


class Reader(Protocol):
    """Reads the rows of one format. Small, pure, one module per family of formats."""

    @property
    def name(self) -> str:
        """Name for ``--format`` and for ``inspect``."""
        ...

    @property
    def summary(self) -> str:
        """One line on what the format is, for listings."""
        ...

    def matches(self, rows: Sequence[Any], file: str) -> bool:
        """Whether the first rows (up to 20, parsed JSON values) of a file look like this format."""
        ...

    def read(self, row: Any, where: Where, options: ReadOptions) -> Item:
        """Turn one row into an item.

        Raises:
            RowError: The row cannot be used; the message says what was found and what was needed.
        """
        ...
