"""In which categories, and in which languages, does a judge fail?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.breakdown import UNNAMED_PART
from magistrate.metrics.intervals import Rate
from magistrate.report.html.blocks import (
    Bar,
    Column,
    Figure,
    Group,
    Intervals,
    Section,
    Table,
    absent_lines,
    rate_words,
)
from magistrate.report.html.sections.agreement import why_not_measured

if TYPE_CHECKING:
    from magistrate.report.evaluation_pairs import PartOfPairs
    from magistrate.report.html.sources import Source

Part = Literal["category", "language"]
_DRAWN = 60
_DRAWN_OF_SEVERAL = 12
"""Parts that are drawn, the largest ones; the table has all."""
_FEWEST = 10
"""Pairs that people decide, in a part that may be called the weakest or the strongest."""
Row = tuple[str, str, int, Rate, Rate, Rate, Rate]
_PLURAL: dict[Part, str] = {"category": "categories", "language": "languages"}


def breakdown(sources: Sequence[Source], part: Part) -> Section:
    """Return the section of agreement by category or by language."""
    groups: list[Group] = []
    rows: list[Row] = []
    folded = 0
    several = len(sources) > 1
    for source in sources:
        if _why_not(source, part):
            continue
        found = _agreement_by(source, part)
        drawn = found[: _DRAWN_OF_SEVERAL if several else _DRAWN]
        folded += len(found) - len(drawn)
        bars = tuple(Bar(name, one.decisive) for name, one in drawn)
        groups.append(Group(source.name if several else "", bars, source.name))
        rows += [
            (source.name, name, one.pairs, one.decisive, one.accuracy, one.not_ok, one.consistent)
            for name, one in found
        ]
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
        absent=absent_lines([(source.name, _why_not(source, part)) for source in sources]),
    )


def _figure(part: Part, groups: list[Group], rows: list[Row], folded: int) -> Figure:
    title = f"Agreement by {part}"
    said = _said(part, rows)
    if folded:
        said += f" {folded:,} smaller ones stand in the table alone."
    plot = Intervals(
        "share right; a predicted tie counts half", tuple(groups), marks=((0.5, "half"),)
    )
    names = ("run", part, "pairs", "decisive: share right", "tie as a class: share right")
    columns = tuple(map(Column, (*names, "not ok", "same in both orders")))
    return Figure(title, plot, said, Table(_PLURAL[part], title, columns, tuple(rows)))


def _said(part: Part, rows: Sequence[Row]) -> str:
    """Return in words where each run is weakest and strongest, of parts that can tell."""
    runs = list(dict.fromkeys(row[0] for row in rows))
    if len(rows) == len(runs) and len({row[1] for row in rows}) == 1:
        rates = (f"{row[0]} {rate_words(row[3])}" for row in rows)
        found = "; ".join(rates) if len(runs) > 1 else rate_words(rows[0][3])
        return f"All pairs are of one {part}: {rows[0][1]}, {found}."
    lines = []
    for run in runs:
        extremes = _extremes(part, [row for row in rows if row[0] == run])
        lines.append(f"{run}: {extremes}." if len(runs) > 1 else f"{_capital(extremes)}.")
    return " ".join(lines)


def _extremes(part: Part, rows: Sequence[Row]) -> str:
    """Return the weakest and the strongest part of one run.

    By bounds: a part of few pairs, which may be bad by chance, is not called the weakest; with
    very few pairs a bound says nothing either.
    """
    known = [row for row in rows if row[3].n >= _FEWEST]
    if len(known) < 2:
        return (
            f"fewer than two {_PLURAL[part]} have {_FEWEST} pairs on which people prefer one "
            f"answer, too few to name the weakest and the strongest"
        )
    worst = min(known, key=lambda row: row[3].high if row[3].high is not None else 1.0)
    best = max(known, key=lambda row: row[3].low if row[3].low is not None else 0.0)
    if worst is best:
        return f"no {part} of {_FEWEST} such pairs or more stands out"
    return (
        f"weakest by its upper bound: {worst[1]}, {rate_words(worst[3])}; strongest by its lower "
        f"bound: {best[1]}, {rate_words(best[3])}"
    )


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


def _agreement_by(source: Source, part: Part) -> list[tuple[str, PartOfPairs]]:
    """Return each part's agreement, the largest first."""
    found = source.pairs.breakdowns[part] if source.pairs else ()
    known = [
        (f"no {part} named" if one.part == UNNAMED_PART else one.part, one)
        for one in found
        if one.decisive.n
    ]
    return sorted(known, key=lambda one: (-one[1].decisive.n, one[0]))


def _why_not(source: Source, part: Part) -> str:
    reason = why_not_measured(source)
    if reason:
        return reason
    found = source.pairs.breakdowns[part] if source.pairs else ()
    if all(one.part == UNNAMED_PART for one in found):
        return f"the samples name no {part}."
    if not any(one.decisive.n for one in found):
        return "people prefer one answer on none of its pairs."
    return ""
