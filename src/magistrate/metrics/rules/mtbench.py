"""MT-bench's rule (arXiv 2306.05685, section 4.2 and ``compute_agreement.py``).

Agreement is the chance that a randomly drawn vote of one kind equals a randomly drawn vote of
another kind on the same pair of answers. The judge's vote is what both orders say; where they
differ it is a tie. **Setup S1** draws from all votes, ties included; **setup S2** only from those
that prefer an answer. Unreadable verdicts are dropped.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING, PairColumns
from magistrate.metrics.rules.base import RuleResult, Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.integer]
    Bools = NDArray[np.bool_]

NAME = "mt-bench"


def mt_bench(pairs: PairColumns) -> RuleResult:
    """Return agreement of the judge with single human votes, and of humans with each other.

    Raises:
        InputError: No pair has a vote of an annotator.
    """
    import numpy as np

    if not (np.abs(pairs.votes.astype(int)) <= 1).any():
        raise InputError(
            f"rule '{NAME}' compares a judge with human votes, and none of the {len(pairs):,} "
            f"pairs has one; give them with --labels FILE"
        )
    judge = judge_votes(pairs)
    votes = [pairs.votes[:, k].astype(int) for k in range(pairs.votes.shape[1])]
    setups: dict[str, list[tuple[Codes, Codes]]] = {
        "judge_human": [(judge, vote) for vote in votes],
        "human_human": list(combinations(votes, 2)),
    }
    values: dict[str, Value] = {}
    for name, drawn in setups.items():
        for setup, ties in (("S1", True), ("S2", False)):
            agree, total = _agreement(drawn, ties=ties)
            values[f"{name}_{setup}"] = 100 * agree / total if total else None
            values[f"{name}_{setup}_votes"] = total
    return RuleResult(
        rule=NAME,
        source="MT-bench (arXiv 2306.05685), section 4.2",
        n=len(pairs),
        not_ok=int((judge == NOTHING).sum()),
        not_ok_counts_as="nothing: such pairs are left out",
        values=values,
        notes=("S1: all votes, an inconsistent judge is a tie; S2: votes that prefer an answer",),
    )


def judge_votes(pairs: PairColumns) -> Codes:
    """Return what both orders say, a tie where they differ; of one order what that says.

    Returns:
        Shape (n,): 1, 0, -1, or :data:`NOTHING` where a reading is not ``ok``.
    """
    import numpy as np

    if not (pairs.swapped != NOTHING).any():
        return pairs.as_given.astype(int)
    given, swapped = pairs.as_given.astype(int), pairs.swapped.astype(int)
    missing = (given == NOTHING) | (swapped == NOTHING)
    return np.where(missing, NOTHING, np.where(given == swapped, given, 0))


def _agreement(drawn: list[tuple[Codes, Codes]], *, ties: bool) -> tuple[int, int]:
    """Return how many pairs of votes are equal, and how many there are."""
    import numpy as np

    agree = total = 0
    for one, other in drawn:
        both = (np.abs(one) <= 1) & (np.abs(other) <= 1)
        if not ties:
            both &= (one != 0) & (other != 0)
        agree += int((one == other)[both].sum())
        total += int(both.sum())
    return agree, total
