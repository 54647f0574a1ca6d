"""Who is asked next: the routing of a live cascade, as a state without threads or files.

Pairs come back from the judges in any sequence, and what is sent up must not depend on it, nor may
a budget be passed. So a pair is sent up only when that is certain:

* **By rank** (a budget alone): of all pairs those with the lowest confidence go to the last judge,
  as many as the budget allows. A pair's place can only get worse by what is not known yet: pairs
  not judged yet may still come before it, and a further judge can only make a pair surer. So those
  are certain that stand within the budget when all unknown pairs stand in front. The result is
  exactly what a replay of all confidences gives, ties apart. The first pair beyond the budget is
  read by the judges between as well, since how sure they are of it is where the threshold stands.
* **By thresholds**: a judge that is sure enough settles a pair, any other goes up. Where a budget
  stands beside the thresholds, it goes to the first pairs in the sequence of the input that need
  the last judge; again a pair waits while earlier ones are not known yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

State = Literal["settled", "open", "stopped", "abstained", "budget"]

UNKNOWN, OK, UNREAD, FAILED = 0, 1, 2, 3
"""What a judge's answer is: not there yet; ok; not readable as a verdict (goes up); none, since the
judge failed (waits to be asked again)."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a pair stands."""

    state: State
    """``settled`` by ``tier``; ``open``: an answer is still to come; ``stopped``: ``tier`` failed;
    ``abstained``: the last judge is not sure enough; ``budget``: it should go up, and may not."""
    tier: int
    """Place of the judge that decides or was asked last, from 0."""
    threshold: float | None = None
    """Confidence from which that judge settles a pair; None for one that settles all it gets."""


