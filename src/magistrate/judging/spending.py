"""Money: how much a run may cost, and when it stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from magistrate.engines.base import Engine, EngineInfo
from magistrate.errors import CostLimitError
from magistrate.judging.window import Window
from magistrate.messages import Request

_IMAGE_SURPLUS = 2000
"""The dearest image, beyond what is counted for one."""


@dataclass(slots=True)
class Spending:
    """What was spent, and the limit that it must not pass."""

    spent: float = 0.0
    """US dollars, those of earlier processes on the same run included."""
    limit: float | None = None
    """None for no limit."""
    doing: str = "judging"
    """What it is spent on; for messages."""

    def add(self, cost: float) -> None:
        """Put a cost on the bill."""
        self.spent += cost

    def affordable(self, requests: Sequence[Request], engine: Engine, window: Window) -> int:
        """Return how many of the requests, from the first, cannot pass the limit together.

        Each is counted at its dearest: its prompt at full price, its reply as long as it may be.

        Raises:
            CostLimitError: Not even the first one.
        """
        price = engine.info.price
        if self.limit is None or (price is None and self.spent < self.limit):
            return len(requests)
        left, number, worst = self.limit - self.spent, 0, 0.0
        for request in requests:
            worst = dearest(request, window, engine.info)
            if worst > left or left <= 0:
                break
            left -= worst
            number += 1
        if not number:
            raise self._stop(f"and the next request may take ${worst:,.4f}")
        return number

    def check(self) -> None:
        """Stop where requests cost more than they could by what is known of the price.

        Raises:
            CostLimitError: The limit is passed.
        """
        if self.limit is not None and self.spent > self.limit:
            raise self._stop("more than the requests should have cost")

    def _stop(self, why: str) -> CostLimitError:
        return CostLimitError(
            f"{self.doing} stops for the cost limit of ${self.limit:,.4g}: ${self.spent:,.4f} are "
            f"spent, {why}; give a higher --max-cost to go on"
        )


def dearest(request: Request, window: Window, info: EngineInfo) -> float:
    """Return the most that a request can cost, in US dollars.

    Args:
        request: What is asked.
        window: Counts its tokens.
        info: Its price, and how many replies are drawn.
    """
    if info.price is None:
        return 0.0
    read = window.tokens(request.messages) + _IMAGE_SURPLUS * sum(
        len(message.images) for message in request.messages
    )
    written = 0 if request.choices else request.sampling.max_tokens
    written *= int(info.settings.get("samples", 1))
    return (read * info.price[0] + written * info.price[1]) / 1e6
