"""Which samples each step of a training sees: a pure function of sizes, seed and recipe.

Epoch follows epoch in one stream: step ``k`` takes the next samples of it, so that all steps but
the last are of one size. Every process knows the whole stream and takes its own share; a training
that goes on after a crash simply begins at a later step.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from magistrate.train.recipe import OptimSection


@dataclass(frozen=True, slots=True)
class Place:
    """One sample in the stream.

    Attributes:
        epoch: From 0.
        index: Of the sample in the data.
    """

    epoch: int
    index: int


class Schedule:
    """The steps of a training."""

    def __init__(
        self, indices: Sequence[int], lengths: Sequence[int], optim: OptimSection, seed: int
    ) -> None:
        """Lay out the steps.

        Args:
            indices: The samples that can be learned from, by their place in the data.
            lengths: Their tokens, about; what steps are measured by where ``batch_tokens`` is set.
            optim: How many epochs or steps, of what size.
            seed: Another seed shuffles otherwise.
        """
        self._indices = tuple(indices)
        self._seed = seed
        self._ends: list[int] | None = None
        count = len(self._indices)
        total = math.ceil(count * optim.epochs - 1e-9)
        if optim.batch_tokens is None:
            self._batch = optim.batch
            self.steps = optim.steps or max(1, math.ceil(total / optim.batch))
            self.samples = self.steps * optim.batch if optim.steps else total
        else:
            length_of = dict(zip(indices, lengths, strict=True))
            self._batch = 0
            self._ends = self._cut(length_of, optim.batch_tokens, total, optim.steps)
            self.steps, self.samples = len(self._ends), self._ends[-1]

    def places(self, step: int) -> list[Place]:
        """Return the samples of a step, counted from 0, in the sequence of the stream."""
        start, end = self._range(step)
        return [self._place(position) for position in range(start, end)]

    def epoch_after(self, step: int) -> float:
        """Return how many epochs have been seen when a step has been taken."""
        return self._range(step)[1] / len(self._indices)

    def samples_after(self, step: int) -> int:
        """Return how many samples are still to be seen when a step (-1: none) has been taken."""
        return self.samples - (self._range(step)[1] if step >= 0 else 0)

    def ends_epoch(self, step: int) -> bool:
        """Whether a step sees the last sample of an epoch."""
        start, end = self._range(step)
        return end // len(self._indices) > start // len(self._indices)

    def _range(self, step: int) -> tuple[int, int]:
        if self._ends is None:
            start = step * self._batch
            return start, min(start + self._batch, self.samples)
        return (self._ends[step - 1] if step else 0), self._ends[step]

    def _place(self, position: int) -> Place:
        epoch, rest = divmod(position, len(self._indices))
        return Place(epoch, self._indices[_shuffled(len(self._indices), self._seed, epoch)[rest]])

    def _cut(
        self, length_of: dict[int, int], tokens: int, total: int, steps: int | None
    ) -> list[int]:
        """Return the end of each step in the stream, so that its tokens are about as many."""
        ends: list[int] = []
        position = used = 0
        while (position < total) if steps is None else (len(ends) < steps):
            length = length_of[self._place(position).index]
            if used and used + length > tokens:
                ends.append(position)
                used = 0
            used += length
            position += 1
        if steps is None:
            ends.append(position)
        return ends


@lru_cache(maxsize=2)
def _shuffled(count: int, seed: int, epoch: int) -> tuple[int, ...]:
    import numpy as np

    return tuple(np.random.default_rng([seed, epoch]).permutation(count).tolist())


def share_of(places: Sequence[Place], lengths: Sequence[int], rank: int, world: int) -> list[Place]:
    """Return one process's share of a step: about as many tokens as every other's.

    Args:
        places: The step.
        lengths: Their tokens, about.
        rank: Number of the process, from 0.
        world: How many processes there are.
    """
    by_length = sorted(range(len(places)), key=lambda i: (-lengths[i], i))
    # Forth and back, so that no process always gets the longer one.
    mine = [
        place
        for turn, start in enumerate(range(0, len(by_length), world))
        for place in [by_length[start : start + world][:: 1 if turn % 2 == 0 else -1]]
    ]
    return [places[row[rank]] for row in mine if rank < len(row)]


def rank_of_length(lengths: Sequence[int], shares: Sequence[float]) -> list[int]:
    """Return the lengths below which the given shares of the samples stay.

    >>> rank_of_length([10, 20, 30, 40], [0.5, 1.0])
    [20, 40]
    """
    ordered = sorted(lengths)
    return [ordered[max(0, math.ceil(share * len(ordered)) - 1)] for share in shares]
