"""Does the verdict follow the place in which an answer is shown?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from magistrate.metrics.columns import NOTHING
from magistrate.metrics.intervals import proportion
from magistrate.report.html.blocks import (
    Column,
    Figure,
    Matrix,
    Section,
    Shares,
    Table,
    rate_of,
    share,
)
from magistrate.report.html.measures import consistency_of

if TYPE_CHECKING:
    from magistrate.report.html.sources import Source

_OUTCOMES = ((1, "first"), (0, "tie"), (-1, "second"))


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
    rows, table, said = [], [], []
    for source in sources:
        found = consistency_of(source.judged)
        if found.basis != "measured":
            continue
        rates = (found.toward_first, found.consistent, found.toward_second)
        rows.append((source.name, tuple(round((r.value or 0) * r.n) for r in rates)))
        table.append((source.name, *rates))
        said.append(
            f"{source.name} says the same on {rate_of(found.consistent, 'pair')}, turns to the "
            f"answer shown first on {share(found.toward_first.value)} and to the second on "
            f"{share(found.toward_second.value)}"
        )
    if not rows:
        return None
    title = "Where the order of the answers decides"
    parts = (
        ("toward first", "first"),
        ("same in both orders", "plain"),
        ("toward second", "second"),
    )
    columns = (Column("run"), *(Column(name) for name, _ in parts))
    return Figure(
        title,
        Shares(parts, tuple(rows)),  # type: ignore[arg-type]
        ". ".join(said) + ".",
        Table("position", title, columns, tuple(table)),
    )


def _matrix(source: Source, run: int, *, single: bool) -> Figure | None:
    judged = source.judged
    if consistency_of(judged).basis != "measured":
        return None
    pairs = judged.pairs
    both = pairs.take(pairs.ok & (pairs.as_given != NOTHING) & (pairs.swapped != NOTHING))
    n = len(both)
    shares, texts, rows = [], [], []
    for code, name in _OUTCOMES:
        swapped = both.swapped[both.as_given == code]
        counts = [int((swapped == other).sum()) for other, _ in _OUTCOMES]
        shares.append(tuple(count / n for count in counts))
        texts.append(tuple((f"{count:,}", share(count / n)) for count in counts))
        rows += [
            (name, other, count, proportion(count, n))
            for (_, other), count in zip(_OUTCOMES, counts, strict=True)
        ]
    names = tuple(name for _, name in _OUTCOMES)
    given, swapped_first = (
        int((both.as_given == 1).sum()),
        int((both.swapped == 1).sum()),
    )
    said = (
        f"The first answer of the file is preferred on {share(given / n)} of the pairs when it is "
        f"shown first, on {share(swapped_first / n)} when it is shown second."
    )
    return Figure(
        "Verdict in both orders" if single else f"{source.name}: verdict in both orders",
        Matrix("as given ↓ swapped →", names, names, tuple(shares), tuple(texts)),
        said,
        Table(
            f"position_orders_{run + 1}",
            f"What {source.name} says as given and swapped",
            (Column("as given"), Column("swapped"), Column("pairs"), Column("share")),
            tuple(rows),
        ),
        run,
    )


def _absent(sources: Sequence[Source]) -> tuple[str, ...]:
    found = []
    for source in sources:
        basis = consistency_of(source.judged).basis
        if basis == "measured":
            continue
        if not len(source.judged.pairs):
            reason = "there are no pairs of answers in it."
        elif basis == "by construction":
            reason = (
                "this judge reads each answer alone, so the order of the answers cannot matter; "
                "there is nothing to measure."
            )
        else:
            reason = (
                "no pair has verdicts in both orders, so position bias is not known; "
                "judge with --order both."
            )
        capital = f"{reason[0].upper()}{reason[1:]}"
        found.append(f"{source.name}: {reason}" if len(sources) > 1 else capital)
    return tuple(found)
