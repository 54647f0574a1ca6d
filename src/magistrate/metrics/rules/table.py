"""Names of the rules of other tools."""

from __future__ import annotations

from collections.abc import Callable

from magistrate.errors import InputError
from magistrate.metrics.columns import PairColumns
from magistrate.metrics.rules.alpaca_eval import alpaca_eval
from magistrate.metrics.rules.autoj import auto_j
from magistrate.metrics.rules.base import RuleResult
from magistrate.metrics.rules.judgebench import judgebench
from magistrate.metrics.rules.judgelm import judgelm
from magistrate.metrics.rules.llmbar import llmbar
from magistrate.metrics.rules.mtbench import mt_bench
from magistrate.metrics.rules.pandalm import pandalm

RULES: dict[str, Callable[[PairColumns], RuleResult]] = {
    "judgelm": judgelm,
    "auto-j": auto_j,
    "llmbar": llmbar,
    "judgebench": judgebench,
    "alpaca-eval": alpaca_eval,
    "mt-bench": mt_bench,
    "pandalm": pandalm,
}


def apply_rule(name: str, pairs: PairColumns) -> RuleResult:
    """Measure pairs by the rule of another tool.

    Raises:
        InputError: There is no such rule, there are no pairs, or they lack what the rule needs.
    """
    if name not in RULES:
        raise InputError(f"there is no rule '{name}'; known: {', '.join(RULES)}")
    if not len(pairs):
        raise InputError(f"rule '{name}' is about pairs of answers, and there are none")
    return RULES[name](pairs)
