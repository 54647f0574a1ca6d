"""What a judge said, from wherever it is stored, beside what people said: the input of measures.

    from magistrate.report.judged import read_judged

    judged = read_judged("pandalm-7b-testset-v1.json", labels="testset-v1.json")
    judged.pairs.said, judged.pairs.gold

A run folder, a run's ``judgments.jsonl``, or files in which another tool keeps its judgments; with
the labels in the same file, in the run, or in a file of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from os import fspath
from pathlib import Path

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.metrics.breakdown import question_type
from magistrate.metrics.columns import NameCollector, Named, PairCollector, PairColumns
from magistrate.metrics.singles import (
    RankedCollector,
    RankedColumns,
    SingleCollector,
    SingleColumns,
)
from magistrate.records import Decision, Judgment, Sample
from magistrate.report.drift import calibration_notices
from magistrate.report.labels import Joiner, LabelJoin, Labels
from magistrate.report.stored import AnyPath as AnyPath
from magistrate.report.stored import Reading as Reading
from magistrate.report.stored import Stored
from magistrate.store.folder import RunFolder
from magistrate.store.run import Run, open_run

RUN_FORMAT = "run"
_BAD_KEPT = 1_000


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
    """Rows of the judgments and of the labels that could not be used (the first 1,000)."""
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
    visit: Callable[[Reading], object] | None = None,
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
        visit: Called with every sample, its judgments and decision while they are read, for who
            needs more than columns and would not keep all texts.

    Raises:
        InputError: A file cannot be read, holds no judgments, or those of several judges.
        RunError: The folder is not a run, or is damaged.
    """
    if not paths:
        raise InputError("no run and no file was given; name one")
    known = Labels(labels) if labels is not None else None
    run = _run_of(paths)
    if run is not None:
        return _of_run(run, known, _Columns(keep_samples, question_types, visit))
    source = Stored([fspath(path) for path in paths], questions, format, judge, labels_as_judge)
    columns = _Columns(keep_samples, question_types, visit)
    joined = Joiner(known) if known else None
    for row, (sample, judgments, decision) in enumerate(source.readings(joined)):
        columns.add(row, sample, judgments, decision)
    return columns.result(
        judge=source.judge,
        source=", ".join(source.paths),
        format=source.format,
        inputs=tuple(source.paths),
        joiner=joined,
        reads_alone=False,
        bad=source.bad,
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
    joiner = Joiner(labels) if labels else None
    for row, (sample, judgments, decision) in enumerate(run.readings()):
        own = (
            joiner.label(sample, sample.source_id or "", len(sample.answers)) if joiner else sample
        )
        columns.add(row, own, judgments, decision)
    found = columns.result(
        judge=manifest.judge.name,
        source=str(run.path),
        format=RUN_FORMAT,
        inputs=tuple(file.name for file in manifest.inputs),
        joiner=joiner,
        reads_alone=manifest.reads_alone,
        bad=list(islice(run.bad_rows(), _BAD_KEPT)),
        bad_rows=manifest.bad_rows,
        notices=tuple(run.notices()),
    )
    said = calibration_notices(manifest.calibration, found.pairs)
    return replace(found, notices=(*found.notices, *said)) if said else found


class _Columns:
    """Collects all three kinds of columns."""

    def __init__(
        self,
        keep_samples: bool,
        question_types: bool,
        visit: Callable[[Reading], object] | None = None,
    ) -> None:
        self._visit = visit
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
        if self._visit is not None:
            self._visit((sample, judgments, decision))
        if self._kept is not None:
            self._kept.append((sample, judgments, decision))

    def result(
        self,
        *,
        judge: str,
        source: str,
        format: str,  # noqa: A002
        inputs: tuple[str, ...],
        joiner: Joiner | None,
        reads_alone: bool,
        bad: list[BadRow],
        bad_rows: int,
        notices: tuple[Notice, ...],
    ) -> Judged:
        if joiner:
            kept, bad_rows = bad_of_all([(bad, bad_rows), (joiner.bad, joiner.bad_rows)])
            bad = list(kept)
            notices = tuple(dict.fromkeys((*joiner.notices(), *notices)))
        return Judged(
            judge=judge,
            source=source,
            format=format,
            inputs=inputs,
            pairs=self._pairs.result(),
            singles=self._singles.result(),
            ranked=self._ranked.result(),
            join=joiner.result() if joiner else None,
            reads_alone=reads_alone,
            has_texts=self._texts,
            bad=tuple(bad[:_BAD_KEPT]),
            bad_rows=bad_rows,
            notices=notices,
            question_types=self._types.result() if self._types else None,
            samples=tuple(self._kept or ()),
        )


def bad_of_all(
    found: Iterable[tuple[Sequence[BadRow], int]],
) -> tuple[tuple[BadRow, ...], int]:
    """Return bad rows of several readings, each row of a file once, and their number.

    Args:
        found: Of each reading the bad rows that were kept, and how many there are in all.
    """
    kept: list[BadRow] = []
    total = 0
    for rows, count in found:
        kept += rows
        total += count
    unlike = tuple(dict.fromkeys(kept))
    return unlike[:_BAD_KEPT], total - (len(kept) - len(unlike))


def for_each(given: str | Sequence[str] | None, sources: int, option: str) -> list[str | None]:
    """Return an option for each of several sources: one for all, or as many as there are.

    Raises:
        InputError: There is another number of them.
    """
    values = [given] if isinstance(given, str) else list(given or ())
    if len(values) < 2:
        return [values[0] if values else None] * sources
    if len(values) != sources:
        raise InputError(
            f"{option} is given {len(values)} times for {sources} runs or files; give it once for "
            f"all, or once for each in their sequence"
        )
    return list(values)


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
