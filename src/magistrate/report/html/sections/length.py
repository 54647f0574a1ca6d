"""Does the verdict follow the length of the answers, and does it do so more than people do?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from magistrate.metrics.columns import NOTHING, SPLIT
from magistrate.metrics.intervals import Rate, mean_of_points
from magistrate.report.html.blocks import (
    Column,
    Curve,
    Figure,
    Line,
    Point,
    Section,
    Table,
    absent_lines,
    bounds_words,
    rate_of,
    rate_words,
    share,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from magistrate.metrics.columns import Outcomes, PairColumns
    from magistrate.report.html.sources import Source

_BINS = 8
_FEWEST = 12
"""Pairs a bin should have; with fewer pairs there are fewer bins."""


def length(sources: Sequence[Source]) -> Section:
    """Return the section of verdict against length difference."""
    found = [_figure(source, run, single=len(sources) == 1) for run, source in enumerate(sources)]
    return Section(
        "length",
        "Verdict against length",
        "Pairs sorted by how much longer the first answer is, in groups of equal size. A judge "
        "without a taste for length gives a line as steep as that of people; a steeper one prefers "
        "longer answers more than people do. Ties count half; length is in characters.",
        tuple(figure for figure, _ in found if figure is not None),
        absent=absent_lines(
            [(source.name, reason) for source, (_, reason) in zip(sources, found, strict=True)]
        ),
    )


def _figure(source: Source, run: int, *, single: bool) -> tuple[Figure | None, str]:
    judged = source.judged
    if not len(judged.pairs):
        return None, "there are no pairs of answers in it."
    if not judged.has_texts:
        return None, "the texts of the answers are not in the file, so lengths are not known."
    pairs = judged.pairs.take(judged.pairs.ok)
    if len(pairs) < 2:
        return None, "fewer than two pairs have a verdict."
    difference = pairs.lengths[:, 0] - pairs.lengths[:, 1]
    bins = _bins(difference)
    labelled = (pairs.gold != NOTHING) & (pairs.gold != SPLIT)
    judge, people, rows = [], [], []
    for place, chosen in enumerate(bins):
        middle = int(_median(difference[chosen]))
        x = (place + 0.5) / len(bins)
        rate = _rate(pairs.said, chosen, pairs)
        span = f"{difference[chosen].min():+,} to {difference[chosen].max():+,}"
        judge.append(Point(x, rate, f"{span} characters: judge {rate_words(rate)}"))
        known = chosen[labelled[chosen]]
        theirs = _rate(pairs.gold, known, pairs)
        people.append(Point(x, theirs, f"{span} characters: people {rate_words(theirs)}"))
        rows.append((span, middle, rate, theirs))
    lines = [Line("judge prefers the first", "judge", tuple(judge))]
    if labelled.any():
        lines.append(Line("people prefer the first", "people", tuple(people)))
    ticks = tuple(
        ((place + 0.5) / len(bins), _short(int(_median(difference[chosen]))))
        for place, chosen in enumerate(bins)
    )
    title = "First answer preferred, by how much longer it is" if single else source.name
    table = Table(
        f"length_{run + 1}",
        f"{source.name}: first answer preferred, by how much longer it is",
        (
            Column("characters longer"),
            Column("median"),
            Column("judge prefers the first"),
            Column("people prefer the first"),
        ),
        tuple(rows),
    )
    plot = Curve(
        "first answer longer by (characters, median of the group)",
        "first answer preferred",
        tuple(lines),
        ticks,
    )
    return Figure(title, plot, _said(pairs, labelled), table, run), ""


def _said(pairs: PairColumns, labelled: NDArray[np.bool_]) -> str:
    import numpy as np

    unlike = np.flatnonzero(pairs.lengths[:, 0] != pairs.lengths[:, 1])
    if not len(unlike):
        return "All answers are of equal length."
    judge = _longer(pairs.said, unlike, pairs)
    text = f"The judge prefers the longer answer on {rate_of(judge, 'pair')}"
    known = unlike[labelled[unlike]]
    if not len(known):
        return text + "."
    same = _longer(pairs.said, known, pairs)
    people = _longer(pairs.gold, known, pairs)
    if len(known) == len(unlike):
        return f"{text}, people on {share(people.value)} {bounds_words(people)} of the same pairs."
    return (
        f"{text}. On the {len(known):,} of them with labels: judge {share(same.value)}, "
        f"people {rate_words(people)}."
    )


def _rate(outcomes: Outcomes, chosen: NDArray[np.int64], pairs: PairColumns) -> Rate:
    return mean_of_points((1 + outcomes[chosen]) / 2, pairs.question[chosen])


def _longer(outcomes: Outcomes, chosen: NDArray[np.int64], pairs: PairColumns) -> Rate:
    import numpy as np

    side = np.sign(pairs.lengths[chosen, 0] - pairs.lengths[chosen, 1])
    return mean_of_points((1 + outcomes[chosen] * side) / 2, pairs.question[chosen])


def _bins(difference: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return places in groups of about equal size; equal differences are never torn apart."""
    import numpy as np

    wanted = max(2, min(_BINS, len(difference) // _FEWEST))
    edges = np.unique(np.quantile(difference, np.arange(1, wanted) / wanted))
    group = np.searchsorted(edges, difference, side="left")
    return [np.flatnonzero(group == place) for place in np.unique(group)]


def _median(values: NDArray[np.int64]) -> float:
    import numpy as np

    return float(np.median(values))


def _short(value: int) -> str:
    """Return a signed number short enough for an axis.

    >>> [_short(value) for value in (0, 85, -1240, 23456)]
    ['0', '+85', '−1.2k', '+23k']
    """
    sign = "+" if value > 0 else "−" if value < 0 else ""
    size = abs(value)
    if size < 1000:
        return f"{sign}{size}"
    return f"{sign}{size / 1000:.1f}k" if size < 9950 else f"{sign}{size / 1000:.0f}k"
