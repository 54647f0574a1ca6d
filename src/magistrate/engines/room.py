"""How room is shared out: a model's window among the slots of a prompt, a run among prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def share_room(lengths: Sequence[int], room: int) -> list[int]:
    """Cut the longest first until all fit: nobody is cut below what another one keeps.

    >>> share_room([10, 500, 900], 600)
    [10, 295, 295]
    >>> share_room([10, 50], 600)
    [10, 50]
    """
    kept = [0] * len(lengths)
    left = max(room, 0)
    for place, i in enumerate(sorted(range(len(lengths)), key=lambda i: lengths[i])):
        kept[i] = min(lengths[i], left // (len(lengths) - place))
        left -= kept[i]
    return kept


def cut_middle(ids: list[T], room: int) -> list[T]:
    """Keep ``room`` tokens: two thirds from the beginning, one third from the end.

    >>> cut_middle([1, 2, 3, 4, 5, 6], 3)
    [1, 2, 6]
    """
    if len(ids) <= room:
        return ids
    tail = room // 3
    return ids[: room - tail] + ids[len(ids) - tail :]


def make_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group readings of similar length.

    Args:
        lengths: Tokens of each reading.
        budget: Most padded tokens of a batch; a longer reading gets a batch of its own.

    Returns:
        Indices into ``lengths``, the longest readings first.
    """
    batches: list[list[int]] = []
    width = 0
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if not batches or width * (len(batches[-1]) + 1) > budget:
            batches.append([])
            width = lengths[i]
        batches[-1].append(i)
    return batches
