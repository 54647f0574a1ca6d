"""Lays prompts and trees out in one row, and says who sees whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from magistrate.engines.exact import VerdictTree
from magistrate.engines.hf.attention import KeyValues, Part, Plan
from magistrate.engines.hf.forest import Batch, Forest


@dataclass(frozen=True, slots=True)
class Pass:
    """What the model is given in one pass.

    Attributes:
        plan: What attention does.
        ids: Tokens [1, T].
        positions: Place of each in its prompt [1, T].
        rows: The tokens whose logits count: per prompt its last one and those of the tree.
    """

    plan: Plan
    ids: Any
    positions: Any
    rows: Any


class _Row:
    """A row that grows part by part."""

    def __init__(self, device: Any) -> None:
        self.ids: list[int] = []
        self.positions: list[int] = []
        self.parts: list[Part] = []
        self.ranges: dict[int, tuple[int, int]] = {}
        self._device = device

    def add(
        self, tokens: Sequence[int], places: Sequence[int], chain: Sequence[int], inner: Any
    ) -> None:
        """Add tokens.

        Args:
            tokens: Their ids.
            places: Their places in the prompt.
            chain: The stretches that come before, here or in earlier passes.
            inner: Which of them see which; None for each those before it.
        """
        begun = range(places[0]) if chain else ()
        self.parts.append(
            Part(
                rows=(len(self.ids), len(self.ids) + len(tokens)),
                before=_joined([self.ranges[s] for s in chain if s in self.ranges]),
                given=tuple(stretch for stretch in chain if stretch not in self.ranges),
                inner=inner,
                positions=torch.tensor(places, device=self._device),
                places=torch.tensor([*begun, *places], device=self._device),
            )
        )
        self.ids.extend(tokens)
        self.positions.extend(places)


def lay_out(
    forest: Forest,
    batch: Batch,
    tree: VerdictTree,
    kept: dict[int, KeyValues],
    keep: Sequence[int],
    device: Any,
) -> Pass:
    """Return the pass of a batch.

    Args:
        forest: All prompts.
        batch: Those of this pass.
        tree: What is read behind each.
        kept: Keys and values of earlier passes.
        keep: Stretches that later passes need.
        device: Where the model is.
    """
    row = _Row(device)
    inner, depths = _tree_mask(tree, device), tree.depths
    last: dict[int, list[int]] = {}
    ends = set(ends_of(forest, batch))
    for index in batch.stretches:
        stretch = forest.stretches[index]
        size, begun = len(stretch.ids), len(row.ids)
        places = range(stretch.start, stretch.start + size)
        row.ranges[index] = (begun, begun + size)
        chain = forest.chain(stretch.parent)
        if index not in ends or not tree.tokens:
            row.add(stretch.ids, places, chain, None)
            last[index] = [begun + size - 1]
            continue
        behind = [places.stop + depth for depth in depths]
        last[index] = list(range(begun + size - 1, begun + size + len(tree.tokens)))
        if chain:
            # Prompt and tree in one go: one attention less, at the price of a mask.
            both = _behind(size, inner)
            row.add([*stretch.ids, *tree.tokens], [*places, *behind], chain, both)
        else:
            row.add(stretch.ids, places, chain, None)
            row.add(tree.tokens, behind, [index], inner)
    rows = [place for end in ends_of(forest, batch) for place in last[end]]
    plan = Plan(
        row.parts,
        {stretch: kept[stretch] for stretch in batch.given},
        {stretch: row.ranges[stretch] for stretch in keep},
    )
    return Pass(
        plan,
        torch.tensor([row.ids], device=device),
        torch.tensor([row.positions], device=device),
        torch.tensor(rows, device=device),
    )


def ends_of(forest: Forest, batch: Batch) -> list[int]:
    """Return the stretches with which the prompts of a batch end, each once."""
    return list(dict.fromkeys(forest.ends[prompt] for prompt in batch.prompts))


def _joined(ranges: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Join ranges that follow one another."""
    found: list[tuple[int, int]] = []
    for start, end in ranges:
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return tuple(found)


def _behind(size: int, inner: Any) -> Any:
    """Return which of a stretch's tokens and of a tree behind it see which."""
    seen = inner.new_ones(size + len(inner), size + len(inner)).tril()
    seen[size:, size:] = inner
    return seen


def _tree_mask(tree: VerdictTree, device: Any) -> Any:
    """Return which tokens of the tree see which: themselves and those on their way."""
    count = len(tree.tokens)
    seen = torch.zeros(count, count, dtype=torch.bool)
    for node, parent in enumerate(tree.parents):
        if parent >= 0:
            seen[node] = seen[parent]
        seen[node, node] = True
    return seen.to(device)
