"""Read samples and stored judgments from files: the one door through which all input comes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from os import PathLike, fspath
from typing import Any, Literal, TypeAlias, get_args

from pydantic import ValidationError

from magistrate.errors import InputError, what_is_needed
from magistrate.formats.base import BadRow, Item, Notice, Reader, ReadOptions, RowError, Where
from magistrate.formats.bench_folder import folder_among
from magistrate.formats.images import question_with_image_path, with_image_paths
from magistrate.formats.join import JoinFile, JoinKey, JoinMode, default_models, join
from magistrate.formats.notices import NoticeLog
from magistrate.formats.readers.values import plain_id
from magistrate.formats.rows import Rows
from magistrate.formats.seen import SeenIds
from magistrate.formats.sniff import SNIFF_ROWS, fields_of, sniff
from magistrate.formats.source import Source
from magistrate.records import Judgment, Sample

Path: TypeAlias = str | PathLike[str]

MAX_BAD_KEPT = 10_000
"""Bad rows kept with their reasons; later ones are only counted."""

_JOINS = (*get_args(JoinMode), "off", None)
_READER_FAULTS = (LookupError, TypeError, AttributeError, ValueError)


@dataclass(frozen=True, slots=True)
class _File:
    """One file with the reader chosen for it."""

    name: str
    rows: Rows
    reader: Reader
    head: tuple[Item, ...]
    """The items of the first rows that could be read."""

    @property
    def answers(self) -> int | None:
        """Answers per sample if the first samples agree, None if unknown or mixed."""
        counts = {len(item.sample.answers) for item in self.head if item.sample}
        return counts.pop() if len(counts) == 1 else None


class ItemReader:
    """The rows of one or more files as items, each with a sample, stored judgments, or both.

    Can be iterated again; each time the files are read anew and the counts start over.

    Attributes:
        format: Name of the format; several are joined by ``+``.
        bad: Rows that could not be used, filled while reading (the first 10,000; ``bad_count``
            has them all).
        bad_count: Number of bad rows so far.
        rows: Number of rows so far, good and bad.
        duplicate_ids: Number of samples so far with the id and models of an earlier one.
    """

    def __init__(
        self,
        *paths: Path,
        format: str | None = None,  # noqa: A002
        columns: Mapping[str, str] | None = None,
        questions: Path | None = None,
        strict: bool = False,
        limit: int | None = None,
        join: JoinMode | Literal["off"] | None = None,
    ) -> None:
        if not paths:
            raise InputError("no file was given; name at least one, or - for standard input")
        if limit is not None and limit < 1:
            raise InputError(f"limit is {limit}; needed: 1 or more, or None for no limit")
        if join not in _JOINS:
            raise InputError(f"join is {join!r}; known: {', '.join(filter(None, _JOINS))}")
        self.paths = tuple(fspath(path) for path in paths)
        self.questions = fspath(questions) if questions is not None else None
        self._folder = folder_among(self.paths)
        if self._folder is not None:
            self.paths = self._folder.answers
            self.questions = self.questions or self._folder.questions
        self.strict = strict
        self.limit = limit
        self._options = ReadOptions(
            columns=dict(columns or {}),
            questions=read_questions(self.questions) if self.questions is not None else {},
        )
        self._files = tuple(_open(name, format, self._options) for name in self.paths)
        self._join = _join_mode(self._files, join)
        self.format = "+".join(dict.fromkeys(file.reader.name for file in self._files))
        self._start()

    def _start(self) -> None:
        self.bad: list[BadRow] = []
        self.bad_count = 0
        self.rows = 0
        self.duplicate_ids = 0
        self._log = NoticeLog()

    @property
    def settings(self) -> dict[str, Any]:
        """How the files are read; a run keeps it beside its results."""
        return {
            "format": self.format,
            "join": self._join,
            "columns": dict(self._options.columns),
            "questions": self.questions,
        }

    @property
    def joined(self) -> JoinMode | None:
        """How the files are joined into one; None if they are read one after the other."""
        return self._join

    @property
    def containers(self) -> dict[str, str]:
        """How each file arranges its rows, such as ``json lines``."""
        return {file.name: file.rows.container for file in self._files}

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What the user should know of the input, so far."""
        return self._log.notices()

    def items(self, *, need_good: bool = True) -> Iterator[Item]:
        """Read all files from the start.

        Args:
            need_good: Whether it is an error if no row at all can be read.

        Raises:
            InputError: A row is bad and ``strict`` is set, or no row is good.
        """
        self._start()
        good = 0
        items = self._all_items()
        for item in self._folder.label(items, self._log) if self._folder else items:
            if isinstance(item, BadRow):
                self._add_bad(item)
                continue
            for notice in item.notices:
                self._note(notice, item.where)
            good += 1
            yield item
            if self.limit is not None and good >= self.limit:
                return
        if need_good and not good:
            raise InputError(self._nothing_good())

    def __iter__(self) -> Iterator[Any]:
        return self.items()

    def _all_items(self) -> Iterator[Item | BadRow]:
        if self._join is None:
            for file in self._files:
                yield from self._warn_of_duplicates(file.name, self._file_items(file))
            return
        models = default_models(self.paths)
        files = [
            JoinFile(file.name, model, self._file_items(file))
            for file, model in zip(self._files, models, strict=True)
        ]
        key, sparse = _join_key(self._files), self._folder is not None
        yield from join(files, key, self._join, self._log, sparse=sparse)

    def _file_items(self, file: _File) -> Iterator[Item | BadRow]:
        for row in file.rows.read(self._log):
            self.rows += 1
            if isinstance(row, BadRow):
                yield row
            else:
                yield _read_row(file.reader, row.value, Where(file.name, row.number), self._options)

    def _warn_of_duplicates(
        self, name: str, items: Iterator[Item | BadRow]
    ) -> Iterator[Item | BadRow]:
        seen = SeenIds()
        for item in items:
            if isinstance(item, Item) and item.sample and item.sample.source_id is not None:
                sample = item.sample
                key = (sample.source_id, *(answer.model for answer in sample.answers))
                first = seen.first_row(key, item.where.row)
                if first is not None:
                    self.duplicate_ids += 1
                    self._log.add(
                        "duplicate-id",
                        f"id {sample.source_id!r} stands in rows {first} and {item.where.row}; "
                        "both are kept",
                        file=name,
                    )
            yield item
        if seen.full:
            self._log.add(
                "duplicate-id",
                f"only the first {seen.limit:,} ids were checked for duplicates",
                file=name,
            )

    def _note(self, notice: Notice, where: Where) -> None:
        message = notice.message.removeprefix(f"{where.file}, row {where.row}: ")
        self._log.add(notice.kind, message, file=where.file, row=where.row)

    def _add_bad(self, bad: BadRow) -> None:
        if self.strict:
            raise InputError(f"{bad.file}, row {bad.row}: {bad.reason}")
        self.bad_count += 1
        if len(self.bad) < MAX_BAD_KEPT:
            self.bad.append(bad)

    def _nothing_good(self) -> str:
        names = ", ".join(self.paths)
        if not self.bad:
            return f"{names}: there are no rows"
        first = self.bad[0]
        return (
            f"{names}: none of the {self.bad_count:,} rows can be read as '{self.format}'; the "
            f"first ({first.file}, row {first.row}): {first.reason}"
        )


