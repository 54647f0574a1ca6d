"""Texts that stand whole within other texts, found without comparing every two.

Every text that may be contained is looked up by the hash of its first characters among the hashes
of all runs of as many characters of the others; what is found is then compared for good. So all
containments are found, and none that is not one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from magistrate.data.checks.shingles import shingle_batches

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHORTEST = 12
"""Characters (normalised) from which on a contained text counts: 'who are you' is everywhere."""


def contained_in(
    inner: Sequence[str], outer: Sequence[str], shortest: int = SHORTEST
) -> Iterator[tuple[int, int]]:
    """Yield (place in ``inner``, place in ``outer``) of every text that another one contains.

    Equal texts are left out, and those shorter than ``shortest`` characters. A text ends and begins
    where words do: 'an art' is not contained in 'plan arts'.
    """
    import numpy as np

    long = [place for place, text in enumerate(inner) if len(text) >= shortest]
    if not long or not outer:
        return
    heads = _heads([inner[place] for place in long], shortest)
    order = np.argsort(heads, kind="stable")
    sorted_heads = heads[order]
    for batch in shingle_batches(outer, shortest):
        left = np.searchsorted(sorted_heads, batch.hashes, side="left")
        right = np.searchsorted(sorted_heads, batch.hashes, side="right")
        hits = np.flatnonzero(right > left)
        rows = np.searchsorted(batch.offsets, hits, side="right") - 1
        seen: set[tuple[int, int]] = set()
        for hit, row in zip(hits, rows, strict=True):
            for place in order[left[hit] : right[hit]]:
                pair = (long[int(place)], batch.begin + int(row))
                if pair not in seen:
                    seen.add(pair)
                    if _is_within(inner[pair[0]], outer[pair[1]]):
                        yield pair


def _heads(texts: Sequence[str], length: int) -> NDArray[np.uint64]:
    """Return the hash of the first ``length`` characters of every text."""
    import numpy as np

    firsts = [text[:length] for text in texts]
    hashes = [batch.hashes for batch in shingle_batches(firsts, length)]
    return np.concatenate(hashes)


def _is_within(text: str, other: str) -> bool:
    """Whether ``other`` contains ``text`` and more, from one edge of a word to another."""
    if len(text) >= len(other):
        return False
    place = other.find(text)
    while place >= 0:
        end = place + len(text)
        before = place == 0 or not (text[0].isalnum() and _spaced(other[place - 1]))
        after = end == len(other) or not (text[-1].isalnum() and _spaced(other[end]))
        if before and after:
            return True
        place = other.find(text, place + 1)
    return False


def _spaced(character: str) -> bool:
    """Whether a character belongs to a word of a script that puts blanks between words."""
    return character.isalnum() and not "\u0e00" <= character <= "\u0eff" and character < "\u2e80"
