"""Judgments leave in the plan's sequence, whatever sequence they come in."""

from __future__ import annotations

from collections.abc import Container, Sequence

from magistrate.judging.plan import Reading
from magistrate.records import Judgment


class Outbox:
    """Holds finished judgments of one chunk until those before them are finished too."""

    def __init__(self, sequence: Sequence[Reading], wanted: Container[str]) -> None:
        """Name the sequence, and the keys that are let out at all."""
        self._keys = [reading.key for reading in sequence]
        self._wanted = wanted
        self._finished: dict[str, Judgment] = {}
        self._position = 0

    def __contains__(self, key: str) -> bool:
        """Whether a reading is finished."""
        return key in self._finished

    def add(self, judgment: Judgment) -> None:
        """Put a judgment in."""
        self._finished[judgment.key] = judgment

    def ready(self) -> list[Judgment]:
        """Take out the judgments whose predecessors are all finished."""
        start = self._position
        while self._position < len(self._keys) and self._keys[self._position] in self._finished:
            self._position += 1
        return self._take(self._keys[start : self._position])

    def rest(self) -> list[Judgment]:
        """Take out what is left, with gaps."""
        start, self._position = self._position, len(self._keys)
        return self._take(self._keys[start:])

    def _take(self, keys: Sequence[str]) -> list[Judgment]:
        return [
            self._finished[key] for key in keys if key in self._finished and key in self._wanted
        ]
