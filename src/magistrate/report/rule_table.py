"""What a rule of another tool gives, on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from magistrate.report.table import NOTHING, facts_table

if TYPE_CHECKING:
    from magistrate.metrics.rules.base import RuleResult, Value

_MOST_ROWS = 60
"""Parts that are shown; the JSON has all."""


def rule_parts(rule: RuleResult) -> Iterator[RenderableType]:
    """Yield what a rule of another tool gives: its values, then its parts."""
    from magistrate.report.evaluation_table import titled_table

    yield Text(f"By the rule of {rule.source}")
    yield facts_table(_rule_facts(rule))
    if rule.categories:
        keys = list(next(iter(rule.categories.values())))
        rows = [
            (name, *(_value(values.get(key)) for key in keys))
            for name, values in list(rule.categories.items())[:_MOST_ROWS]
        ]
        title = f"{rule.rule}, in parts"
        if len(rule.categories) > _MOST_ROWS:
            title += f" (the first {_MOST_ROWS} of {len(rule.categories):,}; --json has all)"
        yield titled_table(title, ("", *keys), rows)


def _rule_facts(rule: RuleResult) -> Iterator[tuple[str, str]]:
    yield (
        "not ok",
        f"{rule.not_ok:,} of {rule.n:,}; the rule counts them as {rule.not_ok_counts_as}",
    )
    for key, value in rule.values.items():
        yield key, _value(value)
    for note in rule.notes:
        yield "note", note


def _value(value: Value) -> str:
    if value is None:
        return NOTHING
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
