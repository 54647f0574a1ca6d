"""How long to wait: what servers ask for in their headers, and what is waited unasked."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0
"""Of the waits that no server asked for, in seconds."""

_DURATION = re.compile(
    r"(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d+(?:\.\d+)?)s)?"
    r"(?:(?P<ms>\d+(?:\.\d+)?)ms)?"
)
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_YEAR_2000 = 946_684_800.0
_LIMITS = ("requests", "tokens")


def named_wait(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that a refusal asks to wait; None when it does not say.

    Args:
        headers: By name in lower case. ``retry-after-ms`` goes before ``retry-after`` (seconds or
            a date), and that before the ``x-ratelimit-reset-*`` of a limit that is used up.
        now: Seconds since 1970.

    >>> named_wait({"retry-after": "1.5"}, 0)
    1.5
    >>> named_wait({"retry-after": "Thu, 01 Jan 1970 00:00:30 GMT"}, 10)
    20.0
    >>> named_wait({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m2s"}, 0)
    62.0
    """
    milliseconds = _number(headers.get("retry-after-ms", ""))
    if milliseconds is not None:
        return milliseconds / 1000
    if "retry-after" in headers:
        return _seconds_until(headers["retry-after"], now)
    return used_up(headers, now)


def used_up(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds until a limit that is used up is open again; None when none is."""
    waits = []
    for limit in _LIMITS:
        remaining = _number(headers.get(f"x-ratelimit-remaining-{limit}", ""))
        reset = headers.get(f"x-ratelimit-reset-{limit}")
        if remaining is not None and remaining <= 0 and reset:
            wait = _seconds_until(reset, now)
            if wait is not None:
                waits.append(wait)
    return max(waits, default=None)


def backoff(failures: int, draw: random.Random) -> float:
    """Return how long to wait after so many failures, at least 1.

    The bound doubles from half a second to a minute. The wait is between half of it and all of it,
    at random, so that many clients do not all come back at once.
    """
    bound = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(failures - 1, 30))
    return draw.uniform(bound / 2, bound)


def spread(wait: float, draw: random.Random) -> float:
    """Return a wait that a server asked for, and a little more, at random."""
    return wait + draw.uniform(0, min(1.0, 0.1 * wait + 0.01))


def _seconds_until(text: str, now: float) -> float | None:
    number = _number(text)
    if number is not None:
        # Some give the moment instead, in seconds or milliseconds since 1970.
        for unit in (1.0, 1000.0):
            if _YEAR_2000 < number / unit < 10 * _YEAR_2000:
                return max(0.0, number / unit - now)
        return number
    found = _DURATION.fullmatch(text.strip())
    if found and any(found.groupdict().values()):
        return sum(float(value or 0) * _UNITS[unit] for unit, value in found.groupdict().items())
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            moment = read(text.strip())
        except ValueError:
            continue
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, moment.timestamp() - now)
    return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
