"""Stored decisions of several judges over the same pairs, the cheapest judge first."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tiers:
    """What T judges said of n pairs. Outcomes are coded as in :mod:`magistrate.metrics.columns`."""

    names: tuple[str, ...]
    """T judges, the cheapest first."""
    said: NDArray[np.int8]
    """Shape (n, T): decisions; NOTHING where a judge has none that is ``ok``."""
    confidence: Floats
    """Shape (n, T): how sure each judge is, higher is surer; NaN where it cannot tell. The last
    judge's is not used: it decides whatever reaches it."""
    cost: Floats
    """Shape (n, T): US dollars of each decision."""
    question: NDArray[Any]
    """Shape (n,): pairs of one question share a value."""
    gold: NDArray[np.int8] | None = None
    """Shape (n,): labels; None where there are none."""

    def __post_init__(self) -> None:
        """Check that there is something to route between."""
        if len(self.names) < 2:
            raise InputError("a cascade needs two judges or more, the cheapest first")

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.said)

    def take(self, chosen: NDArray[Any]) -> Tiers:
        """Return some of the pairs; ``chosen`` are bools of shape (n,), or places."""
        changes = {
            one.name: getattr(self, one.name)[chosen]
            for one in fields(self)
            if one.name != "names" and getattr(self, one.name) is not None
        }
        return replace(self, **changes)

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Which pairs all judges decided, and the label too where there are labels; shape (n,)."""
        import numpy as np

        found: NDArray[np.bool_] = (self.said != NOTHING).all(axis=1)
        if self.gold is not None:
            found &= np.abs(self.gold) <= 1
        return found

    @property
    def right(self) -> NDArray[np.bool_]:
        """Shape (n, T): which decisions are what the label says.

        Raises:
            InputError: There are no labels.
        """
        if self.gold is None:
            raise InputError("these decisions have no labels; give them with --labels")
        found: NDArray[np.bool_] = self.said == self.gold[:, None]
        return found

    @property
    def reach(self) -> Floats:
        """Shape (n, T - 1): up to which threshold a pair is settled before judge t + 1 is asked.

        With one threshold for all, a pair is settled by the first judge at least so sure; so judge
        t + 1 is asked exactly where the surest of the judges before is below the threshold. A judge
        that failed, or cannot tell how sure it is, settles nothing.
        """
        import numpy as np

        known = np.where(self.said == NOTHING, np.nan, self.confidence)[:, :-1]
        found: Floats = np.maximum.accumulate(np.nan_to_num(known, nan=-np.inf), axis=1)
        return found
