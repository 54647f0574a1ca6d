"""Stored judgments of other tools, and of runs whose folder is not at hand, sample by sample."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike

from pydantic import ValidationError

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.formats.notices import NoticeLog
from magistrate.formats.reading import ItemReader
from magistrate.formats.rows import Rows
from magistrate.formats.source import Source
from magistrate.ids import content_id
from magistrate.judging.merge import merge_judgments
from magistrate.metrics.gold import annotator_vote
from magistrate.records import Decision, Gold, Judgment, Probabilities, Sample
from magistrate.report.labels import Joiner, stand_in

AnyPath = str | PathLike[str]
Reading = tuple[Sample, tuple[Judgment, ...], Decision | None]
"""A sample, what was read of it, and what that was merged to (None while a reading is missing)."""

OWN_FORMAT = "magistrate-judgments"

_OWN_FIELDS = {"key", "sample_id", "judge", "order", "status"}
_NUMBERED = re.compile(r"reviewer \d+")
_ROLE = re.compile(r"-(default|generic|general|coding|math)$")


@dataclass(slots=True)
class _Judgments:
    """What files say of one sample."""

    sample: Sample | None
    ident: str
    judgments: dict[tuple[object, ...], Judgment] = field(default_factory=dict)
    """By order and repeat; a later one replaces an earlier one."""


class Stored:
    """The stored judgments of one judge in one or more files."""

    def __init__(
        self,
        paths: list[str],
        questions: AnyPath | None,
        format: str | None,  # noqa: A002
        judge: str | None,
        labels_as_judge: bool,
    ) -> None:
        """Read the files; arguments and errors as :func:`magistrate.report.judged.read_judged`."""
        self.paths = paths
        self.bad: list[BadRow] = []
        self.bad_rows = 0
        self.notices: tuple[Notice, ...] = ()
        self._labels_as_judge = labels_as_judge
        self._groups: dict[object, _Judgments] = {}
        self._judges: Counter[str] = Counter()
        formats: dict[str, None] = {}
        for path in paths:
            name = format or (OWN_FORMAT if _is_own(path) else None)
            rows = self._own(path) if name == OWN_FORMAT else self._others(path, questions, name)
            formats |= dict.fromkeys(rows)
        self.format = "+".join(formats)
        self.judge = self._choose(judge)

    def readings(self, joiner: Joiner | None) -> Iterator[Reading]:
        """Yield every judged sample in the sequence of the files."""
        row = -1
        for group in self._groups.values():
            judgments = tuple(
                one for one in group.judgments.values() if _judge_of(one, self.format) == self.judge
            )
            if not judgments:
                continue
            row += 1
            answers = len(judgments[0].order)
            models = _models_of(group.ident, answers, self.format)
            if joiner:
                sample = joiner.label(group.sample, group.ident, answers, models)
            else:
                sample = group.sample or stand_in(group.ident, answers, models=models)
            yield sample, judgments, merge_judgments(row, sample, judgments)

    def _others(self, path: str, questions: AnyPath | None, name: str | None) -> list[str]:
        reader = ItemReader(path, format=name, questions=questions, join="off")
        for item in reader.items():
            sample, judgments = item.sample, item.judgments
            if sample is not None and not judgments:
                judgments = self._annotations(sample, reader.format)
                # What was said cannot be its own truth.
                sample = sample.model_copy(update={"gold": ()}) if judgments else sample
            for judgment in judgments:
                ident = (sample.source_id if sample else None) or judgment.sample_id
                self._add(sample, ident, judgment)
        self._note(reader.bad, reader.bad_count, reader.notices)
        return [reader.format]

    def _annotations(self, sample: Sample, format: str) -> tuple[Judgment, ...]:  # noqa: A002
        """Return the labels of AlpacaEval's annotators, who are judges, as judgments.

        Labels of other files are judgments only on demand.
        """
        if format == "alpaca-eval-annotations":
            return tuple(_judgment_of(sample, gold) for gold in sample.gold)
        if not self._labels_as_judge:
            return ()
        return tuple(
            _judgment_of(sample, gold.model_copy(update={"annotator": "annotators"}), repeat)
            for repeat, gold in enumerate(sample.gold)
            if annotator_vote(gold) is not None or gold.scores or gold.ranking
        )

    def _own(self, path: str) -> list[str]:
        log = NoticeLog()
        bad: list[BadRow] = []
        for row in Rows(Source(path)).read(log):
            if isinstance(row, BadRow):
                bad.append(row)
                continue
            try:
                judgment = Judgment.model_validate(row.value)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                place = ".".join(map(str, first["loc"]))
                reason = f"{place or 'the row'}: {first['msg']}"
                bad.append(BadRow(file=path, row=row.number, reason=reason))
                continue
            self._add(None, judgment.sample_id, judgment)
        self._note(bad, len(bad), log.notices())
        return [OWN_FORMAT]

    def _add(self, sample: Sample | None, ident: str, judgment: Judgment) -> None:
        # The same text under two ids is two samples; a text without id is one.
        key = (sample.text_id, sample.id) if sample else ident
        group = self._groups.setdefault(key, _Judgments(sample, ident))
        group.judgments[judgment.judge, judgment.order, judgment.repeat] = judgment
        self._judges[judgment.judge] += 1

    def _note(self, bad: Iterable[BadRow], count: int, notices: tuple[Notice, ...]) -> None:
        self.bad += bad
        self.bad_rows += count
        self.notices += notices

    def _choose(self, judge: str | None) -> str:
        names = dict.fromkeys(_judge_name(name, self.format) for name in self._judges)
        given = ", ".join(self.paths)
        if not names:
            raise InputError(
                f"{given} ({self.format}) holds no judgments; give a run folder, or the file in "
                f"which a judge's verdicts are (a file of labels alone belongs to --labels)"
            )
        if judge is not None:
            if judge not in names:
                raise InputError(f"{given}: no judge '{judge}'; found: {', '.join(names)}")
            return judge
        if len(names) > 1:
            shown = ", ".join(list(names)[:10])
            raise InputError(f"{given} holds {len(names)} judges; choose one with --judge: {shown}")
        return next(iter(names))


def _models_of(ident: str, answers: int, format: str) -> tuple[str, ...]:  # noqa: A002
    """Return the models that MT-bench's ids name (``question:model:...:turn``), where they do."""
    if not format.startswith("mt-bench"):
        return ()
    parts = ident.split(":")[1:]
    if len(parts) == answers + 1 and parts[-1].isdigit():
        parts.pop()
    return tuple(parts) if len(parts) == answers and all(parts) else ()


