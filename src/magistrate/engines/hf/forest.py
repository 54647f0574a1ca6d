"""Prompts that begin alike share what they have in common.

Prompts to one judge begin with the same instruction; both orders of a pair, and all pairs of a
tournament, go on with the same question and often the same answer. Prompts become a forest of
*stretches*, and each stretch is computed once, whichever batch it falls into. Pure functions over
token ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SHORTEST_SHARED = 16
"""Sharing fewer tokens costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Tokens that some prompts have in common, or one alone.

    Attributes:
        ids: At least one token.
        start: Place of its first token in the prompt, from 0.
        parent: Index of the stretch before it; -1 where a prompt begins.
    """

    ids: tuple[int, ...]
    start: int
    parent: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What one pass of the model computes.

    Attributes:
        stretches: Indices of those computed here, each after its parent.
        prompts: Indices of the prompts that end here.
        given: Stretches of earlier batches that these go on from.
    """

    stretches: tuple[int, ...]
    prompts: tuple[int, ...]
    given: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Forest:
    """Prompts as stretches.

    Attributes:
        stretches: Each after its parent.
        ends: For each prompt the stretch with which it ends.
    """

    stretches: tuple[Stretch, ...]
    ends: tuple[int, ...]

    def chain(self, stretch: int) -> list[int]:
        """Return a stretch and all before it, from the beginning of the prompt on."""
        found = []
        while stretch >= 0:
            found.append(stretch)
            stretch = self.stretches[stretch].parent
        return found[::-1]


def grow_forest(prompts: Sequence[Sequence[int]], *, share: bool = True) -> Forest:
    """Return the forest of some prompts.

    Args:
        prompts: Token ids, at least one each; equal prompts end with the same stretch.
        share: Whether to share at all; otherwise each prompt is a stretch of its own.
    """
    order = sorted(range(len(prompts)), key=lambda i: tuple(prompts[i]))
    rows: list[list[int]] = []  # [start, end, parent, a prompt that holds it]
    ends = [-1] * len(prompts)
    open_rows: list[int] = []  # the stretches of the prompt before, from its beginning on
    before: Sequence[int] = ()
    for i in order:
        prompt = prompts[i]
        common = _common(before, prompt) if share else 0
        if open_rows and common == len(prompt) == len(before):
            ends[i] = open_rows[-1]
            continue
        while open_rows and rows[open_rows[-1]][0] + SHORTEST_SHARED > common:
            open_rows.pop()
        if open_rows and (top := rows[open_rows[-1]])[1] > common:
            # The stretch goes on beyond what is shared: its beginning becomes one of its own.
            rows.append([top[0], common, top[2], top[3]])
            top[0], top[2] = common, len(rows) - 1
            open_rows[-1] = len(rows) - 1
        start = rows[open_rows[-1]][1] if open_rows else 0
        rows.append([start, len(prompt), open_rows[-1] if open_rows else -1, i])
        open_rows.append(len(rows) - 1)
        ends[i] = open_rows[-1]
        before = prompt
    return _in_sequence(rows, ends, prompts)


def make_batches(forest: Forest, budget: int, extra: int) -> list[Batch]:
    """Divide the work into passes of the model; every stretch is computed once.

    Args:
        forest: The prompts.
        budget: Most tokens of a pass; a longer prompt gets one of its own.
        extra: Tokens read behind each prompt.
    """
    batches: list[tuple[list[int], list[int]]] = []
    done: dict[int, int] = {}
    used = 0
    answered: dict[int, list[int]] = {}
    for prompt, end in enumerate(forest.ends):
        answered.setdefault(end, []).append(prompt)
    for end in sorted(answered):
        new = [stretch for stretch in forest.chain(end) if stretch not in done]
        cost = sum(len(forest.stretches[stretch].ids) for stretch in new) + extra
        if not batches or used + cost > budget:
            batches.append(([], []))
            used = 0
        used += cost
        for stretch in new:
            done[stretch] = len(batches) - 1
        batches[-1][0].extend(new)
        batches[-1][1].extend(answered[end])
    return [
        Batch(tuple(stretches), tuple(prompts), _given(forest, stretches, prompts))
        for stretches, prompts in batches
    ]


def _given(forest: Forest, stretches: Sequence[int], prompts: Sequence[int]) -> tuple[int, ...]:
    here = set(stretches)
    needed = {s for prompt in prompts for s in forest.chain(forest.ends[prompt])}
    return tuple(sorted(needed - here))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """Return how many tokens two prompts have in common at their beginning."""
    limit = min(len(one), len(other))
    for place in range(limit):
        if one[place] != other[place]:
            return place
    return limit


def _in_sequence(
    rows: Sequence[Sequence[int]], ends: Sequence[int], prompts: Sequence[Sequence[int]]
) -> Forest:
    """Number the stretches so that each comes right after what belongs before it."""
    children: dict[int, list[int]] = {}
    for row, (_, _, parent, _) in enumerate(rows):
        children.setdefault(parent, []).append(row)
    number = {-1: -1}
    found: list[Stretch] = []
    waiting = list(reversed(children.get(-1, [])))
    while waiting:
        row = waiting.pop()
        start, end, parent, prompt = rows[row]
        number[row] = len(found)
        found.append(Stretch(tuple(prompts[prompt][start:end]), start, number[parent]))
        waiting += reversed(children.get(row, []))
    return Forest(tuple(found), tuple(number[end] for end in ends))
