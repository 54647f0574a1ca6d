"""The general format: any table or JSON with columns of known names, or of names mapped to them.

==============================  ==================================================================
column                          what it holds
==============================  ==================================================================
``id``                          any id; made from the content where it is missing
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
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import Any, cast

from magistrate.formats.base import Item, Notice, ReadOptions, RowError, Where
from magistrate.formats.readers.values import as_number, label_text, plain_id, show
from magistrate.records import Answer, Gold, Preference, Role, Sample, Turn

FIELDS = (
    *("id", "question", "answer", "answer1", "answer2", "answers", "reference", "rubric"),
    *("context", "images", "label", "model", "model1", "model2", "models", "annotator"),
    *("category", "language", "score", "score1", "score2"),
)
"""Column names with a meaning (answers, models and scores go on to any number)."""

_NUMBERED = re.compile(r"(answer|model|score)([1-9]\d*)")
_SEPARATORS = re.compile(r"[\s_\-]+")

_SIDES = {
    "first": "1 first a a>b a>>b [[a]] left answer1 answera model1 modela response1 responsea "
    "output1 outputa assistant1 assistanta",
    "second": "2 second b b>a b>>a [[b]] right answer2 answerb model2 modelb response2 responseb "
    "output2 outputb assistant2 assistantb",
    "tie": "0 1.5 tie tied ties draw equal same a=b c [[c]] both neither tie(bothbad) bothbad",
}
LABELS: dict[str, Preference] = {
    word: cast("Preference", side) for side, words in _SIDES.items() for word in words.split()
}
"""What a label of a pair may say, without blanks, underscores and capitals."""

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
    summary = "columns question, answer1, answer2 (answer), reference, label, model1, ..."

    def matches(self, rows: Sequence[Any], file: str) -> bool:
        """Whether rows have a question and at least one answer under their own names."""
        good = sum(1 for row in rows if _has_answers(row, {"question"}))
        return 2 * good > len(rows)

    def matches_answers(self, rows: Sequence[Any]) -> bool:
        """Whether rows have an id and an answer, for use with a file of questions."""
        ids = {"id", "questionid"}
        return 2 * sum(1 for row in rows if _has_answers(row, ids)) > len(rows)

    def read(self, row: Any, where: Where, options: ReadOptions) -> Item:
        """Turn one row into a sample.

        Raises:
            RowError: The question or an answer is missing, null or no text.
        """
        if not isinstance(row, Mapping):
            raise RowError(f"the row is {show(row)}; an object or table row is needed")
        cells = _known_cells(row, options.columns)
        notices: list[Notice] = []
        answers = _answers(cells, notices)
        sample = Sample(
            question=_question(cells, row, options.questions, notices),
            answers=answers,
            reference=_optional_text(cells, "reference", notices),
            rubric=_optional_text(cells, "rubric", notices),
            context=_list_of_text(cells, "context"),
            images=_list_of_text(cells, "images"),
            gold=_gold(cells, len(answers), notices),
            category=_optional_text(cells, "category", notices),
            language=_optional_text(cells, "language", notices),
            source_id=plain_id(cells["id"]) if cells.get("id") not in (None, "") else None,
            meta=cells[_REST],
        )
        return Item(where, sample, (), tuple(notices))


_REST = "\0rest"


def _known_cells(row: Mapping[str, Any], mapping: Mapping[str, str]) -> dict[str, Any]:
    """Return the row's cells under our names; all others under :data:`_REST`."""
    names = _our_names(tuple(row), tuple(mapping.items()))
    cells: dict[str, Any] = {}
    rest: dict[str, Any] = {}
    for column, value in row.items():
        ours = names.get(column)
        if ours is None:
            rest[column] = value
        else:
            for name in ours:
                cells[name] = value
    cells[_REST] = rest
    return cells


@lru_cache(maxsize=256)
def _our_names(
    columns: tuple[str, ...], mapping: tuple[tuple[str, str], ...]
) -> dict[str, tuple[str, ...]]:
    """Return our names for a file's columns; a mapped name beats one that looks like ours."""
    names: dict[str, tuple[str, ...]] = {}
    for ours, column in mapping:
        names[column] = (*names.get(column, ()), ours)
    taken = {ours for ours, _ in mapping}
    for column in columns:
        own = plain_name(column)
        if own is not None and own not in taken and column not in names:
            names[column] = (own,)
            taken.add(own)
    return names


def plain_name(column: str) -> str | None:
    """Return our name for a column, None if it has none.

    >>> plain_name("Answer 1"), plain_name("model_2"), plain_name("prompt")
    ('answer1', 'model2', None)
    """
    name = _SEPARATORS.sub("", column).lower()
    if name == "image":
        return "images"
    return name if name in FIELDS or _NUMBERED.fullmatch(name) else None


def _has_answers(row: Any, others: Set[str]) -> bool:
    if not isinstance(row, Mapping):
        return False
    names = {_SEPARATORS.sub("", key).lower(): key for key in row if isinstance(key, str)}
    has_list = "answers" in names and isinstance(row[names["answers"]], list | tuple)
    return bool(names.keys() & others) and (has_list or bool(names.keys() & {"answer", "answer1"}))


# --- cells -------------------------------------------------------------------------------------


def _text(value: Any, name: str, notices: list[Notice]) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        text = json.dumps(value)
        kind = "true or false" if isinstance(value, bool) else "a number"
        notices.append(
            Notice(kind="not-text", message=f"{name} is {kind} in JSON; read as its text")
        )
        return text
    found = "null" if value is None else show(value)
    raise RowError(f"{name} is {found}; text is needed (an empty text is an empty answer)")


def _optional_text(cells: Mapping[str, Any], name: str, notices: list[Notice]) -> str | None:
    value = cells.get(name)
    return None if value is None or value == "" else _text(value, name, notices)


