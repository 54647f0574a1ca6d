"""Stored decisions of several judges over the same pairs, the cheapest judge first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

NOBODY = -1
"""Stands for the judge of a pair that nobody settles."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """What T judges said of n pairs. Outcomes are coded as in :mod:`magistrate.metrics.columns`."""

    names: tuple[str, ...]
    """T judges, the cheapest first."""
    said: NDArray[np.int8]
    """Shape (n, T): decisions; NOTHING where a judge has none that is ``ok``."""
    confidence: Floats
    """Shape (n, T): how sure each judge is, higher is surer; NaN where it cannot tell. The last
    judge's is not used in a cascade without abstention: it decides whatever reaches it."""
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
    def labelled(self) -> NDArray[np.bool_]:
        """Which pairs have a label; shape (n,)."""
        import numpy as np

        if self.gold is None:
            return np.zeros(len(self), dtype=bool)
        found: NDArray[np.bool_] = np.abs(self.gold.astype(np.int64)) <= 1
        return found

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Which pairs all judges decided, and the label too where there are labels; shape (n,)."""
        found: NDArray[np.bool_] = (self.said != NOTHING).all(axis=1)
        return found if self.gold is None else found & self.labelled

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
    def sure(self) -> Floats:
        """Shape (n, T): confidence; minus infinity of a judge that failed or cannot tell."""
        import numpy as np

        unknown = (self.said == NOTHING) | np.isnan(self.confidence)
        found: Floats = np.where(unknown, -np.inf, self.confidence)
        return found

    @property
    def reach(self) -> Floats:
        """Shape (n, T - 1): up to which threshold a pair is settled before judge t + 1 is asked.

        With one threshold for all, a pair is settled by the first judge at least so sure; so judge
        t + 1 is asked exactly where the surest of the judges before is below the threshold. A judge
        that failed, or cannot tell how sure it is, settles nothing.
        """
        import numpy as np

        found: Floats = np.maximum.accumulate(self.sure[:, :-1], axis=1)
        return found

    def by_rank(self) -> Tiers:
        """Return the same with confidences as ranks within each judge, in (0, 1].

        So judges that tell how sure they are on different scales can share one threshold: a rank
        is the share of a judge's decisions that are no surer.
        """
        import numpy as np
        from scipy.stats import rankdata

        ranks = np.full(self.confidence.shape, np.nan)
        for tier in range(len(self.names)):
            known = np.isfinite(self.sure[:, tier])
            if known.any():
                sure = self.confidence[known, tier]
                ranks[known, tier] = rankdata(sure, method="max") / len(sure)
        return replace(self, confidence=ranks)

    def one_per_question(self, seed: int = 0) -> Integers:
        """Return the places of one pair of each question, drawn at random; rising."""
        import numpy as np

        order = np.random.default_rng(seed).permutation(len(self))
        _, first = np.unique(self.question[order], return_index=True)
        found: Integers = np.sort(order[first])
        return found


def route(tiers: Tiers, thresholds: Sequence[float]) -> Integers:
    """Return which judge settles each pair with a threshold of its own for each; shape (n,).

    Args:
        tiers: The decisions.
        thresholds: Of all judges, or of all but the last, which then decides whatever reaches it.

    Returns:
        Places of judges; :data:`NOBODY` where none is sure enough, or where the last failed.
    """
    import numpy as np

    sure = tiers.sure
    found = np.full(len(tiers), NOBODY, dtype=np.int64)
    for tier, threshold in enumerate(thresholds):
        settled = (found == NOBODY) & (sure[:, tier] >= threshold) & np.isfinite(sure[:, tier])
        found[settled] = tier
    if len(thresholds) < len(tiers.names):
        last = len(tiers.names) - 1
        found[(found == NOBODY) & (tiers.said[:, last] != NOTHING)] = last
    return found
