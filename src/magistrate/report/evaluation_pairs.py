"""A judge of pairs measured: agreement, baselines, position, annotators and parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from magistrate.metrics.annotators import Annotators, WithAnnotator, describe, with_each
from magistrate.metrics.baselines import coin
from magistrate.metrics.breakdown import By, parts_of
from magistrate.metrics.classification import CLASSES, Classification, classify
from magistrate.metrics.columns import NOTHING, PENDING, SPLIT, Named, PairColumns
from magistrate.metrics.intervals import NO_RATE, Rate, mean_of_points, mean_of_scores, proportion
from magistrate.metrics.position import PositionBias, position_bias
from magistrate.metrics.power import labels_to_halve
from magistrate.records import STATUSES, Record, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.integer]
    Bools = NDArray[np.bool_]

FIRST, SECOND = "first answer", "second answer"
"""Stand for the models of files that name none."""


class RowOfBaselines(Record):
    """The judge or a rule without a judge, on the same pairs."""

    name: str
    """``judge``, ``longer wins``, ``first wins``, ``random`` or ``majority class``."""
    accuracy: Rate
    """Share right over first, tie and second."""
    decisive: Rate
    """On pairs whose annotators prefer an answer; a tie counts half."""


class PartOfPairs(Record):
    """One part of a breakdown."""

    part: str
    pairs: int
    not_ok: Rate
    labelled: int
    """Pairs with a majority and an ``ok`` decision."""
    accuracy: Rate
    decisive: Rate
    longer_wins: Rate
    """Accuracy of 'the longer answer wins' on the same pairs; no value without texts."""
    says_tie: Rate
    consistent: Rate
    """Same outcome in both orders; no value where one order was read."""


class ModelRow(Record):
    """What the judge says of one model."""

    model: str
    wins: int
    ties: int
    losses: int
    points: float
    """Wins and half the ties, as tournaments count."""
    win_rate: Rate
    mean_score: Rate
    """On the judge's own scale; no value for judges without scores."""
    total_score: float | None


class PairEvaluation(Record):
    """A judge of pairs."""

    pairs: int
    statuses: dict[Status, int]
    """Pairs by the status of their decision."""
    pending: int
    """Pairs that are not judged yet."""
    not_ok: Rate
    """Share of the judged pairs that are not ``ok``; they are in no measure below, unless said."""
    labelled: int
    """Pairs with a label."""
    no_majority: int
    """Of these, pairs whose annotators have no most frequent label; left out."""
    says: dict[str, Rate]
    """Share of first, tie and second among ``ok`` decisions."""
    gold: dict[str, Rate]
    """Share of first, tie and second among labels with a majority."""
    agreement: Classification | None
    """None without labels."""
    more_labels: int | None
    """How many more labels would halve the interval of the accuracy."""
    baselines: tuple[RowOfBaselines, ...]
    """The judge first; empty without labels."""
    position: PositionBias | None
    """None when one order was read."""
    reads_alone: bool
    """Whether the judge reads each answer alone, so that order cannot matter."""
    annotators: Annotators | None
    with_each_annotator: tuple[WithAnnotator, ...]
    """The judge against each annotator alone; empty with one annotator."""
    models: tuple[ModelRow, ...]
    """Best first."""
    breakdowns: dict[str, tuple[PartOfPairs, ...]]


def evaluate_pairs(
    pairs: PairColumns,
    *,
    by: Sequence[By] = (),
    reads_alone: bool = False,
    has_texts: bool = True,
    question_types: Named | None = None,
) -> PairEvaluation | None:
    """Measure a judge of pairs; None without pairs.

    Args:
        pairs: The pairs.
        by: What to break the result down by.
        reads_alone: Whether the judge reads each answer alone.
        has_texts: Whether lengths mean something.
        question_types: For the breakdown by ``question-type``.
    """
    import numpy as np

    n = len(pairs)
    if not n:
        return None
    # Small numbers instead of hashes: they need no sorting in each of the measures below.
    questions = np.unique(pairs.question, return_inverse=True)[1].astype(np.uint64)
    pairs = replace(pairs, question=questions)
    counts = {status: int((pairs.status == k).sum()) for k, status in enumerate(STATUSES)}
    pending = int((pairs.status == PENDING).sum())
    known = np.abs(pairs.gold.astype(int)) <= 1
    agreement = classify(pairs.gold, pairs.said, pairs.question) if known.any() else None
    annotators = len(pairs.annotators)
    return PairEvaluation(
        pairs=n,
        statuses=counts,
        pending=pending,
        not_ok=_not_ok(pairs),
        labelled=int((pairs.gold != NOTHING).sum()),
        no_majority=int((pairs.gold == SPLIT).sum()),
        says=_shares(pairs.said[pairs.ok], pairs.question[pairs.ok]),
        gold=_shares(pairs.gold[known], pairs.question[known]),
        agreement=agreement,
        more_labels=labels_to_halve(agreement.accuracy) if agreement else None,
        baselines=tuple(_baselines(pairs, has_texts)),
        position=position_bias(pairs.as_given, pairs.swapped, pairs.question),
        reads_alone=reads_alone,
        annotators=describe(pairs.votes, pairs.annotators, pairs.question),
        with_each_annotator=with_each(pairs.said, pairs.votes, pairs.annotators, pairs.question)
        if annotators > 1
        else (),
        models=tuple(sorted(_models(pairs), key=_best_first)),
        breakdowns={
            name: tuple(
                _part(part.name, pairs.take(part.chosen), has_texts)
                for part in parts_of(pairs, name, question_types)
            )
            for name in by
        },
    )


