"""MT-bench: a folder of questions, answers by model, and the gold labels as pair judgments.

::

    FOLDER/question.jsonl                  question_id, category, turns, reference
    FOLDER/model_answer/MODEL.jsonl        question_id, answer_id, model_id, choices, tstamp
    FOLDER/model_judgment/gold_pair.jsonl  question_id, model_1, model_2, g1_winner, g2_winner, ...

The folder is read back as it is (:mod:`magistrate.formats.bench_folder`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

from magistrate.formats.base import RowError
from magistrate.formats.writers.base import Tally, WriteReport, new_folder
from magistrate.formats.writers.golds import ident, the_preference
from magistrate.ids import content_id
from magistrate.records import Answer, Sample

NAME = "mt-bench"
MTBENCH_HOLDS = frozenset(
    {"id", "reference", "category", "preference", "answers over several turns"}
)

_WINNER = {"first": "model_1", "second": "model_2", "tie": "tie"}
_LONGEST_NAME = 200
"""Bytes; file systems allow 255, and a hash and an ending may follow."""
_UNSAFE = re.compile(r"[^\w.+-]+")


class _Folder:
    """The files that are being written, and what is in them already."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        self._root = root
        self._stack = stack
        self._files: dict[str, IO[str]] = {}
        self.questions: dict[str, str] = {}
        """Question id to the content id of the question."""
        self.answers: dict[tuple[str, str], str] = {}
        """Question id and model to the content id of the answer."""
        self._names: dict[str, str] = {}
        """Model to the name of its file."""

    def model_file(self, model: str) -> str:
        """Return the name of a model's file, which no other model has."""
        if model not in self._names:
            name = _safe(model)
            taken = {known.lower() for known in self._names.values()}
            if name.lower() in taken or len(name.encode()) > _LONGEST_NAME:
                start = name.encode()[:_LONGEST_NAME].decode(errors="ignore")
                name = f"{start}-{content_id(model)[:16]}"
            self._names[model] = name
        return f"model_answer/{self._names[model]}.jsonl"

    def add(self, name: str, row: dict[str, Any]) -> None:
        if name not in self._files:
            path = self._root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            self._files[name] = self._stack.enter_context(path.open("w", encoding="ascii"))
        self._files[name].write(json.dumps(row) + "\n")


def write_mtbench(samples: Iterable[Sample], path: str, *, strict: bool = False) -> WriteReport:
    """Write samples as an MT-bench folder.

    Raises:
        InputError: The folder exists and is not empty, or cannot be written; or a sample does not
            fit and ``strict`` is set.
    """
    tally = Tally(NAME, MTBENCH_HOLDS, strict=strict)
    with new_folder(path, tally.any_written) as root, ExitStack() as stack:
        folder = _Folder(root, stack)
        for place, sample in enumerate(samples, start=1):
            try:
                _write(sample, folder)
            except RowError as error:
                tally.skip(sample, place, str(error))
            else:
                tally.wrote(sample, place)
    return tally.report(path)


def _write(sample: Sample, folder: _Folder) -> None:
    """Write a sample's question, answers and label, or nothing of it if it does not fit."""
    question_id = ident(sample)
    question = _question(sample, question_id)
    answers = list(_answers(sample, question_id))
    _check_known(folder, question, answers)
    if question_id not in folder.questions:
        folder.questions[question_id] = content_id(question)
        folder.add("question.jsonl", question)
    for row in answers:
        key = (question_id, row["model_id"])
        if key not in folder.answers:
            folder.answers[key] = content_id(row["choices"])
            folder.add(folder.model_file(row["model_id"]), row)
    if len(answers) == 2 and (preference := the_preference(sample)):
        folder.add("model_judgment/gold_pair.jsonl", _judgment(question_id, answers, preference))


def _question(sample: Sample, question_id: str) -> dict[str, Any]:
    if not isinstance(sample.question, str):
        raise RowError("its question is a dialogue, and MT-bench keeps what the user says alone")
    turns = {(sample.question, *_user_turns(answer)) for answer in sample.answers}
    if len(turns) > 1:
        raise RowError("its answers reply to different turns of the user")
    row: dict[str, Any] = {
        "question_id": question_id,
        "category": sample.category,
        "turns": list(turns.pop()),
    }
    if sample.reference is not None:
        row["reference"] = [sample.reference]
    return row


def _user_turns(answer: Answer) -> tuple[str, ...]:
    return tuple(turn.text for turn in answer.turns if turn.role == "user")


def _answers(sample: Sample, question_id: str) -> Iterator[dict[str, Any]]:
    names = [answer.model or f"answer{n}" for n, answer in enumerate(sample.answers, start=1)]
    if len(set(names)) < len(names):
        raise RowError("two of its answers are by one model, and MT-bench keeps one per model")
    for name, answer in zip(names, sample.answers, strict=True):
        roles = [turn.role for turn in answer.turns]
        if roles and roles != ["assistant", *["user", "assistant"] * (len(roles) // 2)]:
            raise RowError("the turns of an answer do not alternate between assistant and user")
        replies = [turn.text for turn in answer.turns if turn.role == "assistant"]
        yield {
            "question_id": question_id,
            "answer_id": content_id([question_id, name]),
            "model_id": name,
            "choices": [{"index": 0, "turns": replies or [answer.text]}],
            "tstamp": 0,
        }


def _check_known(folder: _Folder, question: dict[str, Any], answers: list[dict[str, Any]]) -> None:
    ident_ = question["question_id"]
    if folder.questions.get(ident_, content_id(question)) != content_id(question):
        raise RowError(f"id {ident_} was given to another question before")
    for row in answers:
        key = (ident_, row["model_id"])
        if folder.answers.get(key, content_id(row["choices"])) != content_id(row["choices"]):
            raise RowError(f"{row['model_id']} gave another answer to question {ident_} before")


def _judgment(question_id: str, answers: list[dict[str, Any]], preference: str) -> dict[str, Any]:
    return {
        "question_id": question_id,
        "model_1": answers[0]["model_id"],
        "model_2": answers[1]["model_id"],
        "g1_winner": _WINNER[preference],
        "g2_winner": _WINNER[preference],
        "judge": ["gold", "pair"],
        "g1_user_prompt": "",
        "g1_judgment": "",
        "g2_user_prompt": "",
        "g2_judgment": "",
        "turn": 1,
        "tstamp": 0,
    }


def _safe(model: str) -> str:
    return _UNSAFE.sub("_", model) or "_"
