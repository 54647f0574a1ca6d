"""Rankings: time and memory beside another implementation, and what planning a tournament saves.

    python benchmarks/ranking.py [--tournaments 20]

1,000,000 battles between 100 models: adding up and fitting, then with 200 resamples. Beside it the
same battles as a plain logistic regression over battles (scipy's L-BFGS, a sparse design), as
leaderboards do it, ties as half wins. Then rank accuracy (Kendall's tau with the true strengths)
of simulated tournaments after each tenth of the budget, for the schemes 'all' and 'swiss'.
"""

from __future__ import annotations

import argparse
import math
import resource
import time

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.special import expit
from scipy.stats import kendalltau

from magistrate.metrics.ranking.battles import Battles, battles_of
from magistrate.metrics.ranking.counts import cells_of, counts_of
from magistrate.metrics.ranking.davidson import ELO, chances, fit
from magistrate.metrics.ranking.planning import Candidates, Scheme, plan
from magistrate.metrics.ranking.ranking import rank_models

ROUNDS = 10


def simulated(models: int, n: int) -> Battles:
    rng = np.random.default_rng(0)
    strength = rng.normal(size=models) * 0.7
    first = rng.integers(0, models, n)
    second = (first + rng.integers(1, models, n)) % models
    win, tie, _ = chances(strength[first] - strength[second], math.log(0.5))
    drawn = rng.random(n)
    outcome = np.where(drawn < win, 1, np.where(drawn < win + tie, 0, -1))
    names = tuple(f"model {k}" for k in range(models))
    return battles_of(names, first, second, outcome, rng.integers(0, n // 5 + 1, n))


def logistic(battles: Battles) -> np.ndarray:
    """Fit one row a battle, ties as half wins."""
    n, k = len(battles), len(battles.models)
    rows = np.arange(n)
    design = coo_array(
        (
            np.concatenate([np.ones(n), -np.ones(n)]),
            (np.tile(rows, 2), np.concatenate([battles.first, battles.second])),
        ),
        shape=(n, k),
    ).tocsr()
    points = (1 + battles.outcome) / 2

    def loss(values: np.ndarray) -> tuple[float, np.ndarray]:
        gap = design @ values
        off = expit(gap) - points
        return float((np.logaddexp(0, gap) - points * gap).sum()), design.T @ off

    return np.asarray(minimize(loss, np.zeros(k), jac=True, method="L-BFGS-B").x)


def speed(models: int, n: int) -> None:
    battles = simulated(models, n)
    begin = time.perf_counter()
    pairs, cells = cells_of(battles)
    found = fit(pairs, counts_of(pairs, cells, battles.weight))
    ours = time.perf_counter() - begin
    print(f"{n:,} battles, {models} models")
    print(f"  adding up and fitting (Davidson)   {ours:7.2f} s")
    begin = time.perf_counter()
    theirs = logistic(battles)
    took = time.perf_counter() - begin
    rank_correlation = kendalltau(found.strength[0], theirs)[0]
    print(f"  logistic regression over battles   {took:7.2f} s  {took / ours:5.1f} x, "
          f"tau with ours {rank_correlation:.4f}")  # fmt: skip
    begin = time.perf_counter()
    ranking = rank_models(battles)
    took = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"  ranking with {ranking.resamples} resamples        {took:7.2f} s  peak {peak:.0f} MiB")


def tournament(scheme: Scheme, strength: np.ndarray, budget: int, seed: int) -> list[float]:
    """Return the accuracy after each round."""
    rng = np.random.default_rng(seed)
    questions = 100
    low, high = (np.repeat(side, questions) for side in np.triu_indices(len(strength), 1))
    question = np.tile(np.arange(questions), len(low) // questions)
    names = tuple(f"m{k}" for k in range(len(strength)))
    win, tie, _ = chances(strength[low] - strength[high], math.log(0.3))
    drawn = rng.random(len(low))
    outcome = np.where(drawn < win, 1, np.where(drawn < win + tie, 0, -1))
    done = np.zeros(len(low), dtype=bool)
    played: Battles | None = None
    taus = []
    for _ in range(ROUNDS):
        pool = Candidates(names, low, high, question, done)
        done[plan(pool, scheme, budget // ROUNDS, played=played, seed=int(rng.integers(1e9)))] = (
            True
        )
        judged = np.flatnonzero(done)
        played = battles_of(names, low[judged], high[judged], outcome[judged])
        pairs, cells = cells_of(played)
        found = fit(pairs, counts_of(pairs, cells, played.weight))
        taus.append(float(kendalltau(found.strength[0], strength)[0]))
    return taus


def planning(tournaments: int, models: int, budget: int, spread: float) -> None:
    print(f"rank accuracy of {tournaments} tournaments, {models} models of spread {spread:.0f} Elo")
    print(f"  {'judgments':10}", *(f"{budget * (k + 1) // ROUNDS:6}" for k in range(ROUNDS)))
    curves = {}
    for scheme in ("all", "swiss"):
        taus = [
            tournament(
                scheme, np.random.default_rng(s).normal(size=models) * spread / ELO, budget, s
            )
            for s in range(tournaments)
        ]
        curves[scheme] = np.mean(taus, axis=0)
        print(f"  {scheme:10}", *(f"{tau:6.3f}" for tau in curves[scheme]))
    reached = np.flatnonzero(curves["swiss"] >= curves["all"][-1])
    if len(reached):
        share = (reached[0] + 1) / ROUNDS
        print(f"  swiss reaches what 'all' ends with at {share:.0%} of the judgments")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--battles", type=int, default=1_000_000)
    parser.add_argument("--models", type=int, default=100)
    parser.add_argument("--tournaments", type=int, default=20)
    given = parser.parse_args()
    speed(given.models, given.battles)
    for spread in (200.0, 400.0):
        planning(given.tournaments, 12, 2_000, spread)


if __name__ == "__main__":
    main()
