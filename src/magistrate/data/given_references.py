"""References out of files: MT-bench's, PandaLM's, any rows with a question (or id) and one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import fspath
from typing import Any

from magistrate.data.questions import AnyPath, Question, question_of, question_of_row
from magistrate.errors import InputError
from magistrate.formats.base import KEY_FIELD, BadRow, ReadOptions, RowError, Where
from magistrate.formats.notices import NoticeLog
from magistrate.formats.readers.values import plain_id
from magistrate.formats.rows import Rows
from magistrate.formats.samples import SamplesReader
from magistrate.formats.source import Source

FIELDS = (
    *("reference", "reference_answer", "pandalm_reference", "gpt_reference", "reference_response"),
    *("choices", "gold_answer", "ground_truth", "gold", "target", "completion", "output", "answer"),
)
"""Where a reference is looked for in a row, in this sequence."""

_IDS = ("question_id", "id", "idx", "task_id", KEY_FIELD)


@dataclass(slots=True)
class GivenReferences:
    """References by question, and by id where the file does not say the question."""

    file: str
    by_question: dict[str, tuple[str, ...]] = field(default_factory=dict)
    by_id: dict[str, tuple[str, ...]] = field(default_factory=dict)
    bad: list[BadRow] = field(default_factory=list)

    def of(self, question: Question) -> tuple[str, ...] | None:
        """Return the texts for a question, one for each turn; None where the file has none."""
        found = self.by_question.get(_key(question.turns[-1].text)) or self.by_id.get(question.id)
        return None if found is None else found[: 1 + len(question.later)]


def read_references(path: AnyPath, columns: Mapping[str, str] | None = None) -> GivenReferences:
    """Read a file of references.

    Args:
        path: Rows with a reference (:data:`FIELDS`), and with a question or an id.
        columns: Our field name (``question``, ``reference``, ``id``) to the file's field name.

    Raises:
        InputError: The file cannot be read, or there is no reference in it.
    """
    name = fspath(path)
    given = GivenReferences(name)
    for row in Rows(Source(name)).read(NoticeLog()):
        if isinstance(row, BadRow):
            given.bad.append(row)
            continue
        try:
            _take(given, row.value, Where(name, row.number), columns or {})
        except RowError as error:
            given.bad.append(BadRow(file=name, row=row.number, reason=str(error)))
    if not given.by_question and not given.by_id:
        why = given.bad[0].reason if given.bad else "it has no rows"
        raise InputError(f"{name} has no references: {why}")
    return given


def _take(given: GivenReferences, row: Any, where: Where, columns: Mapping[str, str]) -> None:
    if not isinstance(row, Mapping):
        raise RowError("an object with a reference is needed")
    if SamplesReader().matches([row], where.file):
        sample = SamplesReader().read(row, where, ReadOptions()).sample
        if sample is None or not sample.reference:
            raise RowError("the sample has no reference")
        question = question_of(sample)
        given.by_question.setdefault(_key(question.turns[-1].text), sample.turn_references)
        return
    wanted = columns.get("reference")
    names = (wanted,) if wanted else FIELDS
    texts = next((found for name in names if (found := _texts(row.get(name)))), None)
    if texts is None:
        raise RowError(f"no reference in any of {', '.join(names)}; fields: {', '.join(row)}")
    try:
        without = {k: v for k, v in row.items() if k not in names}
        question = question_of_row(without, where, columns)
    except RowError:
        key = columns.get("id")
        ids = (key,) if key else _IDS
        ident = next((plain_id(row[k]) for k in ids if row.get(k) not in (None, "")), None)
        if ident is None:
            raise RowError("a reference without a question and without an id") from None
        given.by_id.setdefault(ident, texts)
        return
    given.by_question.setdefault(_key(question.turns[-1].text), texts)


def _texts(value: Any) -> tuple[str, ...] | None:
    """Return a reference as texts, one for each turn: text, a list, or MT-bench's choices."""
    if isinstance(value, str):
        return (value,) if value.strip() else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return (plain_id(value),)
    if isinstance(value, Mapping):
        return _texts(value.get("text"))
    if isinstance(value, list) and value:
        if isinstance(value[0], Mapping):
            return _texts(value[0].get("turns"))
        if all(isinstance(text, str) for text in value):
            return tuple(value)
    return None


def _key(text: str) -> str:
    return " ".join(text.split())
