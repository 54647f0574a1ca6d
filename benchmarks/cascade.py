"""Replaying a million decisions of three judges: the whole curve, exact, and with intervals.

    python benchmarks/cascade.py [--pairs 1000000]

Made decisions: 1,000,000 pairs on 10,000 questions, three judges that are right 65, 75 and 85 times
in 100, two of them with confidence. Beside it the same by numpy without a sort: a loop over
thresholds with masks, which is what one writes first. It gives the same numbers (checked), at the
21 budgets only and without intervals; intervals by drawing questions again cost it what is
extrapolated from a few draws.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np

from magistrate.cascade.replay import BUDGETS, replay
from magistrate.cascade.tiers import Tiers
from magistrate.cascade.trace import trace
from magistrate.metrics.resampling import RESAMPLES

QUESTIONS = 10_000
DRAWS_TRIED = 3


def made(pairs: int) -> Tiers:
    """Return made decisions, drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    gold = rng.choice(np.array([1, 0, -1], dtype=np.int8), pairs, p=[0.45, 0.1, 0.45])
    sure = np.stack([rng.beta(a, b, pairs) / 2 + 0.5 for a, b in ((1, 2), (2, 2), (3, 1))], axis=1)
    right = rng.random((pairs, 3)) < sure
    other = np.where(gold == 0, 1, -gold)
    return Tiers(
        names=("small", "middle", "large"),
        said=np.where(right, gold[:, None], other[:, None]).astype(np.int8),
        confidence=sure,
        cost=np.tile([0.0001, 0.001, 0.02], (pairs, 1)),
        question=rng.integers(0, QUESTIONS, pairs),
        gold=gold,
    )


def by_masks(tiers: Tiers, budgets: tuple[float, ...]) -> list[tuple[float, float, float]]:
    """Return share right, share asked of the last and cost a pair at budgets, by plain masks."""
    surest = tiers.confidence[:, :2].max(axis=1)
    right = tiers.said == tiers.gold[:, None]  # type: ignore[index]
    found = []
    for budget in budgets:
        asked = round(budget * len(tiers))
        threshold = np.inf if asked == len(tiers) else np.partition(surest, asked)[asked]
        first = tiers.confidence[:, 0] >= threshold
        second = ~first & (tiers.confidence[:, 1] >= threshold)
        third = ~first & ~second
        share = np.where(first, right[:, 0], np.where(second, right[:, 1], right[:, 2])).mean()
        cost = tiers.cost[:, 0].sum() + tiers.cost[~first, 1].sum() + tiers.cost[third, 2].sum()
        found.append((float(share), float(third.mean()), float(cost / len(tiers))))
    return found


def one_draw(tiers: Tiers, places: list[Any]) -> Tiers:
    """Return the pairs of as many questions, drawn with replacement."""
    drawn = np.random.default_rng(0).integers(0, len(places), len(places))
    return tiers.take(np.concatenate([places[number] for number in drawn]))


def timed(work: Any) -> tuple[Any, float]:
    """Return a result and the seconds it took."""
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=1_000_000)
    pairs = parser.parse_args().pairs
    tiers = made(pairs)
    replay(tiers.take(np.arange(1_000)))  # loads what is loaded late
    path, sorting = timed(lambda: trace(tiers))
    print(f"trace: {len(path.threshold):,} thresholds, exact: {sorting:.2f} s")
    found, whole = timed(lambda: replay(tiers, (0.5,)))
    print(f"replay: {len(BUDGETS)} budgets, 1 asked for and the goals, intervals: {whole:.2f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory at most: {peak:,.0f} MiB")
    plain, masks = timed(lambda: by_masks(tiers, BUDGETS))
    for point, (share, asked, cost) in zip(found.curve, plain, strict=True):
        assert abs((point.accuracy.value or 0) - share) < 1e-6, (point, share)
        assert abs(point.asked[-1] - asked) < 1e-6
        assert abs(point.cost - cost) < 1e-9
    print(f"numpy masks: {len(BUDGETS)} thresholds, no intervals: {masks:.2f} s")
    per_threshold = masks / len(BUDGETS)
    hours = per_threshold * len(path.threshold) / 3600
    print(f"  the same for all {len(path.threshold):,} thresholds would take {hours:,.1f} h")
    places = np.split(np.argsort(tiers.question), np.cumsum(np.bincount(tiers.question))[:-1])
    _, draws = timed(
        lambda: [by_masks(one_draw(tiers, places), BUDGETS) for _ in range(DRAWS_TRIED)]
    )
    extrapolated = draws / DRAWS_TRIED * RESAMPLES + masks
    print(
        f"  with intervals by {RESAMPLES:,} draws of questions: {extrapolated:,.0f} s, from "
        f"{DRAWS_TRIED} draws ({extrapolated / whole:,.0f} times as long as replay)"
    )


if __name__ == "__main__":
    main()
