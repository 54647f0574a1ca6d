"""How well the probes measure: coverage of their intervals, false discoveries, power.

    python benchmarks/probes.py [--audits 500] [--judgecal PYTHON]

Prints, for every kind of experiment, the planted effect, the mean estimate over simulated audits,
how often the 95 % interval covers the planted effect, how often the effect is found, and the
smallest effect the probe says it could find. Then the share of audits without any bias in which one
is found (after correction), and the share of false findings where half of the effects are real.

``--judgecal`` names a Python that has the package judgecal (0.1.0); its position metrics are then
given the same simulated readings (at most 100 audits: its bootstrap is slow). Nothing is judged;
the numbers are the same on every machine.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Sequence

import numpy as np

from magistrate.probes import position
from magistrate.probes.making import settled
from magistrate.probes.records import Effect
from magistrate.probes.simulation import (
    BIAS,
    KINDS,
    Simulated,
    Size,
    audits,
    position_readings,
    truth,
)
from magistrate.probes.simulation import columns_of as columns

SIZES = (Size(200, 1), Size(100, 2), Size(40, 1))

_THEIRS = """
import json, sys
import pandas as pd
from judgecal import stats
out = []
for audit in json.load(sys.stdin):
    rows = pd.DataFrame(audit["rows"], columns=["cluster", "first"])
    found = stats.cluster_bootstrap_ci(
        rows, lambda d: float(d["first"].mean()), "cluster", n_boot=400, null_value=0.5)
    b, c = audit["both_first"], audit["both_second"]
    low, high = stats.wilson_ci(b, b + c) if b + c else (None, None)
    out.append([found.ci_low, found.ci_high, found.p_value, low, high])
