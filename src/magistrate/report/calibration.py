"""Calibrating a judge on labelled decisions: the fit, honest numbers, and where it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from magistrate.cascade.calibration import (
    FOLDS,
    Wanted,
    cross_fitted,
    fewest_labels,
    fit,
    quantiles_of,
)
from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.ids import content_id
from magistrate.judging.calibrated import can_write, own_file, write_calibration
from magistrate.judging.calibration import Calibration
from magistrate.judging.folder import JUDGE_FILE
from magistrate.judging.resolve import find_judge_folder, list_judges
from magistrate.metrics.columns import SPLIT, PairColumns
from magistrate.metrics.confidence import DEFAULT_SOURCE, confidence, source_named
from magistrate.metrics.gold import annotator_vote
from magistrate.metrics.intervals import mean_of_scores
from magistrate.metrics.selective import Selective, measure_selective
from magistrate.records import JudgeSpec, Record, Sample
from magistrate.report.confidence import CalibrationError, as_probability, read_labelled
from magistrate.report.judged import AnyPath
from magistrate.store.run import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

SHOWN = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99)
"""Raw probabilities of which it is shown what they become."""


ENOUGH_LABELS = 100
ENOUGH_QUESTIONS = 30
"""Fewer labelled decisions, or questions, make a calibration a rough one."""


class Measured(Record):
    """A confidence measured on all labelled decisions."""

    selective: Selective
    error: CalibrationError | None
    """None before calibration, where the source is no probability."""


class CalibrationResult(Record):
    """A calibration, and what it does for a judge."""

    calibration: Calibration
    before: Measured
    after: Measured
    """Each decision by a map that was fitted on other questions."""
    labelled: int
    """Labelled decisions that are ``ok``."""
    missing: int
    """Of these, decisions of which the source tells nothing; left out."""
    no_majority: int
    """Pairs without a majority of their annotators; left out."""
    not_ok: int
    """Judged pairs whose decision is not ``ok``; left out."""
    folds: int
    becomes: dict[str, float]
    """Raw confidences and what they become."""
    notices: tuple[Notice, ...] = ()
    bad: tuple[BadRow, ...] = ()
    bad_rows: int = 0


def calibrate_run(
    run: Run,
    *,
    labels: AnyPath | None = None,
    source: str = DEFAULT_SOURCE,
    method: Wanted = "auto",
    folds: int = FOLDS,
    base: AnyPath | None = None,
    annotators: Sequence[AnyPath] = (),
) -> CalibrationResult:
    """Fit a calibration on the labelled decisions of a run.

    A decision is right when it is the annotators' majority over first, tie and second. Where
    probabilities stand in the run they are the judge's own, whether it was calibrated or not.

    Args:
        run: The run.
        labels: Labels, where the run's input came without.
        source: Which confidence; a name of :data:`magistrate.metrics.confidence.SOURCES`.
        method: How; ``auto`` chooses.
        folds: Folds of questions.
        base: The run of the base model, for sources that correct by it.
        annotators: Runs with other demonstrations, for simulated annotators.

    Raises:
        InputError: There is no such source or method, the run tells nothing of it, or there are too
            few labels; then the message says how many would do.
        RunError: The run is damaged.
    """
    import numpy as np

    known = source_named(source)
    if folds < 2:
        raise InputError(f"--folds is {folds}; cross-fitting needs 2 or more")
    found = read_labelled(run.path, labels=labels, base=base, annotators=annotators)
    values = confidence(found.signals, source)
    there = np.isfinite(values)
    if not there.any():
        raise InputError(
            f"{run.path} tells nothing of '{source}' ({known.description}); 'magistrate confidence "
            f"{run.path} --all' lists what it tells"
        )
    sure, right, questions = values[there], found.right[there], found.questions[there]
    told = cross_fitted(
        sure, right, questions, method, is_probability=known.is_probability, folds=folds
    )
    fitted = fit(sure, right, questions, method, is_probability=known.is_probability, folds=folds)
    before = Measured(
        selective=measure_selective(sure, right, questions),
        error=as_probability(sure, right, questions) if known.is_probability else None,
    )
    after = Measured(
        selective=measure_selective(told, right, questions),
        error=as_probability(told, right, questions),
    )
    pairs = found.judged.pairs
    calibration = Calibration(
        method=fitted.method,
        source=source,
        log_odds=fitted.log_odds,
        slope=fitted.slope,
        intercept=fitted.intercept,
        knots=fitted.knots,
        judge=run.manifest.judge.name,
        judge_id=run.manifest.judge_id,
        n=len(sure),
        right=int(right.sum()),
        questions=len(np.unique(questions)),
        data=_data_hash(pairs, found.chosen[there]),
        ece=_change(before.error, after.error, lambda error: error.ece),
        brier=_change(before.error, after.error, lambda error: error.brier.value),
        quantiles=quantiles_of(sure),
    )
    shown = SHOWN if known.is_probability else tuple(np.quantile(sure, (0.1, 0.3, 0.5, 0.7, 0.9)))
    return CalibrationResult(
        calibration=calibration,
        before=before,
        after=after,
        labelled=len(found),
        missing=int((~there).sum()),
        no_majority=int((pairs.gold == SPLIT).sum()),
        not_ok=int((~pairs.ok).sum()),
        folds=folds,
        becomes={f"{raw:.4g}": calibration.apply(float(raw)) for raw in shown},
        notices=(*found.judged.notices, *_cautions(sure, told, right, questions, before)),
        bad=found.judged.bad,
        bad_rows=found.judged.bad_rows,
    )


def check_labels(
    samples: Iterable[Sample], *, source: str = DEFAULT_SOURCE, method: Wanted = "auto"
) -> None:
    """Find out before anything is judged whether there can be enough labels for a calibration.

    No more samples are read than it takes.

    Raises:
        InputError: There are too few labelled pairs.
    """
    needed = fewest_labels(method, is_probability=source_named(source).is_probability)
    labels = 0
    for sample in samples:
        labels += len(sample.answers) == 2 and any(map(annotator_vote, sample.gold))
        if labels >= needed:
            return
    raise InputError(
        f"calibration needs {needed} labelled decisions or more, and there are {labels} labelled "
        f"pairs; give {needed - labels} more labels (nothing was judged)"
    )


def _cautions(
    sure: Floats, told: Floats, right: Bools, questions: NDArray[np.generic], before: Measured
) -> Iterator[Notice]:
    """Yield what keeps one from relying on a calibration."""
    import numpy as np

    n, groups = len(sure), len(np.unique(questions))
    if n < ENOUGH_LABELS or groups < ENOUGH_QUESTIONS:
        yield Notice(
            kind="calibration",
            message=f"the calibration is a rough one: it was fitted on {n:,} labels of {groups:,} "
            f"questions; give {ENOUGH_LABELS} and {ENOUGH_QUESTIONS} or more",
        )
    if before.error is None:
        return
    good = right.astype(float)
    gain = mean_of_scores(np.square(sure - good) - np.square(told - good), questions)
    if gain.value is not None and (gain.low is None or gain.low <= 0):
        between = "" if gain.low is None else f" [{gain.low:+.4f}, {gain.high:+.4f}]"
        yield Notice(
            kind="calibration",
            message=f"calibration lowers the Brier score by {gain.value:+.4f}{between} on other "
            f"questions: no gain is shown beyond chance; more labels would tell",
        )


def keep(calibration: Calibration, spec: JudgeSpec, out: Path | None = None) -> Path:
    """Keep a calibration where the judge will find it, or in a file; return the path.

    In the judge's own folder where that can be written and does not ship with the package;
    otherwise in the user's own place, by the judge's id.

    Args:
        calibration: The calibration.
        spec: The judge that it was fitted for.
        out: A file to write instead.

    Raises:
        InputError: It cannot be written; or it is of a source that decisions do not use, and no
            file was named.
    """
    if out is not None:
        write_calibration(out, calibration)
        return out
    if calibration.source != DEFAULT_SOURCE:
        raise InputError(
            f"the confidence of a judge's decisions is '{DEFAULT_SOURCE}'; a calibration of "
            f"'{calibration.source}' is kept in a file only: name one with --out"
        )
    mine = own_file(spec.id)
    folder = find_judge_folder(spec.name)
    bundled = {judge.folder for judge in list_judges()}
    if folder is None or folder in bundled or not can_write(folder):
        write_calibration(mine, calibration)
        return mine
    write_calibration(folder / JUDGE_FILE, calibration)
    # An older one of the user's own would come before it.
    mine.unlink(missing_ok=True)
    return folder / JUDGE_FILE


def _data_hash(pairs: PairColumns, chosen: Iterable[int]) -> str:
    """Return a hash of which questions were labelled how; the sequence makes no difference."""
    rows = sorted(
        [int(pairs.question[k]), int(pairs.lengths[k, 0]), int(pairs.lengths[k, 1]),
         int(pairs.gold[k])]
        for k in chosen
    )  # fmt: skip
    return content_id(rows)


def _change(
    before: CalibrationError | None,
    after: CalibrationError | None,
    number: Callable[[CalibrationError], float | None],
) -> tuple[float, float] | None:
    last = number(after) if after else None
    if last is None:
        return None
    first = number(before) if before else None
    return last if first is None else first, last
