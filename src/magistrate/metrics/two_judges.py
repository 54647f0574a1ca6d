"""Two judges of the same pairs: who agrees more with people, and where they differ.

Both judges' columns hold the same pairs in the same sequence; a pair counts where **both** judges
are ``ok``, so that neither gains by leaving out what is hard.

* ``decisive``: on pairs whose annotators prefer one answer; the same preference scores 1, the other
  0, a predicted tie one half;
* ``three_class``: on all pairs with a majority, tie included; 1 where the classes are equal;
* ``consistency``: on pairs that both judges read in both orders; 1 where a judge says the same;
* ``kappa``: Cohen's, over first / tie / second, with a bootstrap interval over questions (none
  where there are too few of them).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.metrics.columns import NOTHING, SPLIT, UNNAMED, PairColumns
from magistrate.metrics.intervals import NO_RATE, Rate, mean_of_points
from magistrate.metrics.kappa import cohen
from magistrate.metrics.multiplicity import holm
from magistrate.metrics.paired import PairedDifference, compare_paired
from magistrate.metrics.power import smallest_paired_effect, smallest_shift
from magistrate.metrics.totals import rate_of_cells
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Chosen = NDArray[np.bool_]
    Points = NDArray[np.float64]

FIRST_ANSWER = "first answer"
"""Stands for the model where the input names none."""


class ModelDifference(Record):
    """How the win rate of one model differs between two judges."""

    model: str
    difference: PairedDifference
    p_adjusted: float | None
    """Corrected over the models by Holm; None where there is no p."""


class Verdicts(Record):
    """What two judges say of the same pairs."""

    n: int
    table: tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]
    """Pairs by verdict: rows the first judge's (first, tie, second), columns the second's."""
    same: Rate
    """Share of pairs with the same verdict."""
    kappa: Rate
    """Cohen's kappa over the three classes; no value where both say one class alone."""

    @property
    def reversed(self) -> int:
        """Pairs in which each prefers another answer."""
        return self.table[0][2] + self.table[2][0]

    @property
    def ties(self) -> int:
        """Pairs in which one prefers an answer and the other says tie."""
        return self.table[0][1] + self.table[2][1] + self.table[1][0] + self.table[1][2]


class JudgesCompared(Record):
    """Two judges on the pairs that both judged."""

    n: int
    """Pairs on which both are ``ok``."""
    verdicts: Verdicts
    decisive: PairedDifference | None
    """None without labelled decisive pairs."""
    three_class: PairedDifference | None
    """None without labels."""
    smallest_difference: float | None
    """Smallest difference on decisive pairs that would have been seen in 80 % of cases, given how
    often the two differ; None where there is none."""
    consistency: PairedDifference | None
    """None where the two did not both read pairs in both orders."""
    models: tuple[ModelDifference, ...]
    """By name; a single entry where there are two models, since one's gain is the other's loss."""


def compare_judges(first: PairColumns, second: PairColumns) -> JudgesCompared:
    """Compare two judges.

    Args:
        first: What the first judge said.
        second: What the second said of the same pairs in the same sequence, with the same labels.

    Raises:
        ValueError: The columns differ in length.
    """
    if len(first) != len(second):
        raise ValueError(f"columns of {len(first)} and {len(second)} pairs cannot be compared")
    both = first.ok & second.ok
    one, other = first.take(both), second.take(both)
    decisive = _agreement(one, other, decisive=True)
    return JudgesCompared(
        n=len(one),
        verdicts=_verdicts(one, other),
        decisive=decisive,
        three_class=_agreement(one, other, decisive=False),
        smallest_difference=_smallest_difference(one, other),
        consistency=_consistency(one, other),
        models=_models(one, other),
    )


def _agreement(
    first: PairColumns, second: PairColumns, *, decisive: bool
) -> PairedDifference | None:
    found = _points(first, second, decisive=decisive)
    return None if found is None else compare_paired(*found)


