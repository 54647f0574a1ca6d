"""Choose the length coefficient, the temperature and the tie band on the development split.

The score that ships is ``r + lambda * log(1 + characters)``. Lambda is the one under which the
development pairs are likeliest, four parts preferences for free answers (AlpacaEval where it was
trained on, Vicuna-bench), one part contests of an answer to the question with one to another: the
composition of the mean that the judge is measured by. Temperature and tie band are then fitted on
the preferences alone; contests are too easy and would make the judge too sure of itself.

Run it: ``python calibrate.py --folder judge --groups build/groups/permissive.jsonl --out c.json``
(with the exported model), or with ``--base build/base --judge build/a`` too: scored by the trained
weights in torch, before quantisation, which is faster on some machines.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from leaks import read_rows
from measure import kept, raw_scorer, torch_scorer
from measuring import Scorer
from numpy.typing import NDArray
from scipy.optimize import minimize

MOST_ANSWERS = 8
GRADED = ("fastchat", "prometheus", "alpaca")
CONTESTS = ("halueval", "exchange", "alpaca off topic")
CONTEST_SHARE = 0.2
Array = NDArray[np.float64]


@dataclass(frozen=True)
class DevPairs:
    """Development pairs as arrays [n]: source, kind, P(first better), score and length margins."""

    source: NDArray[np.str_]
    kind: NDArray[np.str_]
    p: Array
    score: Array
    length: Array


def dev_pairs(
    scorer: Scorer, paths: Sequence[Path], groups: int, only: Sequence[str] | None = None
) -> DevPairs:
    """Score the development split and take the margins of its pairs.

    Args:
        scorer: Scores (question, answer) readings, without a length term.
        paths: Group files.
        groups: At most so many groups of a source; of a large one some answers, by a fixed seed.
        only: Leave out the other sources.
    """
    readings: list[tuple[str, str]] = []
    rows: list[tuple[str, str, float, int, int]] = []
    used: Counter[str] = Counter()
    rng = random.Random(0)
    for path in paths:
        for row in read_rows(path):
            if row["split"] != "dev" or used[row["source"]] >= groups:
                continue
            if only and row["source"] not in only:
                continue
            used[row["source"]] += 1
            start = len(readings)
            count = len(row["answers"])
            most = count if row["source"] == "ukp" else min(count, MOST_ANSWERS)
            place = {i: start + k for k, i in enumerate(sorted(rng.sample(range(count), most)))}
            asked = row.get("asked") or [row["question"]] * count
            readings += [(asked[i], row["answers"][i]) for i in place]
            rows += [
                (row["source"], kind, p, place[i], place[j])
                for i, j, p, _, kind in row["pairs"]
                if i in place and j in place
            ]
    score = scorer(readings)
    length = np.array([math.log1p(len(answer)) for _, answer in readings])
    first, second = (np.array([row[k] for row in rows], dtype=int) for k in (3, 4))
    return DevPairs(
        np.array([row[0] for row in rows]),
        np.array([row[1] for row in rows]),
        np.array([row[2] for row in rows], dtype=float),
        score[first] - score[second],
        length[first] - length[second],
    )


def source_weights(pairs: DevPairs, use: NDArray[np.bool_]) -> Array:
    """Weights [n] that add up to 1 and let every used source count alike."""
    weights = np.zeros(len(pairs.p))
    names = sorted(set(pairs.source[use]))
    for name in names:
        mine = use & (pairs.source == name)
        weights[mine] = 1.0 / mine.sum() / len(names)
    return weights


def choose_slope(pairs: DevPairs) -> float:
    """The length coefficient that makes the development pairs likeliest, with a free scale."""
    decisive = pairs.p != 0.5
    liked, contest = (decisive & np.isin(pairs.source, names) for names in (GRADED, CONTESTS))
    weights = (1 - CONTEST_SHARE) * source_weights(pairs, liked)
    weights += CONTEST_SHARE * source_weights(pairs, contest)

    def cost(x: Array) -> float:
        logit = (pairs.score + x[0] * pairs.length) * np.exp(x[1])
        each = np.logaddexp(0, -logit) * pairs.p + np.logaddexp(0, logit) * (1 - pairs.p)
        return float((weights * each).sum())

    return float(minimize(cost, np.zeros(2), method="Nelder-Mead").x[0])


def fit_verdict(pairs: DevPairs, slope: float) -> tuple[float, float]:
    """Temperature and tie band that make the graded development labels likeliest."""
    use = np.isin(pairs.source, GRADED)
    weights = source_weights(pairs, use)
    margin = pairs.score + slope * pairs.length

    def cost(x: Array) -> float:
        temperature, band = np.exp(x)
        first = 1 / (1 + np.exp(-(margin - band) / temperature))
        second = 1 / (1 + np.exp(-(-margin - band) / temperature))
        said = np.where(pairs.p > 0.5, first, np.where(pairs.p < 0.5, second, 1 - first - second))
        return float(-(weights * np.log(np.maximum(said, 1e-9))).sum())

    found = minimize(cost, np.log([1.0, 0.1]), method="Nelder-Mead").x
    return float(np.exp(found[0])), float(np.exp(found[1]))


def accuracy(margin: Array, p: Array) -> float:
    """Share of decisive pairs whose label the margin's sign agrees with; zero counts half."""
    decisive = p != 0.5
    hit = np.where(margin == 0, 0.5, (margin > 0) == (p > 0.5))
    return float(hit[decisive].mean()) if decisive.any() else float("nan")


