"""A limit of what may be spent, kept before anything is sent."""

from __future__ import annotations

import asyncio

from magistrate.errors import CostLimitError


class Budget:
    """Dollars spent, and dollars set aside for requests under way.

    A request sets aside the most that it can cost. When that does not fit beside the others under
    way, it waits for them: most cost less than was set aside. When it does not fit with none under
    way, nothing more is sent.
    """

    def __init__(self, limit: float | None) -> None:
        """Take the limit; None for none."""
        self.limit = limit
        self.spent = 0.0
        """What replies cost, and what tries may have cost that brought none."""
        self.set_aside = 0.0
        self._changed = asyncio.Event()

    async def reserve(self, most: float) -> None:
        """Set aside the most that a request can cost.

        Raises:
            CostLimitError: It could pass the limit.
        """
        while self.limit is not None and self.spent + self.set_aside + most > self.limit:
            if self.set_aside <= 1e-12:
                raise CostLimitError(
                    f"the engine's cost limit of ${self.limit:,.4g} would be passed: "
                    f"${self.spent:,.4f} are spent, and the next request may take ${most:,.4f}; "
                    f"give a higher max_cost to go on"
                )
            self._changed.clear()
            await self._changed.wait()
        self.set_aside += most

    def settle(self, most: float, cost: float) -> None:
        """Put what a request cost in the place of what was set aside for it."""
        self.set_aside = max(0.0, self.set_aside - most)
        self.spent += cost
        self._changed.set()
