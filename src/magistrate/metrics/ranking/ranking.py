"""Models ranked: strengths with intervals, and which ranks the data allow.

* ``bradley-terry``: Davidson's model (:mod:`~magistrate.metrics.ranking.davidson`), on Elo's scale;
* ``elo``: Elo's updates averaged over sequences (:mod:`~magistrate.metrics.ranking.elo`);
* ``win-rate``: (wins + ties / 2) / battles. It depends on whom a model met; the others do not.

Strengths are relative: 1000 is the mean of all models that can be compared and are
not beyond the scale, or the baseline.

**Intervals** are the bootstrap over questions (percentile), of win rates of few questions Wilson's;
with style held constant, the cluster-robust covariance. **Ranks**: a model's rank range holds all
ranks that the data do not rule out at 95 %, by tests of all differences
(:mod:`~magistrate.metrics.ranking.equality`), corrected for each other
(:mod:`~magistrate.metrics.ranking.simultaneous`): the simultaneous confidence sets of Mogstad,
Romano, Shaikh & Wilhelm (2024), which hold for all models of a table together. Two overlapping
intervals may well be told apart: what two models have in common falls out of their difference.

A model that only won (or only lost) is *beyond the scale*: its strength is what the weak prior
(for Elo, the number of battles) leaves, one end of its interval is open, and the other is where so
clean a record would have a chance of 2.5 %, with the opponents at their strengths and one battle a
question counted.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from magistrate.metrics.draws import SEED
from magistrate.metrics.intervals import FEW_CLUSTERS, Rate
from magistrate.metrics.ranking.battles import Battles
from magistrate.metrics.ranking.components import Beyond, beyond_the_scale, components
from magistrate.metrics.ranking.counts import Pairs, cells_of, counts_of
from magistrate.metrics.ranking.estimates import (
    Estimate,
    Method,
    StyleEffect,
    anchored,
    anchors_of,
    by_elo,
    from_counts,
    with_style,
)
from magistrate.metrics.ranking.ranges import Ranges, ranges
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

RESAMPLES = 1_000
MANY_BATTLES = 200_000
RESAMPLES_OF_MANY = 200
"""Resamples where there are more battles than :data:`MANY_BATTLES`."""

BOOTSTRAP = "bootstrap over questions"
WILSON = "Wilson's, a model's questions as n"
WILSON_OF_SOME = (
    f"Wilson's for models of fewer than {FEW_CLUSTERS} questions or of one outcome alone"
)
SANDWICH = "cluster-robust covariance over questions"


class RankedModel(Record):
    """One model's place."""

    model: str
    component: int
    """Models of another component cannot be compared with it; 0 is the largest."""
    rank: int
    """By strength, among the models of its component; equal strengths share a rank."""
    best_rank: int
    """The best rank that the data allow at 95 %."""
    worst_rank: int
    strength: Rate
    """On Elo's scale (a share for ``win-rate``); ``n`` is the number of battles. No value
    where nothing is left to know it by once style is held constant."""
    win_rate: float
    """(wins + ties / 2) / battles, whatever the method."""
    wins: float
    """Whole, unless two answers were judged more often than once: they count once together."""
    ties: float
    losses: float
    beyond: Beyond | None
    """Where the data do not bound its strength: ``above``, ``below`` or ``aside``."""


class PairRecord(Record):
    """What two models did to each other."""

    first: str
    second: str
    wins: float
    """Of the first."""
    ties: float
    losses: float


class ModelRanking(Record):
    """Models ranked by one judge's verdicts, or by those of several pooled."""

    method: Method
    models: tuple[RankedModel, ...]
    """By component, then by rank."""
    components: tuple[tuple[str, ...], ...]
    """Models by component; more than one where no chain of battles connects them."""
    tie_weight: float | None
    """Davidson's nu: 1 makes a tie of equals as likely as a win; None for other methods."""
    baseline: str | None
    """The model whose strength is 1000; None where that is the mean."""
    battles: int
    questions: int
    interval: str
    """How intervals were made."""
    resamples: int
    """0 where there are none."""
    style: tuple[StyleEffect, ...] | None
    """None unless style was held constant."""
    pairs: tuple[PairRecord, ...]
    """Every two models that met."""
    converged: bool


