"""Whether a judge gives the same verdicts in another precision, from two runs of the same pairs.

    magistrate judge pairs.jsonl --judge JUDGE --mode score --out fp32 --set dtype=fp32
    magistrate judge pairs.jsonl --judge JUDGE --mode score --out bf16 --set dtype=bf16
    python benchmarks/precision.py fp32 bf16

Prints the share of readings with the same verdict with its 95 % interval (Wilson; readings of one
question are not independent, so with both orders it is a little narrow), the largest and the median
change of a probability, how near to even the verdicts that changed were, and each run's agreement
with the labels. Required of a precision that counts as the same judge: 99 % equal.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

from magistrate.metrics.intervals import Rate, proportion
from magistrate.records import Judgment
from magistrate.report.evaluation import evaluate
from magistrate.store.run import Run, open_run

REQUIRED = 0.99


def readings_of(run: Run) -> dict[tuple[str, tuple[int, ...]], Judgment]:
    """Return what a run says of each pair in each order."""
    return {(judgment.sample_id, judgment.order): judgment for judgment in run.judgments()}


def in_words(rate: Rate) -> str:
    """Return a rate with its interval."""
    return f"{rate.value:.1%} [{rate.low:.1%}, {rate.high:.1%}] of {rate.n:,}"


def main() -> None:
    """Compare two runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("yardstick", type=Path, help="run in the precision that counts as exact")
    parser.add_argument("other", type=Path, help="run in the other")
    given = parser.parse_args()
    one, other = open_run(given.yardstick), open_run(given.other)
    exact, less = readings_of(one), readings_of(other)
    both = [
        (exact[key], less[key])
        for key in exact.keys() & less.keys()
        if exact[key].status == less[key].status == "ok"
    ]
    if not both:
        raise SystemExit("the two runs have no reading in common that is ok")
    same = sum(mine.preference == theirs.preference for mine, theirs in both)
    changes: list[float] = []
    margins: list[float] = []
    for mine, theirs in both:
        if mine.probabilities is None or theirs.probabilities is None:
            continue
        p, q = mine.probabilities, theirs.probabilities
        changes.append(max(abs(p.first - q.first), abs(p.tie - q.tie), abs(p.second - q.second)))
        if mine.preference != theirs.preference:
            margins.append(abs(p.first - p.second))
    found = proportion(same, len(both))
    print(f"same verdict: {in_words(found)} readings (required {REQUIRED:.0%})")
    print(f"not ok in either, or in one run alone: {len(exact.keys() | less.keys()) - len(both):,}")
    if changes:
        print(
            f"change of a probability: largest {max(changes):.4f}, "
            f"median {statistics.median(changes):.4f}"
        )
    if margins:
        print(f"margin of the verdicts that changed, by the yardstick: at most {max(margins):.4f}")
    for name, run in ((given.yardstick, one), (given.other, other)):
        pairs = evaluate(run).pairs
        if pairs is not None and pairs.agreement is not None:
            print(f"agreement on decisive pairs, {name}: {in_words(pairs.agreement.decisive)}")


if __name__ == "__main__":
    main()