def _points(
    first: PairColumns, second: PairColumns, *, decisive: bool
) -> tuple[Points, Points, NDArray[np.uint64]] | None:
    """Return both judges' points on the labelled pairs, and the pairs' questions."""
    gold = first.gold.astype(int)
    wanted = (gold != NOTHING) & (gold != SPLIT)
    if decisive:
        wanted &= gold != 0
    if not wanted.any():
        return None

    def points(judge: PairColumns) -> Points:
        apart = abs(gold - judge.said)[wanted].astype(float)
        scored: Points = 1 - apart / 2 if decisive else (apart == 0).astype(float)
        return scored

    return points(first), points(second), first.question[wanted]


def _smallest_difference(first: PairColumns, second: PairColumns) -> float | None:
    """Return the smallest difference that so many decisive pairs would show.

    By McNemar's test where every pair has a question of its own and differs by whole points, else
    from the spread between questions.
    """
    import numpy as np

    found = _points(first, second, decisive=True)
    if found is None:
        return None
    difference = found[0] - found[1]
    _, question, counts = np.unique(found[2], return_inverse=True, return_counts=True)
    if (counts == 1).all() and np.isin(difference, (-1.0, 0.0, 1.0)).all():
        return smallest_paired_effect(len(difference), float(abs(difference).mean()))
    # The mean over pairs as a ratio of sums over questions, linearised.
    sums = np.bincount(question, weights=difference)
    rest = (sums - difference.mean() * counts) / counts.mean()
    if len(counts) < 2 or not rest.any():
        return None
    return smallest_shift(float(np.std(rest, ddof=1)), len(counts))


def _consistency(first: PairColumns, second: PairColumns) -> PairedDifference | None:
    import numpy as np

    read = np.ones(len(first), dtype=bool)
    for judge in (first, second):
        read &= (judge.as_given != NOTHING) & (judge.swapped != NOTHING)
    if not read.any():
        return None
    one, other = (
        (judge.as_given == judge.swapped)[read].astype(float) for judge in (first, second)
    )
    return compare_paired(one, other, first.question[read])


def _verdicts(first: PairColumns, second: PairColumns) -> Verdicts:
    import numpy as np

    cells = (1 - first.said.astype(int)) * 3 + (1 - second.said.astype(int))
    counts = np.bincount(cells, minlength=9).reshape(3, 3)
    if not len(cells):
        return Verdicts(n=0, table=_rows(counts), same=NO_RATE, kappa=NO_RATE)
    return Verdicts(
        n=len(cells),
        table=_rows(counts),
        same=mean_of_points(first.said == second.said, first.question),
        kappa=rate_of_cells(
            cells, 9, first.question, lambda drawn: cohen(drawn.reshape(*drawn.shape[:-1], 3, 3))
        ),
    )


def _rows(
    counts: NDArray[np.int64],
) -> tuple[tuple[int, int, int], tuple[int, int, int], tuple[int, int, int]]:
    (a, b, c), (d, e, f), (g, h, i) = counts.tolist()
    return (a, b, c), (d, e, f), (g, h, i)


def _models(first: PairColumns, second: PairColumns) -> tuple[ModelDifference, ...]:
    """Return each model's win rate by the first judge minus that by the second."""
    names = sorted({*first.first_model.names, *first.second_model.names} - {UNNAMED})
    if not len(first):
        return ()
    if not names:
        whole = compare_paired((1 + first.said) / 2, (1 + second.said) / 2, first.question)
        return (ModelDifference(model=FIRST_ANSWER, difference=whole, p_adjusted=whole.p),)
    differences = [
        (name, found)
        for name in names
        if (found := _model_difference(first, second, name)) is not None
    ]
    if len(names) == 2:
        differences = differences[:1]
    adjusted = holm([found.p for _, found in differences if found.p is not None])
    return tuple(
        ModelDifference(model=name, difference=found, p_adjusted=p)
        for (name, found), p in zip(differences, adjusted, strict=True)
    )


def _model_difference(
    first: PairColumns, second: PairColumns, model: str
) -> PairedDifference | None:
    # A model against itself neither wins nor loses by a judge's leaning.
    side = first.first_model.where(model).astype(int) - first.second_model.where(model)
    shown = side != 0
    if not shown.any():
        return None

    def points(judge: PairColumns) -> Points:
        won: Points = ((1 + side * judge.said) / 2)[shown]
        return won

    return compare_paired(points(first), points(second), first.question[shown])
