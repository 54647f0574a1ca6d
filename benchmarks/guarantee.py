"""Is the promise kept? Random splits of real data into calibration and test pairs.

    python benchmarks/guarantee.py CHEAP STRONG --labels TESTSET [--confidence by:RUN] [--decisive]

Half of the pairs (or of the questions) calibrate thresholds, the rest is judged with them. Told is
how often the decisions kept on the test half agree with people less often than promised, and which
share of the test half is decided. A promise at a risk of 10 % may be broken in 10 % of splits.
Three ways: split by pair; split by question, all calibration pairs; split by question, one
calibration pair of each question, as the test's independence asks for.
"""

from __future__ import annotations

import argparse

import numpy as np
from numpy.typing import NDArray

from magistrate.cascade.tiers import Tiers
from magistrate.metrics.intervals import wilson
from magistrate.report.cascade_join import read_tiers
from magistrate.report.cascade_promise import make_promise

WAYS = ("pair", "question", "question, one pair each")


def split(tiers: Tiers, way: str, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which pairs calibrate: half of the pairs, or the pairs of half of the questions."""
    if way == "pair":
        return rng.permutation(len(tiers)) < len(tiers) // 2
    questions = rng.permutation(np.unique(tiers.question))
    return np.isin(tiers.question, questions[: len(questions) // 2])


def run(tiers: Tiers, way: str, target: float, risk: float, splits: int) -> str:
    """Return a row of the table."""
    rng = np.random.default_rng(0)
    broken = promised = 0
    coverage, agreement, used = [], [], []
    for seed in range(splits):
        calibrates = split(tiers, way, rng)
        found = make_promise(
            tiers.take(calibrates),
            tiers.take(~calibrates),
            target,
            risk,
            calibrated_on="half",
            one_per_question=way.endswith("each"),
            seed=seed,
        )
        used.append(found.guarantee.n)
        kept = found.kept
        decided = kept.coverage.value if kept and kept.coverage.value else 0.0
        coverage.append(decided)
        if decided and kept and kept.agreement.value is not None:
            promised += 1
            agreement.append(kept.agreement.value)
            broken += kept.agreement.value < target
    low, high = wilson(broken / splits, splits)
    mean = f"{100 * np.mean(agreement):.1f} %" if agreement else "–"
    return (
        f"| {way} | {target:.0%} | {risk:.0%} | {np.mean(used):.0f} | {promised} | {broken} | "
        f"{100 * broken / splits:.1f} % [{100 * low:.1f}, {100 * high:.1f}] | "
        f"{100 * np.mean(coverage):.1f} % | {mean} |"
    )


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("judges", nargs="+")
    parser.add_argument("--labels", required=True)
    parser.add_argument("--confidence", nargs="*", default=())
    parser.add_argument("--splits", type=int, default=500)
    parser.add_argument("--targets", type=float, nargs="*", default=(0.8, 0.85, 0.9))
    parser.add_argument("--risk", type=float, default=0.1)
    parser.add_argument("--decisive", action="store_true")
    given = parser.parse_args()
    found = read_tiers(*given.judges, labels=given.labels, confidence_sources=given.confidence)
    tiers = found.tiers.take(found.tiers.labelled)
    if given.decisive and tiers.gold is not None:
        tiers = tiers.take(tiers.gold != 0)
    names = ", ".join(f"{judge.judge} by {judge.confidence}" for judge in found.judges)
    print(f"{names}: {len(tiers)} pairs, {len(np.unique(tiers.question))} questions")
    print(
        "| split by | promise | risk | labels | something promised | broken | of all splits | "
        "decided | agreement of the decided |"
    )
    print("|---|---:|---:|---:|---:|---:|---|---:|---:|")
    for way in WAYS:
        for target in given.targets:
            print(run(tiers, way, target, given.risk, given.splits), flush=True)


if __name__ == "__main__":
    main()
