"""A folder as MT-bench keeps it, read as one input: questions, answers by model, gold labels.

::

    FOLDER/question.jsonl
    FOLDER/model_answer/MODEL.jsonl         one per model
    FOLDER/model_judgment/gold_pair.jsonl   labels, as our writer notes them; need not be there
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Item
from magistrate.formats.notices import NoticeLog
from magistrate.formats.readers.values import plain_id
from magistrate.formats.rows import Rows
from magistrate.formats.source import Source
from magistrate.records import Gold, Preference, Sample

QUESTIONS = "question.jsonl"
ANSWERS = "model_answer"
VERDICTS = "model_judgment"
LABELS = f"{VERDICTS}/gold_pair.jsonl"

_WINNERS: dict[object, Preference] = {"model_1": "first", "model_2": "second", "tie": "tie"}

PairKey = tuple[str, str | None, str | None]
"""Question id and the two models, in the order in which they stand."""


@dataclass(frozen=True, slots=True)
class BenchFolder:
    """The files of such a folder."""

    name: str
    """As the user gave it."""
    answers: tuple[str, ...]
    questions: str
    labels: str | None
    others: tuple[str, ...]
    """Files of verdicts that are not read with the folder."""

    def label(self, items: Iterable[Item | BadRow], log: NoticeLog) -> Iterator[Item | BadRow]:
        """Give each pair the labels that the folder has for it.

        The answers of a labelled pair stand as they stood when the label was noted.
        """
        if self.others:
            log.add(
                "not-read",
                f"{self.name}: {', '.join(self.others)} hold verdicts and were not read with the "
                f"folder; give such a file by itself to see what is in it",
            )
        known = _labels(self.labels, log) if self.labels else {}
        for item in items:
            if isinstance(item, Item) and item.sample is not None and known:
                yield replace(item, sample=_labelled(item.sample, known))
            else:
                yield item


def folder_among(names: Sequence[str]) -> BenchFolder | None:
    """Return the folder if that is what was given; None for files.

    Raises:
        InputError: It stands beside other files, or has questions and no answers.
    """
    folders = [folder for name in names if (folder := _bench_folder(name)) is not None]
    if folders and len(names) > 1:
        raise InputError(
            f"{folders[0].name} is a folder of questions and answers, which is read alone; give "
            f"the files of its {ANSWERS} to read them with others"
        )
    return folders[0] if folders else None


def _bench_folder(name: str) -> BenchFolder | None:
    """Return a folder's files if it is MT-bench's; None for anything else.

    Raises:
        InputError: It has questions and no answers.
    """
    root = Path(name)
    questions = root / QUESTIONS
    if not root.is_dir() or not questions.is_file():
        return None
    answers = sorted(str(path) for path in (root / ANSWERS).glob("*.jsonl"))
    if not answers:
        raise InputError(
            f"{name} has {QUESTIONS} and no {ANSWERS}/MODEL.jsonl, so there is nothing to judge; "
            f"put the answers of each model there, or give files of answers and "
            f"--questions {questions}"
        )
    labels = root / LABELS
    others = sorted(
        str(path.relative_to(root)) for path in (root / VERDICTS).glob("*.jsonl") if path != labels
    )
    return BenchFolder(
        name=name,
        answers=tuple(answers),
        questions=str(questions),
        labels=str(labels) if labels.is_file() else None,
        others=tuple(others),
    )


def _labels(name: str, log: NoticeLog) -> dict[PairKey, list[Preference]]:
    """Return the labels by pair; a row that is none is told."""
    labels: dict[PairKey, list[Preference]] = {}
    for row in Rows(Source(name)).read(log):
        value = None if isinstance(row, BadRow) else row.value
        winner = _WINNERS.get(value.get("g1_winner")) if isinstance(value, Mapping) else None
        if winner is None or not isinstance(value, Mapping):
            number = row.row if isinstance(row, BadRow) else row.number
            log.add("unknown-label", "no label of a pair; left out", file=name, row=number)
            continue
        key = (plain_id(value.get("question_id")), value.get("model_1"), value.get("model_2"))
        labels.setdefault(key, []).append(winner)
    return labels


def _labelled(sample: Sample, known: Mapping[PairKey, list[Preference]]) -> Sample:
    if len(sample.answers) != 2 or sample.source_id is None:
        return sample
    for answers in (sample.answers, sample.answers[::-1]):
        found = known.get((sample.source_id, answers[0].model, answers[1].model))
        if found:
            gold = tuple(Gold(preference=winner) for winner in found)
            meta = sample.meta if answers == sample.answers else _swapped(sample.meta)
            return Sample(**{**dict(sample), "answers": answers, "gold": gold, "meta": meta})
    return sample


def _swapped(meta: Mapping[str, object]) -> dict[str, object]:
    """Return the notes of a joined pair, which are kept by the place of the answer."""
    other = {"answer1": "answer2", "answer2": "answer1"}
    return {other.get(name, name): value for name, value in meta.items()}