def report(pairs: DevPairs, slope: float) -> dict[str, dict[str, float]]:
    """Accuracy by source and by kind of made pair: raw score, with length, length alone."""
    margin = pairs.score + slope * pairs.length
    out = {}
    groups = [(name, pairs.source == name) for name in sorted(set(pairs.source))]
    made = np.isin(pairs.source, ("halueval", "seed_tasks", "exchange", "alpaca off topic"))
    kinds = sorted(set(pairs.kind[made]))
    groups += [(f"made: {kind}", made & (pairs.kind == kind)) for kind in kinds]
    for name, mine in groups:
        out[name] = {
            "pairs": int(mine.sum()),
            "raw": accuracy(pairs.score[mine], pairs.p[mine]),
            "shipped": accuracy(margin[mine], pairs.p[mine]),
            "longer": accuracy(pairs.length[mine], pairs.p[mine]),
        }
    return out


def write_verdict(folder: Path, values: dict[str, float]) -> None:
    """Put the fitted numbers into the folder's ``judge.toml``."""
    path = folder / "judge.toml"
    text = path.read_text(encoding="utf-8")
    for name, value in values.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {value:.4f}", text, flags=re.MULTILINE)
    path.write_text(text, encoding="utf-8")


def main() -> None:
    """Fit, write ``judge.toml`` and ``calibration.json`` beside the folder, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="its judge.toml gets the numbers")
    parser.add_argument("--base", type=Path)
    parser.add_argument("--judge", type=Path)
    parser.add_argument("--groups", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True, help="JSON file for the card")
    parser.add_argument("--only", nargs="*", help="score only these sources")
    parser.add_argument("--keep", type=Path, help="raw scores are kept here (.npz)")
    parser.add_argument("--most", type=int, default=100, help="groups of a source")
    args = parser.parse_args()
    scorer = torch_scorer(args.base, args.judge) if args.judge else raw_scorer(args.folder)
    pairs = dev_pairs(kept(scorer, args.keep), args.groups, args.most, args.only)
    slope = choose_slope(pairs)
    temperature, band = fit_verdict(pairs, slope)
    values = {"length_coefficient": slope, "temperature": temperature, "tie_band": band}
    if args.folder:
        write_verdict(args.folder, values)
    table = report(pairs, slope)
    result = {**values, "development": table}
    args.out.write_text(json.dumps(result, indent=1), encoding="utf-8")
    print(f"length {slope:.3f}  temperature {temperature:.3f}  tie band {band:.3f}")
    for name, row in table.items():
        cells = "  ".join(f"{k} {100 * v:5.1f}" for k, v in row.items() if k != "pairs")
        print(f"{name:32s} {row['pairs']:5.0f}  {cells}")


if __name__ == "__main__":
    main()
