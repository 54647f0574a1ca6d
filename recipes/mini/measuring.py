"""The measuring sets: read, compare scores with the labels, print a table with intervals.

Nothing here is used for training or for choosing anything.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from leaks import read_rows
from numpy.typing import NDArray

Scorer = Callable[[list[tuple[str, str]]], NDArray[np.float64]]
ADVERSARIAL = ("LLMBar Neighbor", "LLMBar GPTInst", "LLMBar GPTOut", "LLMBar Manual")
COLUMNS = ("PandaLM", "MT-Bench", "LLMEval^2", "LLMBar Natural")


@dataclass(frozen=True)
class Pair:
    """A decisive human (or objective) label: answer 1 or answer 2 is better."""

    question: str
    first: str
    second: str
    label: int


def text(value: object) -> str:
    """A response as text; the PandaLM file holds a few JSON booleans."""
    return json.dumps(value) if isinstance(value, bool) else str(value)


def load_measuring(data: Path) -> dict[str, list[Pair]]:
    """Every measuring set, ties and undecided rows left out."""
    sets: dict[str, list[Pair]] = {"PandaLM": []}
    for row in read_rows(data / "pandalm/testset-v1.json"):
        votes = [row[f"annotator{k}"] for k in (1, 2, 3)]
        label = max(set(votes), key=votes.count)
        if label and votes.count(label) >= 2:
            question = f"{row['instruction']}\n\n{row['input']}".strip()
            pair = Pair(question, text(row["response1"]), text(row["response2"]), label)
            sets["PandaLM"].append(pair)
    places = {
        "MT-Bench": "Processed/MT-Bench",
        "LLMEval^2": "Processed/LLMEval^2",
        "LLMBar Natural": "LLMBar/Natural",
        **{name: f"LLMBar/Adversarial/{name.split()[1]}" for name in ADVERSARIAL},
    }
    for name, place in places.items():
        sets[name] = [
            Pair(r["input"], r["output_1"], r["output_2"], int(r["label"]))
            for r in read_rows(data / "llmbar" / place / "dataset.json")
        ]
    sets["Auto-J"] = [
        Pair(r["prompt"], r["response 1"], r["response 2"], r["label"] + 1)
        for r in read_rows(data / "auto-j/test/testdata_pairwise.jsonl")
        if r["label"] in (0, 1)
    ]
    sets["JudgeBench"] = [
        Pair(r["question"], r["response_A"], r["response_B"], 1 if r["label"] == "A>B" else 2)
        for path in sorted((data / "judgebench/data").glob("*.jsonl"))
        for r in read_rows(path)
    ]
    return sets


def drawn(pairs: list[Pair], most: int | None) -> list[Pair]:
    """At most ``most`` of the pairs, drawn by a fixed seed."""
    if most is None or len(pairs) <= most:
        return pairs
    return random.Random(1).sample(pairs, most)


def wilson(hits: float, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's interval for a proportion."""
    p, s = hits / n, z * z / n
    middle, half = p + s / 2, z * math.sqrt(p * (1 - p) / n + s / (4 * n))
    return (middle - half) / (1 + s), (middle + half) / (1 + s)


def hits(margin: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """1 where the sign of the margin agrees with the label, 0.5 where it is zero, else 0."""
    out: NDArray[np.float64] = np.where(margin == 0, 0.5, (margin > 0) == (labels == 1))
    return out


def measure_set(pairs: list[Pair], scorer: Scorer) -> dict[str, float]:
    """Accuracy of one set with its interval, its more confident half, and the baselines."""
    readings = [(p.question, a) for p in pairs for a in (p.first, p.second)]
    scores = np.asarray(scorer(readings))
    margin = scores[0::2] - scores[1::2]
    labels = np.array([p.label for p in pairs])
    right = hits(margin, labels)
    longer = hits(np.array([float(len(p.first) - len(p.second)) for p in pairs]), labels)
    n = len(pairs)
    low, high = wilson(float(right.sum()), n)
    sure = np.argsort(-np.abs(margin), kind="stable")[: n // 2]
    sure_low, sure_high = wilson(float(right[sure].sum()), n // 2)
    lengths = np.array([math.log1p(len(p.first)) - math.log1p(len(p.second)) for p in pairs])
    return {
        "n": n,
        "accuracy": float(right.mean()),
        "low": low,
        "high": high,
        "confident half": float(right[sure].mean()),
        "confident low": sure_low,
        "confident high": sure_high,
        "longer wins": float(longer.mean()),
        "first wins": float((labels == 1).mean()),
        "random": 0.5,
        "length correlation": float(np.corrcoef(margin, lengths)[0, 1]),
    }


def measure(
    data: Path, scorer: Scorer, only: list[str] | None = None, most: dict[str, int] | None = None
) -> dict[str, dict[str, float]]:
    """Measure every set, or only some; the row ``mean`` holds the mean of the five columns.

    Args:
        data: The data folder.
        scorer: Scores (question, answer) readings.
        only: Names of sets; all when None.
        most: By name of a set: draw so many of its pairs, always the same ones; else all are read.
    """
    table = {
        name: measure_set(drawn(pairs, (most or {}).get(name)), scorer)
        for name, pairs in load_measuring(data).items()
        if only is None or name in only
    }
    mean: dict[str, float] = {}
    if not {*COLUMNS, *ADVERSARIAL} <= set(table):
        return table
    for key in ("accuracy", "longer wins", "first wins", "random"):
        hard = sum(table[name][key] for name in ADVERSARIAL) / len(ADVERSARIAL)
        mean[key] = (sum(table[name][key] for name in COLUMNS) + hard) / (len(COLUMNS) + 1)
    table["mean"] = mean
    return table


def markdown(table: dict[str, dict[str, float]]) -> str:
    """The table as Markdown, in per cent."""
    lines = [
        "| set | n | mini | 95 % interval | confident half | longer wins | first wins | random |",
        "|---|---:|---:|---|---|---:|---:|---:|",
    ]
    for name, row in table.items():
        base = " | ".join(f"{100 * row[k]:.1f}" for k in ("longer wins", "first wins", "random"))
        if name == "mean":
            lines.append(f"| mean of the five | | {100 * row['accuracy']:.1f} | | | {base} |")
            continue
        sure = (
            f"{100 * row['confident half']:.1f} "
            f"({100 * row['confident low']:.1f} to {100 * row['confident high']:.1f})"
        )
        lines.append(
            f"| {name} | {row['n']:.0f} | {100 * row['accuracy']:.1f} "
            f"| {100 * row['low']:.1f} to {100 * row['high']:.1f} | {sure} | {base} |"
        )
    return "\n".join(lines)