class Router:
    """Routes ``count`` pairs through ``tiers`` judges."""

    def __init__(
        self,
        count: int,
        tiers: int,
        *,
        thresholds: tuple[float, ...] | None = None,
        quota: int | None = None,
        share_of_first: tuple[int, float] | None = None,
        draws: NDArray[np.int64] | None = None,
    ) -> None:
        """Take the policy.

        Args:
            count: Pairs of different text.
            tiers: Judges, the cheapest first; two or more.
            thresholds: For each judge but the last, or for all: then who reaches the last one's
                not either is abstained from. Infinity for judges that are not to be asked. None to
                route by rank.
            quota: How many pairs may go to the last judge; None for all.
            share_of_first: (n, share): estimate one threshold for all judges but the last as that
                share's quantile of the first judge's confidences on the first n pairs.
            draws: Shape (count,): breaks ties of rank; by place where None.
        """
        import numpy as np

        self.count, self.tiers = count, tiers
        self.quota = quota
        self.thresholds = thresholds
        self._first = share_of_first
        self._answer = np.zeros((count, tiers), dtype=np.int8)
        self._sure = np.full((count, tiers), np.nan)
        self._at = np.zeros(count, dtype=np.int8)
        self._tie = np.arange(count) if draws is None else draws
        if thresholds is not None and count and math.isinf(thresholds[0]):
            self._at[:] = self._after(0)
        self.start = int(self._at[0]) if count else 0
        """The judge that gets all pairs."""
        self.spent: set[int] = set()
        """Judges for which there is no money left."""
        self.down: set[int] = set()
        """Judges that broke down: what should go there waits."""
        self._low: set[int] = set()
        self._lowest_kept = math.inf

    @property
    def by_rank(self) -> bool:
        """Whether pairs are ranked rather than held against thresholds."""
        return self.thresholds is None and self._first is None

    def answer(self, pair: int, tier: int, kind: int, confidence: float | None) -> None:
        """Note what a judge said of a pair that is with it."""
        self._answer[pair, tier] = kind
        self._sure[pair, tier] = math.nan if confidence is None else confidence

    def send(self) -> list[tuple[int, int]]:
        """Return the (pair, tier) that are sent up now, those that are unsurest first."""
        ready = self._by_rank() if self.by_rank else self._by_threshold()
        sent = []
        for pair in ready.tolist():
            tier = self._after(int(self._at[pair]))
            if tier < self.tiers and tier not in self.spent and tier not in self.down:
                self._at[pair] = tier
                sent.append((pair, tier))
        return sent

    def route(self, pair: int) -> Route:
        """Return where a pair stands; call :meth:`settle` before."""
        at = int(self._at[pair])
        kind = int(self._answer[pair, at])
        if self.by_rank and pair not in self._low:
            for tier in range(min(at + 1, self.tiers - 1)):
                sure = self._sure[pair, tier]
                if self._answer[pair, tier] == OK and sure >= self._lowest_kept:
                    return Route("settled", tier, self._lowest_kept)
        elif not self.by_rank and kind == OK and self._is_sure(pair, at):
            return Route("settled", at, self._threshold(at))
        if kind == UNKNOWN:
            states: tuple[State, State] = ("stopped" if at in self.down else "open", "budget")
            return Route(states[at in self.spent], at)
        if kind == FAILED:
            return Route("stopped", at)
        if (up := self._after(at)) < self.tiers:
            return Route("stopped", up) if up in self.down else Route("budget", at)
        if kind != OK:
            return Route("stopped", at)
        threshold = self._threshold(at)
        return Route("settled" if threshold is None else "abstained", at, threshold)

    def was_asked(self, pair: int, tier: int) -> bool:
        """Whether a judge's answer about a pair was used on its way."""
        return bool(self._answer[pair, tier] != UNKNOWN)

    def threshold_of(self, tier: int) -> float | None:
        """Return the confidence from which a judge settles a pair, where one is known."""
        if not self.by_rank:
            return self._threshold(tier)
        return self._lowest_kept if tier < self.tiers - 1 else None

    # By rank.

    def _order(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return pairs in the sequence in which they would go up, and their confidence."""
        import numpy as np

        known = np.where(self._answer == OK, np.nan_to_num(self._sure, nan=-np.inf), -np.inf)
        best = known[:, : self.tiers - 1].max(axis=1)
        # Whose first answer is not there yet may turn out to be the unsurest of all.
        unseen = (self._answer[:, 0] == UNKNOWN) | (self._answer[:, 0] == FAILED)
        return np.lexsort((self._tie, ~unseen, best)), best

    def _by_rank(self) -> NDArray[np.int64]:
        order, _ = self._order()
        if self.quota is None:
            return order[self._has_answer(order)]
        first = order[: self.quota + 1]
        ready = self._has_answer(first)
        if len(first) > self.quota and self._at[first[-1]] == self.tiers - 2:
            ready[-1] = False  # the first one beyond the budget
        return first[ready]

    def settle(self) -> None:
        """Say that all answers are there that will come, so that :meth:`route` may be asked."""
        if not self.by_rank or self.quota is None:
            self._low, self._lowest_kept = set(), math.inf
            return
        order, best = self._order()
        rest = best[order[self.quota :]]
        self._low = set(order[: self.quota].tolist())
        self._lowest_kept = float(rest.min()) if len(rest) else math.inf

    # By thresholds.

    def _by_threshold(self) -> NDArray[np.int64]:
        import numpy as np

        if self.thresholds is None and not self._estimate():
            return np.zeros(0, dtype=np.int64)
        places = np.arange(self.count)
        last = self.tiers - 1
        sure = np.zeros(self.count, dtype=bool)
        wants_last = np.zeros(self.count, dtype=bool)
        for tier in range(self.tiers):
            here = self._at == tier
            if tier == last:
                wants_last |= here
                continue
            bar = self._threshold(tier)
            ok = (self._answer[:, tier] == OK) & (np.nan_to_num(self._sure[:, tier], nan=-1) >= bar)
            sure |= here & ok
            up = here & ~ok & self._has_answer(places)
            if self._after(tier) == last:
                wants_last |= up
        if self.quota is not None:
            # How many may come before each: those that need the last judge, or may need it still.
            may = (~sure).astype(np.int64)
            before = np.cumsum(may) - may
            held = wants_last & (before >= self.quota)
        else:
            held = np.zeros(self.count, dtype=bool)
        up = ~sure & (self._at < last) & ~held & self._has_answer(places)
        return np.flatnonzero(up)

    def _estimate(self) -> bool:
        """Take the threshold from the first pairs, once all of them are known."""
        import numpy as np

        if self._first is None:
            return False
        number = min(self._first[0], self.count)
        if (self._answer[:number, 0] == UNKNOWN).any():
            return False
        known = self._sure[:number, 0][self._answer[:number, 0] == OK]
        known = known[~np.isnan(known)]
        bar = float(np.quantile(known, self._first[1], method="higher")) if len(known) else math.inf
        self.thresholds = (bar,) * (self.tiers - 1)
        return True

    def _threshold(self, tier: int) -> float | None:
        if self.thresholds is None or tier >= len(self.thresholds):
            return None
        return self.thresholds[tier]

    def _is_sure(self, pair: int, tier: int) -> bool:
        threshold = self._threshold(tier)
        if threshold is None:
            return tier == self.tiers - 1
        return bool(self._sure[pair, tier] >= threshold)

    def _has_answer(self, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which pairs have an answer with which they may go up from where they are."""
        import numpy as np

        kind = self._answer[pairs, self._at[pairs]]
        found: NDArray[np.bool_] = np.isin(kind, (OK, UNREAD)) & (self._at[pairs] < self.tiers - 1)
        return found

    def _after(self, tier: int) -> int:
        """Return the next judge that can settle anything; the number of judges for none."""
        nxt = tier + 1
        while (
            nxt < self.tiers
            and self.thresholds is not None
            and nxt < len(self.thresholds)
            and math.isinf(self.thresholds[nxt])
        ):
            nxt += 1
        return nxt
