"""Auto-J's rule (arXiv 2310.05470, ``codes/leaderboard``).

Agreement: the verdict is right in **both** orders. Consistency: both orders give one verdict.
Both are shares of all labelled pairs. ``single`` is the share right with the answers as given.
"""

from __future__ import annotations

from magistrate.metrics.columns import NOTHING, PairColumns
from magistrate.metrics.rules.base import RuleResult, Value, labelled, need_both_orders, percent

NAME = "auto-j"


def auto_j(pairs: PairColumns) -> RuleResult:
    """Return agreement, consistency and single, overall and by category (Auto-J's scenarios).

    Raises:
        InputError: No pair is labelled, or there is but one order.
    """
    chosen = labelled(pairs, NAME)
    need_both_orders(chosen, NAME)
    missing = (chosen.as_given == NOTHING) | (chosen.swapped == NOTHING)
    names = sorted(name for name in chosen.category.names if name)
    parts = {name: chosen.take(chosen.category.where(name)) for name in names}
    return RuleResult(
        rule=NAME,
        source="Auto-J (arXiv 2310.05470), codes/leaderboard",
        n=len(chosen),
        not_ok=int(missing.sum()),
        not_ok_counts_as="wrong and inconsistent (Auto-J's own script stops at such a row)",
        values=_values(chosen),
        categories={
            name: {"n": len(part), **_values(part)} for name, part in parts.items() if part
        },
    )


def _values(pairs: PairColumns) -> dict[str, Value]:
    given, swapped, gold = pairs.as_given, pairs.swapped, pairs.gold
    return {
        "agreement": percent((given == gold) & (swapped == gold)),
        "consistency": percent((given == swapped) & (given != NOTHING)),
        "single": percent(given == gold),
    }
