"""Several judges on the same pairs: who is better, and how often do they say the same?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from magistrate.metrics.columns import NOTHING
from magistrate.metrics.multiplicity import holm
from magistrate.metrics.paired import PairedDifference
from magistrate.metrics.two_judges import JudgesCompared, compare_judges
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

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from magistrate.metrics.columns import PairColumns
    from magistrate.report.html.sources import Source

    Places = NDArray[np.int64]

_MOST_SOURCES = 12
"""Above so many runs there are too many comparisons to read."""

Compared = dict[tuple[int, int], JudgesCompared]


def side_by_side(sources: Sequence[Source]) -> Section:
    """Return the section that compares the runs with each other."""
    compared = _compare(sources)
    figures = [_differences(sources, compared), _sameness(sources, compared)]
    return Section(
        "runs",
        "The runs side by side",
        "Runs over the same pairs, compared pair by pair, so that what makes a pair hard for both "
        "falls out; a pair counts where both judges gave a verdict. An interval on one side of 0 "
        "shows a difference; p-values are corrected for the number of comparisons (Holm).",
        tuple(figure for figure in figures if figure is not None),
        absent=() if compared else (_why_none(sources),),
    )


def _compare(sources: Sequence[Source]) -> Compared:
    if len(sources) > _MOST_SOURCES:
        return {}
    keys = [_keys(source.judged.pairs) for source in sources]
    found = {}
    for i, j in combinations(range(len(sources)), 2):
        common = [key for key in keys[i] if key in keys[j]]
        if not common:
            continue
        first = sources[i].judged.pairs.take(_places(keys[i], common))
        second = sources[j].judged.pairs.take(_places(keys[j], common))
        compared = compare_judges(*_same_labels(first, second))
        if compared.n:
            found[i, j] = compared
    return found


def _keys(pairs: PairColumns) -> dict[tuple[object, ...], int]:
    """Return the place of each pair by its question, models and lengths; repeats are numbered."""
    firsts = [pairs.first_model.names[code] for code in pairs.first_model.codes.tolist()]
    seconds = [pairs.second_model.names[code] for code in pairs.second_model.codes.tolist()]
    lengths = map(tuple, pairs.lengths.tolist())
    seen: Counter[tuple[object, ...]] = Counter()
    places: dict[tuple[object, ...], int] = {}
    known = zip(pairs.question.tolist(), firsts, seconds, lengths, strict=True)
    for place, key in enumerate(known):
        places[(*key, seen[key])] = place
        seen[key] += 1
    return places


def _places(keys: dict[tuple[object, ...], int], common: Sequence[tuple[object, ...]]) -> Places:
    import numpy as np

    return np.array([keys[key] for key in common], dtype=np.int64)


def _same_labels(first: PairColumns, second: PairColumns) -> tuple[PairColumns, PairColumns]:
    """Return both with one label a pair: that which either has, none where they contradict."""
    from dataclasses import replace

    import numpy as np

    gold = np.where(first.gold == NOTHING, second.gold, first.gold)
    differ = (second.gold != NOTHING) & (second.gold != gold)
    gold = np.where(differ, np.int8(NOTHING), gold)
    return replace(first, gold=gold), replace(second, gold=gold)


def _differences(sources: Sequence[Source], compared: Compared) -> Figure | None:
    found = [
        (f"{sources[i].name} minus {sources[j].name}", one.decisive)
        for (i, j), one in compared.items()
        if one.decisive is not None and one.decisive.n
    ]
    if not found:
        return None
    corrected = holm([1.0 if paired.p is None else paired.p for _, paired in found])
    bars = tuple(
        Bar(label, paired.difference, note=f"p {_p(p)}")
        for (label, paired), p in zip(found, corrected, strict=True)
    )
    reach = max(abs(end or 0.0) for bar in bars for end in (bar.rate.low, bar.rate.high))
    reach = min(1.0, max(0.05, 1.1 * reach))
    title = "Difference in agreement with people"
    plot = Intervals(
        "difference of the share right on decisive pairs, in percentage points",
        (Group("", bars),),
        "points",
        low=-reach,
        high=reach,
        marks=((0.0, "no difference"),),
    )
    said = "; ".join(
        f"{bar.label}: {rate_words(bar.rate, 'points')}, {bar.note}" for bar in bars[:6]
    )
    names = ("only the first right", "only the second right")
    columns = (
        Column("runs"),
        Column("difference, points", "points"),
        *map(Column, names),
        Column("p (Holm)", "number"),
        Column("test"),
    )
    rows = tuple(
        _row(label, paired, p) for (label, paired), p in zip(found, corrected, strict=True)
    )
    return Figure(title, plot, f"{said}.", Table("differences", title, columns, rows))


def _row(label: str, paired: PairedDifference, p: float) -> tuple[Cell, ...]:
    return (label, paired.difference, paired.only_first, paired.only_second, p, paired.test)


def _sameness(sources: Sequence[Source], compared: Compared) -> Figure | None:
    if not compared:
        return None
    shares: list[tuple[float | None, ...]] = []
    texts: list[tuple[tuple[str, str], ...]] = []
    rows: list[tuple[Cell, ...]] = []
    for i, one in enumerate(sources):
        found = [compared.get((min(i, j), max(i, j))) for j in range(len(sources))]
        shares.append(tuple(None if f is None else f.verdicts.same.value for f in found))
        texts.append(
            tuple(
                ("–", "") if f is None else (share(f.verdicts.same.value), f"n = {f.n:,}")
                for f in found
            )
        )
        rows += [
            (one.name, sources[j].name, f.verdicts.same, f.verdicts.kappa.value)
            for j, f in enumerate(found)
            if f is not None and i < j
        ]
    names = tuple(source.name for source in sources)
    title = "How often two judges say the same"
    matrix = Matrix("", names, names, tuple(shares), tuple(texts))
    said = "Share of the pairs that both judged on which both give the same verdict."
    columns = (
        Column("run"),
        Column("other run"),
        Column("same verdict"),
        Column("Cohen's kappa", "number"),
    )
    return Figure(title, matrix, said, Table("same_verdict", title, columns, tuple(rows)))


def _why_none(sources: Sequence[Source]) -> str:
    if not any(len(source.judged.pairs) for source in sources):
        return "There are no pairs of answers to compare the runs by."
    if len(sources) > _MOST_SOURCES:
        return (
            f"More than {_MOST_SOURCES} runs make too many comparisons; the tables above show each "
            f"by itself, and 'magistrate compare' takes any two."
        )
    return (
        "No two runs have a verdict on the same pair, so they cannot be compared pair by pair; "
        "the tables above show each by itself."
    )


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"
