"""Which group goes into which split: by content alone, or with exact sizes and equal labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from magistrate.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int64]
    Floats = NDArray[np.float64]


def by_content(places: Floats, shares: Mapping[str, float]) -> Places:
    """Return the split of every group from its place alone.

    No other group has a say, so rows that are added or taken away move nothing else. For the same
    reason sizes and labels come out as chance has it: with n samples a share s is off by about
    ``sqrt(s (1 - s) / n)``.

    Args:
        places: Shape (groups,), in [0, 1).
        shares: Shares by split, which add up to 1.

    Returns:
        Shape (groups,): numbers of splits in the sequence of ``shares``.
    """
    import numpy as np

    edges = np.cumsum(list(shares.values()))[:-1]
    splits: Places = np.searchsorted(edges, places, side="right").astype(np.int64)
    return splits


def by_size(places: Floats, labels: Places, sizes: Mapping[str, int | None]) -> Places:
    """Return the split of every group such that sizes are met and labels have equal shares.

    The splits with a size are filled one after the other: the groups with the least places first,
    each only where no label comes to stand above its share; what is then still missing is filled
    without regard to labels. Rows that are added move groups whose places lie near the border.

    Args:
        places: Shape (groups,), in [0, 1).
        labels: Shape (groups, kinds of labels): how many samples of a group have each label.
        sizes: Samples by split; one has None and gets the rest.

    Returns:
        Shape (groups,): numbers of splits in the sequence of ``sizes``.

    Raises:
        InputError: There are not enough samples.
    """
    import numpy as np

    total = int(labels.sum())
    asked = sum(size for size in sizes.values() if size is not None)
    if asked >= total:
        raise InputError(
            f"{asked:,} samples are asked for beside the rest, and there are {total:,}; ask for "
            f"fewer"
        )
    rest = next(number for number, size in enumerate(sizes.values()) if size is None)
    splits = np.full(len(places), rest, dtype=np.int64)
    order = np.argsort(places, kind="stable")
    free = np.ones(len(places), dtype=bool)
    for number, size in enumerate(sizes.values()):
        if size is not None:
            chosen = _fill(order, labels, free, size, labels.sum(0) * size / total)
            splits[chosen] = number
            free[chosen] = False
    return splits


def _fill(
    order: Places, labels: Places, free: NDArray[np.bool_], size: int, quota: Floats
) -> Places:
    """Return groups that together have at most ``size`` samples."""
    import numpy as np

    most = np.ceil(quota).astype(np.int64).tolist()
    rows = labels.tolist()
    counts = [0] * labels.shape[1]
    left = size
    chosen: list[int] = []
    skipped: list[int] = []
    for group in order[free[order]].tolist():
        row = rows[group]
        if not left:
            break
        fits = sum(row) <= left and all(
            count + more <= top for count, more, top in zip(counts, row, most, strict=True)
        )
        if fits:
            chosen.append(group)
            left -= sum(row)
            counts = [count + more for count, more in zip(counts, row, strict=True)]
        else:
            skipped.append(group)
    for group in skipped:
        if sum(rows[group]) <= left:
            chosen.append(group)
            left -= sum(rows[group])
    return np.array(chosen, dtype=np.int64)
