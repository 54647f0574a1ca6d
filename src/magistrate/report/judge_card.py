"""Tables of what a judge was measured to be worth, in the card of its folder (Markdown)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from magistrate.metrics.intervals import Rate
from magistrate.report.evaluation import Evaluation
from magistrate.report.evaluation_pairs import PairEvaluation

SECTION = "## Measured"

_NAMES = {
    "agreement": "agreement on decisive pairs (a predicted tie counts half)",
    "agreement_three_classes": "agreement on first, tie, second",
    "longer_wins": "baseline: the longer answer wins, decisive pairs",
    "first_wins": "baseline: the first answer wins, decisive pairs",
    "consistency": "same outcome in both orders",
    "bias_first": "bias toward the first place",
    "bias_second": "bias toward the second place",
}
_HEADING = re.compile(r"(?m)^### ")


def table_of_training(measured: Mapping[str, Any]) -> list[str]:
    """Return the lines of a table of what a training measured.

    Args:
        measured: A row of ``evaluation.csv``: each rate with ``NAME_low`` and ``NAME_high``.
    """
    shown = [
        (
            words,
            Rate(
                value=_number(measured, name),
                n=0,
                low=_number(measured, f"{name}_low"),
                high=_number(measured, f"{name}_high"),
            ),
        )
        for name, words in _NAMES.items()
        if _number(measured, name) is not None
    ]
    if not shown:
        return []
    counts = [
        f"{name.replace('_', ' ')} {measured[name]:,}"
        for name in ("samples", "pairs", "not_ok")
        if measured.get(name) is not None
    ]
    return [*_table(shown, with_n=False), "", f"Counts: {', '.join(counts)}."]


def table_of_evaluation(evaluation: Evaluation) -> list[str]:
    """Return the lines of a table of what an evaluation found; none without labelled pairs."""
    pairs = evaluation.pairs
    if pairs is None or pairs.agreement is None:
        return []
    rows = _rates(pairs)
    lines = _table(rows, with_n=True)
    not_ok = pairs.not_ok
    share = "none" if not not_ok.value else f"{not_ok.value:.1%}"
    return [*lines, "", f"Not ok: {share} of {not_ok.n:,} pairs; these score nothing."]


def put_measured(card: str, title: str, lines: Sequence[str]) -> str:
    r"""Return a card with a table added to its measured section, in place of one of that title.

    >>> print(put_measured("# j\n", "dev.jsonl", ["a table"]))
    # j
    <BLANKLINE>
    ## Measured
    <BLANKLINE>
    ### dev.jsonl
    <BLANKLINE>
    a table
    <BLANKLINE>
    """
    block = "\n".join([f"### {title}", "", *lines]).rstrip() + "\n"
    if SECTION not in card.splitlines():
        return f"{card.rstrip()}\n\n{SECTION}\n\n{block}"
    before, _, rest = card.partition(f"{SECTION}\n")
    end = re.search(r"(?m)^## ", rest)
    own, after = (rest[: end.start()], rest[end.start() :]) if end else (rest, "")
    tables = _HEADING.split(own)
    kept = [f"### {table.strip()}\n" for table in tables[1:] if table.partition("\n")[0] != title]
    joined = "\n".join([*([tables[0].strip() + "\n"] if tables[0].strip() else []), *kept, block])
    return f"{before}{SECTION}\n\n{joined}" + (f"\n{after}" if after else "")


def _rates(pairs: PairEvaluation) -> list[tuple[str, Rate]]:
    agreement, position = pairs.agreement, pairs.position
    assert agreement is not None, "asked for only where pairs are labelled"
    rows = [
        (_NAMES["agreement"], agreement.decisive),
        (_NAMES["agreement_three_classes"], agreement.accuracy),
    ]
    rows += [
        (f"baseline: {row.name}, decisive pairs", row.decisive)
        for row in pairs.baselines
        if row.name != "judge"
    ]
    if position is not None:
        rows += [
            (_NAMES["consistency"], position.consistent),
            (_NAMES["bias_first"], position.toward_first),
            (_NAMES["bias_second"], position.toward_second),
        ]
    return rows


def _table(rows: Sequence[tuple[str, Rate]], *, with_n: bool) -> list[str]:
    head = ["| measure | % | 95 % interval |" + (" n |" if with_n else "")]
    head.append("|---|---:|---:|" + ("---:|" if with_n else ""))
    return head + [
        f"| {words} | {_percent(rate.value)} | {_percent(rate.low)} to {_percent(rate.high)} |"
        + (f" {rate.n:,} |" if with_n else "")
        for words, rate in rows
    ]


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}"


def _number(values: Mapping[str, Any], name: str) -> float | None:
    value = values.get(name)
    return float(value) if isinstance(value, int | float) else None
