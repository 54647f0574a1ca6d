"""Does the verdict follow the place in which an answer is shown?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from magistrate.metrics.classification import CLASSES
from magistrate.metrics.columns import NOTHING
from magistrate.metrics.intervals import proportion
from magistrate.report.html.blocks import (
    Cell,
    Column,
    Figure,
    Matrix,
    Section,
    Shares,
    Table,
    Tone,
    absent_lines,
    rate_of,
    share,
)
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.metrics.position import PositionBias
    from magistrate.report.html.sources import Source

_PARTS: tuple[tuple[str, Tone], ...] = (
    ("toward first", "first"),
    ("same in both orders", "plain"),
    ("toward second", "second"),
)


def position(sources: Sequence[Source]) -> Section:
    """Return the section of position bias."""
    figures: list[Figure] = []
    summary = _summary(sources)
    if summary is not None:
        figures.append(summary)
    figures += [
        figure
        for run, source in enumerate(sources)
        if (figure := _matrix(source, run, single=len(sources) == 1)) is not None
    ]
    return Section(
        "position",
        "Position: as given against swapped",
        "Every pair was read with its answers as given and swapped; what was said is told here in "
        "terms of the answers themselves. A judge that looks at answers alone says the same twice. "
        "'Toward first' counts pairs where an answer fared better when it was shown first.",
        tuple(figures),
        absent=_absent(sources),
    )


def _summary(sources: Sequence[Source]) -> Figure | None:
    rows: list[tuple[str, tuple[int, ...]]] = []
    table: list[tuple[Cell, ...]] = []
    said = []
    for source in sources:
        found = _measured(source)
        if found is None:
            continue
        rates = (found.toward_first, found.consistent, found.toward_second)
        rows.append((source.name, tuple(round((r.value or 0) * r.n) for r in rates)))
        table.append((source.name, *rates, found.delta_bias, found.total_bias, found.shown_first))
        said.append(
            f"{source.name} says the same on {rate_of(found.consistent, 'pair')}, turns to the "
            f"answer shown first on {share(found.toward_first.value)} and to the second on "
            f"{share(found.toward_second.value)}"
        )
    if not rows:
        return None
    title = "Where the order of the answers decides"
    columns = (
        Column("run"),
        *(Column(name) for name, _ in _PARTS),
        Column("delta bias"),
        Column("total bias"),
        Column("readings for the one shown first"),
    )
    return Figure(
        title,
        Shares(_PARTS, tuple(rows)),
        ". ".join(said) + ".",
        Table("position", title, columns, tuple(table)),
    )


def _matrix(source: Source, run: int, *, single: bool) -> Figure | None:
    if _measured(source) is None:
        return None
    pairs = source.judged.pairs
    both = pairs.take((pairs.as_given != NOTHING) & (pairs.swapped != NOTHING))
    n = len(both)
    shares, texts = [], []
    rows: list[tuple[Cell, ...]] = []
    for code, name in zip((1, 0, -1), CLASSES, strict=True):
        swapped = both.swapped[both.as_given == code]
        counts = [int((swapped == other).sum()) for other in (1, 0, -1)]
        shares.append(tuple(count / n for count in counts))
        texts.append(tuple((f"{count:,}", share(count / n)) for count in counts))
        rows += [
            (name, other, count, proportion(count, n))
            for other, count in zip(CLASSES, counts, strict=True)
        ]
    given, swapped_first = int((both.as_given == 1).sum()), int((both.swapped == 1).sum())
    said = (
        f"The first answer of the file is preferred on {share(given / n)} of {counted(n, 'pair')} "
        f"when it is shown first, on {share(swapped_first / n)} when it is shown second."
    )
    return Figure(
        "Verdict in both orders" if single else f"{source.name}: verdict in both orders",
        Matrix("as given ↓ swapped →", CLASSES, CLASSES, tuple(shares), tuple(texts)),
        said,
        Table(
            f"position_orders_{run + 1}",
            f"What {source.name} says as given and swapped",
            (Column("as given"), Column("swapped"), Column("pairs"), Column("share")),
            tuple(rows),
        ),
        run,
    )


def _measured(source: Source) -> PositionBias | None:
    pairs = source.pairs
    return None if pairs is None or pairs.reads_alone else pairs.position


def _absent(sources: Sequence[Source]) -> tuple[str, ...]:
    return absent_lines([(source.name, _why_not(source)) for source in sources])


def _why_not(source: Source) -> str:
    if not len(source.judged.pairs):
        return "there are no pairs of answers in it."
    if source.judged.reads_alone:
        return (
            "this judge reads each answer alone, so the order of the answers cannot matter; "
            "there is nothing to measure."
        )
    if not source.judged.pairs.ok.any():
        return "no pair has a verdict: all readings failed or are missing."
    if _measured(source) is None:
        return (
            "no pair has verdicts in both orders, so position bias is not known; "
            "judge with --order both."
        )
    return ""
