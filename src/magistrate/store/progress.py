"""How far a run is, for whoever draws a bar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from magistrate.records import Status

FEWEST_FOR_A_RATE = 8
"""Judgments come in bunches; from the first one or two a rate would be off by far."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    done: int
    """Readings that need no further work, those of earlier processes included."""
    total: int
    """Readings planned."""
    resumed: int
    """Part of ``done`` that was there at the start."""
    counts: Mapping[Status, int]
    """Readings by the status of their last judgment."""
    seconds: float
    """Since judging began in this process."""
    cost: float = 0.0
    """US dollars that the run took so far, earlier processes included."""
    from_cache: int = 0
    """Answers of this process that the response cache had."""

    @property
    def rate(self) -> float | None:
        """Readings a second in this process; None while there are too few to tell."""
        made = self.done - self.resumed
        return made / self.seconds if made >= FEWEST_FOR_A_RATE and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Expected time to the end; None while there is no rate."""
        return (self.total - self.done) / self.rate if self.rate else None


OnProgress = Callable[[Progress], None]
