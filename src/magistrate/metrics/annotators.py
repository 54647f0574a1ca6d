"""Several annotators of the same pairs: their majority, how far they agree, and a judge among them.

A majority needs more votes than any other outcome. Of three votes any two equal ones decide; three
different ones are a **three-way disagreement**, which has no majority and is counted, never drawn
by lot. (The released code of arXiv 2403.02839 compares annotator 1 with 2 twice and 1 with 3 never,
and falls to a random annotator where only 1 and 3 agree.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from magistrate.metrics.classification import CLASSES, averaged, confusion
from magistrate.metrics.columns import NOTHING, SPLIT
from magistrate.metrics.intervals import NO_RATE, Rate, mean_of_points
from magistrate.metrics.kappa import cohen_of, fleiss, krippendorff
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.integer]
    Floats = NDArray[np.float64]

MOST_ANNOTATORS = 20
"""Above so many there are no tables of each annotator and each two."""


class TwoAnnotators(Record):
    """Two annotators on the pairs that both labelled."""

    one: str
    other: str
    agreement: Rate
    kappa: float | None
    """Cohen's, unweighted; None where it is not defined."""


class WithAnnotator(Record):
    """A judge against one annotator."""

    annotator: str
    agreement: Rate
    kappa: float | None


class Annotators(Record):
    """What the annotators are like, without any judge."""

    names: tuple[str, ...]
    labels: dict[str, int]
    """Labelled pairs by majority: first, tie, second, no majority."""
    unanimous: int
    """Pairs that two or more annotators labelled, all alike."""
    several: int
    """Pairs that two or more annotators labelled."""
    three_way: int
    """Pairs with all three outcomes among their labels and none of them leading."""
    between: tuple[TwoAnnotators, ...]
    """Empty with more than :data:`MOST_ANNOTATORS`."""
    fleiss: float | None
    """Fleiss' kappa over the pairs that all annotators labelled; None unless it is defined."""
    krippendorff: float | None
    """Krippendorff's alpha, nominal, over all pairs with two labels and more."""
    krippendorff_ordinal: float | None
    """The same with first < tie < second."""


class AgainstOne(Record):
    """One row of the table in which one annotator is the truth (JudgeLM's rebuttal)."""

    name: str
    """The judge, the second judge or another annotator."""
    kind: str
    """``judge``, ``second judge`` or ``annotator``."""
    n: int
    agreement: Rate
    precision: float | None
    """Precision, recall and F1 are macro averages over the outcomes that occur."""
    recall: float | None
    f1: float | None
    kappa: float | None


def majority_of(votes: Codes) -> Codes:
    """Return the outcome with more votes than any other.

    Args:
        votes: Shape (n, annotators): 1, 0, -1, or :data:`NOTHING`.

    Returns:
        Shape (n,): 1, 0, -1; :data:`SPLIT` where two outcomes lead; :data:`NOTHING` without votes.
    """
    import numpy as np

    counts = _counts(votes)
    top = counts.max(1)
    leading = (counts == top[:, None]).sum(1)
    outcome = 1 - counts.argmax(1)
    result: Codes = np.where(top == 0, NOTHING, np.where(leading > 1, SPLIT, outcome))
    return result


def describe(
    votes: Codes, names: Sequence[str], clusters: NDArray[np.generic]
) -> Annotators | None:
    """Describe the annotators; None without a label.

    Args:
        votes: Shape (n, annotators): 1, 0, -1, or :data:`NOTHING`.
        names: One a column.
        clusters: Shape (n,): pairs of one question share a value.
    """
    import numpy as np

    counts = _counts(votes)
    given = counts.sum(1)
    if not given.any():
        return None
    majority = majority_of(votes)
    several = given >= 2
    full = counts[given == votes.shape[1]] if votes.shape[1] >= 2 else counts[:0]
    values = np.where(np.abs(votes) <= 1, votes.astype(np.float64), np.nan)
    return Annotators(
        names=tuple(names),
        labels={
            **{name: int((majority == 1 - k).sum()) for k, name in enumerate(CLASSES)},
            "no majority": int((majority == SPLIT).sum()),
        },
        unanimous=int((several & (counts.max(1) == given)).sum()),
        several=int(several.sum()),
        three_way=int(((majority == SPLIT) & (counts > 0).all(1)).sum()),
        between=tuple(_between(votes, names, clusters)),
        fleiss=number(fleiss(full)) if len(full) else None,
        krippendorff=number(krippendorff(values)) if several.any() else None,
        krippendorff_ordinal=number(krippendorff(values, "ordinal")) if several.any() else None,
    )


