"""Fields that only the file knew (``Sample.meta``) as columns of a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from magistrate.formats.columns import listed, plain_name
from magistrate.formats.writers.base import Tally

MOST_COLUMNS = 200
"""More columns of other fields than so many are not made: then the fields are data, not columns."""

Kind = Literal["bool", "int", "float", "text"]

_LARGEST_INT = 2**63 - 1


class OtherColumns:
    """The columns of other fields, as they come up over the samples."""

    def __init__(self, tally: Tally) -> None:
        """Take what counts the notices."""
        self._tally = tally
        self.kinds: dict[str, Kind] = {}
        """Each column with the narrowest kind that holds all of its values."""

    def cells(self, meta: Mapping[str, Any], place: int) -> dict[str, Any]:
        """Return the cells of one sample, and note what they cannot hold.

        A field whose name means something to the table reader has none: it would be read back as
        an answer, a label, or the like. Lists and objects become JSON text.
        """
        cells: dict[str, Any] = {}
        left_out: list[str] = []
        as_text: list[str] = []
        for name, value in meta.items():
            is_new = name not in self.kinds
            if plain_name(name) is not None or (is_new and len(self.kinds) >= MOST_COLUMNS):
                left_out.append(name)
                continue
            if value is None:
                continue
            kind = _kind(value)
            if kind is None:
                value, kind = json.dumps(value, ensure_ascii=False, default=str), "text"
                as_text.append(name)
            cells[name] = value
            self.kinds[name] = _wider(self.kinds.get(name), kind)
        if left_out:
            self._note(f"has no place for the fields {listed(left_out)}", place)
        if as_text:
            self._note(f"holds the fields {listed(as_text)} as JSON text", place)
        return cells

    def _note(self, what: str, place: int) -> None:
        self._tally.log.add("not-written", f"'{self._tally.to}' {what}", row=place)


def as_kind(value: Any, kind: Kind) -> Any:
    """Return a value as the kind of its column.

    >>> as_kind(True, "text"), as_kind(3, "float"), as_kind("x", "text")
    ('true', 3.0, 'x')
    """
    if value is None or kind in ("bool", "int"):
        return value
    if kind == "float":
        return float(value)
    return value if isinstance(value, str) else json.dumps(value)


def _kind(value: Any) -> Kind | None:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int" if abs(value) <= _LARGEST_INT else None
    if isinstance(value, float):
        return "float"
    return "text" if isinstance(value, str) else None


def _wider(known: Kind | None, kind: Kind) -> Kind:
    if known is None or known == kind:
        return kind
    return "float" if {known, kind} == {"int", "float"} else "text"
