"""UKPConvArg1: which of two arguments of one side of a debate is more convincing."""

from __future__ import annotations

import re

from magistrate.formats.base import Item
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import pair, stem
from magistrate.records import Gold, Preference, Sample

_LABELS: dict[str, Preference] = {"a1": "first", "a2": "second", "equal": "tie"}
_BREAK = re.compile(r"\s*<br\s*/?>\s*", re.IGNORECASE)


def _arguments(f: Fields) -> Item:
    debate = stem(f.where.file)
    label = f.choice("label", _LABELS)
    return f.item(
        Sample(
            question=_question(debate),
            answers=pair(_lines(f.text("a1")), _lines(f.text("a2"))),
            rubric="Which argument is more convincing?",
            gold=(Gold(preference=label),) if label else (),
            category=debate,
            source_id=f.id("#id", "id"),
            meta={"debate": debate},
        )
    )


def _question(debate: str) -> str:
    """Return the debate and its side, which the file's name holds.

    >>> _question("is-porn-wrong-_no-is-is-not")
    'is porn wrong: no is is not'
    """
    title, _, side = debate.partition("_")
    words = [part.replace("-", " ").strip() for part in (title, side)]
    return ": ".join(part for part in words if part)


def _lines(text: str) -> str:
    return _BREAK.sub("\n", text)


READERS = (
    RowReader(
        name="ukpconvarg1",
        summary="UKPConvArg1 strict tables: #id, label (a1 or a2), a1, a2; one debate a file",
        parse=_arguments,
        keys=("#id", "label", "a1", "a2"),
    ),
)