def with_each(
    said: Codes, votes: Codes, names: Sequence[str], clusters: NDArray[np.generic]
) -> tuple[WithAnnotator, ...]:
    """Measure a judge against every annotator alone, on the pairs that both have.

    Args:
        said: Shape (n,): 1, 0, -1, or :data:`NOTHING`.
        votes: Shape (n, annotators).
        names: One a column.
        clusters: Shape (n,).
    """
    if len(names) > MOST_ANNOTATORS:
        return ()
    return tuple(
        WithAnnotator(annotator=name, agreement=agreement, kappa=kappa)
        for k, name in enumerate(names)
        for agreement, kappa in [_two(said, votes[:, k], clusters)]
    )


def against_one(
    truth: Codes,
    others: Sequence[tuple[str, str, Codes]],
    clusters: NDArray[np.generic],
) -> tuple[AgainstOne, ...]:
    """Take one annotator as the truth and measure all others against it, on the same pairs.

    The table of JudgeLM's rebuttal: Human 1 is the truth; the judge, a strong judge and Human 2
    stand beside each other. The pairs are those that **everybody** in the table judged, so that
    the rows can be compared.

    Args:
        truth: Shape (n,): 1, 0, -1, or :data:`NOTHING`.
        others: Name, kind and outcomes (shape (n,)) of each.
        clusters: Shape (n,).
    """
    import numpy as np

    common = np.abs(truth.astype(int)) <= 1
    for _, _, said in others:
        common &= np.abs(said.astype(int)) <= 1
    return tuple(
        _row(name, kind, truth[common], said[common], clusters[common])
        for name, kind, said in others
    )


def number(value: float) -> float | None:
    """Return a number as it goes into a record: None instead of NaN."""
    return None if value != value else value


def _row(
    name: str, kind: str, truth: Codes, said: Codes, clusters: NDArray[np.generic]
) -> AgainstOne:
    import numpy as np

    counts = confusion(truth, said).astype(np.float64)
    if not len(truth):
        return AgainstOne(
            name=name,
            kind=kind,
            n=0,
            agreement=NO_RATE,
            precision=None,
            recall=None,
            f1=None,
            kappa=None,
        )
    precision, recall, f1 = averaged(counts, "macro")
    agreement = mean_of_points(truth == said, clusters)
    return AgainstOne(
        name=name,
        kind=kind,
        n=len(truth),
        agreement=agreement,
        precision=float(precision),
        recall=float(recall),
        f1=float(f1),
        kappa=number(cohen_of(truth, said)),
    )


def _between(
    votes: Codes, names: Sequence[str], clusters: NDArray[np.generic]
) -> Iterator[TwoAnnotators]:
    if len(names) > MOST_ANNOTATORS:
        return
    for one, other in combinations(range(len(names)), 2):
        agreement, kappa = _two(votes[:, one], votes[:, other], clusters)
        if agreement.n:
            yield TwoAnnotators(
                one=names[one], other=names[other], agreement=agreement, kappa=kappa
            )


def _two(one: Codes, other: Codes, clusters: NDArray[np.generic]) -> tuple[Rate, float | None]:
    import numpy as np

    both = (np.abs(one.astype(int)) <= 1) & (np.abs(other.astype(int)) <= 1)
    agreement = mean_of_points((one == other)[both], clusters[both])
    return agreement, number(cohen_of(one[both], other[both]))


def _counts(votes: Codes) -> NDArray[np.int64]:
    """Return votes for first, tie, second; shape (n, 3)."""
    import numpy as np

    return np.stack([(votes == 1 - k).sum(1) for k in range(3)], axis=1).astype(np.int64)
