"""Texts as sets of shingles (runs of characters), hashed to 64 bits, and their true Jaccard."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]
    Places = NDArray[np.int64]

LONGEST = 100_000
"""Characters of a text that are compared; what comes after them is not looked at."""

BATCH = 2_000_000
"""Characters hashed at a time: some tens of megabytes."""

_FACTOR = 0x9E3779B97F4A7C15
_MIX = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


@dataclass(frozen=True, slots=True)
class Shingled:
    """The shingles of some texts that follow each other."""

    begin: int
    """Place of the first text."""
    hashes: Hashes
    """The shingles of all of them, one text after the other; repeats are not removed."""
    offsets: Places
    """Shape (texts + 1,): where each text's shingles begin."""


def shingle_batches(texts: Sequence[str], length: int) -> Iterator[Shingled]:
    """Hash the runs of ``length`` characters of every text, a batch at a time.

    A text shorter than ``length`` is one shingle, the whole of it; an empty one too.
    """
    begin = 0
    while begin < len(texts):
        end, characters = begin, 0
        while end < len(texts) and (end == begin or characters < BATCH):
            characters += min(len(texts[end]), LONGEST)
            end += 1
        yield _shingle(begin, texts[begin:end], length)
        begin = end


def _shingle(begin: int, texts: Sequence[str], length: int) -> Shingled:
    import numpy as np

    # Blanks that fill short texts up are a character that no normalised text ends in.
    cut = [text[:LONGEST].ljust(length, "\x00") for text in texts]
    lengths = np.fromiter((len(text) for text in cut), dtype=np.int64, count=len(cut))
    codes = np.frombuffer("".join(cut).encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    hashes = windows(codes, length)
    counts = lengths - length + 1
    offsets = np.concatenate([[0], np.cumsum(counts)])
    # A window belongs to a text if it ends before the text does.
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1]
    chosen = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], counts)
    return Shingled(begin, hashes[chosen], offsets)


def windows(codes: NDArray[np.uint32], length: int) -> Hashes:
    """Return a hash of every run of ``length`` code points.

    A polynomial in the code points, then the finalizer of SplitMix64 (Steele et al. 2014), so that
    all bits depend on all characters.

    Args:
        codes: Shape (n,), n at least ``length``.
        length: At least 1.

    Returns:
        Shape (n - length + 1,).
    """
    import numpy as np

    wide = codes.astype(np.uint64) + np.uint64(1)
    total = wide[: len(wide) - length + 1].copy()
    for shift in range(1, length):
        total *= np.uint64(_FACTOR)
        total += wide[shift : len(wide) - length + 1 + shift]
    for turn, factor in zip((30, 27), _MIX, strict=True):
        total ^= total >> np.uint64(turn)
        total *= np.uint64(factor)
    total ^= total >> np.uint64(31)
    return total


def jaccard(one: Hashes, other: Hashes) -> float:
    """Return the Jaccard similarity of two sets, each sorted and without repeats."""
    import numpy as np

    if len(one) > len(other):
        one, other = other, one
    found = np.searchsorted(other, one)
    found[found == len(other)] = 0
    shared = int((other[found] == one).sum()) if len(other) else 0
    union = len(one) + len(other) - shared
    return shared / union if union else 1.0


class ShingleSets:
    """The shingle sets of texts, made when they are asked for; the last ones are kept."""

    def __init__(self, texts: Sequence[str], length: int, keep: int = 20_000) -> None:
        self._texts = texts
        self._length = length
        self._keep = keep
        self._sets: dict[int, Hashes] = {}

    def __getitem__(self, place: int) -> Hashes:
        """Return the sorted shingles of one text."""
        import numpy as np

        found = self._sets.get(place)
        if found is None:
            if len(self._sets) >= self._keep:
                self._sets.clear()
            found = np.unique(_shingle(0, [self._texts[place]], self._length).hashes)
            self._sets[place] = found
        return found