class SampleReader(ItemReader):
    """The samples of one or more files; see :func:`read_samples`.

    Attributes:
        where: File and row of the last sample.
    """

    def __init__(self, *paths: Path, **options: Any) -> None:
        super().__init__(*paths, **options)
        self.where: Where | None = None
        for file in self._files:
            _check_has_samples(file)

    def __iter__(self) -> Iterator[Sample]:
        for item in self.items():
            if item.sample is not None:
                self.where = item.where
                yield item.sample


class JudgmentReader(ItemReader):
    """The stored judgments of one file; see :func:`read_judgments`."""

    def __iter__(self) -> Iterator[Judgment]:
        for item in self.items():
            yield from item.judgments


def read_samples(
    *paths: Path,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    questions: Path | None = None,
    strict: bool = False,
    limit: int | None = None,
    join: JoinMode | Literal["off"] | None = None,
) -> SampleReader:
    """Read samples from files of any known format.

    Several files of single answers are joined by id or question into pairs; other files are read
    one after the other.

    Args:
        paths: Files, plain or gzipped; ``-`` is standard input. Or one folder as MT-bench keeps it
            (``question.jsonl`` and ``model_answer/MODEL.jsonl``), whose files are read together.
        format: Name of a format, instead of finding it out from the first rows.
        columns: Our field name to the file's column name, such as ``{"question": "prompt"}``.
        questions: File of questions, for answer files that hold their ids only.
        strict: Stop at the first bad row, instead of listing it and going on.
        limit: Stop after this many samples.
        join: ``pairs`` or ``nway`` to say how files of single answers are joined (default: pairs),
            ``off`` to read them one after the other.

    Raises:
        InputError: A file cannot be read, or holds nothing to judge.
        FormatError: No known format fits.

    >>> for sample in read_samples("pairs.jsonl"):  # doctest: +SKIP
    ...     print(sample.question_text)
    """
    return SampleReader(
        *paths,
        format=format,
        columns=columns,
        questions=questions,
        strict=strict,
        limit=limit,
        join=join,
    )


