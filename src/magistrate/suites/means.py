"""Means of several rates, and differences of two means, with intervals.

The sets of a study are independent of each other, and each has a rate with an interval of its own
kind (Wilson's, or a bootstrap over questions). The interval of their mean is put together from
these by the method of variance estimates recovery (Zou and Donner 2008, Statistics in Medicine 27,
1693-1702): the distances from each rate to its bounds, weighted, add up like standard errors do.
Unlike a bootstrap it keeps its width where a set is all right or all wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from magistrate.metrics.intervals import NO_RATE, Rate


def mean_of_rates(rates: Sequence[Rate]) -> Rate:
    """Return the plain mean of the rates, each counting alike; ``n`` is the sum of theirs.

    Rates without a value are left out.

    >>> one = Rate(value=0.5, n=10, low=0.2, high=0.8)
    >>> both = mean_of_rates([one, one])
    >>> both.value, both.n, round(both.low, 4)
    (0.5, 20, 0.2879)
    """
    known = [rate for rate in rates if rate.value is not None]
    if not known:
        return NO_RATE
    value = math.fsum(_value(rate) for rate in known) / len(known)
    n = sum(rate.n for rate in known)
    below, above = _distances(known)
    if below is None or above is None:
        return Rate(value=value, n=n)
    return Rate(value=value, n=n, low=value - below, high=value + above)


def difference_of_means(ones: Sequence[Rate], others: Sequence[Rate]) -> Rate:
    """Return the mean of ``ones`` less that of ``others``, all independent of each other.

    >>> one = Rate(value=0.9, n=10, low=0.6, high=1.0)
    >>> other = Rate(value=0.5, n=10, low=0.1, high=0.9)
    >>> found = difference_of_means([one], [other])
    >>> [round(number, 2) for number in (found.value, found.low, found.high)]
    [0.4, -0.1, 0.81]
    """
    left, right = mean_of_rates(ones), mean_of_rates(others)
    if left.value is None or right.value is None:
        return NO_RATE
    value, n = left.value - right.value, left.n + right.n
    if left.low is None or left.high is None or right.low is None or right.high is None:
        return Rate(value=value, n=n)
    below = math.hypot(left.value - left.low, right.high - right.value)
    above = math.hypot(left.high - left.value, right.value - right.low)
    return Rate(value=value, n=n, low=value - below, high=value + above)


def _distances(rates: Sequence[Rate]) -> tuple[float | None, float | None]:
    below, above = [], []
    for rate in rates:
        if rate.low is None or rate.high is None:
            return None, None
        below.append(_value(rate) - rate.low)
        above.append(rate.high - _value(rate))
    return math.hypot(*below) / len(rates), math.hypot(*above) / len(rates)


def _value(rate: Rate) -> float:
    assert rate.value is not None
    return rate.value
