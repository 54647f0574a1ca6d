"""What a judge said, from wherever it is stored, beside what people said: the input of measures.

    from magistrate.report.judged import read_judged

    judged = read_judged("pandalm-7b-testset-v1.json", labels="testset-v1.json")
    judged.pairs.said, judged.pairs.gold

A run folder, a run's ``judgments.jsonl``, or files in which another tool keeps its judgments; with
the labels in the same file, in the run, or in a file of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path

from pydantic import ValidationError

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.formats.notices import NoticeLog
from magistrate.formats.reading import ItemReader
from magistrate.formats.rows import Rows
from magistrate.formats.source import Source
from magistrate.ids import content_id
from magistrate.judging.merge import merge_judgments
from magistrate.metrics.breakdown import question_type
from magistrate.metrics.columns import NameCollector, Named, PairCollector, PairColumns
from magistrate.metrics.gold import annotator_vote
from magistrate.metrics.singles import (
    RankedCollector,
    RankedColumns,
    SingleCollector,
    SingleColumns,
)
from magistrate.records import Decision, Gold, Judgment, Probabilities, Record, Sample
from magistrate.report.labels import Found, How, Labels, stand_in
from magistrate.store.folder import RunFolder
from magistrate.store.run import Run, open_run

AnyPath = str | PathLike[str]
Reading = tuple[Sample, tuple[Judgment, ...], Decision | None]
"""A sample, what was read of it, and what that was merged to (None while a reading is missing)."""

RUN_FORMAT = "run"
OWN_FORMAT = "magistrate-judgments"

_OWN_FIELDS = {"key", "sample_id", "judge", "order", "status"}
_BAD_KEPT = 1_000
_NUMBERED = re.compile(r"reviewer \d+")
_ROLE = re.compile(r"-(default|generic|general|coding|math)$")


class LabelJoin(Record):
    """How a file of labels was joined to the judgments."""

    file: str
    labels: int
    """Labelled samples in the file."""
    matched: dict[How, int]
    """Judged samples that got a label, by what told that it is theirs."""
    unmatched: dict[str, int]
    """Judged samples without one, by the reason."""
    unused: int
    """Labelled samples of which nothing was judged."""


@dataclass(frozen=True, slots=True)
class Judged:
    """One judge over one input."""

    judge: str
    source: str
    """The run folder or the files, as they were given."""
    format: str
    """``run``, or the format of the files."""
    inputs: tuple[str, ...]
    """Where the samples came from; for files of other tools the files themselves."""
    pairs: PairColumns
    singles: SingleColumns
    ranked: RankedColumns
    """Samples of three answers and more, and pairs that were read as a ranking."""
    join: LabelJoin | None
    """None when the labels came with the judgments."""
    reads_alone: bool
    """Whether the judge reads each answer alone, so that order cannot matter; False if unknown."""
    has_texts: bool
    """Whether the answers' texts are known, so that their lengths mean something."""
    bad: tuple[BadRow, ...] = ()
    """Rows that could not be used (the first 1,000)."""
    bad_rows: int = 0
    notices: tuple[Notice, ...] = ()
    question_types: Named | None = None
    """A rough type of each pair's question (:func:`question_type`), only when asked for."""
    samples: tuple[Reading, ...] = field(default=(), repr=False)
    """The samples themselves in input order, only when they were asked for."""


