"""The general format: any table or JSON with columns of known names, or of names mapped to them.

==============================  ==================================================================
column                          what it holds
==============================  ==================================================================
``id``                          any id
``question``                    text, or messages ``[{"role": ..., "content": ...}]``
``answer1`` .. ``answerN``      the answers to compare (or ``answers``, a list)
``answer``                      the answer, where there is one to grade
``model1`` .. ``modelN``        who wrote them (``model`` for one answer; or ``models``, a list)
``reference``, ``rubric``       a known good answer; what to judge by
``context``                     a passage, or a list of passages
``images``                      a path or URL, or a list of them
``label``                       which answer is better (below); for one answer any class
``score1`` .. ``scoreN``        gold scores, higher is better (``score`` for one answer)
``annotator``                   who gave the label and the scores
``category``, ``language``      to break results down by
==============================  ==================================================================

Capitals, blanks, hyphens and underscores in a column's name do not matter (``Answer 1``,
``answer_1``). Other columns are kept in ``Sample.meta``.

Labels of a pair: 1, ``first``, ``A``, ``A>B``, ``answer1``, ``model_a`` and the like for the first;
2 and so on for the second; 0, 1.5, ``tie``, ``equal``, ``both`` and the like for a tie; numbers may
be integers, floats or text. An empty label is none. A label that is none of these is told as a
notice, and the row is judged without it. A label ``k`` of three or more answers names the best.
Scores without a label give the label: the higher score is better, equal scores are a tie.

An answer that is null or missing makes the row a bad one; an empty text is an empty answer and is
judged. Numbers, ``true`` and ``false`` are read as the text that JSON has for them, with a notice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from typing import Any

from magistrate.formats.base import Item, Notice, ReadOptions, RowError, Where
from magistrate.formats.columns import Plan, listed, plan_for, squeeze
from magistrate.formats.labels import read_gold
from magistrate.formats.readers.values import plain_id, show
from magistrate.records import Answer, Gold, Role, Sample, Turn

_QUESTION_KEYS = ("question", "question_body", "instruction", "prompt", "text", "turns")
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "prompter": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
}


class TabularReader:
    """Reads rows whose columns have the names above, or are mapped to them."""

    name = "table"
    summary = "columns question, answer1, answer2 (or answer), reference, label, model1, ..."

    def matches(self, rows: Sequence[Any], file: str) -> bool:
        """Whether any row has a question and an answer under their own names.

        One is enough: this reader is asked last, and damaged rows are no reason to give up.
        """
        return any(_has_answers(row, {"question"}) for row in rows)

    def matches_answers(self, rows: Sequence[Any]) -> bool:
        """Whether any row has an id and an answer, for use with a file of questions."""
        ids = {"id", "questionid"}
        return any(_has_answers(row, ids) for row in rows)

    def read(self, row: Any, where: Where, options: ReadOptions) -> Item:
        """Turn one row into a sample.

        Raises:
            RowError: The question or an answer is missing, null or no text.
        """
        if not isinstance(row, Mapping):
            raise RowError(f"the row is {show(row)}; an object or table row is needed")
        cells = _Cells(row, plan_for(tuple(row), tuple(options.columns.items())))
        answers = cells.answers()
        sample = Sample(
            question=cells.question(options.questions),
            answers=answers,
            gold=cells.gold(len(answers)),
            source_id=cells.id(),
            meta={column: row[column] for column in cells.plan.rest},
            **cells.optional(),
        )
        return Item(where, sample, (), tuple(cells.notices))


def _has_answers(row: Any, others: Set[str]) -> bool:
    if not isinstance(row, Mapping):
        return False
    names = {squeeze(key): key for key in row if isinstance(key, str)}
    has_list = "answers" in names and isinstance(row[names["answers"]], list | tuple)
    return bool(names.keys() & others) and (has_list or bool(names.keys() & {"answer", "answer1"}))


class _Cells:
    """The cells of one row by our names, with the notices that they give rise to."""

    def __init__(self, row: Mapping[str, Any], plan: Plan) -> None:
        self.row = row
        self.plan = plan
        self.notices = [
            Notice(
                kind="doubled-column",
                message=f"columns {taken!r} and {left!r} are both {ours}; {taken!r} is taken",
            )
            for ours, taken, left in plan.doubled
        ]

    def get(self, name: str) -> Any:
        column = self.plan.columns.get(name)
        return None if column is None else self.row[column]

    def optional_text(self, name: str) -> str | None:
        value = self.get(name)
        return None if value is None or value == "" else self._text(value, name)

    def optional(self) -> dict[str, Any]:
        """Return the optional fields of a sample that have a value."""
        found: dict[str, Any] = {}
        for name, column in self.plan.texts:
            value = self.row[column]
            if value is not None and value != "":
                found[name] = self._text(value, name)
        for name, column in self.plan.lists:
            value = self.row[column]
            if value is not None and value != "":
                found[name] = _texts(value, name)
        return found

    def gold(self, answers: int) -> tuple[Gold, ...]:
        annotator = self.optional_text("annotator")
        return read_gold(self.get("label"), self.scores(), annotator, answers, self.notices)

    def id(self) -> str | None:
        return _name(self.get("id"))

    def question(self, questions: Mapping[str, Any]) -> str | tuple[Turn, ...]:
        value = self.get("question")
        if value is None and questions:
            ident = self.get("id")
            value = question_of(questions, self.row.get("question_id") if ident is None else ident)
        elif "question" not in self.plan.columns:
            raise RowError(f"there is no question; the columns are {listed(tuple(self.row))}")
        return as_turns(value) if isinstance(value, list) else self._text(value, "question")

    def answers(self) -> tuple[Answer, ...]:
        texts = self._answer_cells()
        models = self._model_cells()
        name = "answer{}" if len(texts) > 1 else "answer"
        return tuple(
            Answer(text=self._text(value, name.format(place)), model=_name(models.get(place)))
            for place, value in enumerate(texts, start=1)
        )

    def _answer_cells(self) -> list[Any]:
        numbered = self.plan.answers
        if numbered:
            last = numbered[-1][0]
            if last == 1:
                raise RowError("there is answer1 but no answer2 (a single answer goes in 'answer')")
            if len(numbered) < last:
                missing = sorted(set(range(1, last)) - {place for place, _ in numbered})
                raise RowError(f"there is answer{last} but no answer{missing[0]}")
            values = [self.row[column] for _, column in numbered]
            # Tables of answers of differing number leave the last cells empty.
            while len(values) > 2 and values[-1] is None:
                values.pop()
            return values
        many = self.get("answers")
        if isinstance(many, list | tuple) and many:
            return list(many)
        if "answer" not in self.plan.columns:
            raise RowError("there is no answer: the columns answer1 and answer2, or answer, needed")
        return [self.get("answer")]

    def _model_cells(self) -> dict[int, Any]:
        if self.plan.models:
            return {place: self.row[column] for place, column in self.plan.models}
        many = self.get("models")
        if isinstance(many, list | tuple):
            return dict(enumerate(many, start=1))
        return {1: self.get("model")}

    def scores(self) -> list[tuple[int, Any]]:
        if self.plan.scores:
            return [(place, self.row[column]) for place, column in self.plan.scores]
        value = self.get("score")
        return [] if value is None else [(1, value)]

    def _text(self, value: Any, name: str) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            kind = "true or false" if isinstance(value, bool) else "a number"
            message = f"{name} is {kind} in JSON; read as its text"
            self.notices.append(Notice(kind="not-text", message=message))
            return json.dumps(value)
        raise RowError(f"{name} is {show(value)}; text is needed (an empty text is judged as such)")


def _texts(value: Any, name: str) -> tuple[str, ...]:
    """Return a text or a list of texts as a tuple."""
    values = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(part, str) for part in values):
        raise RowError(f"{name} is {show(value)}; a text or a list of texts is needed")
    return tuple(values)


def _name(value: Any) -> str | None:
    """Return an id or a model's name as text; an empty one is none."""
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    return str(value) if type(value) is int else plain_id(value)


