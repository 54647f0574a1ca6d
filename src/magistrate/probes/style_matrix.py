"""RM-Bench's style matrix: is a worse answer preferred for being better dressed?

RM-Bench (arXiv 2410.16184) gives each question three right and three wrong answers: concise,
detailed in plain text, detailed in Markdown. Every right one meets every wrong one: a matrix of
3 x 3 accuracies, rows by the right answer's style, columns by the wrong one's.

* **easy**: the right answer has the richer style (below the diagonal);
* **normal**: both have the same (the diagonal);
* **hard**: the wrong answer has the richer style (above the diagonal).

A pair is right when the right answer is preferred; a tie is not right, as in the benchmark, which
asks for the strictly higher score. The bias is easy minus hard, per question.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from magistrate.metrics.columns import PairColumns
from magistrate.metrics.compact import question_cluster
from magistrate.metrics.intervals import mean_of_points, proportion
from magistrate.probes.bench import Arm, Bench, points_of
from magistrate.probes.making import not_measured, paired_effect, points
from magistrate.probes.perturbations import with_fields
from magistrate.probes.records import Effect
from magistrate.records import Gold, Sample

Cells = NDArray[np.float64]

PROBE = "style-matrix"
ACCURACY = "accuracy"
_FIX = (
    "compare answers of one style, or rank with style as a covariate (`magistrate rank`); strip "
    "Markdown before judging"
)


def style_matrix(bench: Bench) -> list[Effect]:
    """Return easy, normal and hard accuracy, and easy minus hard."""
    chosen = [sample for sample in bench.others if styles_of(sample)]
    if not chosen:
        why = "no sample has right and wrong answers in the same styles, as RM-Bench's have"
        return [not_measured(PROBE, "easy - hard", why, measure=ACCURACY)]
    sizes = {styles_of(sample) for sample in chosen}
    if len(sizes) > 1:
        why = f"the samples have different numbers of styles: {sorted(sizes)}"
        return [not_measured(PROBE, "easy - hard", why, measure=ACCURACY)]
    arm = matrix_arm(chosen)
    return effects_of(bench.columns(arm), sizes.pop(), [question_cluster(one) for one in chosen])


def styles_of(sample: Sample) -> int:
    """Return the number of styles; 0 where right and wrong answers are not equally many."""
    ranks = next((gold.ranking for gold in sample.gold if gold.ranking), ())
    styles = len(ranks) // 2
    right = tuple(ranks) == (1,) * styles + (2,) * styles
    return styles if styles > 1 and right else 0


def matrix_arm(samples: Sequence[Sample]) -> Arm:
    """Return all right answers against all wrong ones, right ones in the first place."""
    pairs, origin = [], []
    for number, sample in enumerate(samples):
        styles = styles_of(sample)
        for row in range(styles):
            for column in range(styles):
                answers = (sample.answers[row], sample.answers[styles + column])
                gold = (Gold(preference="first"),)
                pairs.append(with_fields(sample, answers=answers, gold=gold))
                origin.append(number)
    return Arm(f"{PROBE}/pairs", tuple(pairs), tuple(origin), (0,) * len(pairs))


def effects_of(columns: PairColumns, styles: int, questions: Sequence[int]) -> list[Effect]:
    """Return the effects from the columns of :func:`matrix_arm`."""
    points_right = points_of(columns.said, np.zeros(len(columns), dtype=np.int64))
    right = np.where(np.isnan(points_right), np.nan, points_right == 1)
    cells = right.reshape(-1, styles, styles)
    clusters = np.array(questions, dtype=np.uint64)
    row, column = np.indices((styles, styles))
    places = {"easy": row > column, "normal": row == column, "hard": row < column}
    effects = [
        _accuracy(name, cells[:, where], np.repeat(clusters, int(where.sum())))
        for name, where in places.items()
    ]
    # A question with a reading that is not ok is left out: its cells would not be comparable.
    difference = cells[:, places["easy"]].mean(axis=1) - cells[:, places["hard"]].mean(axis=1)
    bias = paired_effect(
        PROBE,
        "easy - hard",
        difference,
        clusters,
        lambda value: (
            f"accuracy is {points(value)} {'higher' if value >= 0 else 'lower'} where the right "
            f"answer has the richer style; {_in_words(cells)}"
        ),
        measure=ACCURACY,
        fix=_FIX,
    )
    return [bias, *effects]


def _accuracy(name: str, cells: Cells, clusters: NDArray[np.uint64]) -> Effect:
    values = cells.reshape(-1)
    ok = ~np.isnan(values)
    rate = mean_of_points(values[ok], clusters[ok])
    return Effect(
        probe=PROBE,
        name=name,
        measure=ACCURACY,
        value=rate.value,
        low=rate.low,
        high=rate.high,
        n=rate.n,
        questions=len(np.unique(clusters[ok])),
        not_ok=proportion(int((~ok).sum()), len(ok)),
        means=f"{name} accuracy, as RM-Bench defines it",
    )


def _in_words(cells: Cells) -> str:
    """Return the matrix row by row."""
    known = ~np.isnan(cells)
    counts = known.sum(axis=0)
    shares = np.where(known, cells, 0).sum(axis=0) / np.maximum(counts, 1)
    rows = " / ".join(" ".join(f"{100 * share:.0f}" for share in row) for row in shares)
    return f"rows by the right answer's style, columns by the wrong one's: {rows}"