def read_judged(
    *paths: AnyPath,
    labels: AnyPath | None = None,
    judge: str | None = None,
    questions: AnyPath | None = None,
    format: str | None = None,  # noqa: A002
    labels_as_judge: bool = False,
    keep_samples: bool = False,
    question_types: bool = False,
) -> Judged:
    """Read what a judge said, and the labels, as columns.

    Args:
        paths: A run folder; a run's ``judgments.jsonl``; or files in which another tool keeps its
            judgments (several files of one judge, such as its two orders, are read as one).
        labels: A test set, or judgments that are to be the truth. They replace labels that come
            with the judgments. See :class:`magistrate.report.labels.Labels` for how they are found.
        judge: Whose judgments to take from files that hold those of several.
        questions: File of questions, for formats that name their questions by id only.
        format: Name of the files' format, instead of finding it out.
        labels_as_judge: Take the annotators' majority as what was said, for files of labels
            without judgments (human votes, say).
        keep_samples: Keep samples and judgments in :attr:`Judged.samples`.
        question_types: Fill :attr:`Judged.question_types`.

    Raises:
        InputError: A file cannot be read, holds no judgments, or those of several judges.
        RunError: The folder is not a run, or is damaged.
    """
    if not paths:
        raise InputError("no run and no file was given; name one")
    known = Labels(labels) if labels is not None else None
    run = _run_of(paths)
    if run is not None:
        return _of_run(run, known, _Columns(keep_samples, question_types))
    source = _Stored([fspath(path) for path in paths], questions, format, judge, labels_as_judge)
    columns = _Columns(keep_samples, question_types)
    joined = _Joiner(known) if known else None
    for row, (sample, judgments, decision) in enumerate(source.readings(joined)):
        columns.add(row, sample, judgments, decision)
    return columns.result(
        judge=source.judge,
        source=", ".join(source.paths),
        format=source.format,
        inputs=tuple(source.paths),
        join=joined.result() if joined else None,
        reads_alone=False,
        bad=tuple(source.bad[:_BAD_KEPT]),
        bad_rows=source.bad_rows,
        notices=source.notices,
    )


def judged_run(
    run: Run,
    *,
    labels: AnyPath | None = None,
    keep_samples: bool = False,
    question_types: bool = False,
) -> Judged:
    """Return an opened run as columns; arguments and errors as :func:`read_judged`."""
    known = Labels(labels) if labels is not None else None
    return _of_run(run, known, _Columns(keep_samples, question_types))


def _of_run(run: Run, labels: Labels | None, columns: _Columns) -> Judged:
    manifest = run.manifest
    joiner = _Joiner(labels) if labels else None
    for row, (sample, judgments, decision) in enumerate(run.readings()):
        own = (
            joiner.label(sample, sample.source_id or "", len(sample.answers)) if joiner else sample
        )
        columns.add(row, own, judgments, decision)
    bad = tuple(row for row, _ in zip(run.bad_rows(), range(_BAD_KEPT), strict=False))
    return columns.result(
        judge=manifest.judge.name,
        source=str(run.path),
        format=RUN_FORMAT,
        inputs=tuple(file.name for file in manifest.inputs),
        join=joiner.result() if joiner else None,
        reads_alone=manifest.reads_alone,
        bad=bad,
        bad_rows=manifest.bad_rows,
        notices=tuple(run.notices()),
    )


class _Columns:
    """Collects all three kinds of columns."""

    def __init__(self, keep_samples: bool, question_types: bool) -> None:
        self._pairs = PairCollector()
        self._singles = SingleCollector()
        self._ranked = RankedCollector()
        self._kept: list[Reading] | None = [] if keep_samples else None
        self._texts = False
        self._types = NameCollector() if question_types else None

    def add(
        self, row: int, sample: Sample, judgments: tuple[Judgment, ...], decision: Decision | None
    ) -> None:
        answers = len(sample.answers)
        if answers == 2:
            self._pairs.add(row, sample, judgments, decision)
            if self._types:
                self._types.add(question_type(sample))
        if answers == 1:
            self._singles.add(row, sample, decision)
        elif answers > 2 or (decision is not None and decision.ranking is not None):
            self._ranked.add(row, sample, decision)
        self._texts = self._texts or any(answer.text for answer in sample.answers)
        if self._kept is not None:
            self._kept.append((sample, judgments, decision))

    def result(
        self,
        *,
        judge: str,
        source: str,
        format: str,  # noqa: A002
        inputs: tuple[str, ...],
        join: LabelJoin | None,
        reads_alone: bool,
        bad: tuple[BadRow, ...],
        bad_rows: int,
        notices: tuple[Notice, ...],
    ) -> Judged:
        return Judged(
            judge=judge,
            source=source,
            format=format,
            inputs=inputs,
            pairs=self._pairs.result(),
            singles=self._singles.result(),
            ranked=self._ranked.result(),
            join=join,
            reads_alone=reads_alone,
            has_texts=self._texts,
            bad=bad,
            bad_rows=bad_rows,
            notices=notices,
            question_types=self._types.result() if self._types else None,
            samples=tuple(self._kept or ()),
        )


