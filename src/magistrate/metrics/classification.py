"""First, tie or second: the confusion of a judge with its annotators, and what follows from it.

A confusion is an array of shape (..., 3, 4): rows are the gold classes first, tie, second; columns
what the judge said, and last the pairs that are **not ok**. Not-ok pairs are in no precision and
no recall: they are shown beside, and :func:`accuracy_of_all` is the one measure that counts them
as wrong.

Formulas are those of Sokolova and Lapalme (2009, table 3): with ``tp`` on the diagonal, precision
of a class is ``tp / said``, its recall ``tp / gold``, F1 their harmonic mean. A class that was
never said has no precision, one that was never labelled no recall; in averages they count 0.
**Macro** is the plain mean over the classes that occur in gold or said (a class that occurs in
neither would only dilute it), **weighted** weighs the classes by their gold counts, and **micro**
pools the counts of all classes, which for one class a pair equals accuracy.

The interval of a macro average is over resamples in which the same classes occur as in the data:
without one of them the average would be of other classes, and another quantity.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.columns import NOTHING
from magistrate.metrics.intervals import Rate, mean_of_points
from magistrate.metrics.kappa import cohen
from magistrate.metrics.totals import rates_of_cells
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.integer]

Average = Literal["macro", "micro", "weighted"]
AVERAGES: tuple[Average, ...] = ("macro", "micro", "weighted")

CLASSES = ("first", "tie", "second")
"""In the sequence of rows and columns."""
NOT_OK = 3
"""The column of pairs without a decision."""
_CELLS = 12


class ClassResult(Record):
    """One class."""

    precision: float | None
    """None for a class that was never said."""
    recall: float | None
    """None for a class that was never labelled."""
    f1: float | None
    """None for a class that was neither."""
    gold: int
    """Pairs of this class by the annotators, with an ``ok`` decision."""
    said: int


class Averaged(Record):
    """Precision, recall and F1 under one averaging."""

    precision: Rate
    recall: Rate
    f1: Rate


class Classification(Record):
    """A judge's classes against the annotators'."""

    confusion: tuple[tuple[int, ...], ...]
    """Rows gold first, tie, second; columns said first, tie, second, not ok."""
    accuracy: Rate
    """Share right of the pairs with an ``ok`` decision."""
    accuracy_of_all: Rate
    """Share right of all labelled pairs: not ok counts as wrong."""
    without_ties: Rate
    """Share right of the pairs where neither side says tie."""
    decisive: Rate
    """Pairs whose annotators prefer an answer; a said tie counts half."""
    kappa: Rate
    """Cohen's, unweighted."""
    kappa_linear: Rate
    """Cohen's with linear weights: first against tie is half as wrong as first against second."""
    classes: dict[str, ClassResult]
    macro: Averaged
    micro: Averaged
    weighted: Averaged


def place_of(outcomes: Codes) -> NDArray[np.int64]:
    """Return the row or column of outcomes 1, 0, -1; :data:`NOT_OK` for anything else."""
    import numpy as np

    codes = np.asarray(outcomes, dtype=np.int64)
    return np.where(np.abs(codes) <= 1, 1 - codes, NOT_OK)


def confusion(gold: Codes, said: Codes) -> NDArray[np.int64]:
    """Count gold classes against what was said.

    Args:
        gold: Shape (n,): 1 first, 0 tie, -1 second; entries with any other value are left out.
        said: Shape (n,): the same; any other value is not ok.

    Returns:
        Shape (3, 4).
    """
    import numpy as np

    known = np.abs(np.asarray(gold, dtype=np.int64)) <= 1
    cells = place_of(gold[known]) * 4 + place_of(said[known])
    return np.bincount(cells, minlength=_CELLS).reshape(3, 4)


def accuracy(counts: Floats) -> Floats:
    """Return the share right of what is ok; shape (..., 3, 4) to (...)."""
    share: Floats = _right(counts) / counts[..., :NOT_OK].sum((-2, -1))
    return share


def accuracy_of_all(counts: Floats) -> Floats:
    """Return the share right of all, not ok counted as wrong; shape (..., 3, 4) to (...)."""
    share: Floats = _right(counts) / counts.sum((-2, -1))
    return share


def without_ties(counts: Floats) -> Floats:
    """Return the share right where neither says tie: setup S2 of MT-bench (arXiv 2306.05685)."""
    right = counts[..., 0, 0] + counts[..., 2, 2]
    return right / (right + counts[..., 0, 2] + counts[..., 2, 0])


