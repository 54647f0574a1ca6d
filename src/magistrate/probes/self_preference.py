"""Self-preference: does the judge hold its own family's answers for better than people do?

Pairs of which one answer is by one of the judge's own models, and of which the annotators prefer
one. A judge that errs at random takes an own answer for better where it is worse about as often as
the reverse, so the two kinds of error are weighed against each other:

* ``own answers``: over the pairs that the own answer lost by the labels, its points by the judge;
  over those that it won, its points by the judge minus 1; the mean of the two means. 0 for a judge
  without favour, however good or bad it is.
* ``own win rate``: the own models' win rate by the judge minus that by the labels, as it is; a
  judge that errs at random moves it toward one half, so it is an observation only.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING, PairColumns
from magistrate.metrics.intervals import proportion
from magistrate.probes.bench import Bench, points_of
from magistrate.probes.effects import balanced_difference, mean_difference
from magistrate.probes.making import WIN_POINTS, effect_of, gains, not_measured, points
from magistrate.probes.records import Effect
from magistrate.records import Sample

PROBE = "self"
_FIX = "let a judge of another family decide pairs with its own models' answers, or a panel"


def self_preference(bench: Bench, own_models: Collection[str]) -> list[Effect]:
    """Return how far the judge favours the own models.

    Args:
        bench: The workbench.
        own_models: Names of models, as the input has them.
    """
    if not own_models:
        why = "say which models are the judge's own family: --own-model NAME"
        return [not_measured(PROBE, "own answers", why)]
    return effects_of(bench.original(), own_models)


def check_models(pairs: Sequence[Sample], own_models: Collection[str]) -> None:
    """Look whether own models occur, before anything is judged.

    Raises:
        InputError: The input has none of the models.
    """
    present = {answer.model for sample in pairs for answer in sample.answers if answer.model}
    if own_models and not present & set(own_models):
        raise InputError(
            f"no answer is by {' or '.join(sorted(own_models))}; models of the input: "
            f"{', '.join(sorted(present)) or 'none is named'}"
        )


def effects_of(columns: PairColumns, own_models: Collection[str]) -> list[Effect]:
    """Return the effects from the pairs' columns."""
    first, second = (
        np.isin(column.codes, [i for i, name in enumerate(column.names) if name in own_models])
        for column in (columns.first_model, columns.second_model)
    )
    chosen = columns.take((first != second) & (np.abs(columns.gold) == 1))
    side = np.where(first[(first != second) & (np.abs(columns.gold) == 1)], 0, 1)
    if not len(chosen):
        why = "no labelled pair has exactly one answer by an own model"
        return [not_measured(PROBE, "own answers", why)]
    ok = chosen.said != NOTHING
    missing = proportion(int((~ok).sum()), len(ok))
    by_judge = points_of(chosen.said, side)[ok]
    by_labels = points_of(chosen.gold, side)[ok]
    questions = chosen.question[ok]
    difference = by_judge - by_labels
    balanced = balanced_difference(difference, by_labels.astype(np.int64), questions)
    if balanced is None:
        why = "the own answers won all of the pairs by the labels, or lost all of them"
        return [not_measured(PROBE, "own answers", why, not_ok=missing)]
    plain = mean_difference(difference, questions)
    assert plain is not None
    return [
        effect_of(
            PROBE,
            "own answers",
            balanced,
            lambda value: (
                f"an own answer {gains(value)} of win rate that the labels do not give it, "
                f"beyond the judge's errors in general"
            ),
            measure=WIN_POINTS,
            not_ok=missing,
            fix=_FIX,
        ),
        Effect(
            probe=PROBE,
            name="own win rate",
            measure=WIN_POINTS,
            value=plain.value,
            low=plain.low,
            high=plain.high,
            n=plain.n,
            questions=plain.questions,
            not_ok=missing,
            means=(
                f"the own models' win rate is {points(float(by_judge.mean()))} by the judge and "
                f"{points(float(by_labels.mean()))} by the labels"
            ),
        ),
    ]
