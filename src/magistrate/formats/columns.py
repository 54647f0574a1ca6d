"""Which column of a table holds what: by its own name, or by what ``--columns`` says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

FIELDS = (
    *("id", "question", "answer", "answer1", "answer2", "answers", "reference", "rubric"),
    *("context", "images", "label", "model", "model1", "model2", "models", "annotator"),
    *("category", "language", "score", "score1", "score2"),
)
"""Column names with a meaning (answers, models and scores go on to any number)."""

_OPTIONAL_TEXTS = ("reference", "rubric", "category", "language")
_LISTS = ("context", "images")
_ALIASES = {"image": "images"}
_NUMBERED = re.compile(r"(answer|model|score)([1-9]\d{0,3})")
_MOST_LISTED = 30
_SEPARATORS = re.compile(r"[\s_\-]+")


@dataclass(frozen=True, slots=True)
class Plan:
    """The columns of one table by what they hold."""

    columns: Mapping[str, str]
    """Our field name to the column's name."""
    answers: tuple[tuple[int, str], ...]
    """Places (from 1) and columns of the numbered answers, in order."""
    models: tuple[tuple[int, str], ...]
    scores: tuple[tuple[int, str], ...]
    texts: tuple[tuple[str, str], ...]
    """Our name and the column of each optional text that goes into the sample as it stands."""
    lists: tuple[tuple[str, str], ...]
    """The same for what may be a text or a list of texts."""
    rest: tuple[str, ...]
    """Columns without a meaning to us."""
    doubled: tuple[tuple[str, str, str], ...] = ()
    """Our name, the column taken for it, and a later column that would have had it too."""


def listed(names: Sequence[str]) -> str:
    """Return names for a message: all of them, or the first ones of very many.

    >>> listed(["a", "b"])
    'a, b'
    """
    more = f", ... ({len(names):,} in all)" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more


def squeeze(name: str) -> str:
    """Return a name without capitals, blanks, hyphens and underscores."""
    return _SEPARATORS.sub("", name).lower()


def plain_name(column: str) -> str | None:
    """Return our name for a column, None if it has none.

    >>> plain_name("Answer 1"), plain_name("model_2"), plain_name("prompt")
    ('answer1', 'model2', None)
    """
    name = squeeze(column)
    name = _ALIASES.get(name, name)
    return name if name in FIELDS or _NUMBERED.fullmatch(name) else None


@lru_cache(maxsize=256)
def plan_for(columns: tuple[str, ...], mapping: tuple[tuple[str, str], ...]) -> Plan:
    """Return the plan of a table; a mapped name beats one that looks like ours.

    Args:
        columns: The table's column names.
        mapping: Our field name and the column's name; columns that do not exist are passed over.
    """
    there = set(columns)
    names = {ours: column for ours, column in mapping if column in there}
    mapped = {ours for ours, _ in mapping}
    used = {column for _, column in mapping}
    doubled = []
    for column in columns:
        own = plain_name(column)
        if own is None or own in mapped or column in used:
            continue
        if own in names:
            doubled.append((own, names[own], column))
            continue
        names[own] = column
        used.add(column)
    return Plan(
        columns=names,
        answers=_numbered(names, "answer"),
        models=_numbered(names, "model"),
        scores=_numbered(names, "score"),
        texts=tuple((n, names[n]) for n in _OPTIONAL_TEXTS if n in names),
        lists=tuple((n, names[n]) for n in _LISTS if n in names),
        rest=tuple(column for column in columns if column not in used),
        doubled=tuple(doubled),
    )


def _numbered(names: Mapping[str, str], stem: str) -> tuple[tuple[int, str], ...]:
    found = []
    for name, column in names.items():
        match = _NUMBERED.fullmatch(name)
        if match and match[1] == stem:
            found.append((int(match[2]), column))
    return tuple(sorted(found))