def question_of(questions: Mapping[str, Any], ident: Any) -> Any:
    """Return the question with an id from a file of questions.

    Raises:
        RowError: The file has no such id, or its record holds no question.
    """
    record = questions.get(plain_id(ident)) if ident is not None else None
    if record is None:
        raise RowError(f"the file of questions has no id {show(ident)}")
    for key in _QUESTION_KEYS:
        if record.get(key):
            value = record[key]
            return value[0] if key == "turns" and len(value) == 1 else value
    raise RowError(f"question {show(ident)} has no text; its fields are {', '.join(record)}")


def as_turns(messages: Sequence[Any]) -> tuple[Turn, ...]:
    """Return chat messages as turns.

    Raises:
        RowError: There are none, or a message has no text or an unknown role.
    """
    turns = []
    for message in messages:
        if not isinstance(message, Mapping):
            raise RowError(f"a message is {show(message)}; needed: an object with role and content")
        role = _ROLES.get(str(message.get("role", message.get("from"))).lower())
        text = message.get("content", message.get("value", message.get("text")))
        if role is None or not isinstance(text, str):
            raise RowError(f"a message is {show(dict(message))}; needed: role and content as text")
        turns.append(Turn(role=role, text=text))
    if not turns:
        raise RowError("the list of messages is empty")
    return tuple(turns)