def _list_of_text(cells: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = cells.get(name)
    if value is None or value == "":
        return ()
    values = value if isinstance(value, list | tuple) else [value]
    if not all(isinstance(part, str) for part in values):
        raise RowError(f"{name} is {show(value)}; a text or a list of texts is needed")
    return tuple(values)


def _question(
    cells: Mapping[str, Any],
    row: Mapping[str, Any],
    questions: Mapping[str, Any],
    notices: list[Notice],
) -> str | tuple[Turn, ...]:
    value = cells.get("question")
    if value is None and questions:
        value = question_of(questions, cells.get("id", row.get("question_id")))
    if "question" not in cells and value is None:
        raise RowError(f"there is no question; the columns are {', '.join(map(str, row))}")
    return as_turns(value) if isinstance(value, list) else _text(value, "question", notices)


def question_of(questions: Mapping[str, Any], ident: Any) -> Any:
    """Return the question with an id from a file of questions.

    Raises:
        RowError: The file has no such id, or its record holds no question.
    """
    record = questions.get(plain_id(ident)) if ident is not None else None
    if record is None:
        raise RowError(f"the file of questions has no id {show(ident)}")
    for key in ("question", "question_body", "instruction", "prompt", "text", "turns"):
        if record.get(key):
            value = record[key]
            if key == "turns" and len(value) == 1:
                return value[0]
            return value
    raise RowError(f"question {show(ident)} has no text; its fields are {', '.join(record)}")


def as_turns(messages: Sequence[Any]) -> tuple[Turn, ...]:
    """Return chat messages as turns.

    Raises:
        RowError: A message has no role and text, or an unknown role.
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


def _answers(cells: Mapping[str, Any], notices: list[Notice]) -> tuple[Answer, ...]:
    texts = _numbered(cells, "answer")
    models = _numbered(cells, "model")
    if not texts:
        raise RowError("there is no answer: needed are the columns answer1 and answer2, or answer")
    answers = []
    for place in range(1, max(texts) + 1):
        if place not in texts:
            raise RowError(f"answer{place} is missing between answer1 and answer{max(texts)}")
        value, model = texts[place], models.get(place)
        name = f"answer{place}" if len(texts) > 1 else "answer"
        answers.append(
            Answer(
                text=_text(value, name, notices),
                model=plain_id(model) if model not in (None, "") else None,
            )
        )
    return tuple(answers)


def _numbered(cells: Mapping[str, Any], stem: str) -> dict[int, Any]:
    """Return the values of ``stem1``, ``stem2``, ... (or the list ``stems``, or ``stem``)."""
    found = {int(key[len(stem) :]): cells[key] for key in cells if _place(key, stem)}
    if found:
        # Tables of answers of differing number leave the last cells empty.
        while len(found) > 2 and found[max(found)] is None:
            del found[max(found)]
        return found
    many = cells.get(stem + "s")
    if isinstance(many, list | tuple):
        return dict(enumerate(many, start=1))
    return {1: cells[stem]} if stem in cells else {}


def _place(key: str, stem: str) -> bool:
    match = _NUMBERED.fullmatch(key)
    return match is not None and match[1] == stem


# --- gold --------------------------------------------------------------------------------------


def _gold(cells: Mapping[str, Any], answers: int, notices: list[Notice]) -> tuple[Gold, ...]:
    scores = _scores(cells, answers)
    label = cells.get("label")
    has_label = label is not None and not (isinstance(label, str) and not label.strip())
    annotator = _optional_text(cells, "annotator", notices)
    if not has_label and scores is None:
        return ()
    preference = ranking = name = None
    if has_label:
        if answers == 1:
            name = plain_id(label)
        elif answers == 2:
            preference = read_label(label)
        else:
            ranking = _best_of(label, answers)
        if name is None and preference is None and ranking is None:
            notices.append(
                Notice(
                    kind="unknown-label",
                    message=f"label {show(label)} says nothing here, so it is left out; known: "
                    "1, 2, tie (also 0, 1.5, first, second, A, B)",
                )
            )
    if preference is None and scores is not None and answers == 2 and not has_label:
        preference = _higher(scores)
    if preference is None and ranking is None and name is None and scores is None:
        return ()
    gold = Gold(
        annotator=annotator, preference=preference, ranking=ranking, scores=scores, label=name
    )
    return (gold,)


def read_label(label: Any) -> Preference | None:
    """Return what a label of a pair means, None if it is not known.

    >>> read_label(1), read_label("2.0"), read_label(1.5), read_label("Tie (bothbad)")
    ('first', 'second', 'tie', 'tie')
    >>> read_label("model_a"), read_label("maybe") is None
    ('first', True)
    """
    text = label_text(label)
    if text is None or text.startswith("-"):
        return None
    return LABELS.get(_SEPARATORS.sub("", text))


def _best_of(label: Any, answers: int) -> tuple[int, ...] | None:
    text = label_text(label) or ""
    if not text.isdecimal() or not 1 <= int(text) <= answers:
        return None
    return tuple(1 if place == int(text) else 2 for place in range(1, answers + 1))


def _scores(cells: Mapping[str, Any], answers: int) -> tuple[float, ...] | None:
    found = {p: v for p, v in _numbered(cells, "score").items() if v is not None and v != ""}
    if not found:
        return None
    if set(found) != set(range(1, answers + 1)):
        raise RowError(f"{len(found)} scores for {answers} answers; all or none are needed")
    return tuple(as_number(found[place], f"score{place}") for place in sorted(found))


def _higher(scores: tuple[float, ...]) -> Preference:
    if scores[0] == scores[1]:
        return "tie"
    return "first" if scores[0] > scores[1] else "second"
