"""The bootstrap over questions: time and memory, beside scipy's and beside a plain loop.

    python benchmarks/resampling.py

1,000 resamples over 1,000,000 decisions: a mean of points, a paired difference, and Cohen's kappa.
scipy's bootstrap and the loop resample every decision, so they are timed at fewer resamples (and
scipy without clusters, which it does not know) and scaled; the ratio says to how many.
Each runs in a process of its own; memory is the process's largest resident size.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

RESAMPLES = 1_000
FEW = 10


def data(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return two judges' verdicts, and questions of three decisions on average."""
    rng = np.random.default_rng(0)
    questions = rng.integers(0, 2**63, size=n // 3, dtype=np.uint64)[rng.integers(0, n // 3, n)]
    one = rng.choice([-1, 0, 1], size=n)
    other = np.where(rng.random(n) < 0.6, one, rng.choice([-1, 0, 1], size=n))
    return one, other, questions


def kappa(totals: np.ndarray) -> np.ndarray:
    from magistrate.metrics.kappa import cohen

    return cohen(totals[:, :9].reshape(-1, 3, 3))


def ours_mean(n: int) -> int:
    from magistrate.metrics.resampling import cluster_bootstrap

    one, _, questions = data(n)
    cluster_bootstrap((1 + one) / 2, questions, resamples=RESAMPLES)
    return RESAMPLES


def ours_paired(n: int) -> int:
    from magistrate.metrics.paired import compare_paired

    one, other, questions = data(n)
    compare_paired((1 + one) / 2, (1 + other) / 2, questions, resamples=RESAMPLES)
    return RESAMPLES


def ours_kappa(n: int) -> int:
    from magistrate.metrics.resampling import cluster_bootstrap

    one, other, questions = data(n)
    cluster_bootstrap(
        np.eye(9)[(1 - one) * 3 + 1 - other], questions, statistic=kappa, resamples=RESAMPLES
    )
    return RESAMPLES


def scipy_mean(n: int) -> int:
    from scipy.stats import bootstrap

    one, _, _ = data(n)
    bootstrap(((1 + one) / 2,), np.mean, n_resamples=FEW, batch=1, method="percentile")
    return FEW


def loop_mean(n: int) -> int:
    """Draw questions and add up their samples, one resample after the other."""
    one, _, questions = data(n)
    _, index = np.unique(questions, return_inverse=True)
    sums, counts = np.bincount(index, (1 + one) / 2), np.bincount(index)
    rng = np.random.default_rng(0)
    for _ in range(FEW):
        drawn = rng.integers(len(sums), size=len(sums))
        _ = sums[drawn].sum() / counts[drawn].sum()
    return FEW


WAYS: dict[str, Callable[[int], int]] = {
    "ours: mean": ours_mean,
    "ours: paired difference and its test": ours_paired,
    "ours: kappa": ours_kappa,
    "scipy.stats.bootstrap: mean, no clusters": scipy_mean,
    "plain loop over resamples: mean": loop_mean,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--decisions", type=int, default=1_000_000)
    parser.add_argument("--one", choices=WAYS, help="run one way and print JSON (used inside)")
    given = parser.parse_args()
    if given.one:
        data(1_000)
        begin = time.perf_counter()
        resamples = WAYS[given.one](given.decisions)
        seconds = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "resamples": resamples, "mib": peak}))
        return
    base: float | None = None
    print(f"{given.decisions:,} decisions, {RESAMPLES:,} resamples (data made within the time)")
    for name in WAYS:
        command = [sys.executable, __file__, "--decisions", str(given.decisions), "--one", name]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        scaled = found["seconds"] * RESAMPLES / found["resamples"]
        base = base or scaled
        print(f"{name:45} {scaled:9.1f} s  {found['mib']:7.0f} MiB  {scaled / base:7.1f} x")


if __name__ == "__main__":
    main()
