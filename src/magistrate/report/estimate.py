"""``mg.estimate``: what people would say of a whole run, from a few labels and all judgments.

    found = mg.estimate("runs/first", labels="few.jsonl")
    found.win_rates["model-a"].corrected

Quantities: each model's win rate (pairs), the share of decisions that people agree with (pairs),
and each model's mean score on people's scale (single answers). The judge's numbers are its
probabilities where it gives them, else its verdicts; how sure it is stands in for whether it is
right. Where the judge has nothing to say (a failed decision), its mean over the others is its
number: that corrects nothing and biases nothing, and is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING

from pydantic import Field

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.formats.reading import read_samples
from magistrate.formats.source import keep_inputs
from magistrate.formats.writers.write import write_samples
from magistrate.metrics.columns import UNNAMED, Named, PairColumns
from magistrate.metrics.prediction_powered import (
    LEAST_IN_STRATUM,
    Corrected,
    corrected_mean,
    plan_labels,
)
from magistrate.metrics.singles import SingleColumns
from magistrate.records import Record, Sample
from magistrate.report.judged import Judged, read_judged

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

    from magistrate.metrics.columns import Integers

PLAN = "label_plan"
"""Key of ``meta`` in samples that :func:`choose_next` wrote: the edges of its strata."""
STRATA = 4
_Z = 1.959964


class Estimate(Record):
    """What people would say, corrected by a few labels."""

    source: str
    judge: str
    samples: int
    labelled: int
    not_decided: int
    """Samples of which the judge has no decision."""
    strata: int
    """Groups of like confidence that were corrected each by itself; 1 for labels drawn from all."""
    agreement: Corrected | None = None
    """Share of decisions that people agree with; over samples that the judge decided."""
    win_rates: dict[str, Corrected] = Field(default_factory=dict)
    mean_scores: dict[str, Corrected] = Field(default_factory=dict)
    left_out: dict[str, str] = Field(default_factory=dict)
    """Quantities that could not be told, and why."""
    notices: tuple[Notice, ...] = ()
    bad: tuple[BadRow, ...] = ()
    bad_rows: int = 0


class NextLabels(Record):
    """Which samples to label next."""

    written: int
    strata: tuple[int, ...]
    """How many of each group of like confidence, the least sure first."""
    half_width_now: float
    half_width_expected: float
    """Of the agreement, with the labels sought as planned."""
    half_width_random: float
    """The same with as many labels drawn from all."""


def estimate(
    *run: str | PathLike[str],
    labels: str | PathLike[str] | None = None,
    models: Sequence[str] = (),
    judge: str | None = None,
) -> Estimate:
    """Estimate what people would say of everything that was judged.

    Args:
        run: A run folder, or files of another tool's judgments.
        labels: The labelled samples; without, those of the run itself.
        models: Only these; all by default.
        judge: Whose judgments to take from files of several judges.

    Raises:
        InputError: The files cannot be read, or there are too few labels for any quantity.
        RunError: The folder is not a run.
    """
    judged = read_judged(*run, labels=labels, judge=judge, keep_samples=True)
    _check_join(judged)
    edges = _planned_edges(labels)
    strata = _strata(judged.pairs, edges)
    left_out: dict[str, str] = {}

    def told(what: str, measure: Callable[[], Corrected]) -> Corrected | None:
        try:
            return measure()
        except InputError as error:
            left_out[what] = str(error)
            return None

    pairs, singles = judged.pairs, judged.singles
    agreement = told("agreement", lambda: _agreement(pairs, strata)) if len(pairs) else None
    win_rates = {
        name: told(f"win rate of {name}", partial(_win_rate, pairs, strata, name))
        for name in _names(models, pairs.first_model, pairs.second_model)
    }
    scores = {
        name: told(f"mean score of {name}", partial(_mean_score, singles, name))
        for name in (_names(models, singles.model) if len(singles) else ())
    }
    known_rates = {name: found for name, found in win_rates.items() if found}
    known_scores = {name: found for name, found in scores.items() if found}
    if agreement is None and not known_rates and not known_scores:
        raise InputError(
            next(iter(left_out.values()), "the run holds no pairs and no scores to correct")
        )
    decided = int(pairs.ok.sum()) + int(singles.ok.sum())
    total = len(pairs) + len(singles)
    return Estimate(
        source=judged.source,
        judge=judged.judge,
        samples=total,
        labelled=int(_is_labelled(pairs).sum()) + int((~_nan(singles.gold_score)).sum()),
        not_decided=total - decided,
        strata=len(edges) + 1,
        agreement=agreement,
        win_rates=known_rates,
        mean_scores=known_scores,
        left_out=left_out,
        notices=judged.notices,
        bad=judged.bad,
        bad_rows=judged.bad_rows,
    )


def choose_next(
    *run: str | PathLike[str],
    out: str | PathLike[str],
    count: int,
    labels: str | PathLike[str] | None = None,
    judge: str | None = None,
    seed: int = 0,
) -> NextLabels:
    """Write the pairs to label next, drawn where labels shrink the interval of agreement most.

    Pairs are divided into groups of like confidence; more are drawn from groups where the judge is
    oftener wrong than right by chance. The groups are written into each sample's ``meta``, so that
    a later :func:`estimate` over all labels together knows them.

    Args:
        run: As :func:`estimate`.
        out: The file to write, in any format that keeps ``meta`` (JSON Lines).
        count: How many pairs.
        labels: The labels so far, drawn at random or by an earlier call.
        judge: As :func:`estimate`.
        seed: Another seed draws others.

    Raises:
        InputError: There are no pairs left to label, or too few labels to plan by.
    """
    import numpy as np

    keep_inputs([] if labels is None else [labels], out)
    judged = read_judged(*run, labels=labels, judge=judge, keep_samples=True)
    pairs = judged.pairs
    if not len(pairs):
        raise InputError("labels are planned for pairs, and the run holds none")
    edges = _planned_edges(labels) or _quartiles(pairs)
    strata = _strata(pairs, edges)
    known, groups = _is_labelled(pairs), len(edges) + 1
    open_in = [np.flatnonzero((strata == one) & ~known) for one in range(groups)]
    size = np.bincount(strata, minlength=groups).astype(np.float64)
    have = np.bincount(strata[known], minlength=groups)
    spread = size * _spread(pairs, strata, groups)
    due = np.minimum(
        np.maximum(plan_labels(spread, have, count), LEAST_IN_STRATUM - have),
        [len(places) for places in open_in],
    )
    rng = np.random.default_rng(seed)
    chosen = np.sort(
        np.concatenate(
            [rng.choice(places, n, replace=False) for places, n in zip(open_in, due, strict=True)]
        )
    )
    if not len(chosen):
        raise InputError("every pair has a label already")
    rows = pairs.row[chosen].tolist()
    write_samples((_to_label(judged.samples[row][0], edges) for row in rows), out)
    share = spread / len(pairs)
    return NextLabels(
        written=len(chosen),
        strata=tuple(int(n) for n in due),
        half_width_now=_expected(share, have),
        half_width_expected=_expected(share, have + due),
        half_width_random=_expected(share, have + size / size.sum() * len(chosen)),
    )


def _check_join(judged: Judged) -> None:
    """Refuse labels of other samples: more of them would not help."""
    join = judged.join
    if join is not None and join.labels and not sum(join.matched.values()):
        raise InputError(
            f"{join.file} has {join.labels:,} labelled samples, and none of them was judged in "
            f"{judged.source}; give labels of the samples that were judged"
        )


def _to_label(sample: Sample, edges: tuple[float, ...]) -> Sample:
    return sample.model_copy(update={"gold": (), "meta": {**sample.meta, PLAN: list(edges)}})


def _expected(share: Floats, labels: Floats | Integers) -> float:
    """Return the half width of a stratified mean; groups without labels count as one label."""
    import numpy as np

    return float(_Z * np.sqrt((share**2 / np.maximum(labels, 1)).sum()))


def _spread(pairs: PairColumns, strata: Integers, groups: int) -> Floats:
    """Return the standard deviation of being right less confidence in each group.

    Where labels are few it leans on what the confidence itself says: sqrt(p (1 - p)).
    """
    import numpy as np

    sure = _filled(pairs.confidence)
    right = pairs.said == pairs.gold
    known = _is_labelled(pairs) & pairs.ok
    found = np.zeros(groups)
    for one in range(groups):
        every, some = strata == one, (strata == one) & known
        mean = float(np.clip(sure[every].mean(), 0.05, 0.95)) if every.any() else 0.5
        guess, n = mean * (1 - mean), int(some.sum())
        seen = float(np.square(right[some] - sure[some]).sum())
        found[one] = np.sqrt((4 * guess + seen) / (4 + n))
    return found


def _agreement(pairs: PairColumns, strata: Integers) -> Corrected:
    import numpy as np

    ok = pairs.ok
    label = np.where(_is_labelled(pairs), (pairs.said == pairs.gold).astype(float), np.nan)
    sure = pairs.confidence[ok]
    found = corrected_mean(label[ok], _filled(sure), pairs.question[ok], strata[ok], low=0, high=1)
    # The judge itself claims no agreement where it does not say how sure it is of each decision.
    return found.model_copy(update={"judge_alone": None}) if np.isnan(sure).any() else found


def _win_rate(pairs: PairColumns, strata: Integers, model: str) -> Corrected:
    import numpy as np

    first, second = pairs.first_model.where(model), pairs.second_model.where(model)
    chosen = first ^ second
    people = np.where(_is_labelled(pairs), (1 + pairs.gold.astype(float)) / 2, np.nan)
    verdict = np.where(pairs.ok, (1 + pairs.said.astype(float)) / 2, np.nan)
    likely = pairs.probability[:, 0] + pairs.probability[:, 1] / 2
    judge = np.where(np.isnan(likely), verdict, likely)
    return corrected_mean(
        np.where(first, people, 1 - people)[chosen],
        _filled(np.where(first, judge, 1 - judge)[chosen]),
        pairs.question[chosen],
        strata[chosen],
        low=0,
        high=1,
    )


def _mean_score(singles: SingleColumns, model: str) -> Corrected:
    chosen = singles.model.where(model)
    return corrected_mean(
        singles.gold_score[chosen], _filled(singles.score[chosen]), singles.question[chosen]
    )


def _filled(values: Floats) -> Floats:
    """Return numbers with the mean of the known ones where one is missing."""
    import numpy as np

    known = ~np.isnan(values)
    if known.all():
        return values
    found: Floats = np.where(known, values, values[known].mean() if known.any() else 0.5)
    return found


def _is_labelled(pairs: PairColumns) -> NDArray[np.bool_]:
    import numpy as np

    found: NDArray[np.bool_] = np.abs(pairs.gold) <= 1
    return found


def _nan(values: Floats) -> NDArray[np.bool_]:
    import numpy as np

    return np.isnan(values)


def _names(wanted: Sequence[str], *columns: Named) -> tuple[str, ...]:
    known = sorted({name for column in columns for name in column.names if name != UNNAMED})
    for name in wanted:
        if name not in known:
            raise InputError(f"no model '{name}' here; there are: {', '.join(known) or 'none'}")
    return tuple(wanted or known)


def _quartiles(pairs: PairColumns) -> tuple[float, ...]:
    import numpy as np

    known = pairs.confidence[~np.isnan(pairs.confidence)]
    if not len(known):
        return ()
    edges = np.unique(np.quantile(known, [k / STRATA for k in range(1, STRATA)]))
    return tuple(float(edge) for edge in edges)


def _strata(pairs: PairColumns, edges: tuple[float, ...]) -> Integers:
    """Return each pair's group; the first holds those of which the judge cannot tell."""
    import numpy as np

    sure = np.nan_to_num(pairs.confidence, nan=-np.inf)
    found: Integers = np.searchsorted(np.asarray(edges), sure, side="right")
    return found


def _planned_edges(labels: str | PathLike[str] | None) -> tuple[float, ...]:
    """Return the groups that the labels were drawn from; none for labels drawn from all."""
    if labels is None:
        return ()
    for sample in read_samples(labels):
        edges = sample.meta.get(PLAN)
        if isinstance(edges, list) and all(isinstance(edge, float) for edge in edges):
            return tuple(edges)
    return ()
