"""One judge on the pairs of one set: the row that most tables of the studies are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from magistrate.metrics.columns import NOTHING, PairColumns
from magistrate.metrics.intervals import NO_RATE, Rate, mean_of_points, mean_of_scores, proportion
from magistrate.records import Record, Usage
from magistrate.store.run import Run
from magistrate.suites.drawing import Drawn
from magistrate.suites.manifest import DataSet
from magistrate.suites.running import ReadPairs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Basis = Literal["measured", "by construction", "not measured"]

AGREEMENT_RULE = (
    "agreement: share right of the pairs whose annotators prefer one answer and whose decision is "
    "ok; a tie of the judge counts half. Baselines: the same rule on all such pairs of the set, "
    "whatever the judge said; 'majority' always names the side that is right more often. "
    "Intervals: 95 %, Wilson's where every question has one pair, else the bootstrap over questions"
)


class Baselines(Record):
    """What rules without a judge score on the decisive pairs of a set; a tie counts half."""

    longer: Rate
    """Prefers the answer with more characters; equal lengths tie."""
    first: Rate
    """Prefers the answer that stands first."""
    random: Rate
    """A fair coin between the two: its expectation."""
    majority: Rate
    """Always names the side that the labels name more often."""


class PairResult(Record):
    """A judge, asked in one way, on the pairs of one set."""

    set: str
    title: str
    variant: str = ""
    """How the judge was asked, where a study compares ways."""
    family: str
    mode: str | None = None
    run: str
    """The run folder."""
    available: int
    """Pairs that the set has."""
    pairs: int
    """Pairs of these that were drawn and judged."""
    decisive: int
    """Of these, pairs whose annotators prefer one answer."""
    not_ok: Rate
    agreement: Rate
    three_classes: Rate | None
    """Share of pairs with a majority, tie among them, where judge and annotators say the same; None
    where the labels know no tie."""
    baselines: Baselines
    over_longer: Rate
    """Agreement less that of 'longer' on the same pairs, with an interval for paired values."""
    consistency: Rate
    """Share of pairs with the same outcome in both orders."""
    consistency_basis: Basis
    toward_first: Rate
    toward_second: Rate
    ties: Rate
    """Share of the judge's decisions that are ties."""
    truncated: int
    """Pairs that the judge read shortened."""
    usage: Usage
    cost: float
    """In US dollars."""
    notes: tuple[str, ...] = ()


def measure_pairs(
    run: Run,
    read: ReadPairs,
    data: DataSet,
    drawn: Drawn,
    *,
    variant: str = "",
    notes: tuple[str, ...] = (),
) -> PairResult:
    """Measure one run of a study.

    Args:
        run: The run over the set.
        read: Its pairs.
        data: The set.
        drawn: Its samples as they were drawn.
        variant: How the judge was asked.
        notes: What a reader of the row should know.
    """
    manifest, remarks = run.manifest, [*notes]
    if drawn.sides_mixed:
        remarks.append("the file has the better answer on one side; sides were drawn by seed")
    if drawn.others:
        remarks.append(f"{drawn.others} samples that are no pairs were left out")
    if drawn.bad_count:
        remarks.append(f"{drawn.bad_count} bad rows, listed in the run folder")
    if read.failure:
        remarks.append(f"{variant}: {read.failure}" if variant else read.failure)
    return PairResult(
        set=data.entry.name,
        title=data.entry.shown,
        variant=variant,
        family=manifest.judge.family,
        mode=manifest.judge.settings.get("mode"),
        run=str(run.path),
        available=len(drawn),
        truncated=read.truncated,
        usage=manifest.usage,
        cost=manifest.cost,
        notes=tuple(remarks),
        **pair_measures(read.columns, reads_alone=manifest.reads_alone),
    )


def pair_measures(columns: PairColumns, *, reads_alone: bool) -> dict[str, Any]:
    """Return the measures of a :class:`PairResult` by name."""
    import numpy as np

    decisive = np.isin(columns.gold, (1, -1))
    decided = decisive & columns.ok
    return {
        "pairs": len(columns),
        "decisive": int(decisive.sum()),
        "not_ok": proportion(int((~columns.ok).sum()), len(columns)),
        "agreement": mean_of_points(points(columns)[decided], columns.question[decided]),
        "three_classes": _three_classes(columns),
        "baselines": baselines(columns),
        "over_longer": mean_of_scores(
            (points(columns) - longer_points(columns))[decided], columns.question[decided]
        ),
        "ties": mean_of_points(
            (columns.said == 0)[columns.ok].astype(float), columns.question[columns.ok]
        ),
        **_consistency(columns, reads_alone=reads_alone),
    }


def points(columns: PairColumns) -> Floats:
    """Return 1 where the judge is right, 1/2 where it says tie, 0 where it is wrong; shape (n,).

    Only entries with a decisive label and an ok decision mean anything.
    """
    return _points(columns, columns.said)


def longer_points(columns: PairColumns) -> Floats:
    """Return what the rule 'the longer answer wins' scores on each pair; shape (n,)."""
    import numpy as np

    return _points(columns, np.sign(columns.lengths[:, 0] - columns.lengths[:, 1]))


def baselines(columns: PairColumns) -> Baselines:
    """Return what rules without a judge score on the decisive pairs."""
    import numpy as np

    places = np.flatnonzero(np.isin(columns.gold, (1, -1)))
    clusters, gold = columns.question[places], columns.gold[places]
    side = -1 if 2 * int((gold == -1).sum()) > len(gold) else 1

    def rate(values: Any) -> Rate:
        return mean_of_points(values, clusters)

    return Baselines(
        longer=rate(longer_points(columns)[places]),
        first=rate((gold == 1).astype(float)),
        random=proportion(len(gold) / 2, len(gold)),
        majority=rate((gold == side).astype(float)),
    )


def _points(columns: PairColumns, outcomes: Any) -> Floats:
    import numpy as np

    found: Floats = 1 - np.abs(columns.gold.astype(float) - outcomes) / 2
    return found


def _three_classes(columns: PairColumns) -> Rate | None:
    import numpy as np

    if not (columns.gold == 0).any():
        return None
    chosen = np.isin(columns.gold, (1, 0, -1)) & columns.ok
    same = (columns.gold == columns.said)[chosen].astype(float)
    return mean_of_points(same, columns.question[chosen])


def _consistency(columns: PairColumns, *, reads_alone: bool) -> dict[str, Any]:
    both = (columns.as_given != NOTHING) & (columns.swapped != NOTHING)
    basis: Basis = "not measured"
    if reads_alone:
        basis = "by construction"
    elif both.any():
        basis = "measured"
    given, swapped = columns.as_given[both], columns.swapped[both]
    clusters = columns.question[both]

    def rate(which: Any) -> Rate:
        if basis != "measured":
            return NO_RATE
        return mean_of_points(which.astype(float), clusters)

    # Better in the given order than when swapped: the first place helped.
    return {
        "consistency": rate(given == swapped),
        "consistency_basis": basis,
        "toward_first": rate(given > swapped),
        "toward_second": rate(given < swapped),
    }