def class_scores(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Return precision, recall and F1 of each class; shapes (..., 3, 4) to (..., 3)."""
    import numpy as np

    answered = counts[..., :NOT_OK]
    hits = np.diagonal(answered, axis1=-2, axis2=-1).astype(np.float64)
    precision = _ratio(hits, answered.sum(-2))
    recall = _ratio(hits, answered.sum(-1))
    return precision, recall, _ratio(2 * precision * recall, precision + recall)


def averaged(counts: Floats, average: Average) -> tuple[Floats, Floats, Floats]:
    """Return averaged precision, recall and F1 over the classes; shapes (..., 3, 4) to (...)."""
    if average == "micro":
        share = accuracy(counts)
        return share, share, share
    weights = _occurring(counts) if average == "macro" else counts[..., :NOT_OK].sum(-1)
    total = weights.sum(-1)
    precision, recall, f1 = ((s * weights).sum(-1) / total for s in class_scores(counts))
    return precision, recall, f1


def classify(gold: Codes, said: Codes, clusters: NDArray[np.generic]) -> Classification:
    """Measure a judge of pairs against labels, each number with its 95 % interval.

    Args:
        gold: Shape (n,): 1 first, 0 tie, -1 second; entries with any other value are left out.
        said: Shape (n,): the same; any other value is not ok.
        clusters: Shape (n,): pairs of one question share a value.
    """
    import numpy as np

    known = np.abs(gold.astype(np.int64)) <= 1
    gold, said, clusters = gold[known], said[known], clusters[known]
    ok = said != NOTHING
    cells = place_of(gold) * 4 + place_of(said)
    counts = np.bincount(cells, minlength=_CELLS).reshape(3, 4)
    occurring = _occurring(counts.astype(float))
    rates = rates_of_cells(cells[ok], _CELLS, clusters[ok], _statistics(occurring))
    decisive = ok & (gold != 0)
    both = decisive & (said != 0)
    points = 1 - np.abs(gold.astype(np.int64) - said) / 2
    return Classification(
        confusion=tuple(tuple(int(n) for n in row) for row in counts),
        accuracy=mean_of_points((gold == said)[ok], clusters[ok]),
        accuracy_of_all=mean_of_points(gold == said, clusters),
        without_ties=mean_of_points((gold == said)[both], clusters[both]),
        decisive=mean_of_points(points[decisive], clusters[decisive]),
        kappa=rates["kappa"],
        kappa_linear=rates["kappa linear"],
        classes=_classes(counts),
        **{
            average: Averaged(
                precision=rates[f"{average} precision"],
                recall=rates[f"{average} recall"],
                f1=rates[f"{average} f1"],
            )
            for average in AVERAGES
        },
    )


def _statistics(occurring: Floats) -> dict[str, Callable[[Floats], Floats]]:
    found: dict[str, Callable[[Floats], Floats]] = {
        "kappa": lambda cells: cohen(_matrix(cells)[..., :NOT_OK]),
        "kappa linear": lambda cells: cohen(_matrix(cells)[..., :NOT_OK], weights="linear"),
    }
    for average in AVERAGES:
        for place, name in enumerate(("precision", "recall", "f1")):
            found[f"{average} {name}"] = _averaged_statistic(average, place, occurring)
    return found


def _averaged_statistic(
    average: Average, place: int, occurring: Floats
) -> Callable[[Floats], Floats]:
    def statistic(cells: Floats) -> Floats:
        import numpy as np

        counts = _matrix(cells)
        values = averaged(counts, average)[place]
        if average != "macro":
            return values
        same: Floats = np.where((_occurring(counts) == occurring).all(-1), values, np.nan)
        return same

    return statistic


def _occurring(counts: Floats) -> Floats:
    """Return 1 for classes that occur in gold or said, else 0; shapes (..., 3, 4) to (..., 3)."""
    answered = counts[..., :NOT_OK]
    occurs: Floats = (answered.sum(-1) + answered.sum(-2) > 0).astype(float)
    return occurs


def _matrix(cells: Floats) -> Floats:
    return cells.reshape(*cells.shape[:-1], 3, 4)


def _classes(counts: NDArray[np.int64]) -> dict[str, ClassResult]:
    precision, recall, f1 = class_scores(counts.astype(float))
    gold, said = counts[:, :NOT_OK].sum(1), counts[:, :NOT_OK].sum(0)
    return {
        name: ClassResult(
            precision=float(precision[k]) if said[k] else None,
            recall=float(recall[k]) if gold[k] else None,
            f1=float(f1[k]) if gold[k] + said[k] else None,
            gold=int(gold[k]),
            said=int(said[k]),
        )
        for k, name in enumerate(CLASSES)
    }


def _right(counts: Floats) -> Floats:
    import numpy as np

    hits: Floats = np.diagonal(counts[..., :NOT_OK], axis1=-2, axis2=-1).sum(-1)
    return hits


def _ratio(above: Floats, below: Floats) -> Floats:
    """Divide, with 0 where there is nothing to divide by."""
    import numpy as np

    shape = np.broadcast(above, below).shape
    return np.divide(above, below, out=np.zeros(shape), where=below > 0)
