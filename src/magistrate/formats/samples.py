"""The package's own format: one :class:`Sample` a line, with nothing left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from magistrate.errors import what_is_needed
from magistrate.formats.base import Item, ReadOptions, RowError, Where
from magistrate.formats.readers.values import show
from magistrate.records import Sample

_FIELDS = frozenset(Sample.model_fields)


class SamplesReader:
    """Reads samples as the package writes them."""

    name = "samples"
    summary = "magistrate's own samples: question, answers [{text, model}], gold [...], ..."

    def matches(self, rows: Sequence[Any], file: str) -> bool:
        """Whether rows have the fields of a sample and answers that are objects with text."""
        return 2 * sum(1 for row in rows if _is_sample(row)) > len(rows)

    def read(self, row: Any, where: Where, options: ReadOptions) -> Item:
        """Turn one row into a sample.

        Raises:
            RowError: A field is missing, unknown or of another type.
        """
        if not isinstance(row, Mapping):
            raise RowError(f"the row is {show(row)}; an object is needed")
        try:
            return Item(where, Sample.model_validate(row))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise RowError(
                f"{place}: {what_is_needed(first)}, found {show(first['input'])}"
            ) from error


def _is_sample(row: Any) -> bool:
    if not isinstance(row, Mapping) or not {"question", "answers"} <= set(row) <= _FIELDS:
        return False
    answers = row["answers"]
    return (
        isinstance(answers, list | tuple)
        and bool(answers)
        and all(isinstance(a, Mapping) and "text" in a for a in answers)
    )
