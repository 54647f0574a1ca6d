"""In which categories, and in which languages, does a judge fail?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.columns import UNNAMED
from magistrate.metrics.intervals import Rate, proportion
from magistrate.report.html.blocks import (
    Bar,
    Column,
    Figure,
    Group,
    Intervals,
    Section,
    Table,
    rate_words,
)
from magistrate.report.html.measures import decided, points
from magistrate.report.html.sections.agreement import why_not_measured

if TYPE_CHECKING:
    from magistrate.metrics.columns import Named, PairColumns
    from magistrate.report.html.sources import Source

Part = Literal["category", "language"]
_DRAWN = 30
_DRAWN_OF_SEVERAL = 12
"""Parts that are drawn, the largest ones; the table has all."""
_PLURAL: dict[Part, str] = {"category": "categories", "language": "languages"}


def breakdown(sources: Sequence[Source], part: Part) -> Section:
    """Return the section of agreement by category or by language."""
    groups, rows, absent, folded = [], [], [], 0
    several = len(sources) > 1
    for source in sources:
        reason = _why_not(source, part)
        if reason:
            capital = f"{reason[0].upper()}{reason[1:]}"
            absent.append(f"{source.name}: {reason}" if several else capital)
            continue
        found = _agreement_by(source.judged.pairs, part)
        drawn = found[: _DRAWN_OF_SEVERAL if several else _DRAWN]
        folded += len(found) - len(drawn)
        bars = tuple(Bar(name, rate) for name, rate in drawn)
        groups.append(Group(source.name if several else "", bars))
        rows += [(source.name, name, rate) for name, rate in found]
    figures: tuple[Figure, ...] = ()
    if groups:
        figures = (_figure(part, groups, rows, folded),)
    return Section(
        _PLURAL[part],
        f"By {part}",
        f"Share of the pairs on which people prefer one answer that the judge gets right, by "
        f"{part}; a predicted tie counts half. The largest {_PLURAL[part]} come first. With many "
        f"of them, one or another looks bad by chance alone: read the intervals, not the ranks.",
        figures,
        absent=tuple(absent),
    )


def _figure(
    part: Part, groups: list[Group], rows: list[tuple[str, str, Rate]], folded: int
) -> Figure:
    title = f"Agreement by {part}"
    # By bounds: a part of few pairs, which may be bad by chance, is not called the weakest.
    worst = min(rows, key=lambda row: row[2].high if row[2].high is not None else 1.0)
    best = max(rows, key=lambda row: row[2].low if row[2].low is not None else 0.0)
    said = f"Weakest by its upper bound: {worst[1]}, {rate_words(worst[2])}. "
    said += f"Strongest by its lower bound: {best[1]}, {rate_words(best[2])}."
    if len({row[1] for row in rows}) == 1:
        said = f"All pairs are of one {part}: {rows[0][1]}, {rate_words(rows[0][2])}."
    if folded:
        said += f" {folded:,} smaller ones stand in the table alone."
    plot = Intervals(
        "share right; a predicted tie counts half", tuple(groups), marks=((0.5, "half"),)
    )
    columns = (Column("run"), Column(part), Column("share right"))
    return Figure(title, plot, said, Table(_PLURAL[part], title, columns, tuple(rows)))


def _agreement_by(pairs: PairColumns, part: Part) -> list[tuple[str, Rate]]:
    """Return each part's agreement, the largest first."""
    import numpy as np

    chosen = pairs.take(decided(pairs) & (pairs.gold != 0))
    named = _column(chosen, part)
    right = points(chosen.said, chosen.gold)
    counts = np.bincount(named.codes, minlength=len(named.names))
    sums = np.bincount(named.codes, weights=right, minlength=len(named.names))
    found = [
        (name or f"no {part} named", proportion(float(total), int(count)))
        for name, count, total in zip(named.names, counts, sums, strict=True)
        if count
    ]
    return sorted(found, key=lambda one: (-one[1].n, one[0]))


def _why_not(source: Source, part: Part) -> str:
    reason = why_not_measured(source)
    if reason:
        return reason
    pairs = source.judged.pairs
    chosen = pairs.take(decided(pairs) & (pairs.gold != 0))
    if not len(chosen):
        return "people prefer one answer on none of its pairs."
    if all(name == UNNAMED for name in _column(chosen, part).names):
        return f"the samples name no {part}."
    return ""


def _column(pairs: PairColumns, part: Part) -> Named:
    return pairs.category if part == "category" else pairs.language
