"""How room that is too small is shared out."""

from __future__ import annotations

from collections.abc import Sequence


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
