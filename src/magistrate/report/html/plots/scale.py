"""Ticks of an axis."""

from __future__ import annotations

import math


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers within an axis, about as many as asked for.

    >>> ticks(0, 1), ticks(-130, 420)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [-100.0, 0.0, 100.0, 200.0, 300.0, 400.0])
    """
    if not high > low:
        return [low]
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * nice for nice in (1, 2, 5, 10) if power * nice >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(place * step, 12) + 0.0 for place in range(first, last + 1)]