def _judge_of(judgment: Judgment, format: str) -> str:  # noqa: A002
    return _judge_name(judgment.judge, format)


def _judge_name(name: str, format: str) -> str:  # noqa: A002
    """Return the judge of a name that also tells with which prompt it was asked.

    MT-bench asks one model with several prompts (``model/prompt``), and Vicuna-bench's numbered
    reviewers, or those named by their task, are one model in several roles.
    """
    if format.startswith("mt-bench"):
        return name.rpartition("/")[0] or name
    if format == "vicuna-reviews":
        return "reviewers" if _NUMBERED.fullmatch(name) else _ROLE.sub("", name)
    return name


def _judgment_of(sample: Sample, gold: Gold, repeat: int = 0) -> Judgment:
    """Return what an annotator said as a judgment in the order of the file."""
    said = annotator_vote(gold) if len(sample.answers) == 2 else None
    soft = gold.probability_second
    ok = said is not None or gold.scores is not None or gold.ranking is not None
    return Judgment(
        key=content_id([sample.id, gold.annotator, repeat]),
        sample_id=sample.text_id,
        judge=gold.annotator or "annotator",
        order=tuple(range(len(sample.answers))),
        repeat=repeat,
        status="ok" if ok else "unparsed",
        preference=said,
        scores=gold.scores,
        ranking=gold.ranking,
        probabilities=None if soft is None else Probabilities(first=1 - soft, tie=0, second=soft),
        error=None if ok else "the file has no preference (null)",
    )


def _is_own(path: str) -> bool:
    """Whether the first row that can be read is a judgment as a run keeps it."""
    for row in Rows(Source(path)).read(NoticeLog()):
        if not isinstance(row, BadRow):
            return isinstance(row.value, dict) and row.value.keys() >= _OWN_FIELDS
    return False
