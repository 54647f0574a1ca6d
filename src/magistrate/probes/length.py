"""Length: does an answer win by being long?

Two experiments (padded with its own sentences said again; its last sentences dropped) and two
observations on the pairs as they are: the rank correlation of the verdict with the difference of
lengths, and the same with the annotators' preference held constant, since better answers may well
be longer.
"""

from __future__ import annotations

import numpy as np

from magistrate.metrics.columns import NOTHING, SPLIT, PairColumns
from magistrate.probes import perturbations
from magistrate.probes.bench import Bench
from magistrate.probes.effects import Correlation, rank_correlation
from magistrate.probes.making import not_measured
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
    return [*(sway(bench, change) for change in CHANGES), *observations(bench.original())]


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
