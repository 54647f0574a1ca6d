"""Choose the reader of a file: by the name that the user gave, or by its first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from magistrate.errors import FormatError, InputError, nearest_of
from magistrate.formats.base import Reader
from magistrate.formats.columns import FIELDS, listed, plain_name
from magistrate.formats.samples import SamplesReader
from magistrate.formats.tabular import TabularReader

LIST = "list"
"""In place of a format's name: lists all."""

LISTER = "--format list"

SNIFF_ROWS = 20
"""How many rows decide on the format."""


@cache
def known_readers() -> tuple[Reader, ...]:
    """Return all readers, from the most to the least specific."""
    from magistrate.formats.readers import all_readers

    return (SamplesReader(), *all_readers(), TabularReader())


def reader_named(name: str) -> Reader:
    """Return the reader that ``--format`` names.

    Raises:
        FormatError: There is none.
    """
    readers = {reader.name: reader for reader in known_readers()}
    if name in readers:
        return readers[name]
    if name == LIST:
        listed_ = "".join(f"\n  {reader.name}: {reader.summary}" for reader in readers.values())
        raise FormatError(f"these formats are read:{listed_}")
    raise FormatError(f"no format '{name}'; {nearest_of(name, readers, LISTER)}")


def sniff(
    rows: Sequence[Any],
    file: str,
    container: str,
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    has_questions: bool = False,
) -> Reader:
    """Return the reader for a file.

    Args:
        rows: The first rows, up to :data:`SNIFF_ROWS`.
        file: The file's name, for readers that need it and for messages.
        container: How the file arranges its rows, for messages.
        format: A reader's name, to force it.
        columns: Our field name to the file's column name; implies the table reader.
        has_questions: Whether a file of questions was given, so that answers with ids are enough.

    Raises:
        FormatError: No reader fits, or ``format`` is unknown.
        InputError: ``columns`` names a field or column that does not exist.
    """
    if columns:
        _check_columns(columns, rows, file)
    if format is not None:
        return reader_named(format)
    if columns:
        return TabularReader()
    for reader in known_readers():
        if reader.matches(rows, file):
            return reader
    if has_questions and (table := TabularReader()).matches_answers(rows):
        return table
    raise FormatError(_unknown(rows, file, container))


def _check_columns(columns: Mapping[str, str], rows: Sequence[Any], file: str) -> None:
    unknown = [name for name in columns if plain_name(name) != name]
    if unknown:
        raise InputError(
            f"--columns: there is no field {listed(unknown)}; the fields are {', '.join(FIELDS)}"
        )
    there = fields_of(rows)
    missing = [column for column in columns.values() if column not in there]
    if missing:
        raise InputError(
            f"{file} has no column {', '.join(repr(column) for column in missing)}; "
            f"its columns are {listed(there)}"
        )


def fields_of(rows: Sequence[Any]) -> list[str]:
    """Return all field names of the rows, in the order in which they come up."""
    return list(dict.fromkeys(str(key) for row in rows if isinstance(row, Mapping) for key in row))


def _unknown(rows: Sequence[Any], file: str, container: str) -> str:
    fields = fields_of(rows)
    known = f"{LISTER} lists them"
    if not fields:
        kinds = ", ".join(dict.fromkeys(type(row).__name__ for row in rows if row != {}))
        if not kinds:
            return (
                f"{file} ({container}) has rows without any field ({{}}); needed: objects with a "
                f"question and answers, in one of the known formats ({known})"
            )
        return (
            f"{file} ({container}) has rows of type {kinds} and not objects with named fields, "
            f"and no known format looks like that ({known})"
        )
    return (
        f"{file} ({container}) is in no known format; its fields are {listed(fields)}. "
        f"If they hold a question and answers under other names, say which: "
        f"--columns question={_guess(fields, _QUESTION_WORDS, 0)},"
        f"answer1={_guess(fields, _ANSWER_WORDS, 0)},answer2={_guess(fields, _ANSWER_WORDS, 1)} "
        f"(or answer=... for one answer a row), which reads it as a table. "
        f"{_like(fields)}{LISTER} lists all formats."
    )


def _like(fields: Sequence[str]) -> str:
    """Return in words the formats that share most of their fields with the rows."""
    found: list[tuple[float, str]] = []
    for reader in known_readers():
        keys: tuple[str, ...] = getattr(reader, "keys", ())
        shared = [key for key in keys if key in fields]
        if shared:
            lacking = ", ".join(key for key in keys if key not in fields)
            why = f"lacks {lacking}" if lacking else "its values are others"
            found.append((-len(shared) / len(keys), f"{reader.name} ({why})"))
    nearest = [words for _, words in sorted(found, key=lambda one: one[0])[:_NEAREST]]
    return f"Nearest formats: {'; '.join(nearest)}. " if nearest else ""


_NEAREST = 3


_QUESTION_WORDS = ("question", "prompt", "instruction", "query", "input")
_ANSWER_WORDS = ("answer", "response", "output", "completion", "text", "chosen", "rejected")


def _guess(fields: Sequence[str], words: Sequence[str], nth: int) -> str:
    found = [field for field in fields if any(word in field.lower() for word in words)]
    return found[nth] if nth < len(found) else "COLUMN"
