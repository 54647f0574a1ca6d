"""Questions out of any file: files of questions, of answers, of pairs, tables, plain lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from magistrate.errors import InputError
from magistrate.formats.base import KEY_FIELD, BadRow, Notice, ReadOptions, RowError, Where
from magistrate.formats.notices import NoticeLog
from magistrate.formats.readers.dialogue import is_messages, messages, user_turns
from magistrate.formats.readers.fields import Fields
from magistrate.formats.readers.values import plain_id, show, with_input
from magistrate.formats.reading import read_samples
from magistrate.formats.rows import Rows
from magistrate.formats.sniff import SNIFF_ROWS, sniff
from magistrate.formats.source import Source
from magistrate.ids import content_id
from magistrate.records import Record, Sample, Turn, reference_of_turns
from magistrate.store.disk import NewFile, writing

AnyPath = str | PathLike[str]

_IDS = ("question_id", "id", "idx", "task_id", KEY_FIELD)
_TEXTS = (
    *("turns", "question", "question_body", "instruction", "motivation_app", "prompt", "query"),
    *("messages", "conversation", "text", "input"),
)
_LINES = (".txt", ".text", ".txt.gz")
_ID_DIGITS = 12


class Question(Record):
    """What a model is asked."""

    id: str
    """The file's own id; where it has none, or gave it twice, a content hash."""
    turns: tuple[Turn, ...]
    """The dialogue up to the first answer; mostly one turn of the user."""
    later: tuple[str, ...] = ()
    """What the user says after each answer."""
    category: str | None = None
    language: str | None = None
    reference: str | None = None

    @property
    def asked(self) -> str | tuple[Turn, ...]:
        """The question as :attr:`magistrate.records.Sample.question` has it."""
        first = self.turns[0]
        return first.text if len(self.turns) == 1 and first.role == "user" else self.turns

    @property
    def text(self) -> str:
        """All that the user says, for comparing questions."""
        said = [turn.text for turn in self.turns if turn.role == "user"]
        return "\n\n".join([*said, *self.later])


@dataclass(slots=True)
class Questions:
    """The questions of some files."""

    rows: list[Question] = field(default_factory=list)
    repeated: int = 0
    """Questions left out since they were there already."""
    bad: list[BadRow] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)


def load_questions(
    *files: AnyPath,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    strict: bool = False,
) -> Questions:
    """Read questions, each once.

    Args:
        files: MT-bench and Vicuna-bench questions, any JSON Lines, JSON or table with a field of
            questions (``question``, ``instruction``, ``prompt``, ``turns``, ``messages``, ...), any
            file that :func:`magistrate.read_samples` reads, or plain text, a question a line.
        format: Name of a format of samples, instead of finding it out.
        columns: Our field name to the file's column name, such as ``{"question": "prompt"}``.
        limit: Stop after so many.
        strict: Stop at the first bad row.

    Raises:
        InputError: A file cannot be read, or there is no question in it.
    """
    found = Questions()
    texts: set[str] = set()
    ids: dict[str, str] = {}
    for path in files:
        file = fspath(path)
        before = len(found.rows) + found.repeated
        for question in _of_file(file, format, dict(columns or {}), found, strict=strict):
            code = content_id([[t.role, t.text] for t in question.turns] + list(question.later))
            if code in texts:
                found.repeated += 1
                continue
            texts.add(code)
            ident = question.id or code[:_ID_DIGITS]
            if ident in ids:
                found.notices.append(
                    Notice(
                        kind="duplicate-id",
                        message=f"{file}: id {ident} stands for another question before; this one "
                        f"is called {ident}-{code[:_ID_DIGITS]}",
                    )
                )
                ident = f"{ident}-{code[:_ID_DIGITS]}"
            ids[ident] = code
            found.rows.append(question.model_copy(update={"id": ident}))
            if limit is not None and len(found.rows) >= limit:
                return found
        if len(found.rows) + found.repeated == before:
            first = f"; the first bad row: {found.bad[0].reason}" if found.bad else ""
            raise InputError(f"{file} holds no question that can be read{first}")
    return found


def write_questions(questions: Sequence[Question], path: AnyPath) -> None:
    """Write questions as MT-bench keeps them (``question_id``, ``category``, ``turns``).

    A dialogue that holds more than the user's turns stands in ``messages``.

    Raises:
        RunError: The file cannot be written.
    """
    with NewFile(Path(path)) as file:
        for question in questions:
            row: dict[str, Any] = {"question_id": question.id}
            if question.category is not None:
                row["category"] = question.category
            if isinstance(question.asked, str):
                row["turns"] = [question.asked, *question.later]
            else:
                row["messages"] = [{"role": t.role, "content": t.text} for t in question.turns]
                if question.later:
                    row["later"] = list(question.later)
            if question.language is not None:
                row["language"] = question.language
            if question.reference is not None:
                row["reference"] = question.reference
            file.write(json_line(row))
        file.put_in_place()


def json_line(row: Mapping[str, Any]) -> bytes:
    """Return an object as a line of JSON in UTF-8; lone surrogates are escaped."""
    try:
        return json.dumps(row, ensure_ascii=False).encode("utf-8") + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row).encode("ascii") + b"\n"


def dropped_path(out: Path) -> Path:
    """Return where the rows that an output leaves out are listed.

    >>> dropped_path(Path("data/pairs-ref.jsonl")).as_posix()
    'data/pairs-ref.dropped.jsonl'
    """
    return out.with_name(out.name.split(".jsonl")[0] + ".dropped.jsonl")