def longer(pairs: PairColumns) -> Codes:
    """Return 1, 0, -1: whether the first answer is longer, as long, or shorter; shape (n,)."""
    import numpy as np

    signs: Codes = np.sign(pairs.lengths[:, 0] - pairs.lengths[:, 1])
    return signs


def decisive_points(gold: Codes, outcome: Codes) -> NDArray[np.float64]:
    """Return 1 for the preferred answer, 1/2 for a tie, 0 for the other; gold is 1 or -1."""
    import numpy as np

    return 1 - np.abs(gold.astype(int) - outcome) / 2


def _not_ok(pairs: PairColumns) -> Rate:
    decided = pairs.status != PENDING
    return proportion(int((decided & ~pairs.ok).sum()), int(decided.sum()))


def _shares(outcomes: Codes, clusters: NDArray[np.generic]) -> dict[str, Rate]:
    return {name: mean_of_points(outcomes == 1 - k, clusters) for k, name in enumerate(CLASSES)}


def _baselines(pairs: PairColumns, has_texts: bool) -> Iterator[RowOfBaselines]:
    """Yield the judge and the rules that it must beat, on labelled pairs with a decision."""
    import numpy as np

    chosen = pairs.take(pairs.ok & (np.abs(pairs.gold.astype(int)) <= 1))
    if not len(chosen):
        return
    gold, questions = chosen.gold, chosen.question
    yield _row("judge", gold, chosen.said, questions)
    if has_texts:
        yield _row("longer wins", gold, longer(chosen), questions)
    yield _row("first wins", gold, np.ones_like(gold), questions)
    decisive = gold != 0
    yield RowOfBaselines(
        name="random",
        accuracy=coin(gold, questions),
        decisive=coin(gold[decisive], questions[decisive]),
    )
    most = max((0, 1, -1), key=lambda code: int((gold == code).sum()))
    yield _row("majority class", gold, np.full_like(gold, most), questions)


def _row(name: str, gold: Codes, outcome: Codes, clusters: NDArray[np.generic]) -> RowOfBaselines:
    decisive = gold != 0
    points = decisive_points(gold[decisive], outcome[decisive])
    return RowOfBaselines(
        name=name,
        accuracy=mean_of_points(gold == outcome, clusters),
        decisive=mean_of_points(points, clusters[decisive]),
    )


def _part(name: str, pairs: PairColumns, has_texts: bool) -> PartOfPairs:
    import numpy as np

    known = pairs.take(pairs.ok & (np.abs(pairs.gold.astype(int)) <= 1))
    row = _row("judge", known.gold, known.said, known.question)
    both = pairs.take((pairs.as_given != NOTHING) & (pairs.swapped != NOTHING))
    return PartOfPairs(
        part=name,
        pairs=len(pairs),
        not_ok=_not_ok(pairs),
        labelled=len(known),
        accuracy=row.accuracy,
        decisive=row.decisive,
        longer_wins=mean_of_points(known.gold == longer(known), known.question)
        if has_texts
        else NO_RATE,
        says_tie=mean_of_points(pairs.said[pairs.ok] == 0, pairs.question[pairs.ok]),
        consistent=mean_of_points(both.as_given == both.swapped, both.question),
    )


def _models(pairs: PairColumns) -> Iterator[ModelRow]:
    import numpy as np

    ok = pairs.take(pairs.ok)
    names, codes = _model_codes(ok)
    points = np.concatenate([(1 + ok.said) / 2, (1 - ok.said) / 2])
    scores = np.concatenate([ok.scores[:, 0], ok.scores[:, 1]])
    questions = np.concatenate([ok.question, ok.question])
    for code, name in enumerate(names):
        mine = codes == code
        if not mine.any():
            continue
        own, scored = points[mine], mine & ~np.isnan(scores)
        yield ModelRow(
            model=name,
            wins=int((own == 1).sum()),
            ties=int((own == 0.5).sum()),
            losses=int((own == 0).sum()),
            points=float(own.sum()),
            win_rate=mean_of_points(own, questions[mine]),
            mean_score=mean_of_scores(scores[scored], questions[scored]),
            total_score=float(scores[scored].sum()) if scored.any() else None,
        )


def _model_codes(pairs: PairColumns) -> tuple[list[str], NDArray[np.int64]]:
    """Return names, and for every first answer, then every second, the place of its model's name.

    Answers of one pair by the same model are told apart by where they stand.

    Returns:
        The names, and codes of shape (2 n,).
    """
    import numpy as np

    columns = ((pairs.first_model, FIRST), (pairs.second_model, SECOND))
    names: dict[str, int] = {}

    def codes_of(texts: Iterable[str]) -> NDArray[np.int64]:
        return np.array([names.setdefault(text, len(names)) for text in texts], dtype=np.int64)

    raw = {name: k for k, name in enumerate({*columns[0][0].names, *columns[1][0].names})}
    first, second = (
        np.array([raw[name] for name in column.names], dtype=np.int64)[column.codes]
        for column, _ in columns
    )
    found = []
    for column, place in columns:
        plain = codes_of(name or place for name in column.names)
        placed = codes_of(f"{name} ({place})" if name else place for name in column.names)
        found.append(np.where(first == second, placed[column.codes], plain[column.codes]))
    return list(names), np.concatenate(found)


def _best_first(row: ModelRow) -> tuple[float, str]:
    return (-(row.win_rate.value or 0.0), row.model)
