"""Length: does an answer win by being long?

Two experiments (padded with its own sentences said again; its last sentences dropped), and
observations on the pairs as they are: the rank correlation of the verdict with the difference of
lengths, and the same with the annotators' preference held constant, since better answers may well
be longer; and, where one model stands in every pair, the others' length-controlled win rates over
it (:mod:`magistrate.metrics.length_controlled`).
"""

from __future__ import annotations

import numpy as np

from magistrate.metrics.columns import NOTHING, SPLIT, UNNAMED, PairColumns
from magistrate.metrics.length_controlled import LengthControlled, length_controlled
from magistrate.probes import perturbations
from magistrate.probes.bench import Bench, points_of
from magistrate.probes.effects import Correlation, rank_correlation
from magistrate.probes.making import not_measured, percent
from magistrate.probes.records import Effect
from magistrate.probes.swaying import Change, sway

PROBE = "length"
FIX = (
    "compare answers of like length, or report the length-controlled win rate (`magistrate rank`); "
    "a judge of one's own can be trained on padded answers, labelled as no better"
)
CHANGES = (
    Change(
        PROBE,
        "padded",
        perturbations.padded,
        "its own sentences are said again at the end",
        FIX,
    ),
    Change(PROBE, "trimmed", perturbations.trimmed, "its last sentences are dropped", FIX),
)


def length(bench: Bench) -> list[Effect]:
    """Return the effects of padding and trimming, and the correlations with length."""
    columns = bench.original()
    effects = [sway(bench, change) for change in CHANGES]
    return [*effects, *observations(columns), *controlled(columns)]


def observations(columns: PairColumns) -> list[Effect]:
    """Return the correlation of verdict and difference of lengths, plain and given the labels."""
    judged = columns.take(columns.said != NOTHING)
    labelled = judged.take((judged.gold != NOTHING) & (judged.gold != SPLIT))
    plain = rank_correlation(judged.said, length_differences(judged), judged.question)
    partial = rank_correlation(
        labelled.said, length_differences(labelled), labelled.question, labelled.gold
    )
    return [
        _observed("correlation", plain, "of the verdict with the difference of lengths"),
        _observed(
            "correlation, given labels",
            partial,
            "of the verdict with the difference of lengths, the annotators' preference held "
            "constant",
        ),
    ]


def controlled(columns: PairColumns) -> list[Effect]:
    """Return length-controlled win rates over the model that stands in every pair, if one does."""
    judged = columns.take(columns.said != NOTHING)
    baseline = _baseline(judged)
    if baseline is None:
        return []
    side = np.where(judged.first_model.where(baseline), 1, 0)
    every = np.arange(len(judged))
    first, second = judged.first_model, judged.second_model
    others = [
        (first.names[a] if place == 0 else second.names[b])
        for a, b, place in zip(first.codes, second.codes, side, strict=True)
    ]
    names = tuple(sorted(set(others)))
    results = length_controlled(
        points_of(judged.said, side),
        judged.lengths[every, side],
        judged.lengths[every, 1 - side],
        judged.question,
        [names.index(name) for name in others],
        names,
    )
    return [_win_rate(result, baseline) for result in results]


def _baseline(columns: PairColumns) -> str | None:
    """Return the first named model, by name, that stands on exactly one side of every pair."""
    for name in sorted({*columns.first_model.names, *columns.second_model.names} - {UNNAMED}):
        first, second = columns.first_model.where(name), columns.second_model.where(name)
        if len(columns) and (first != second).all():
            return name
    return None


def _win_rate(result: LengthControlled, baseline: str) -> Effect:
    rate = result.controlled
    return Effect(
        probe=PROBE,
        name=f"controlled, {result.model}",
        measure="win rate",
        value=rate.value,
        low=rate.low,
        high=rate.high,
        n=result.n,
        questions=result.n,
        means=(
            f"win rate of {result.model} over {baseline} as if both were equally long; as they "
            f"are it is {percent(result.win_rate)}"
        ),
    )


def length_differences(columns: PairColumns) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return log(1 + characters of the first answer) - log(1 + characters of the second)."""
    logs = np.log1p(columns.lengths.astype(np.float64))
    return logs[:, 0] - logs[:, 1]


def _observed(name: str, found: Correlation | None, of_what: str) -> Effect:
    if found is None:
        why = "fewer than three pairs have what it takes, or something does not vary among them"
        return not_measured(PROBE, name, why, measure="correlation")
    return Effect(
        probe=PROBE,
        name=name,
        measure="correlation",
        value=found.value,
        low=found.low,
        high=found.high,
        n=found.n,
        questions=found.questions,
        means=f"rank correlation {of_what}; an association, not a cause",
    )