def rank_models(
    battles: Battles,
    method: Method = "bradley-terry",
    *,
    baseline: str | None = None,
    style_control: bool = False,
    resamples: int | None = None,
    seed: int = SEED,
) -> ModelRanking:
    """Rank models.

    Args:
        battles: One battle or more; with style if ``style_control``.
        method: How strengths are found.
        baseline: The model whose strength is to be 1000 (of no matter to win rates).
        style_control: Hold length and markdown constant; for ``bradley-terry`` alone.
        resamples: 1,000 by default, fewer for very many battles.
        seed: Equal seeds give equal results.

    Raises:
        ValueError: No battles, an unknown baseline, or style control of another method.
    """
    if not len(battles):
        raise ValueError("there are no battles to rank models by")
    if baseline is not None and baseline not in battles.models:
        raise ValueError(f"the baseline '{baseline}' is in no battle")
    if style_control and method != "bradley-terry":
        raise ValueError(f"style is held constant by bradley-terry alone, not by {method}")
    pairs, cells = cells_of(battles)
    counts = counts_of(pairs, cells, battles.weight)
    component = components(pairs)
    many = RESAMPLES_OF_MANY if len(battles) > MANY_BATTLES else RESAMPLES
    count = many if resamples is None else resamples
    nowhere: list[Beyond | None] = [None] * len(battles.models)
    beyond = nowhere if method == "win-rate" else beyond_the_scale(pairs, counts)
    if method == "elo":
        estimate = by_elo(battles, count, seed)
    elif style_control:
        estimate = with_style(battles, beyond)
        beyond = _with_loose(beyond, estimate)
    else:
        estimate = from_counts(battles, pairs, cells, counts, method, count, seed)
    if method != "win-rate":
        # Elo's ratings are bounded by the number of battles, so that all can share the mean.
        outside = nowhere if method == "elo" else beyond
        anchors = anchors_of(battles, component, outside, baseline)
        estimate = anchored(estimate, component, anchors)
    found = ranges(battles, method, pairs, cells, counts, component, estimate, beyond)
    models = _ranked(battles.models, pairs, counts, component, estimate, beyond, found)
    return ModelRanking(
        method=method,
        models=models,
        components=tuple(
            tuple(one.model for one in models if one.component == number)
            for number in range(int(component.max()) + 1)
        ),
        tie_weight=math.exp(estimate.log_tie) if method == "bradley-terry" else None,
        baseline=baseline,
        battles=len(battles),
        questions=battles.questions,
        interval=_interval(estimate, found),
        resamples=0 if found.by_wilson.all() else len(estimate.draws),
        style=estimate.style,
        pairs=tuple(_pair_records(battles.models, pairs, counts)),
        converged=estimate.converged,
    )


def _with_loose(beyond: list[Beyond | None], estimate: Estimate) -> list[Beyond | None]:
    """Return where models are beyond the scale, those included that style leaves open."""
    assert estimate.loose is not None
    return [
        "aside" if side is None and loose else side
        for side, loose in zip(beyond, estimate.loose, strict=True)
    ]


def _interval(estimate: Estimate, found: Ranges) -> str:
    """Return how the intervals were made."""
    if estimate.covariance is not None:
        return SANDWICH
    if found.by_wilson.all():
        return WILSON
    return f"{BOOTSTRAP}; {WILSON_OF_SOME}" if found.by_wilson.any() else BOOTSTRAP


def _ranked(
    names: tuple[str, ...],
    pairs: Pairs,
    counts: Floats,
    component: Integers,
    estimate: Estimate,
    beyond: list[Beyond | None],
    found: Ranges,
) -> tuple[RankedModel, ...]:
    import numpy as np

    wins, ties, losses = _records(pairs, counts)
    battled = wins + ties + losses
    models = []
    for place, name in enumerate(names):
        value = float(estimate.value[place])
        rivals = estimate.value[component == component[place]]
        start, end = found.intervals[place]
        known = estimate.loose is None or not estimate.loose[place]
        models.append(
            RankedModel(
                model=name,
                component=int(component[place]),
                rank=1 + int((rivals > value + 1e-9).sum()),
                best_rank=int(found.best[place]),
                worst_rank=int(found.worst[place]),
                strength=Rate(
                    value=value if known else None,
                    n=int(np.ceil(battled[place] - 1e-9)),
                    low=start,
                    high=end,
                ),
                win_rate=float((wins[place] + ties[place] / 2) / battled[place]),
                wins=_whole(wins[place]),
                ties=_whole(ties[place]),
                losses=_whole(losses[place]),
                beyond=beyond[place],
            )
        )
    return tuple(sorted(models, key=lambda one: (one.component, one.rank, one.model)))


def _whole(weight: float) -> float:
    """Return a sum of weights without what adding fractions left behind."""
    return round(float(weight), 6)


def _records(pairs: Pairs, counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Return every model's wins, ties and losses, shape (models,) each."""
    import numpy as np

    def added(low: Floats, high: Floats) -> Floats:
        k = pairs.models
        total = np.bincount(pairs.low, low, k) + np.bincount(pairs.high, high, k)
        return total.astype(np.float64)

    won, tied, lost = counts.T
    return added(won, lost), added(tied, tied), added(lost, won)


def _pair_records(names: tuple[str, ...], pairs: Pairs, counts: Floats) -> list[PairRecord]:
    return [
        PairRecord(
            first=names[low],
            second=names[high],
            wins=_whole(won),
            ties=_whole(tied),
            losses=_whole(lost),
        )
        for low, high, (won, tied, lost) in zip(pairs.low, pairs.high, counts, strict=True)
    ]
