"""A judge's calibration: from how sure it says it is to how often it is right.

Only applying one stands here, without any library; fitting is
:mod:`magistrate.cascade.calibration`.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Literal

from pydantic import Field

from magistrate.records import Record

Method = Literal["temperature", "platt", "isotonic"]

_NEAREST = 1e-6
"""Probabilities nearer to 0 or 1 are taken as so near: their log-odds must be finite."""


class Calibration(Record):
    """A map from a judge's raw confidence to the probability that its decision is right.

    A decision is right when it is the annotators' majority over first, tie and second: a tie is an
    outcome like the others, right where people say tie. The map never falls: who is surer is not
    less often right.
    """

    method: Method
    source: str = "probability"
    """Which confidence goes in: a name of :data:`magistrate.metrics.confidence.SOURCES`."""
    log_odds: bool = True
    """Whether ``slope`` multiplies the log-odds of the raw confidence, or the number itself."""
    slope: float = Field(default=1.0, ge=0)
    """Of temperature scaling 1 / temperature; 0 where confidence tells nothing."""
    intercept: float = 0.0
    """0 for temperature scaling."""
    knots: tuple[tuple[float, float], ...] = ()
    """For ``isotonic``: (raw, calibrated), rising; straight lines between, level outside."""
    judge: str
    """Name of the judge."""
    judge_id: str
    """:attr:`~magistrate.records.JudgeSpec.id`; another judge's confidence means something else."""
    n: int = Field(ge=1)
    """Labelled decisions that it was fitted on."""
    right: int = Field(ge=0)
    """How many of these were right."""
    questions: int = Field(ge=1)
    data: str
    """Hash of the texts and labels that it was fitted on."""
    ece: tuple[float, float] | None = None
    """Expected calibration error before and after, the latter cross-fitted; before only where the
    source is a probability (else the same number twice)."""
    brier: tuple[float, float] | None = None
    """Brier score likewise."""
    quantiles: tuple[float, ...] = ()
    """Raw confidences of the data at 0 %, 1 %, ... 100 %: what judged data are held against."""

    def apply(self, value: float) -> float:
        """Return the probability that a decision of this raw confidence is right.

        Args:
            value: Raw confidence; finite.
        """
        if self.method == "isotonic":
            return self._between(value)
        number = value
        if self.log_odds:
            near = min(max(value, _NEAREST), 1 - _NEAREST)
            number = math.log(near) - math.log1p(-near)
        return _sigmoid(self.slope * number + self.intercept)

    def _between(self, value: float) -> float:
        raws = [raw for raw, _ in self.knots]
        place = bisect_right(raws, value)
        if place == 0:
            return self.knots[0][1]
        if place == len(raws):
            return self.knots[-1][1]
        (x0, y0), (x1, y1) = self.knots[place - 1], self.knots[place]
        return y0 + (y1 - y0) * (value - x0) / (x1 - x0)


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    return math.exp(x) / (1.0 + math.exp(x))
