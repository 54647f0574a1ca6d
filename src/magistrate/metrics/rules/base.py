"""What a rule of another tool gives, and what rules have in common.

A rule reproduces the arithmetic of the tool that it is named after, with that tool's treatment of
unreadable verdicts and under that tool's key names. Shares are in **percent**, as the tools publish
them. The project's own measures never count an unreadable verdict as a tie or as anything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING, PairColumns
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]

Value = float | int | None


class RuleResult(Record):
    """What a rule makes of a judge's pairs."""

    rule: str
    source: str
    """Where the rule comes from."""
    n: int
    """Pairs that it counts."""
    not_ok: int
    """Of these, pairs with a reading that is not ``ok``."""
    not_ok_counts_as: str
    """What the rule makes of them, in words."""
    values: dict[str, Value]
    """By the tool's own key; shares in percent; None where the rule gives no number."""
    categories: dict[str, dict[str, Value]] = Field(default_factory=dict)
    """The same for parts, where the tool has them."""
    notes: tuple[str, ...] = ()


def labelled(pairs: PairColumns, rule: str, *, ties: bool = True) -> PairColumns:
    """Return the pairs whose annotators have a majority.

    Args:
        pairs: All pairs.
        rule: Name of the rule, for the message.
        ties: Whether pairs labelled a tie belong to them.

    Raises:
        InputError: There is none.
    """
    import numpy as np

    known = np.abs(pairs.gold.astype(int)) <= 1
    if not ties:
        known &= pairs.gold != 0
    if not known.any():
        raise InputError(
            f"rule '{rule}' compares a judge with labels, and none of the {len(pairs):,} pairs has "
            f"one{'' if ties else ' that prefers an answer'}; give the test set with --labels FILE"
        )
    return pairs.take(known)


def need_both_orders(pairs: PairColumns, rule: str) -> None:
    """Check that there are readings in both orders.

    Raises:
        InputError: There are not.
    """
    for said, order in ((pairs.as_given, "as given"), (pairs.swapped, "swapped")):
        if not (said != NOTHING).any():
            raise InputError(
                f"rule '{rule}' needs readings in both orders, and none has the answers {order}; "
                f"give the files of both orders together, or judge with --order both"
            )


def percent(hits: Bools) -> float:
    """Return the share of True in percent; hits of shape (n,), n above 0."""
    return 100.0 * float(hits.sum()) / len(hits)
