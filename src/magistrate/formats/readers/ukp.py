"""UKPConvArg1: which of two arguments of one side of a debate is more convincing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import pair, show, stem
from magistrate.records import Gold, Preference, Sample

_LABELS: dict[str, Preference] = {"a1": "first", "a2": "second", "equal": "tie"}
_RUBRIC = "Which argument is more convincing?"
_BREAK = re.compile(r"\s*<br\s*/?>\s*", re.IGNORECASE)


def _arguments(f: Fields) -> Item:
    debate = stem(f.where.file)
    label = f.choice("label", _LABELS)
    return f.item(
        Sample(
            question=_question(debate),
            answers=pair(_lines(f.text("a1")), _lines(f.text("a2"))),
            rubric=_RUBRIC,
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


def _votes(f: Fields) -> Item:
    """Read a pair with the vote of each worker; the label made from the votes is no vote."""
    first, second, debate = f.object("arg1"), f.object("arg2"), f.object("debateMetaData")
    stance = first.optional_text("stance")
    title = debate.text("title")
    return f.item(
        Sample(
            question=f"{title}: {stance}" if stance else title,
            answers=pair(_lines(first.text("text")), _lines(second.text("text"))),
            rubric=_RUBRIC,
            gold=tuple(_vote(f, vote) for vote in _assignments(f)),
            category=stem(f.where.file),
            source_id=f.id("id"),
            meta={"debate": stem(f.where.file), **f.meta("goldLabel")},
        )
    )


def _assignments(f: Fields) -> list[Any]:
    """Return the votes: XML makes a list of several, and an object of one alone."""
    if not f.get("mTurkAssignments"):
        return []
    votes = f.object("mTurkAssignments").get("mTurkAssignment")
    return votes if isinstance(votes, list) else [votes]


def _vote(f: Fields, vote: Any) -> Gold:
    if not isinstance(vote, Mapping):
        raise RowError(f"a vote (mTurkAssignment) is {show(vote)}; an object is needed")
    own = Fields(vote, f.where, f.options, f.reader)
    return Gold(
        annotator=own.id("turkID"),
        preference=own.choice("value", _LABELS),
        reasons=own.optional_text("reason") or None,
    )


READERS = (
    RowReader(
        name="ukpconvarg1",
        summary="UKPConvArg1 strict tables: #id, label (a1 or a2), a1, a2; one debate a file",
        parse=_arguments,
        keys=("#id", "label", "a1", "a2"),
    ),
    RowReader(
        name="ukpconvarg1-votes",
        summary="UKPConvArg1 XML with every worker's vote: id, arg1, arg2, mTurkAssignments",
        parse=_votes,
        keys=("arg1", "arg2", "mTurkAssignments", "debateMetaData"),
    ),
)
