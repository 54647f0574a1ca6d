"""Near-duplicate texts: MinHash and banding propose pairs, the true Jaccard similarity decides.

Signatures come from rensa (Rust). Texts that share a band of their signatures are candidates
(locality-sensitive hashing: Indyk and Motwani 1998; Leskovec, Rajaraman and Ullman, *Mining of
Massive Datasets*, 3.4): with ``b`` bands of ``r`` rows a pair of similarity ``s`` becomes one with
probability ``1 - (1 - s^r)^b``. Every candidate is then compared shingle by shingle, so a pair that
is reported is as similar as it says.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from magistrate.data.checks.shingles import ShingleSets, jaccard, shingle_batches
from magistrate.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int64]
    Signatures = NDArray[np.uint32]

PERMUTATIONS = 128
FOUND_AT_LEAST = 0.98
"""The least probability with which a pair just at the threshold is found."""

_SEED = 1
_ALL_PAIRS = 64
"""Texts in one bucket of which all pairs are candidates; of larger ones each text meets the first
:data:`_ANCHORS` of the bucket (mostly the same in all bands) and the two beside it."""
_ANCHORS = 16
_DEVIATIONS = 4.0
"""An estimate so many standard errors below the threshold is not worth the exact comparison."""


@dataclass(frozen=True)
class Nearness:
    """What counts as near.

    Args:
        threshold: Least Jaccard similarity of the shingle sets, in [0.3, 1].
        shingle: Characters of a shingle.

    Raises:
        InputError: The threshold is outside.
    """

    threshold: float = 0.7
    shingle: int = 5

    def __post_init__(self) -> None:
        """Check."""
        if not 0.3 <= self.threshold <= 1:
            raise InputError(
                f"the least similarity of near-duplicates is {self.threshold:g}; needed: from 0.3 "
                f"(little in common) to 1 (the same runs of characters)"
            )

    @cached_property
    def rows(self) -> int:
        """Rows of a band: the most with which :data:`FOUND_AT_LEAST` is kept."""
        enough = [
            rows
            for rows in range(1, 33)
            if found(self.threshold, rows, PERMUTATIONS // rows) >= FOUND_AT_LEAST
        ]
        return max(enough)

    @property
    def bands(self) -> int:
        """Bands of a signature."""
        return PERMUTATIONS // self.rows

    @property
    def found_at_threshold(self) -> float:
        """Probability with which a pair just at the threshold is found (in small buckets)."""
        return found(self.threshold, self.rows, self.bands)


def found(similarity: float, rows: int, bands: int) -> float:
    """Return the probability that two texts share a band."""
    return 1 - (1 - similarity**rows) ** bands


@dataclass(frozen=True, slots=True)
class NearPairs:
    """Pairs of texts, each once, ``one < other``; all arrays have shape (pairs,)."""

    one: Places
    other: Places
    similarity: NDArray[np.float64]
    """True Jaccard similarity, at or above the threshold."""

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.one)


def near_pairs(texts: Sequence[str], nearness: Nearness, *, own: int | None = None) -> NearPairs:
    """Find the near-duplicates among texts.

    Args:
        texts: Normalised and different from each other (equal ones are for the caller to join).
        nearness: What counts as near.
        own: The texts from this place on are a test set: pairs of two of them are left out.

    Raises:
        MissingExtraError: rensa is not installed.
    """
    import numpy as np

    signatures = _signatures(texts, nearness)
    candidates = np.empty(0, dtype=np.int64)
    n = len(texts)
    for keys in _band_keys(signatures, nearness):
        one, other = _in_buckets(keys)
        if own is not None:
            kept = np.minimum(one, other) < own
            one, other = one[kept], other[kept]
        likely = _likely(signatures, one, other, nearness.threshold)
        codes = np.minimum(one, other)[likely] * n + np.maximum(one, other)[likely]
        candidates = np.union1d(candidates, codes)
    one, other = candidates // max(n, 1), candidates % max(n, 1)
    sets = ShingleSets(texts, nearness.shingle)
    similarity = np.array(
        [jaccard(sets[int(i)], sets[int(j)]) for i, j in zip(one, other, strict=True)],
        dtype=np.float64,
    )
    kept = similarity >= nearness.threshold
    return NearPairs(one[kept], other[kept], similarity[kept])


def _signatures(texts: Sequence[str], nearness: Nearness) -> Signatures:
    """Return MinHash signatures, shape (texts, PERMUTATIONS)."""
    import numpy as np

    minhash = _rensa().RMinHash
    signatures = np.empty((len(texts), PERMUTATIONS), dtype=np.uint32)
    for batch in shingle_batches(texts, nearness.shingle):
        matrix = minhash.digest_matrix_from_flat_token_hashes(
            batch.hashes, batch.offsets.astype(np.uint64), PERMUTATIONS, _SEED
        )
        rows = matrix.to_rows()
        signatures[batch.begin : batch.begin + len(rows)] = rows
    return signatures


def _rensa() -> Any:
    try:
        import rensa
    except ImportError as error:
        raise MissingExtraError("the search for near-duplicates", "data", "rensa") from error
    return rensa


def _band_keys(signatures: Signatures, nearness: Nearness) -> Iterator[NDArray[np.uint64]]:
    """Yield one key a text for every band; texts with equal bands have equal keys."""
    import numpy as np

    factor = np.uint64(0x9E3779B97F4A7C15)
    for band in range(nearness.bands):
        rows = signatures[:, band * nearness.rows : (band + 1) * nearness.rows]
        key = np.zeros(len(rows), dtype=np.uint64)
        for column in rows.T:
            key = (key ^ (key >> np.uint64(29))) * factor + column
        yield key


def _in_buckets(keys: NDArray[np.uint64]) -> tuple[Places, Places]:
    """Return the candidate pairs of one band."""
    import numpy as np

    order = np.argsort(keys, kind="stable")
    edges = np.flatnonzero(np.diff(keys[order])) + 1
    starts = np.concatenate([[0], edges])
    sizes = np.diff(np.concatenate([starts, [len(keys)]]))
    ones: list[Places] = [np.empty(0, dtype=np.int64)]
    others: list[Places] = [np.empty(0, dtype=np.int64)]
    for size in np.unique(sizes[sizes > 1]):
        where = starts[sizes == size]
        if size <= _ALL_PAIRS:
            left, right = np.triu_indices(size, 1)
        else:
            left, right = _some_pairs(int(size))
        ones.append(order[(where[:, None] + left).ravel()])
        others.append(order[(where[:, None] + right).ravel()])
    return np.concatenate(ones), np.concatenate(others)


def _some_pairs(size: int) -> tuple[Places, Places]:
    """Return pairs within a large bucket: everyone with some anchors and with a neighbour."""
    import numpy as np

    members = np.arange(size)
    left = np.concatenate([np.repeat(members[:_ANCHORS], size), members[:-1]])
    right = np.concatenate([np.tile(members, _ANCHORS), members[1:]])
    apart = left != right
    return left[apart], right[apart]


def _likely(
    signatures: Signatures, one: Places, other: Places, threshold: float
) -> NDArray[np.bool_]:
    """Return which candidates' estimates do not rule them out."""
    import numpy as np

    error = math.sqrt(threshold * (1 - threshold) / PERMUTATIONS)
    least = threshold - _DEVIATIONS * error
    likely = np.empty(len(one), dtype=bool)
    for begin in range(0, len(one), 100_000):
        chosen = slice(begin, begin + 100_000)
        estimate = (signatures[one[chosen]] == signatures[other[chosen]]).mean(axis=1)
        likely[chosen] = estimate >= least
    return likely
