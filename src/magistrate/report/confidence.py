"""Which way of telling how sure a judge is tells best which of its decisions are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import fspath
from typing import TYPE_CHECKING

from magistrate.cascade.calibration import FOLDS, Wanted, cross_fitted, usable_methods
from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.metrics.confidence import (
    SOURCES,
    BaseReadings,
    SignalCollector,
    Signals,
    base_readings,
    confidence,
    source_named,
)
from magistrate.metrics.intervals import Rate, mean_of_points
from magistrate.metrics.learned import DESCRIPTION, NAME, learned_confidence
from magistrate.metrics.reliability import BINNING, measure_reliability
from magistrate.metrics.selective import Point, Selective, accuracy_curve, brier, measure_selective
from magistrate.records import Decision, Record
from magistrate.report.judged import AnyPath, Judged, read_judged
from magistrate.report.text import counted
from magistrate.store.run import open_run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]


class CalibrationError(Record):
    """How far confidence is from the share right, as a probability."""

    ece: float
    """Expected calibration error."""
    binning: str = BINNING
    expected: float
    """Mean error that a perfectly calibrated judge with the same confidences would show."""
    chance: float
    """What such a judge stays below in 95 of 100 cases."""
    brier: Rate


class SourceRow(Record):
    """One way of telling how sure a judge is."""

    source: str
    description: str
    missing: int
    """Labelled decisions of which it tells nothing; they are in no number of the row."""
    selective: Selective
    curve: tuple[Point, ...]
    raw: CalibrationError | None
    """As it is told; None where it is no probability."""
    calibrated: CalibrationError | None
    """Calibrated on other questions; None with too few labels."""


class ConfidenceReport(Record):
    """The sources of one run compared, on decisions that are labelled."""

    judge: str
    source: str
    pairs: int
    n: int
    """Labelled pairs with an ``ok`` decision."""
    accuracy: Rate
    rows: tuple[SourceRow, ...]
    """In the sequence of the table of sources."""
    learned_from: tuple[str, ...]
    """Sources that the learned confidence is made of."""
    absent: dict[str, str]
    """Sources that the run says nothing of, with what they are."""
    uncalibrated: str
    """Why nothing could be calibrated; empty where it was."""
    notices: tuple[Notice, ...] = ()
    bad: tuple[BadRow, ...] = ()
    bad_rows: int = 0


@dataclass(frozen=True, slots=True)
class Labelled:
    """Labelled decisions of a run with what is stored of how sure they are."""

    judged: Judged
    signals: Signals
    right: Bools
    """Whether each decision is the annotators' majority over first, tie and second."""
    questions: NDArray[np.uint64]
    chosen: NDArray[np.int64]
    """Places of these decisions among the pairs."""

    def __len__(self) -> int:
        """Return the number of labelled decisions."""
        return len(self.right)


def read_labelled(
    *paths: AnyPath,
    labels: AnyPath | None = None,
    base: AnyPath | None = None,
    annotators: Sequence[AnyPath] = (),
    judge: str | None = None,
) -> Labelled:
    """Read a run, or another tool's file, with its labels.

    Args:
        paths: A run folder, or files of one judge's judgments.
        labels: Labels, where they do not come with it; see :func:`read_judged`.
        base: The run of the base model over the same samples.
        annotators: Runs of the same judge over the same samples with other demonstrations.
        judge: Whose judgments to take from files of several.

    Raises:
        InputError: A file cannot be read, or no pair with a decision is labelled.
        RunError: A folder is not a run, or is damaged.
    """
    import numpy as np

    collector = SignalCollector(
        base=_base_of(base), annotators=[_decisions_of(path) for path in annotators]
    )
    judged = read_judged(
        *paths, labels=labels, judge=judge, visit=lambda reading: collector.add(*reading)
    )
    pairs, signals = judged.pairs, collector.result()
    chosen = np.flatnonzero(pairs.ok & (np.abs(pairs.gold.astype(int)) <= 1))
    if not len(chosen):
        raise InputError(
            f"{judged.source}: not one pair has both a decision that is ok and a label with a "
            f"majority, so nobody can tell which decisions are right; give labels of what was "
            f"judged (--labels)"
        )
    return Labelled(
        judged=judged,
        signals=signals.take(chosen),
        right=pairs.said[chosen] == pairs.gold[chosen],
        questions=pairs.question[chosen],
        chosen=chosen,
    )


