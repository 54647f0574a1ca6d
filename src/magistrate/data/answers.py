"""``magistrate data answers``: questions in, a file of answers per model and decoding out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

from magistrate.data.asking import Respondent, Session, prompt_of
from magistrate.data.questions import AnyPath, Question, json_line, load_questions, write_list
from magistrate.data.replies import Reply
from magistrate.errors import InputError, MagistrateError
from magistrate.formats.base import BadRow, Notice
from magistrate.messages import Sampling
from magistrate.records import Record, Turn, Usage
from magistrate.store.disk import NewFile
from magistrate.store.progress import OnProgress
from magistrate.store.work import OnNotice

T = TypeVar("T")

AnswerStatus = Literal["ok", "cut", "empty", "filtered"]
"""``cut``: the model had more to write; ``filtered``: the provider kept the answer back."""

FAILURES_FILE = "asked/failures.jsonl"
"""Not beside the answers: ``answers/*.jsonl`` are answers alone."""

_SETTINGS = ("temperature", "top_p", "max_tokens", "seed")


@dataclass(frozen=True, slots=True)
class Decoding:
    """How answers are written, under a name."""

    name: str
    sampling: Sampling

    @property
    def described(self) -> str:
        """What files say of it: its name, or its settings where it has only our default one."""
        if self.name != DEFAULT:
            return self.name
        if not self.sampling.temperature:
            return "greedy"
        top_p = f", top_p={self.sampling.top_p:g}" if self.sampling.top_p < 1 else ""
        return f"temperature={self.sampling.temperature:g}{top_p}"

    def model(self, label: str) -> str:
        """Return the name in data of a model that writes so."""
        return label if self.name == DEFAULT else f"{label}@{self.name}"


DEFAULT = "default"
"""Name of the one decoding of a command that names none."""

PRESETS: dict[str, dict[str, float]] = {
    "greedy": {"temperature": 0.0},
    "cool": {"temperature": 0.3},
    "sampled": {"temperature": 0.7},
    "warm": {"temperature": 1.0, "top_p": 0.95},
}
"""Decodings by name; what one does not say is as the command says."""


def read_decoding(text: str, base: Sampling) -> Decoding:
    """Return ``NAME`` or ``NAME:SETTING=VALUE,...`` as a decoding.

    Args:
        text: A preset (:data:`PRESETS`), perhaps with other settings, or any name with settings.
        base: Settings that the text does not give.

    Raises:
        InputError: The name is no preset and says nothing, or a setting is unknown or wrong.

    >>> read_decoding("warm:seed=7", Sampling()).sampling.seed
    7
    """
    name, _, given = text.partition(":")
    if not re.fullmatch(r"[\w.-]+", name):
        raise InputError(f"decoding '{text}': its name may have letters, digits, '.', '_' and '-'")
    settings = dict(PRESETS.get(name, {}))
    if name not in PRESETS and not given:
        raise InputError(
            f"no decoding '{name}'; there are {', '.join(PRESETS)}, or give your own settings: "
            f"{name}:temperature=0.7,top_p=0.9,max_tokens=512,seed=1"
        )
    for part in filter(None, given.split(",")):
        key, _, value = part.partition("=")
        if key not in _SETTINGS:
            raise InputError(f"decoding '{text}' sets '{key}'; it can set {', '.join(_SETTINGS)}")
        try:
            settings[key] = float(value)
        except ValueError:
            raise InputError(f"decoding '{text}': {key} is '{value}', no number") from None
    return Decoding(name, checked_sampling(base, **settings))


def checked_sampling(base: Sampling, **settings: float) -> Sampling:
    """Return sampling settings with others put in.

    Raises:
        InputError: One is out of range.
    """
    merged = {name: float(settings.get(name, getattr(base, name))) for name in _SETTINGS}
    if not 0 <= merged["temperature"] <= 2:
        raise InputError(f"the temperature is {merged['temperature']:g}; needed: 0 to 2")
    if not 0 < merged["top_p"] <= 1:
        raise InputError(f"top_p is {merged['top_p']:g}; needed: above 0, up to 1")
    if merged["max_tokens"] < 1:
        raise InputError(f"max_tokens is {merged['max_tokens']:g}; needed: 1 or more")
    return Sampling(
        max_tokens=int(merged["max_tokens"]),
        temperature=merged["temperature"],
        top_p=merged["top_p"],
        seed=int(merged["seed"]),
    )


class AnswerFile(Record):
    """The answers of one model under one decoding."""

    path: str
    model: str
    decoding: str
    answers: int
    ok: int
    cut: int
    """Answers that the limit of tokens ended; they are kept and marked."""
    empty: int
    """Answers without a character; kept and marked."""
    filtered: int
    failed: int
    """Questions without an answer, listed in ``asked/failures.jsonl``; asked again next time."""
    usage: Usage
    cost: float
    """US dollars for what stands in the file."""


class AnswersMade(Record):
    """What came of asking."""

    folder: str
    questions: int
    repeated: int
    """Questions left out since they were there already."""
    files: tuple[AnswerFile, ...]
    failures: tuple[dict[str, Any], ...]
    """The first 1,000: question, model, decoding, turn, reason."""
    failed: int
    resumed: int
    """Prompts that an earlier command had asked."""
    cost: float
    """US dollars, all commands on this folder together."""
    usage: Usage
    bad: tuple[BadRow, ...]
    bad_count: int
    notices: tuple[Notice, ...]


def answer_questions(
    *files: AnyPath,
    engines: Sequence[str],
    out: AnyPath,
    decodings: Sequence[Decoding] = (),
    system: str | None = None,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    strict: bool = False,
    options: Mapping[str, str] | None = None,
    max_cost: float | None = None,
    on_progress: OnProgress | None = None,
    on_notice: OnNotice | None = None,
) -> AnswersMade:
    """Ask models questions; write the answers as JudgeLM keeps them, a file each.

    Questions of several turns are asked turn by turn, the model's own earlier answers in the
    dialogue. The same call goes on where it was stopped.

    Args:
        files: See :func:`magistrate.data.questions.load_questions`.
        engines: ``[LABEL=]ENGINE:MODEL[@URL]``, one or more.
        out: Folder of the answers.
        decodings: How each model writes; greedy, 512 tokens, when none is named. A model under a
            named decoding is called ``LABEL@NAME``.
        system: What every model is told first.
        format: Format of the files.
        columns: Our field name to the file's column name.
        limit: Ask only the first so many questions.
        strict: Stop at the first bad row.
        options: Settings of the engines: ``NAME``, or ``ENGINE.NAME`` for one engine alone.
        max_cost: US dollars that all answers in the folder may cost together.
        on_progress: Called up to ten times a second.
        on_notice: Called with what the user should know at once.

    Raises:
        InputError: No question can be read, or two models would have one name.
        JudgeNotFoundError: A name means no model here.
        EngineError: An engine cannot go on; what was answered is kept.
        CostLimitError: The next request could pass ``max_cost``; likewise.
        RunError: The folder cannot be written, or another process is writing to it.
        RunInterrupted: Ctrl-C or SIGTERM; what was answered is kept.
    """
    if not engines:
        raise InputError("no model is named; give one or more with --engine ENGINE:MODEL")
    chosen = tuple(decodings) or (Decoding(DEFAULT, Sampling()),)
    if len({decoding.name for decoding in chosen}) < len(chosen):
        raise InputError("two decodings have one name; call them differently (NAME:SETTING=VALUE)")
    asked = load_questions(*files, format=format, columns=columns, limit=limit, strict=strict)
    folder = Path(out)
    turns = sum(1 + len(question.later) for question in asked.rows)
    writer = _Writer(folder, asked.rows)
    with Session(
        folder / "asked",
        total=turns * len(engines) * len(chosen),
        max_cost=max_cost,
        options=options,
        on_progress=on_progress,
        on_notice=on_notice,
    ) as session:
        for name in engines:
            with session.respondent(name) as model:
                writer.check(model.label, name)
                for decoding in chosen:
                    answered: dict[str, list[Reply]] = {}
                    try:
                        for chunk in batches(asked.rows, model.batch):
                            answered |= ask_dialogues(
                                session, model, chunk, decoding.sampling, system
                            )
                    except (MagistrateError, KeyboardInterrupt):
                        with suppress(MagistrateError):
                            writer.write_if_more(model.label, decoding, answered)
                        raise
                    writer.write(model.label, decoding, answered)
        return AnswersMade(
            folder=str(folder),
            questions=len(asked.rows),
            repeated=asked.repeated,
            files=tuple(writer.files),
            failures=tuple(writer.failures[:1000]),
            failed=len(writer.failures),
            resumed=session.resumed,
            cost=session.replies.cost,
            usage=session.replies.usage,
            bad=tuple(asked.bad[:1000]),
            bad_count=len(asked.bad),
            notices=tuple(asked.notices),
        )


def ask_dialogues(
    session: Session,
    model: Respondent,
    questions: Sequence[Question],
    sampling: Sampling,
    system: str | None = None,
) -> dict[str, list[Reply]]:
    """Ask each question turn by turn; return its replies by its id, up to the first failure."""
    said = {question.id: list(question.turns) for question in questions}
    replies: dict[str, list[Reply]] = {question.id: [] for question in questions}
    alive = list(questions)
    while alive:
        prompts = [prompt_of(said[question.id], sampling, system) for question in alive]
        still = []
        for question, reply in zip(alive, model.ask(prompts), strict=True):
            so_far = replies[question.id]
            so_far.append(reply)
            later = question.later[len(so_far) - 1 :]
            if reply.error is not None:
                session.count(len(later), "error")
            elif later:
                said[question.id] += [
                    Turn(role="assistant", text=reply.text),
                    Turn(role="user", text=later[0]),
                ]
                still.append(question)
        alive = still
    return replies


def status_of(replies: Sequence[Reply]) -> AnswerStatus:
    """Return what became of an answer: the worst of its turns."""
    if any(reply.finish_reason == "content_filter" for reply in replies):
        return "filtered"
    if any(reply.is_empty for reply in replies):
        return "empty"
    return "cut" if any(reply.is_cut for reply in replies) else "ok"


def batches(rows: Sequence[T], size: int) -> Iterator[list[T]]:
    """Yield the rows in lists of at most ``size``."""
    left = iter(rows)
    while batch := list(islice(left, size)):
        yield batch


class _Writer:
    """Writes the files of a folder, and counts what stands in them."""

    def __init__(self, folder: Path, questions: Sequence[Question]) -> None:
        self.files: list[AnswerFile] = []
        self.failures: list[dict[str, Any]] = []
        self._folder, self._questions = folder, questions
        self._names: dict[str, str] = {}

    def check(self, label: str, name: str) -> None:
        """Refuse two models under one name."""
        other = self._names.setdefault(_file_name(label), name)
        if other != name:
            raise InputError(
                f"'{other}' and '{name}' would both be called '{label}'; call one otherwise: "
                f"--engine OTHER={name}"
            )

    def write_if_more(
        self, label: str, decoding: Decoding, answered: Mapping[str, list[Reply]]
    ) -> None:
        """Write what a stopped command has, unless the file of an earlier one has more."""
        path = self._path(decoding.model(label))
        there = path.read_bytes().count(b"\n") if path.exists() else 0
        if len(answered) > there:
            self.write(label, decoding, answered)

    def _path(self, model: str) -> Path:
        return self._folder / f"{_file_name(model)}.jsonl"

    def write(self, label: str, decoding: Decoding, answered: Mapping[str, list[Reply]]) -> None:
        """Write the answers of a model under a decoding, and the failures so far."""
        model = decoding.model(label)
        path = self._path(model)
        counts = dict.fromkeys(("ok", "cut", "empty", "filtered"), 0)
        usage, cost, failed = Usage(), 0.0, 0
        with NewFile(path) as file:
            for question in self._questions:
                replies = answered.get(question.id)
                if replies is None:  # the command was stopped before
                    continue
                last = replies[-1]
                if last.error is not None:
                    failed += 1
                    self.failures.append(
                        {
                            "question_id": question.id,
                            "model": model,
                            "decoding_method": decoding.described,
                            "turn": len(replies),
                            "reason": last.error,
                        }
                    )
                    continue
                status = status_of(replies)
                counts[status] += 1
                usage = sum((reply.usage for reply in replies), usage)
                cost += sum(reply.cost for reply in replies)
                file.write(json_line(_row(question, replies, model, decoding.described, status)))
            file.put_in_place()
        self.files.append(
            AnswerFile(
                path=str(path),
                model=model,
                decoding=decoding.described,
                answers=sum(counts.values()),
                ok=counts["ok"],
                cut=counts["cut"],
                empty=counts["empty"],
                filtered=counts["filtered"],
                failed=failed,
                usage=usage,
                cost=cost,
            )
        )
        write_list(self._folder / FAILURES_FILE, self.failures)


def _row(
    question: Question, replies: Sequence[Reply], model: str, decoding: str, status: AnswerStatus
) -> dict[str, Any]:
    asked = question.asked
    row: dict[str, Any] = {
        "question_id": question.id,
        "question_body": asked if isinstance(asked, str) else question.text,
        "text": replies[-1].text,
        "model": model,
        "decoding_method": decoding,
        "status": status,
    }
    if not isinstance(asked, str):
        row["question_turns"] = [_message(turn) for turn in asked]
    if len(replies) > 1:
        turns = [Turn(role="assistant", text=replies[0].text)]
        for user, reply in zip(question.later, replies[1:], strict=False):
            turns += [Turn(role="user", text=user), Turn(role="assistant", text=reply.text)]
        row["turns"] = [_message(turn) for turn in turns]
    for name in ("category", "language", "reference"):
        if (value := getattr(question, name)) is not None:
            row[name] = value
    return row


def _message(turn: Turn) -> dict[str, str]:
    return {"role": turn.role, "content": turn.text}


def _file_name(model: str) -> str:
    r"""Return a model's name as the name of a file.

    >>> _file_name("org/model:q4@warm")
    'org-model-q4@warm'
    """
    return re.sub(r"[^\w.@+-]+", "-", model).strip("-.") or "model"
