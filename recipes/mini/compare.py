"""Compare two judges on the measuring sets, pair by pair, from the raw scores that were kept.

For each set and for the mean of the five: the difference of accuracies with a 95 % interval from
resampling pairs within each set (percentile bootstrap, both judges on the same pairs).

Run it: ``python compare.py --data DATA --new judge new.npz --old old old.npz --out c.json``
where ``--new`` and ``--old`` are a judge folder and what ``measure.py --keep`` wrote.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from measure import kept, length_coefficient, with_length
from measuring import ADVERSARIAL, COLUMNS, Scorer, drawn, hits, load_measuring
from numpy.typing import NDArray

DRAWS = 10_000
Array = NDArray[np.float64]


def no_reading(readings: list[tuple[str, str]]) -> Array:
    """Stands where a scorer would: every score must have been kept."""
    raise ValueError(f"{len(readings)} readings were not kept; run measure.py --keep first")


def hits_of(data: Path, scorer: Scorer, most: dict[str, int]) -> dict[str, tuple[Array, Array]]:
    """By set: hits [n] of the judge and of the longer answer."""
    found = {}
    for name, pairs in load_measuring(data).items():
        pairs = drawn(pairs, most.get(name))
        scores = scorer([(p.question, a) for p in pairs for a in (p.first, p.second)])
        labels = np.array([p.label for p in pairs])
        longer = np.array([float(len(p.first) - len(p.second)) for p in pairs])
        found[name] = (hits(scores[0::2] - scores[1::2], labels), hits(longer, labels))
    return found


def resampled(values: Array, rng: np.random.Generator) -> Array:
    """Means [DRAWS] of resampled values; rows of draws in blocks, to save memory."""
    n = len(values)
    return np.concatenate(
        [values[rng.integers(0, n, (1000, n))].mean(axis=1) for _ in range(DRAWS // 1000)]
    )


def five(by_set: dict[str, Array]) -> Array:
    """The mean over the five columns, LLMBar's adversarial subsets being one."""
    hard = sum(by_set[name] for name in ADVERSARIAL) / len(ADVERSARIAL)
    return np.asarray((sum(by_set[name] for name in COLUMNS) + hard) / (len(COLUMNS) + 1))


def row(value: float, draws: Array) -> dict[str, float]:
    """A value with its interval."""
    low, high = np.percentile(draws, (2.5, 97.5))
    return {"value": value, "low": float(low), "high": float(high)}


def compare(new: dict[str, tuple[Array, Array]], old: dict[str, tuple[Array, Array]]) -> dict:  # type: ignore[type-arg]
    """Differences new - old and new - longer by set, of the mean, and the means themselves."""
    out = {}
    contrasts = {
        "new": {name: mine for name, (mine, _) in new.items()},
        "old": {name: mine for name, (mine, _) in old.items()},
        "new - old": {name: mine - old[name][0] for name, (mine, _) in new.items()},
        "new - longer": {name: mine - longer for name, (mine, longer) in new.items()},
    }
    for contrast, by_set in contrasts.items():
        rng = np.random.default_rng(1)
        draws = {name: resampled(values, rng) for name, values in by_set.items()}
        means = {name: np.asarray(values.mean()) for name, values in by_set.items()}
        rows = {name: row(float(means[name]), draws[name]) for name in by_set}
        rows["adversarial"] = row(
            float(sum(means[name] for name in ADVERSARIAL) / 4),
            sum(draws[name] for name in ADVERSARIAL) / 4,
        )
        rows["mean"] = row(float(five(means)), five(draws))
        out[contrast] = rows
    return out


def main() -> None:
    """Print the differences in points and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--new", type=Path, nargs=2, required=True, metavar=("FOLDER", "NPZ"))
    parser.add_argument("--old", type=Path, nargs=2, required=True, metavar=("FOLDER", "NPZ"))
    parser.add_argument("--most", nargs="*", default=[], help="SET=N, as measure.py was given")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    most = {name: int(count) for name, count in (pair.split("=") for pair in args.most)}
    both = [
        hits_of(args.data, with_length(kept(no_reading, npz), length_coefficient(folder)), most)
        for folder, npz in (args.new, args.old)
    ]
    table = compare(*both)
    args.out.write_text(json.dumps(table, indent=1), encoding="utf-8")
    for name in table["new"]:
        cells = [
            f"{kind} {100 * r['value']:.1f} ({100 * r['low']:.1f} to {100 * r['high']:.1f})"
            for kind, rows in table.items()
            for r in (rows[name],)
        ]
        print(f"{name:18s} " + "  ".join(cells))


if __name__ == "__main__":
    main()
