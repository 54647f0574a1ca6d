"""Training groups as tokens, and a stream of batches mixed from the sources by fixed shares."""

from __future__ import annotations

import random
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

from layout import Layout, Reading
from leaks import read_rows

MOST_ANSWERS = {"alpaca": 6, "ukp": 10, "fastchat": 5, "prometheus": 4}
OTHER_MOST = 8  # answers of one group in one visit
LONG_LESS = 0.5
"""Longer answers are drawn more seldom, by this power of their tokens: more pairs a token."""


@dataclass
class Item:
    """A group ready for training: readings and pairs (i, j, p, weight)."""

    source: str
    readings: list[Reading]
    pairs: list[tuple[int, int, float, float]]

    def part(self, chosen: list[int]) -> Item | None:
        """Some of the readings with the pairs among them; None when there are none."""
        place = {i: k for k, i in enumerate(chosen)}
        pairs = [
            (place[i], place[j], p, w) for i, j, p, w in self.pairs if i in place and j in place
        ]
        return Item(self.source, [self.readings[i] for i in chosen], pairs) if pairs else None


def load_items(
    paths: list[Path], layout: Layout, split: str, only: Container[str] | None = None
) -> list[Item]:
    """Read and tokenize the groups of one split, of all sources or only some."""
    items = []
    for path in paths:
        for row in read_rows(path):
            if row["split"] == split and (only is None or row["source"] in only):
                asked = row.get("asked") or [row["question"]] * len(row["answers"])
                readings = [layout.read(*pair) for pair in zip(asked, row["answers"], strict=True)]
                pairs = [(i, j, p, w) for i, j, p, w, _ in row["pairs"]]
                items.append(Item(row["source"], readings, pairs))
    return items


class Mixture:
    """Draws groups without end: every source its share of the tokens, each in shuffled rounds."""

    def __init__(self, items: list[Item], shares: dict[str, float], seed: int) -> None:
        self.rng = random.Random(seed)
        self.items = {name: [x for x in items if x.source == name] for name in shares}
        missing = [name for name, found in self.items.items() if not found]
        if missing:
            raise ValueError(f"no training groups of {', '.join(missing)}")
        self.share = {name: share / sum(shares.values()) for name, share in shares.items()}
        self.queue: dict[str, list[Item]] = {name: [] for name in shares}
        self.used = dict.fromkeys(shares, 0)

    def visit(self, name: str) -> Item:
        """The next group of a source; of a large one a random part."""
        while True:
            if not self.queue[name]:
                self.queue[name] = self.items[name][:]
                self.rng.shuffle(self.queue[name])
            item = self.queue[name].pop()
            most = MOST_ANSWERS.get(name, OTHER_MOST)
            sizes = [len(reading.ids) for reading in item.readings]
            keys = [self.rng.random() * size**LONG_LESS for size in sizes]
            chosen = sorted(range(len(sizes)), key=keys.__getitem__)[:most]
            part = item.part(sorted(chosen))
            if part:
                return part

    def batch(self, tokens: int) -> list[Item]:
        """Groups of about so many tokens, each time of the source that is furthest behind."""
        batch: list[Item] = []
        room = tokens
        while True:
            name = min(self.used, key=lambda n: self.used[n] / self.share[n])
            item = self.visit(name)
            size = sum(len(reading.ids) for reading in item.readings)
            if batch and size > room:
                self.queue[name].append(item)
                return batch
            self.used[name] += size
            batch.append(item)
            room -= size