def compare_confidence(
    *paths: AnyPath,
    labels: AnyPath | None = None,
    base: AnyPath | None = None,
    annotators: Sequence[AnyPath] = (),
    sources: Sequence[str] = (),
    method: Wanted = "auto",
    folds: int = FOLDS,
    judge: str | None = None,
) -> ConfidenceReport:
    """Measure every source that a run can tell, and a score that is learned from them.

    Args:
        paths: A run folder, or files of one judge's judgments.
        labels: Labels, where they do not come with it.
        base: The run of the base model, for the sources that correct by it.
        annotators: Runs with other demonstrations, for simulated annotators.
        sources: Only these; all by default.
        method: How confidences are calibrated, on other questions, before ECE and Brier score.
        folds: Folds of questions.
        judge: Whose judgments to take from files of several.

    Raises:
        InputError: As :func:`read_labelled`; or there is no such source.
        RunError: A folder is not a run, or is damaged.
    """
    import numpy as np

    for name in sources:
        if name != NAME:
            source_named(name)
    found = read_labelled(*paths, labels=labels, base=base, annotators=annotators, judge=judge)
    rows, absent = [], {}
    for name, source in SOURCES.items():
        if sources and name not in sources:
            continue
        values = confidence(found.signals, name)
        if not np.isfinite(values).any():
            absent[name] = source.description
            continue
        rows.append(
            _row(name, source.description, values, found, source.is_probability, method, folds)
        )
    learned = None
    if not sources or NAME in sources:
        learned = learned_confidence(found.signals, found.right, found.questions, folds=folds)
    if learned is not None:
        rows.append(_row(NAME, DESCRIPTION, learned[1], found, True, method, folds))
    return ConfidenceReport(
        judge=found.judged.judge,
        source=found.judged.source,
        pairs=len(found.judged.pairs),
        n=len(found),
        accuracy=mean_of_points(found.right, found.questions),
        rows=tuple(rows),
        learned_from=learned[0] if learned else (),
        absent=absent,
        uncalibrated=_why_not(found, method, folds),
        notices=found.judged.notices,
        bad=found.judged.bad,
        bad_rows=found.judged.bad_rows,
    )


def as_probability(
    probability: Floats, right: Bools, questions: NDArray[np.generic]
) -> CalibrationError | None:
    """Measure a confidence as a probability of being right; None without samples."""
    found = measure_reliability(probability, right, questions)
    if found is None:
        return None
    return CalibrationError(
        ece=found.ece,
        expected=found.expected,
        chance=found.chance,
        brier=brier(probability, right, questions),
    )


def _row(
    name: str,
    description: str,
    values: Floats,
    found: Labelled,
    is_probability: bool,
    method: Wanted,
    folds: int,
) -> SourceRow:
    import numpy as np

    known = np.isfinite(values)
    sure, right, questions = values[known], found.right[known], found.questions[known]
    calibrated = None
    try:
        told = cross_fitted(
            sure, right, questions, method, is_probability=is_probability, folds=folds
        )
    except InputError:
        pass  # too few labels: told once for the whole report
    else:
        calibrated = as_probability(told, right, questions)
    return SourceRow(
        source=name,
        description=description,
        missing=int((~known).sum()),
        selective=measure_selective(sure, right, questions),
        curve=accuracy_curve(sure, right, questions),
        raw=as_probability(sure, right, questions) if is_probability else None,
        calibrated=calibrated,
    )


def _why_not(found: Labelled, method: Wanted, folds: int) -> str:
    try:
        usable_methods(found.right, found.questions, method, folds=folds)
    except InputError as error:
        return str(error)
    return ""


def _base_of(path: AnyPath | None) -> BaseReadings | None:
    if path is None:
        return None
    return base_readings(
        judgment for judgment in open_run(fspath(path)).judgments() if judgment.status == "ok"
    )


def _decisions_of(path: AnyPath) -> dict[str, Decision]:
    """Return the decisions of a run by the text of their sample."""
    run = open_run(fspath(path))
    return {
        sample.text_id: decision
        for sample, _, decision in run.readings()
        if decision is not None and decision.status == "ok"
    }


def missing_words(row: SourceRow) -> str:
    """Say how many decisions a source tells nothing of; empty for none."""
    return f"{counted(row.missing, 'decision')} without" if row.missing else ""
