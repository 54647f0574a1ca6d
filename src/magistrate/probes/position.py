"""Position: does an answer win more often for being shown first?

Every pair is read as given and with its answers swapped. Per pair the first answer's points when
shown first, minus its points when shown second: 0 for a judge that does not care, 1 for one that
always takes the answer shown first, -1 for one that takes the second.
"""

from __future__ import annotations

import numpy as np

from magistrate.metrics.columns import NOTHING, PairColumns
from magistrate.metrics.intervals import proportion
from magistrate.probes.bench import Bench
from magistrate.probes.making import gains, not_measured, paired_effect
from magistrate.probes.records import Effect

PROBE = "position"
FIX = (
    "judge both orders (the default) and merge them: what remains of the bias is less certainty, "
    "not a wrong winner; training with swapped answers removes it at its root"
)


def position(bench: Bench) -> list[Effect]:
    """Return the gain of an answer by its place, and how often both orders agree."""
    if bench.reads_alone:
        why = "each answer is read alone: there is no first and no second"
        return [not_measured(PROBE, "shown first", why, finding="by construction")]
    return effects_of(bench.original())


def effects_of(columns: PairColumns) -> list[Effect]:
    """Return the effects from the pairs' columns."""
    shifts = shifts_of(columns)
    bias = paired_effect(
        PROBE,
        "shown first",
        shifts,
        columns.question,
        lambda value: f"an answer {gains(value)} of win rate when shown first, not second",
        fix=FIX,
    )
    known = ~np.isnan(shifts)
    same = proportion(int((shifts[known] == 0).sum()), int(known.sum()))
    agreement = Effect(
        probe=PROBE,
        name="consistency",
        measure="consistency",
        value=same.value,
        low=same.low,
        high=same.high,
        n=same.n,
        questions=len(set(columns.question[known].tolist())),
        not_ok=bias.not_ok,
        means="share of pairs with one outcome whatever the order",
    )
    return [bias, agreement] if same.n else [bias]


def shifts_of(columns: PairColumns) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return half the outcome as given minus half the outcome swapped; NaN where one is missing."""
    known = (columns.as_given != NOTHING) & (columns.swapped != NOTHING)
    given = columns.as_given.astype(np.float64)
    return np.where(known, (given - columns.swapped) / 2, np.nan)
