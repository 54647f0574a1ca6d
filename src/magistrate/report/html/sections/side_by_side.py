"""Several judges on the same pairs: who is better, and how often do they say the same?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from magistrate.metrics.intervals import proportion
from magistrate.metrics.multiplicity import holm
from magistrate.metrics.paired import PairedDifference, compare_paired
from magistrate.report.html.blocks import (
    Bar,
    Cell,
    Column,
    Figure,
    Group,
    Intervals,
    Matrix,
    Section,
    Table,
    rate_words,
    share,
)
from magistrate.report.html.measures import decided, points

if TYPE_CHECKING:
    from magistrate.report.html.sources import Source
    from magistrate.report.judged import Judged

Pair = tuple["Source", "Source", PairedDifference]


def side_by_side(sources: Sequence[Source]) -> Section:
    """Return the section that compares the runs with each other."""
    figures = [one for one in (_differences(sources), _sameness(sources)) if one is not None]
    return Section(
        "runs",
        "The runs side by side",
        "Runs over the same pairs, compared pair by pair, so that what makes a pair hard for both "
        "falls out. An interval on one side of 0 shows a difference; p-values are corrected for "
        "the number of comparisons after Holm.",
        tuple(figures),
        absent=() if figures else (_why_none(sources),),
    )


def _differences(sources: Sequence[Source]) -> Figure | None:
    found = [
        (one, other, difference)
        for one, other in combinations(sources, 2)
        if (difference := _difference(one.judged, other.judged)) is not None
    ]
    if not found:
        return None
    corrected = holm([one[2].p if one[2].p is not None else 1.0 for one in found])
    bars, rows = [], []
    for (one, other, paired), p in zip(found, corrected, strict=True):
        label = f"{one.name} minus {other.name}"
        bars.append(Bar(label, paired.difference, note=f"p = {_p(p)}"))
        rows.append(_row(label, paired, p))
    reach = max(
        max(abs(bar.rate.low or 0.0), abs(bar.rate.high or 0.0), abs(bar.rate.value or 0.0))
        for bar in bars
    )
    reach = min(1.0, max(0.05, 1.1 * reach))
    title = "Difference in agreement with people"
    plot = Intervals(
        "difference of the share right (decisive pairs)",
        (Group("", tuple(bars)),),
        low=-reach,
        high=reach,
        marks=((0.0, "no difference"),),
    )
    said = "; ".join(f"{bar.label} {rate_words(bar.rate)}, {bar.note}" for bar in bars[:6])
    columns = (
        Column("runs"),
        Column("difference"),
        Column("only the first right"),
        Column("only the second right"),
        Column("p, corrected (Holm)", "number"),
        Column("test"),
    )
    return Figure(title, plot, f"{said}.", Table("differences", title, columns, tuple(rows)))


def _row(label: str, paired: PairedDifference, p: float) -> tuple[Cell, ...]:
    return (label, paired.difference, paired.only_first, paired.only_second, p, paired.test)


def _difference(one: Judged, other: Judged) -> PairedDifference | None:
    if not _alike(one, other):
        return None
    known = decided(one.pairs) & decided(other.pairs) & (one.pairs.gold != 0)
    if not known.any():
        return None
    gold = one.pairs.gold[known]
    mine, theirs = (points(judged.pairs.said[known], gold) for judged in (one, other))
    return compare_paired(mine, theirs, one.pairs.question[known])


def _sameness(sources: Sequence[Source]) -> Figure | None:
    shares: list[tuple[float | None, ...]] = []
    texts, rows, seen_any = [], [], False
    for one in sources:
        line: list[float | None] = []
        words = []
        for other in sources:
            rate = _same(one.judged, other.judged)
            if one is other or not rate.n:
                line.append(None)
                words.append(("–", ""))
                continue
            seen_any = True
            line.append(rate.value)
            words.append((share(rate.value), f"n = {rate.n:,}"))
            rows.append((one.name, other.name, rate))
        shares.append(tuple(line))
        texts.append(tuple(words))
    if not seen_any:
        return None
    names = tuple(source.name for source in sources)
    title = "How often two judges say the same"
    matrix = Matrix("run", names, names, tuple(shares), tuple(texts))
    said = "Share of the pairs that both judged on which both give the same verdict."
    columns = (Column("run"), Column("other run"), Column("same verdict"))
    return Figure(title, matrix, said, Table("same_verdict", title, columns, tuple(rows)))


def _same(one: Judged, other: Judged):  # type: ignore[no-untyped-def]
    if not _alike(one, other):
        return proportion(0, 0)
    both = one.pairs.ok & other.pairs.ok
    return proportion(int((one.pairs.said == other.pairs.said)[both].sum()), int(both.sum()))


def _alike(one: Judged, other: Judged) -> bool:
    """Whether two runs hold the same pairs in the same sequence."""
    import numpy as np

    mine, theirs = one.pairs, other.pairs
    return (
        len(mine) > 0
        and np.array_equal(mine.question, theirs.question)
        and np.array_equal(mine.gold, theirs.gold)
        and np.array_equal(mine.lengths, theirs.lengths)
    )


def _why_none(sources: Sequence[Source]) -> str:
    if not any(len(source.judged.pairs) for source in sources):
        return "There are no pairs of answers to compare the runs by."
    if any(_alike(one.judged, other.judged) for one, other in combinations(sources, 2)):
        return "No pair has a verdict of two runs."
    return (
        "No two runs hold the same pairs in the same sequence, so they cannot be compared "
        "pair by pair; the tables above show each by itself."
    )


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
