"""Judges that score single answers, or rank three and more, measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from magistrate.errors import InputError
from magistrate.metrics.breakdown import By, Part, by_length, by_name
from magistrate.metrics.columns import PENDING
from magistrate.metrics.correlation import Correlations, correlate
from magistrate.metrics.intervals import Rate, mean_of_points, mean_of_scores, proportion
from magistrate.metrics.singles import RankedColumns, SingleColumns
from magistrate.metrics.thresholds import BinaryResult, binary
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BAD_LABELS = frozenset(
    (
        *("yes", "hallucinated", "hallucination", "toxic", "unsafe", "harmful"),
        *("wrong", "incorrect", "false", "bad", "fail", "0"),
    )
)
"""Labels that speak against an answer; ``yes`` as HaluEval means it: yes, it is made up."""
_ALONE_BREAKS = {"category", "language", "model", "length"}


class PartOfSingles(Record):
    """One part of a breakdown, or one model."""

    part: str
    samples: int
    not_ok: Rate
    mean_score: Rate
    total_score: float | None
    mean_gold_score: Rate


class SingleEvaluation(Record):
    """A judge that scores one answer at a time."""

    samples: int
    pending: int
    not_ok: Rate
    mean_score: Rate
    """On the judge's own scale."""
    models: tuple[PartOfSingles, ...]
    """Best first."""
    gold_scores: int
    """Samples with a gold score and an ``ok`` judgment."""
    correlations: Correlations | None
    """With gold scores; None without them."""
    difference: Rate | None
    """Mean of score minus gold score: only of use where both have one scale."""
    binary: BinaryResult | None
    """Against a label of two values; None where there is none."""
    breakdowns: dict[str, tuple[PartOfSingles, ...]]


class RankedModel(Record):
    """What rankings say of one model."""

    model: str
    samples: int
    order: Rate
    """Mean rank, 1 is best, ties share a rank (LLMZoo's ``order``)."""
    score: Rate
    """Mean of 10 / rank (LLMZoo's ``score``)."""


class RankedEvaluation(Record):
    """A judge that ranks several answers at once."""

    samples: int
    pending: int
    not_ok: Rate
    models: tuple[RankedModel, ...]
    """Best first."""
    gold: int
    """Samples with gold ranks and an ``ok`` ranking."""
    best_is_best: Rate
    """Share of samples in which an answer that the judge ranks first is a best one by gold."""
    pairs_agree: Rate
    """Share of the pairs of answers that are ordered alike, of those that gold orders; a tie of
    the judge counts half."""


def evaluate_singles(
    columns: SingleColumns, *, by: Sequence[By] = (), good_label: str | None = None
) -> SingleEvaluation | None:
    """Measure a judge of single answers; None without samples.

    Args:
        columns: The samples.
        by: What to break down by; what single answers lack is left out.
        good_label: Which of two labels a high score should go with; else the one that is not in
            :data:`BAD_LABELS`.
    """
    import numpy as np

    if not len(columns):
        return None
    both = columns.ok & ~np.isnan(columns.gold_score)
    gap = (columns.score - columns.gold_score)[both]
    models = [_part(part, columns) for part in by_name(columns.model)]
    return SingleEvaluation(
        samples=len(columns),
        pending=int((columns.status == PENDING).sum()),
        not_ok=_not_ok(columns.status, columns.ok),
        mean_score=mean_of_scores(columns.score[columns.ok], columns.question[columns.ok]),
        models=tuple(sorted(models, key=lambda part: -(part.mean_score.value or 0.0))),
        gold_scores=int(both.sum()),
        correlations=correlate(columns.score, columns.gold_score, columns.question)
        if both.any()
        else None,
        difference=mean_of_scores(gap, columns.question[both]) if both.any() else None,
        binary=_binary(columns, good_label),
        breakdowns={
            name: tuple(_part(part, columns) for part in _parts(columns, name))
            for name in by
            if name in _ALONE_BREAKS
        },
    )