def write_list(path: Path, rows: Sequence[Mapping[str, Any]]) -> str | None:
    """Write rows one a line and return the path; without rows there is no file.

    Raises:
        RunError: The file cannot be written.
    """
    if not rows:
        with writing(path):
            path.unlink(missing_ok=True)
        return None
    with NewFile(path) as file:
        for row in rows:
            file.write(json_line(row))
        file.put_in_place()
    return str(path)


def _of_file(
    file: str,
    format: str | None,  # noqa: A002
    columns: dict[str, str],
    found: Questions,
    *,
    strict: bool,
) -> Iterator[Question]:
    if format is None and file.lower().endswith(_LINES):
        yield from _plain_lines(file)
        return
    if format is not None or _has_samples(file, columns):
        reader = read_samples(file, format=format, columns=columns, join="off", strict=strict)
        for sample in reader:
            yield question_of(sample)
        found.bad += reader.bad
        found.notices += reader.notices
        return
    log = NoticeLog()
    try:
        rows = Rows(Source(file))
    except InputError:
        if not columns and _is_prose(file):
            yield from _plain_lines(file)
            return
        raise
    for row in rows.read(log):
        try:
            if isinstance(row, BadRow):
                raise RowError(row.reason)  # noqa: TRY301  # told like the others
            yield question_of_row(row.value, Where(file, row.number), columns)
        except RowError as error:
            number = row.row if isinstance(row, BadRow) else row.number
            if strict:
                raise InputError(f"{file}, row {number}: {error}") from error
            found.bad.append(BadRow(file=file, row=number, reason=str(error)))
    found.notices += log.notices()


def _has_samples(file: str, columns: Mapping[str, str]) -> bool:
    """Whether a file is of a format whose rows have answers beside the questions."""
    try:
        rows = Rows(Source(file))
        head = list(islice(rows.read(NoticeLog()), SNIFF_ROWS))
        values = [row.value for row in head if not isinstance(row, BadRow)]
        reader = sniff(values, file, rows.container)
    except InputError:
        return False
    if columns:
        return False
    for row in head:
        if not isinstance(row, BadRow):
            try:
                if reader.read(row.value, Where(file, row.number), ReadOptions()).sample:
                    return True
            except (ValueError, LookupError, TypeError, AttributeError):
                continue
    return False


def _is_prose(file: str) -> bool:
    """Whether a file is text that has neither rows nor columns."""
    source = Source(file)
    source.check_text()
    return source.head().lstrip()[:1] not in (b"{", b"[")


def _plain_lines(file: str) -> Iterator[Question]:
    with Source(file).open_text() as stream:
        for line in stream:
            text = line.decode("utf-8", "replace").strip()
            if text:
                yield Question(id="", turns=(Turn(role="user", text=text),))


def question_of(sample: Sample) -> Question:
    """Return the question of a sample; what the user said between its answers' turns comes later.

    >>> question_of(Sample(question="Why?", answers=[{"text": "So."}], source_id="7")).id
    '7'
    """
    asked = sample.question
    turns = (Turn(role="user", text=asked),) if isinstance(asked, str) else asked
    said = sample.answers[0].turns
    return Question(
        id=sample.source_id or "",
        turns=turns,
        later=tuple(turn.text for turn in said if turn.role == "user"),
        category=sample.category,
        language=sample.language,
        reference=sample.reference,
    )


def question_of_row(row: Any, where: Where, columns: Mapping[str, str]) -> Question:
    """Return the question of a row as a file holds it.

    Args:
        row: A text, or an object with a field of questions.
        where: Its place.
        columns: Our field name to the row's field name.

    Raises:
        RowError: There is no question in it.
    """
    if isinstance(row, str):
        if not row.strip():
            raise RowError("the row is empty")
        return Question(id="", turns=(Turn(role="user", text=row),))
    if not isinstance(row, Mapping):
        raise RowError(f"the row is {show(row)}; text or an object with a question is needed")
    key = columns.get("question") or next((name for name in _TEXTS if row.get(name)), None)
    if key is None or not row.get(key):
        names = ", ".join(list(map(str, row))[:20]) or "none"
        raise RowError(f"no field of questions ({', '.join(_TEXTS)}); fields: {names}")
    fields = Fields(row, where, ReadOptions(), "questions")
    turns, later = _said(fields, key)
    if not turns[-1].text.strip():
        raise RowError("the question is empty")
    ident = columns.get("id")
    ids = (ident,) if ident else _IDS
    return Question(
        id=next((plain_id(row[name]) for name in ids if row.get(name) not in (None, "")), ""),
        turns=turns,
        later=later,
        category=_text(row, columns.get("category", "category")),
        language=_text(row, columns.get("language", "language")),
        reference=_reference(row.get(columns.get("reference", "reference"))),
    )


def _said(fields: Fields, key: str) -> tuple[tuple[Turn, ...], tuple[str, ...]]:
    value = fields.get(key)
    if is_messages(value):
        turns = messages(fields, value, key)
        while turns and turns[-1].role == "assistant":  # the file's own answer is not asked
            turns = turns[:-1]
        if not turns:
            raise RowError(f"'{key}' has no turn of the user")
        later = fields.get("later")
        return turns, tuple(map(str, later)) if isinstance(later, list) else ()
    texts = user_turns({"turns": value} if isinstance(value, list) else {"text": value})
    first = texts[0]
    if key in ("instruction", "motivation_app"):
        first = with_input(first, fields.optional_text("input"))
    return (Turn(role="user", text=first),), texts[1:]


def _text(row: Mapping[str, Any], name: str) -> str | None:
    value = row.get(name)
    return value if isinstance(value, str) and value.strip() else None


def _reference(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    texts = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
    if not texts:
        return None
    return texts[0] if len(texts) == 1 else reference_of_turns(texts)