class _Joiner:
    """Gives judged samples their labels, and counts how."""

    def __init__(self, labels: Labels) -> None:
        self._labels = labels
        self._matched: Counter[How] = Counter()
        self._unmatched: Counter[str] = Counter()
        self._used: set[int] = set()

    def label(self, sample: Sample | None, ident: str, answers: int) -> Sample:
        """Return a sample with its labels; without labels when none are found."""
        found = self._labels.find(sample, ident)
        if isinstance(found, Found) and len(found.sample.answers) != answers:
            found = "the label is of another number of answers"
        if not isinstance(found, Found):
            self._unmatched[found] += 1
            judged = sample or stand_in(ident, answers)
            return judged.model_copy(update={"gold": ()})
        self._matched[found.how] += 1
        self._used.add(found.place)
        return _with_label(sample, ident, found.sample)

    def result(self) -> LabelJoin:
        return LabelJoin(
            file=self._labels.reader.paths[0],
            labels=sum(1 for sample in self._labels.samples if sample.gold),
            matched=dict(self._matched),
            unmatched=dict(self._unmatched.most_common()),
            unused=len(self._labels) - len(self._used),
        )


def _with_label(sample: Sample | None, ident: str, labelled: Sample) -> Sample:
    """Return the judged sample with the labels, and what the labels' file says besides."""
    if sample is None:
        if labelled.question_text:
            return labelled
        return stand_in(ident, len(labelled.answers), labelled.gold)
    answers = tuple(
        own if own.model else own.model_copy(update={"model": other.model})
        for own, other in zip(sample.answers, labelled.answers, strict=True)
    )
    return sample.model_copy(
        update={
            "answers": answers,
            "gold": labelled.gold,
            "category": sample.category or labelled.category,
            "language": sample.language or labelled.language,
        }
    )


@dataclass(slots=True)
class _Judgments:
    """What files say of one sample."""

    sample: Sample | None
    ident: str
    judgments: dict[tuple[object, ...], Judgment] = field(default_factory=dict)
    """By order and repeat; a later one replaces an earlier one."""


class _Stored:
    """The stored judgments of one judge in one or more files."""

    def __init__(
        self,
        paths: list[str],
        questions: AnyPath | None,
        format: str | None,  # noqa: A002
        judge: str | None,
        labels_as_judge: bool,
    ) -> None:
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

    def readings(self, joiner: _Joiner | None) -> Iterator[Reading]:
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
            if joiner:
                sample = joiner.label(group.sample, group.ident, answers)
            else:
                sample = group.sample or stand_in(group.ident, answers)
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


def _run_of(paths: tuple[AnyPath, ...]) -> Run | None:
    """Return the run that is meant by a folder, or by the file of judgments inside one."""
    path = Path(paths[0])
    inside = path.parent if path.name == "judgments.jsonl" else path
    if len(paths) == 1 and RunFolder(inside).manifest.exists():
        return open_run(inside)
    for one in paths:
        if RunFolder(Path(one)).manifest.exists():
            raise InputError(f"{one} is a run folder; evaluate one run at a time")
    return open_run(path) if path.is_dir() else None


def _is_own(path: str) -> bool:
    """Whether the first row that can be read is a judgment as a run keeps it."""
    for row in Rows(Source(path)).read(NoticeLog()):
        if not isinstance(row, BadRow):
            return isinstance(row.value, dict) and row.value.keys() >= _OWN_FIELDS
    return False
