"""How much data it takes: for a narrower interval, and to see an effect of a given size.

'No difference found' means little where a difference of ten points would not have been seen
either. So each finding can be read beside the smallest effect that so many samples show in 80 % of
all cases (power 0.8) by a two-sided test at 5 %. The formulas are the usual normal approximations
(Fleiss, Levin & Paik 2003, chapter 4; for paired proportions Connor 1987).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from magistrate.metrics.intervals import LEVEL, Rate, wilson

POWER = 0.8


def labels_to_halve(rate: Rate) -> int | None:
    """Return how many more samples would make an interval half as long, at the same share.

    For a proportion Wilson's formula is solved; any other interval shrinks with the square root of
    the number of questions, so it takes three times as many more, at as many samples a question.

    Args:
        rate: A rate with its interval.

    Returns:
        A number of samples, or None where there is no interval.

    >>> from magistrate.metrics.intervals import proportion
    >>> labels_to_halve(proportion(70, 100))
    310
    """
    if rate.value is None or rate.low is None or rate.high is None or rate.high <= rate.low:
        return None
    share, n = rate.value, rate.n
    if not 0 <= share <= 1 or wilson(share, n) != (rate.low, rate.high):
        return 3 * n
    wanted = (rate.high - rate.low) / 2
    few, enough = n, 2 * n
    while _length(share, enough) > wanted:
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (middle, enough) if _length(share, middle) > wanted else (few, middle)
    return enough - n


def smallest_effect(
    n: int, share: float, power: float = POWER, level: float = LEVEL
) -> float | None:
    """Return the smallest departure from ``share`` that a test of ``n`` samples would show.

    Args:
        n: Independent samples.
        share: The share when there is no effect, in (0, 1): 0.5 for a bias of position, say.
        power: With what probability it is to be seen.
        level: 1 minus the test's level.

    Returns:
        The smallest d such that a true share of ``share + d`` (``share - d`` above one half) would
        be told from ``share``; None where even the largest possible one would not.

    >>> round(smallest_effect(100, 0.5), 3)
    0.138
    """
    if n < 1 or not 0 < share < 1:
        return None
    away = 1 if share <= 0.5 else -1
    largest = max(share, 1 - share)
    wide, extra = _quantiles(power, level)

    def shown(effect: float) -> bool:
        true = share + away * effect
        needed = wide * math.sqrt(share * (1 - share)) + extra * math.sqrt(true * (1 - true))
        return effect * math.sqrt(n) >= needed

    return _smallest(shown, largest)


def smallest_paired_effect(
    n: int, discordant: float, power: float = POWER, level: float = LEVEL
) -> float | None:
    """Return the smallest difference of two paired shares that McNemar's test would show.

    Args:
        n: Pairs on which both judges were right or wrong.
        discordant: Share of them on which only one of the two is right, in (0, 1].
        power: With what probability it is to be seen.
        level: 1 minus the test's level.

    Returns:
        A difference of shares in (0, ``discordant``]; None where none of that size would be seen.
    """
    if n < 1 or not 0 < discordant <= 1:
        return None
    wide, extra = _quantiles(power, level)

    def shown(effect: float) -> bool:
        spread = math.sqrt(max(0.0, discordant - effect**2))
        return effect * math.sqrt(n) >= wide * math.sqrt(discordant) + extra * spread

    return _smallest(shown, discordant)


def smallest_shift(deviation: float, n: int, power: float = POWER, level: float = LEVEL) -> float:
    """Return the smallest mean difference from 0 that ``n`` questions show.

    Args:
        deviation: Standard deviation between questions.
        n: Questions.
        power: With what probability it is to be seen.
        level: 1 minus the test's level.
    """
    return sum(_quantiles(power, level)) * deviation / math.sqrt(n)


def _length(share: float, n: int) -> float:
    low, high = wilson(share, n)
    return high - low


def _quantiles(power: float, level: float) -> tuple[float, float]:
    normal = NormalDist()
    return normal.inv_cdf(0.5 + level / 2), normal.inv_cdf(power)


def _smallest(shown: Callable[[float], bool], largest: float) -> float | None:
    """Return the smallest effect that is shown, by bisection; larger ones are shown as well."""
    if not shown(largest):
        return None
    low, high = 0.0, largest
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high
