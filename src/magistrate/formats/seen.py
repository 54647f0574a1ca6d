"""Remember which ids were seen, in at most 48 bytes each and with an upper bound."""

from __future__ import annotations

from array import array
from collections.abc import Hashable

MAX_SEEN = 2_000_000
"""Ids remembered at most (about 50 MB); later ones are not checked."""

_BITS = (1 << 64) - 1


class SeenIds:
    """A map from an id's 64-bit hash to the row where it was first seen.

    An open-addressing table in two arrays: a dict of a million Python integers would take five
    times the memory. Two ids share a hash with probability below 10^-6 for two million ids.

    >>> seen = SeenIds()
    >>> seen.first_row("a", 1), seen.first_row("b", 2), seen.first_row("a", 3)
    (None, None, 1)
    """

    def __init__(self, limit: int = MAX_SEEN) -> None:
        self.limit = limit
        self.full = False
        self._used = 0
        self._allocate(1 << 10)

    def first_row(self, key: Hashable, row: int) -> int | None:
        """Return the row where ``key`` was seen before, or None after remembering it."""
        code = (hash(key) & _BITS) or 1
        place = self._place(code)
        if self._codes[place] == code:
            return self._rows[place]
        if self._used >= self.limit:
            self.full = True
            return None
        self._codes[place] = code
        self._rows[place] = row
        self._used += 1
        if 2 * self._used > self._mask:
            self._grow()
        return None

    def _place(self, code: int) -> int:
        """Return the slot that holds ``code``, or the free one where it belongs."""
        place = (code ^ code >> 32) & self._mask
        codes = self._codes
        while (there := codes[place]) and there != code:
            place = (place + 1) & self._mask
        return place

    def _allocate(self, slots: int) -> None:
        self._mask = slots - 1
        self._codes = array("Q", bytes(8 * slots))
        self._rows = array("I", bytes(array("I").itemsize * slots))

    def _grow(self) -> None:
        codes, rows = self._codes, self._rows
        self._allocate(2 * (self._mask + 1))
        for code, row in zip(codes, rows, strict=True):
            if code:
                place = self._place(code)
                self._codes[place] = code
                self._rows[place] = row
