"""Short ways to read one row in tests of readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from magistrate.formats.base import Item, ReadOptions, Where
from magistrate.formats.readers import all_readers
from magistrate.formats.sniff import reader_named
from magistrate.records import Judgment, Sample


def read(
    name: str,
    row: Any,
    file: str = "folder/file.jsonl",
    number: int = 1,
    questions: Mapping[str, Any] | None = None,
) -> Item:
    return reader_named(name).read(row, Where(file, number), ReadOptions(questions=questions or {}))


def sample(name: str, row: Any, **more: Any) -> Sample:
    found = read(name, row, **more).sample
    assert found is not None
    return found


def judgments(name: str, row: Any, **more: Any) -> tuple[Judgment, ...]:
    return read(name, row, **more).judgments


def sniffed(*rows: Any, file: str = "folder/file.jsonl") -> list[str]:
    """Return the names of all peer readers that match."""
    return [reader.name for reader in all_readers() if reader.matches(rows, file)]
