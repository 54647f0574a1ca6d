"""One limit of money for several judges that are asked at once, kept across crashes.

Before requests go out, the most that they can cost is set aside: in memory for the other judges,
and on the disk for whoever resumes. What a killed process had under way may have been paid for
without a trace, so it is taken as spent.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import orjson

from magistrate.engines.base import Engine
from magistrate.errors import CostLimitError, RunDamagedError
from magistrate.judging.spending import Spending, dearest
from magistrate.judging.window import Window
from magistrate.messages import Request
from magistrate.store.disk import write_atomically

AT_ONCE = 32
"""Requests for which money is set aside at once: what a killed process loses at most."""

_NOTHING = 1e-12


class Purse:
    """What all judges of a cascade spent, and may spend together."""

    def __init__(self, path: Path, limit: float | None, booked: dict[str, float]) -> None:
        """Take up what earlier processes left.

        Args:
            path: Where money that is under way is noted.
            limit: US dollars; None for no limit.
            booked: By judge, what the judgments that it has in its folder cost.

        Raises:
            RunDamagedError: The note cannot be read.
        """
        self.limit = limit
        self.lost = 0.0
        """US dollars that requests may have cost that were under way in a killed process."""
        self._path = path
        self._booked = dict(booked)
        self._aside: dict[str, float] = {}
        self._changed = threading.Condition()
        self._is_closed = False
        self._read_note()

    @property
    def spent(self) -> float:
        """US dollars, with what may have been lost."""
        return sum(self._booked.values()) + self.lost

    @property
    def left(self) -> float | None:
        """US dollars that are neither spent nor set aside; None without a limit."""
        if self.limit is None:
            return None
        return self.limit - self.spent - sum(self._aside.values())

    def cost_of(self, begin: str) -> float:
        """Return what the judges cost whose name begins so."""
        return sum(cost for name, cost in self._booked.items() if name.startswith(begin))

    def reserve(self, name: str, worst: Sequence[float]) -> int:
        """Set aside the money for as many requests, from the first, as it is enough for.

        Waits while others have set aside what is needed for the first one.

        Args:
            name: Whose requests.
            worst: The most that each can cost, in US dollars.

        Returns:
            How many; the money of an earlier call is free again.

        Raises:
            CostLimitError: It is not enough for the first one.
        """
        with self._changed:
            self._aside.pop(name, None)
            self._changed.notify_all()
            while True:
                if self._is_closed:
                    raise self._stop("and the cascade is being stopped")
                number, total, left = 0, 0.0, self.left
                for cost in worst:
                    if left is not None and total + cost > left:
                        break
                    total += cost
                    number += 1
                if number:
                    break
                if sum(self._aside.values()) <= _NOTHING:
                    self._note()
                    raise self._stop(f"and the next request may take ${worst[0]:,.4f}")
                self._changed.wait()
            self._aside[name] = total
            self._note()
            return number

    def pay(self, name: str, cost: float, still_aside: float) -> None:
        """Book what a request cost; so much stays set aside for those still under way."""
        with self._changed:
            self._booked[name] = self._booked.get(name, 0.0) + cost
            if name in self._aside:
                self._aside[name] = still_aside
            self._changed.notify_all()

    def release(self, name: str) -> None:
        """Say that nothing is under way any more, and all that was answered is in the folder."""
        with self._changed:
            if self._aside.pop(name, None) is not None:
                self._note()
            self._changed.notify_all()

    def forfeit(self, name: str) -> None:
        """Take what is set aside as spent: requests were broken off, and may be paid for."""
        with self._changed:
            self.lost += self._aside.pop(name, 0.0)
            self._note()
            self._changed.notify_all()

    def close(self) -> None:
        """Set nothing aside any more, not even for who waits for money."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def check(self) -> None:
        """Stop where requests cost more than they could by what is known of the price.

        Raises:
            CostLimitError: The limit is passed.
        """
        if self.limit is not None and self.spent > self.limit + _NOTHING:
            raise self._stop("more than the requests should have cost")

    def _stop(self, why: str) -> CostLimitError:
        return CostLimitError(
            f"the cascade's cost limit of ${self.limit:,.4g}: ${self.spent:,.4f} are spent, {why}; "
            f"give a higher --max-cost to go on"
        )

    def _note(self) -> None:
        """Put on the disk what is set aside, before a request of it goes out."""
        if self.limit is None and not self.lost:
            return
        under_way = {
            name: {"aside": aside, "booked": self._booked.get(name, 0.0)}
            for name, aside in self._aside.items()
        }
        write_atomically(
            self._path, orjson.dumps({"lost": self.lost, "under_way": under_way}) + b"\n"
        )

    def _read_note(self) -> None:
        if not self._path.exists():
            return
        try:
            note = orjson.loads(self._path.read_bytes())
            self.lost = float(note["lost"])
            for name, one in note["under_way"].items():
                most = float(one["booked"]) + float(one["aside"])
                self.lost += max(0.0, most - self._booked.get(name, 0.0))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunDamagedError(
                f"{self._path} cannot be read, so what was spent is not known: {error}; restore "
                f"it from a copy, or remove it to count only what the judgments cost"
            ) from error
        if note["under_way"]:
            write_atomically(self._path, orjson.dumps({"lost": self.lost, "under_way": {}}) + b"\n")


class TierSpending(Spending):
    """One judge's part in a common purse."""

    def __init__(self, purse: Purse, name: str) -> None:
        """Take the purse, and the judge's name as the purse knows it."""
        super().__init__(0.0, purse.limit)
        self._purse, self._name = purse, name
        self._worst: list[float] = []

    def add(self, cost: float) -> None:
        """Put a cost on the bill."""
        # Which request was answered is not known here: those that can cost most are still out.
        if self._worst:
            self._worst.pop()
        self._purse.pay(self._name, cost, sum(self._worst))

    def affordable(self, requests: Sequence[Request], engine: Engine, window: Window) -> int:
        """Return how many of the requests, from the first, cannot pass the limit together."""
        if engine.info.price is None or self.limit is None:
            return len(requests)
        worst = [dearest(request, window, engine.info) for request in requests[:AT_ONCE]]
        number = self._purse.reserve(self._name, worst)
        self._worst = sorted(worst[:number], reverse=True)
        return number

    def check(self) -> None:
        """Stop where requests cost more than they could by what is known of the price."""
        self._purse.check()

    def done(self, *, broken_off: bool = False) -> None:
        """Say that no request is under way any more, and whether some were broken off."""
        if broken_off and self._worst:
            self._purse.forfeit(self._name)
        else:
            self._purse.release(self._name)
        self._worst = []
