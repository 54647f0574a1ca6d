"""Judgments on their way out of a chunk: at once, or held until those before them are finished."""

from __future__ import annotations

from collections.abc import Container, Sequence

from magistrate.judging.plan import Reading
from magistrate.records import Judgment


class Outbox:
    """Holds finished judgments of one chunk until they may leave.

    In sequence, each waits for those before it in the plan: then a run that was killed and gone on
    with writes the same file as one that was not. That is for engines that compute, which repeat a
    whole chunk anyway. Out of sequence, each leaves as it comes: an answer of a server is paid for,
    and must not be lost with a process that is killed while another request is slow.
    """

    def __init__(
        self, sequence: Sequence[Reading], wanted: Container[str], *, in_sequence: bool = True
    ) -> None:
        """Name the sequence, and the keys that are let out at all."""
        self._keys = [reading.key for reading in sequence]
        self._wanted = wanted
        self._in_sequence = in_sequence
        self._finished: dict[str, Judgment] = {}
        self._left: set[str] = set()
        self._new: list[str] = []
        self._position = 0

    def __contains__(self, key: str) -> bool:
        """Whether a reading is finished."""
        return key in self._finished

    def add(self, judgment: Judgment) -> None:
        """Put a judgment in."""
        self._finished[judgment.key] = judgment
        self._new.append(judgment.key)

    def ready(self) -> list[Judgment]:
        """Take out the judgments that may leave."""
        if not self._in_sequence:
            new, self._new = self._new, []
            return self._take(new)
        start = self._position
        while self._position < len(self._keys) and self._keys[self._position] in self._finished:
            self._position += 1
        return self._take(self._keys[start : self._position])

    def rest(self) -> list[Judgment]:
        """Take out what is left, in sequence, with gaps."""
        return self._take(self._keys)

    def _take(self, keys: Sequence[str]) -> list[Judgment]:
        taken = [
            self._finished[key]
            for key in keys
            if key in self._finished and key in self._wanted and key not in self._left
        ]
        self._left.update(judgment.key for judgment in taken)
        return taken