json.dump(out, sys.stdout)
"""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--audits", type=int, default=500)
    parser.add_argument("--judgecal", metavar="PYTHON", help="a Python that has judgecal")
    args = parser.parse_args()
    began = time.perf_counter()
    found = coverage(args.audits)
    discoveries(found, args.audits)
    print(f"\n{time.perf_counter() - began:.0f} s")
    if args.judgecal:
        beside_judgecal(args.judgecal, min(100, args.audits))


def coverage(count: int) -> dict[tuple[str, bool], list[Effect]]:
    """Print the table of coverage; return the audits of the first size, with bias and without."""
    print(f"{count} simulated audits of each kind; points of a hundred\n")
    print("| experiment | questions x pairs | planted | mean | covered | found | detectable |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    kept: dict[tuple[str, bool], list[Effect]] = {}
    for kind in KINDS:
        for size in SIZES:
            for bias in (BIAS, 0.0):
                planted = truth(kind, bias, size)
                effects = audits(kind, bias, size, count)
                kept.setdefault((kind.name, bias > 0), effects)
                print(_row(kind, size, planted, effects), flush=True)
    return kept


def _row(kind: Simulated, size: Size, planted: float, effects: Sequence[Effect]) -> str:
    values = [effect.value for effect in effects if effect.value is not None]
    seen = [effect.detectable for effect in effects if effect.detectable is not None]
    covered = np.mean([covers(effect, planted) for effect in effects])
    found = np.mean([effect.p is not None and effect.p < 0.05 for effect in effects])
    return (
        f"| {kind.name} | {size.questions} x {size.pairs} | {100 * planted:.1f} | "
        f"{100 * np.mean(values):.1f} | {100 * covered:.1f} % | {100 * found:.1f} % | "
        f"{100 * np.mean(seen):.1f} |"
    )


def covers(effect: Effect, planted: float) -> bool:
    """Whether the interval holds the planted effect."""
    return (
        effect.low is not None
        and effect.high is not None
        and (effect.low <= planted <= effect.high)
    )


def discoveries(found: dict[tuple[str, bool], list[Effect]], count: int) -> None:
    """Print the shares of false findings over whole audits."""
    names = [kind.name for kind in KINDS]
    false = sum(
        any(effect.finding == "bias" for effect in settled([found[n, False][i] for n in names]))
        for i in range(count)
    )
    shares = []
    for i in range(count):
        real = [place % 2 == 0 for place in range(len(names))]
        effects = settled([found[n, r][i] for n, r in zip(names, real, strict=True)])
        biases = [r for effect, r in zip(effects, real, strict=True) if effect.finding == "bias"]
        shares.append(1 - np.mean(biases) if biases else 0.0)
    print(
        f"\naudits of {len(names)} effects without any bias in which one is found: "
        f"{100 * false / count:.1f} % (nominal at most 5)"
    )
    print(
        f"false findings among all, half of the effects real: {100 * np.mean(shares):.1f} % "
        f"(nominal at most 5)"
    )


def beside_judgecal(python: str, count: int) -> None:
    """Print the coverage of position bias by ours and by judgecal on the same readings."""
    print(f"\nPosition bias beside judgecal 0.1.0, {count} audits, the same readings\n")
    print("| questions x pairs | judge | ours | judgecal first_pick_rate | judgecal mcnemar |")
    print("|---:|---|---:|---:|---:|")
    for size, tie_band, name in (
        (Size(200, 1), 0.0, "never ties"),
        (Size(50, 4), 0.0, "never ties"),
        (Size(40, 1), 0.0, "never ties"),
        (Size(200, 1), 0.3, "ties"),
        (Size(40, 1), -1.0, "seldom moved"),
    ):
        print(_compared(python, count, size, tie_band, name), flush=True)


def _compared(python: str, count: int, size: Size, tie_band: float, name: str) -> str:
    population = Size(400_000 // size.pairs, size.pairs)
    given, swapped = position_readings(np.random.default_rng(1), population, BIAS, tie_band)
    planted = float((given.astype(float) - swapped).mean() / 2)
    pick, share = _their_truth(given, swapped)
    rng = np.random.default_rng(2)
    ours, sent = 0, []
    for _ in range(count):
        given, swapped = position_readings(rng, size, BIAS, tie_band)
        question = np.repeat(np.arange(size.questions, dtype=np.uint64), size.pairs)
        effect = position.effects_of(columns(given, question, as_given=given, swapped=swapped))[0]
        ours += covers(effect, planted)
        sent.append(_for_them(given, swapped))
    done = subprocess.run(
        [python, "-c", _THEIRS], input=json.dumps(sent), capture_output=True, text=True, check=True
    )
    theirs = json.loads(done.stdout)
    rate = np.mean([low <= pick <= high for low, high, *_ in theirs])
    discordant = [(low, high) for *_, low, high in theirs if low is not None]
    test = np.mean([low <= share <= high for low, high in discordant])
    missing = len(theirs) - len(discordant)
    note = f" ({missing} audits without one)" if missing else ""
    return (
        f"| {size.questions} x {size.pairs} | {name} | {100 * ours / count:.1f} % | "
        f"{100 * rate:.1f} % | {100 * test:.1f} %{note} |"
    )


def _their_truth(given: np.ndarray, swapped: np.ndarray) -> tuple[float, float]:  # type: ignore[type-arg]
    """Return the planted values of their two metrics: of decisive verdicts, and of flips."""
    picks = np.concatenate([given, -swapped])
    both_first, both_second = _both(given, swapped)
    return float((picks[picks != 0] == 1).mean()), both_first / (both_first + both_second)


def _both(given: np.ndarray, swapped: np.ndarray) -> tuple[int, int]:  # type: ignore[type-arg]
    """Return in how many pairs the answer shown first won both times, and the second did."""
    first = int(((given == 1) & (swapped == -1)).sum())
    return first, int(((given == -1) & (swapped == 1)).sum())


def _for_them(given: np.ndarray, swapped: np.ndarray) -> dict[str, object]:  # type: ignore[type-arg]
    """Return decisive verdicts by item, as their position probe makes them of its judgments."""
    both_first, both_second = _both(given, swapped)
    rows = [
        (item, int(pick == 1))
        for item, picks in enumerate(zip(given.tolist(), (-swapped).tolist(), strict=True))
        for pick in picks
        if pick
    ]
    return {"rows": rows, "both_first": both_first, "both_second": both_second}


if __name__ == "__main__":
    main()
