"""The learning curve: a fixed part of the development split, scored again and again."""

from __future__ import annotations

import csv
import random
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from items import Item
from judge import Judge, score_all

GROUPS = {
    "alpaca": 30,
    "alpaca off topic": 24,
    "exchange": 36,
    "halueval": 45,
    "fastchat": 8,
    "prometheus": 6,
    "t0": 30,
}
ANSWERS = 5  # of one group


@dataclass(frozen=True)
class Check:
    """Accuracy in per cent on decisive pairs, mean loss, and the number of pairs."""

    accuracy: float
    loss: float
    pairs: int


def check_source(judge: Judge, slope: float, items: list[Item]) -> Check:
    """Score the readings of some groups and compare their pairs, each group counting alike."""
    scores = score_all(judge, [reading for item in items for reading in item.readings])
    accuracy, losses, pairs, start = [], [], 0, 0
    for item in items:
        mine = scores[start : start + len(item.readings)]
        mine = mine + slope * np.array([reading.log_length for reading in item.readings])
        start += len(item.readings)
        i, j = (np.array([pair[k] for pair in item.pairs]) for k in (0, 1))
        p = np.array([pair[2] for pair in item.pairs])
        margin = mine[i] - mine[j]
        decisive = p != 0.5
        losses.append(float((np.logaddexp(0, margin) - p * margin).mean()))
        if decisive.any():
            accuracy.append(float(((margin > 0) == (p > 0.5))[decisive].mean()))
        pairs += int(decisive.sum())
    return Check(100 * float(np.mean(accuracy)), float(np.mean(losses)), pairs)


class Curve:
    """Adds a line to ``curve.csv`` for every check.

    Args:
        folder: Where the file goes.
        items: The development split.
        before: Tokens that earlier runs read.
    """

    def __init__(self, folder: Path, items: list[Item], before: int) -> None:
        rng = random.Random(0)
        self.before = before
        self.parts: dict[str, list[Item]] = {}
        for name, most in GROUPS.items():
            parts = []
            for item in [x for x in items if x.source == name][:most]:
                count = min(ANSWERS, len(item.readings))
                part = item.part(sorted(rng.sample(range(len(item.readings)), count)))
                if part:
                    parts.append(part)
            if parts:
                self.parts[name] = parts
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "curve.csv"
        with self.path.open("w", newline="", encoding="utf-8") as sink:
            head = ["tokens", "seconds", "length_coefficient", "source", "pairs"]
            csv.writer(sink).writerow([*head, "accuracy", "loss", "training_loss"])

    def add(
        self, judge: Judge, slope: float, done: int, seconds: float, training: dict[str, float]
    ) -> str:
        """Score, write the lines, and say them in short."""
        said = []
        with self.path.open("a", newline="", encoding="utf-8") as sink:
            for name, items in self.parts.items():
                check = check_source(judge, slope, items)
                cells = [f"{check.accuracy:.2f}", f"{check.loss:.4f}"]
                trained = f"{training[name]:.4f}" if name in training else ""
                head = [self.before + done, round(seconds), f"{slope:.4f}", name, check.pairs]
                csv.writer(sink).writerow([*head, *cells, trained])
                said.append(f"{name} {check.accuracy:.1f} ({check.loss:.3f}, {trained})")
        return f"== {self.before + done} length {slope:.3f} | " + " | ".join(said)