def read_judgments(
    *paths: Path,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    questions: Path | None = None,
    strict: bool = False,
    limit: int | None = None,
) -> JudgmentReader:
    """Read the judgments that other tools stored; arguments and errors as :func:`read_samples`.

    ``limit`` counts rows; a row may hold several judgments (one per order, say).
    """
    return JudgmentReader(
        *paths,
        format=format,
        columns=columns,
        questions=questions,
        strict=strict,
        limit=limit,
        join="off",
    )


def read_questions(path: Path) -> dict[str, Any]:
    """Return the records of a file of questions by their id (``question_id``, ``id`` or key).

    Raises:
        InputError: The file cannot be read, or its rows have no ids.
    """
    name = fspath(path)
    questions: dict[str, Any] = {}
    for row in Rows(Source(name)).read(NoticeLog()):
        if isinstance(row, BadRow):
            raise InputError(f"{name}, row {row.row}: {row.reason}")
        ident = _question_id(row.value)
        if ident is None:
            raise InputError(
                f"{name}, row {row.number}: a question needs question_id or id; "
                f"found {', '.join(fields_of([row.value])) or 'no fields'}"
            )
        question = question_with_image_path(row.value, name)
        if questions.setdefault(ident, question) != question:
            raise InputError(f"{name}, row {row.number}: id {ident} was another question before")
    return questions


def _question_id(row: Any) -> str | None:
    if not isinstance(row, Mapping):
        return None
    for key in ("question_id", "id", "_key"):
        if row.get(key) is not None:
            return plain_id(row[key])
    return None


def _open(name: str, format: str | None, options: ReadOptions) -> _File:  # noqa: A002
    rows = Rows(Source(name))
    head = list(islice(rows.read(NoticeLog()), SNIFF_ROWS))
    values = [row.value for row in head if not isinstance(row, BadRow)]
    if not head:
        raise InputError(f"{name} ({rows.container}) has no rows; at least one is needed")
    if not values and format is None:
        # Not one of the first rows is readable: look further, a bad beginning loses no good rows.
        values = [row.value for row in islice(_good(rows), SNIFF_ROWS)]
    if not values and isinstance(head[0], BadRow):
        raise InputError(
            f"{name} ({rows.container}): no row can be read; row {head[0].row}: {head[0].reason}"
        )
    reader = sniff(
        values,
        name,
        rows.container,
        format=format,
        columns=options.columns,
        has_questions=bool(options.questions),
    )
    items = [
        _read_row(reader, row.value, Where(name, row.number), options)
        for row in head
        if not isinstance(row, BadRow)
    ]
    return _File(name, rows, reader, tuple(item for item in items if isinstance(item, Item)))


def _good(rows: Rows) -> Iterator[Any]:
    return (row for row in rows.read(NoticeLog()) if not isinstance(row, BadRow))


def _read_row(reader: Reader, value: Any, where: Where, options: ReadOptions) -> Item | BadRow:
    try:
        return with_image_paths(reader.read(value, where, options))
    except RowError as error:
        reason = str(error)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {what_is_needed(first)}"
    except _READER_FAULTS as error:
        # A shape that no reader foresaw is the row's trouble, never the other rows'.
        reason = f"cannot be read as '{reader.name}' ({type(error).__name__}: {error})"
    return BadRow(file=where.file, row=where.row, reason=reason)


def _check_has_samples(file: _File) -> None:
    if not file.head or any(item.sample for item in file.head):
        return
    if any(item.judgments for item in file.head):
        raise InputError(
            f"{file.name} ({file.reader.name}) holds verdicts without the answers, so there is "
            f"nothing to judge; give the file of the answers"
        )
    if any(notice.kind == "no-question" for item in file.head for notice in item.notices):
        raise InputError(
            f"{file.name} ({file.reader.name}) names its questions by id only; give the file of "
            f"questions as --questions"
        )
    raise InputError(
        f"{file.name} ({file.reader.name}) holds questions without answers, so there is nothing "
        f"to judge; give the files of the answers, and this one as --questions"
    )


def _join_mode(files: tuple[_File, ...], join: JoinMode | Literal["off"] | None) -> JoinMode | None:
    if len(files) < 2 or join == "off":
        return None
    counts = {file.answers for file in files if file.head}
    if counts == {1}:
        return join or "pairs"
    if join is not None or 1 in counts:
        found = "; ".join(f"{file.name}: {file.answers or 'mixed'}" for file in files)
        raise InputError(
            f"only files of one answer a row can be joined; answers a row found: {found}. Give "
            f"the files of pairs alone"
        )
    return None


def _join_key(files: tuple[_File, ...]) -> JoinKey:
    samples = [item.sample for file in files for item in file.head if item.sample]
    return "id" if samples and all(s.source_id is not None for s in samples) else "question"
