"""Files of single answers, one per model, made into pairs or n answers by id or by question.

Rows are matched by what they say, never by their place. The files are read side by side and a row
waits in memory only until its partners are there, so files in the same sequence take no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import PurePath
from typing import Any, Literal

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Item, Where
from magistrate.formats.notices import NoticeLog
from magistrate.formats.seen import SeenIds
from magistrate.ids import content_id
from magistrate.records import Answer, Gold, Sample

JoinMode = Literal["pairs", "nway"]
"""Every pair of files, or one sample with the answers of all files."""

JoinKey = Literal["id", "question"]

_NAMED = 5


@dataclass(slots=True)
class JoinFile:
    """One file to join: its name, its items, and what was counted."""

    name: str
    model: str
    """Who wrote the answers that name no model."""
    items: Iterator[Item | BadRow]
    count: int = 0
    seen: SeenIds = field(default_factory=SeenIds)
    ended: bool = False


def default_models(names: Sequence[str]) -> list[str]:
    """Return a model name per file, from what tells their paths apart.

    >>> default_models(["runs/a.jsonl", "runs/b.jsonl.gz"])
    ['a', 'b']
    >>> default_models(["gpt4/out.json", "llama/out.json"])
    ['gpt4', 'llama']
    """
    stems = [PurePath(name).name.split(".json")[0].split(".csv")[0] for name in names]
    stems = [
        stem.removesuffix(".gz").removesuffix(".tsv").removesuffix(".parquet") for stem in stems
    ]
    if len(set(stems)) == len(stems):
        return stems
    folders = [PurePath(name).parent.name for name in names]
    return folders if len(set(folders)) == len(folders) else list(names)


def join(
    files: Sequence[JoinFile],
    key: JoinKey,
    mode: JoinMode,
    log: NoticeLog,
    *,
    sparse: bool = False,
) -> Iterator[Item | BadRow]:
    """Yield a joined item for every question that two or more files answer.

    What does not match is told in notices: both counts, and the ids without a partner.

    Args:
        files: What is joined.
        key: What tells rows that belong together.
        mode: What becomes of them.
        log: For notices.
        sparse: Whether it is expected that not every file answers every question. Then only ids
            without any partner are told.

    Raises:
        InputError: Nothing matches at all.
    """
    state = _State()
    joined = 0
    for made in _joined(files, key, mode, log, state):
        joined += isinstance(made, Item)
        yield made
    _tell_unmatched(files, state, key, log, sparse=sparse)
    if joined:
        return
    if state.conflicts:
        raise InputError(_other_questions(files, state.conflicts[0]))
    raise InputError(_nothing_joined(files, state, key))


@dataclass(slots=True)
class _State:
    """What a join remembers."""

    waiting: dict[str, dict[int, Item]] = field(default_factory=dict)
    """Key to the items that wait for their partners, by the place of their file."""
    labels: dict[str, str] = field(default_factory=dict)
    """Key to how messages name it."""
    conflicts: list[BadRow] = field(default_factory=list)
    """The first row that was not joined since its id stands for different questions."""


def _joined(
    files: Sequence[JoinFile], key: JoinKey, mode: JoinMode, log: NoticeLog, state: _State
) -> Iterator[Item | BadRow]:
    key_of = _KEYS[key]
    waiting, labels = state.waiting, state.labels
    for place, item in _side_by_side(files):
        if isinstance(item, BadRow) or item.sample is None:
            if isinstance(item, BadRow):
                yield item
            continue
        file = files[place]
        file.count += 1
        code, label = key_of(item.sample)
        if (first := file.seen.first_row(code, item.where.row)) is not None:
            log.add(
                "duplicate-id",
                f"{key} {label} stands in rows {first} and {item.where.row}; the first is joined",
                file=file.name,
            )
            continue
        group = waiting.setdefault(code, {})
        labels[code] = label
        group[place] = item
        if len(group) == len(files):
            del waiting[code], labels[code]
            yield from _made(group, files, label, mode, state.conflicts)
    for code, group in list(waiting.items()):
        if mode == "pairs" and len(group) > 1:
            yield from _made(group, files, labels[code], mode, state.conflicts)


def _side_by_side(files: Sequence[JoinFile]) -> Iterator[tuple[int, Item | BadRow]]:
    """Take one row of each file in turn until all have ended."""
    while not all(file.ended for file in files):
        for place, file in enumerate(files):
            if file.ended:
                continue
            item = next(file.items, None)
            if item is None:
                file.ended = True
            else:
                yield place, item


def _by_id(sample: Sample) -> tuple[str, str]:
    if sample.source_id is None:
        return content_id(["no id", sample.question_text]), "(none)"
    return sample.source_id, sample.source_id


def _by_question(sample: Sample) -> tuple[str, str]:
    text = sample.question_text
    label = " ".join(text.split())
    return content_id(text), repr(label if len(label) <= 60 else label[:57] + "...")


_KEYS: dict[JoinKey, Callable[[Sample], tuple[str, str]]] = {
    "id": _by_id,
    "question": _by_question,
}


def _made(
    group: dict[int, Item],
    files: Sequence[JoinFile],
    label: str,
    mode: JoinMode,
    conflicts: list[BadRow],
) -> Iterator[Item | BadRow]:
    """Make the samples of one question, in the sequence of the files."""
    places = sorted(group)
    parts = combinations(places, 2) if mode == "pairs" else iter([tuple(places)])
    for chosen in parts:
        items = [group[place] for place in chosen]
        samples = [item.sample for item in items if item.sample is not None]
        if any(sample.question != samples[0].question for sample in samples):
            asked = ", ".join(
                f"{_by_question(sample)[1]} in {files[place].name}"
                for place, sample in zip(chosen, samples, strict=True)
            )
            bad = BadRow(
                file=items[0].where.file,
                row=items[0].where.row,
                reason=f"id {label} stands for different questions: {asked}; not joined",
            )
            if not conflicts:
                conflicts.append(bad)
            yield bad
            continue
        models = [files[place].model for place in chosen]
        yield Item(_where(items), merge_answers(samples, models), (), _notices(items))


def _where(items: Sequence[Item]) -> Where:
    return Where("+".join(item.where.file for item in items), items[0].where.row)


def _notices(items: Sequence[Item]) -> tuple[Any, ...]:
    return tuple(notice for item in items for notice in item.notices)


def merge_answers(samples: Sequence[Sample], models: Sequence[str]) -> Sample:
    """Return samples of one question as one sample with all their answers.

    Args:
        samples: The first one's question and id are kept; what else there is comes from the first
            that has it. What the files say of single answers stands in ``meta`` as ``answer1``, ...
        models: Names of models for answers that have none, one for each sample.
    """
    answers = [
        answer if answer.model is not None else Answer(**{**dict(answer), "model": model})
        for sample, model in zip(samples, models, strict=True)
        for answer in sample.answers
    ]
    metas = {
        f"answer{place}": sample.meta for place, sample in enumerate(samples, 1) if sample.meta
    }
    first = samples[0]
    return Sample(
        question=first.question,
        answers=tuple(answers),
        reference=_first_of(samples, "reference"),
        rubric=_first_of(samples, "rubric"),
        context=_first_of(samples, "context") or (),
        images=_first_of(samples, "images") or (),
        gold=_merged_gold(samples),
        category=_first_of(samples, "category"),
        language=_first_of(samples, "language"),
        source_id=first.source_id,
        meta=metas,
    )


def _first_of(samples: Sequence[Sample], name: str) -> Any:
    return next((v for s in samples if (v := getattr(s, name))), None)


def _merged_gold(samples: Sequence[Sample]) -> tuple[Gold, ...]:
    """Put the scores that one annotator gave to each answer side by side."""
    if any(len(sample.gold) != 1 for sample in samples):
        return ()
    golds = [sample.gold[0] for sample in samples]
    scores = tuple(score for gold in golds for score in gold.scores or ())
    if len(scores) != len(samples) or len({gold.annotator for gold in golds}) > 1:
        return ()
    return (Gold(annotator=golds[0].annotator, scores=scores, preference=_preferred(scores)),)


def _preferred(scores: tuple[float, ...]) -> Any:
    if len(scores) != 2:
        return None
    return "tie" if scores[0] == scores[1] else "first" if scores[0] > scores[1] else "second"


# --- what did not match ------------------------------------------------------------------------


def _tell_unmatched(
    files: Sequence[JoinFile],
    state: _State,
    key: JoinKey,
    log: NoticeLog,
    *,
    sparse: bool,
) -> None:
    if not sparse and len({file.count for file in files}) > 1:
        counts = ", ".join(f"{file.name} has {file.count:,}" for file in files)
        log.add("unequal-length", f"the files differ in length: {counts} answers")
    for place, file in enumerate(files):
        lonely = [
            state.labels[c]
            for c, group in state.waiting.items()
            if place in group and not (sparse and len(group) > 1)
        ]
        if lonely:
            named = ", ".join(lonely[:_NAMED]) + (", ..." if len(lonely) > _NAMED else "")
            what = "id" if key == "id" else "question"
            log.add(
                "unmatched-id",
                f"{len(lonely):,} {what}{'s' if len(lonely) > 1 else ''} of {file.name} "
                f"{'are' if len(lonely) > 1 else 'is'} not in "
                f"{'any' if sparse else 'every'} other file: {named}",
            )


def _other_questions(files: Sequence[JoinFile], conflict: BadRow) -> str:
    names = " and ".join(file.name for file in files)
    return (
        f"{names} have ids in common, but these stand for different questions, so nothing can be "
        f"joined; the first: {conflict.reason}. Give files that answer the same questions. If the "
        f"ids are mere row numbers, join by question: leave the ids out of one of the files, or "
        f"use the question as the id (--columns id=question,question=question, with the "
        f"question's column after each =)"
    )


def _nothing_joined(
    files: Sequence[JoinFile],
    state: _State,
    key: JoinKey,
) -> str:
    parts = []
    for place, file in enumerate(files):
        own = [state.labels[c] for c, group in state.waiting.items() if place in group][:3]
        parts.append(f"{file.name} has {file.count:,} ({', '.join(own)}, ...)")
    return (
        f"the files have no {key} in common: {'; '.join(parts)}. Answer files are joined by id, or "
        f"by question where they have no ids; give files that answer the same questions"
    )