def evaluate_ranked(columns: RankedColumns) -> RankedEvaluation | None:
    """Measure a judge of rankings; None without samples."""
    import numpy as np

    if not len(columns):
        return None
    ok = ~np.isnan(columns.rank)
    decided = columns.status != PENDING
    good = np.zeros(len(columns), dtype=bool)
    good[columns.sample[ok]] = True
    questions = columns.question[columns.sample]
    known = ok & ~np.isnan(columns.gold_rank)
    hits, places = _best_hits(columns, known)
    points, owners = _ordered_alike(columns, known)
    return RankedEvaluation(
        samples=len(columns),
        pending=int((~decided).sum()),
        not_ok=proportion(int((decided & ~good).sum()), int(decided.sum())),
        models=tuple(
            sorted(_ranked_models(columns, ok, questions), key=lambda m: m.order.value or 0.0)
        ),
        gold=len(places),
        best_is_best=mean_of_points(hits, columns.question[places]),
        pairs_agree=mean_of_points(points, columns.question[owners]),
    )


def _parts(columns: SingleColumns, name: By) -> Iterator[Part]:
    if name == "length":
        yield from by_length(columns.length.astype(float))
    else:
        yield from by_name(getattr(columns, name))


def _part(part: Part, columns: SingleColumns) -> PartOfSingles:
    import numpy as np

    own = columns.take(part.chosen)
    gold = ~np.isnan(own.gold_score)
    return PartOfSingles(
        part=part.name,
        samples=len(own),
        not_ok=_not_ok(own.status, own.ok),
        mean_score=mean_of_scores(own.score[own.ok], own.question[own.ok]),
        total_score=float(own.score[own.ok].sum()) if own.ok.any() else None,
        mean_gold_score=mean_of_scores(own.gold_score[gold], own.question[gold]),
    )


def _not_ok(status: NDArray[np.integer], ok: NDArray[np.bool_]) -> Rate:
    decided = status != PENDING
    return proportion(int((decided & ~ok).sum()), int(decided.sum()))


def _binary(columns: SingleColumns, good_label: str | None) -> BinaryResult | None:
    import numpy as np

    names = sorted(name for name in columns.label.names if name)
    if good_label is not None and good_label not in names:
        found = ", ".join(f"'{name}'" for name in names[:10]) or "none"
        raise InputError(f"no label '{good_label}' among those of the samples; found: {found}")
    if len(names) != 2:
        return None
    good = good_label or next((name for name in names if name.lower() not in BAD_LABELS), names[0])
    labelled = ~columns.label.where("")
    scores = np.where(labelled, columns.score, np.nan)
    return binary(scores, columns.label.where(good), columns.question, name=good)


def _ranked_models(
    columns: RankedColumns, ok: NDArray[np.bool_], questions: NDArray[np.uint64]
) -> Iterator[RankedModel]:
    for part in by_name(columns.model):
        mine = part.chosen & ok
        if not mine.any():
            continue
        ranks = columns.rank[mine]
        yield RankedModel(
            model=part.name,
            samples=int(mine.sum()),
            order=mean_of_scores(ranks, questions[mine]),
            score=mean_of_scores(10 / ranks, questions[mine]),
        )


def _best_hits(
    columns: RankedColumns, known: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return per sample whether a first of the judge is a first by gold, and the sample's place."""
    import numpy as np

    samples = np.unique(columns.sample[known])
    top = known & (columns.rank == 1) & (columns.gold_rank == 1)
    return np.isin(samples, columns.sample[top]), samples


def _ordered_alike(
    columns: RankedColumns, known: NDArray[np.bool_]
) -> tuple[Floats, NDArray[np.int64]]:
    """Return per two answers that gold orders 1, 1/2 or 0, and the place of their sample."""
    import numpy as np

    points: list[Floats] = []
    owners: list[NDArray[np.int64]] = []
    for size in np.unique(columns.size):
        rows = np.flatnonzero(columns.size[columns.sample] == size).reshape(-1, size)
        rows = rows[known[rows].all(1)]
        one, other = np.triu_indices(int(size), 1)
        gold = np.sign(columns.gold_rank[rows[:, other]] - columns.gold_rank[rows[:, one]])
        said = np.sign(columns.rank[rows[:, other]] - columns.rank[rows[:, one]])
        ordered = gold != 0
        points.append((1 - np.abs(gold - said) / 2)[ordered])
        owners.append(np.repeat(columns.sample[rows[:, :1]], len(one), axis=1)[ordered])
    return np.concatenate(points), np.concatenate(owners)
