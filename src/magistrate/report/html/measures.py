"""Measures that several sections share, over a judge's columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.metrics.baselines import coin
from magistrate.metrics.columns import NOTHING, SPLIT
from magistrate.metrics.consistency import Consistency
from magistrate.metrics.intervals import NO_RATE, Rate, proportion
from magistrate.metrics.reliability import Reliability, measure_reliability
from magistrate.metrics.resampling import cluster_bootstrap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from magistrate.metrics.columns import Outcomes, PairColumns
    from magistrate.report.judged import Judged

    Codes = NDArray[np.int64]

COIN = "a fair coin"


@dataclass(frozen=True, slots=True)
class Compared:
    """A judge and simple rules on the same pairs."""

    judge: Rate
    rules: tuple[tuple[str, Rate], ...]
    best: str = ""
    """The best of the rules."""
    over_best: Rate = NO_RATE
    """Judge minus that rule on the same pairs, in [-1, 1]."""

    def rule(self, name: str) -> Rate:
        """Return the rate of a rule, no rate where it was not measured."""
        return dict(self.rules).get(name, NO_RATE)


def decided(pairs: PairColumns) -> NDArray[np.bool_]:
    """Return which pairs have both a majority label and a decision; shape (n,)."""
    known: NDArray[np.bool_] = (pairs.gold != NOTHING) & (pairs.gold != SPLIT) & pairs.ok
    return known


def points(said: Outcomes | Codes, gold: Outcomes) -> NDArray[np.float64]:
    """Return 1 for the annotators' answer, 1/2 for a tie, 0 for the other; shape (n,)."""
    import numpy as np

    right: NDArray[np.float64] = 1 - np.abs(gold.astype(np.float64) - said) / 2
    return right


def compare_decisive(judged: Judged) -> Compared:
    """Compare on pairs whose annotators prefer one answer; a tie of the judge counts half."""
    pairs = judged.pairs
    chosen = pairs.take(decided(pairs) & (pairs.gold != 0))
    gold, clusters = chosen.gold, chosen.question
    if not len(chosen):
        return Compared(NO_RATE, ())

    def rate(said: Outcomes | Codes) -> Rate:
        right = points(said, gold)
        return proportion(float(right.sum()), len(right))

    said = dict(_rules(judged, chosen))
    rules = [(name, rate(rule)) for name, rule in said.items()]
    rules.append((COIN, coin(gold.astype("int64"))))
    # On average a coin earns what a tie earns: half a point.
    said[COIN] = 0 * gold.astype("int64")
    best = max(rules, key=lambda named: named[1].value or 0.0)[0]
    gap = points(chosen.said, gold) - points(said[best], gold)
    return Compared(rate(chosen.said), tuple(rules), best, cluster_bootstrap(gap, clusters))


def compare_three(judged: Judged) -> Compared:
    """Compare on all pairs with a majority: right when the labels are equal, tie included."""
    pairs = judged.pairs
    chosen = pairs.take(decided(pairs))
    gold = chosen.gold
    if not len(chosen):
        return Compared(NO_RATE, ())

    def rate(said: Outcomes | Codes) -> Rate:
        return proportion(int((said == gold).sum()), len(gold))

    rules = [(name, rate(said)) for name, said in _rules(judged, chosen)]
    return Compared(rate(chosen.said), (*rules, (COIN, coin(gold.astype("int64")))))


def consistency_of(judged: Judged) -> Consistency:
    """Return how far the order of the answers sways the judge, from its columns."""
    pairs = judged.pairs
    if judged.reads_alone:
        return Consistency(basis="by construction")
    both = pairs.take(pairs.ok & (pairs.as_given != NOTHING) & (pairs.swapped != NOTHING))
    n = len(both)
    if not n:
        return Consistency(basis="not measured")
    given, swapped = both.as_given, both.swapped
    return Consistency(
        basis="measured",
        consistent=proportion(int((given == swapped).sum()), n),
        toward_first=proportion(int((given > swapped).sum()), n),
        toward_second=proportion(int((given < swapped).sum()), n),
    )


def calibration_of(judged: Judged) -> Reliability | None:
    """Return how well confidence fits the share right; None without confidence or labels."""
    import numpy as np

    pairs = judged.pairs
    known = pairs.take(decided(pairs) & ~np.isnan(pairs.confidence))
    return measure_reliability(known.confidence, known.said == known.gold)


def ties(outcomes: Outcomes) -> Rate:
    """Return the share of ties."""
    return proportion(int((outcomes == 0).sum()), len(outcomes))


def _rules(judged: Judged, chosen: PairColumns) -> list[tuple[str, Codes]]:
    import numpy as np

    rules = [("first wins", np.ones(len(chosen), dtype=np.int64))]
    if judged.has_texts:
        longer = np.sign(chosen.lengths[:, 0] - chosen.lengths[:, 1])
        rules.insert(0, ("longer wins", longer))
    return rules
