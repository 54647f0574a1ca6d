"""Agreement with people, beside rules that need no judge, and what is mistaken for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from magistrate.metrics.columns import NOTHING, SPLIT
from magistrate.metrics.intervals import proportion
from magistrate.report.html.blocks import (
    Bar,
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
from magistrate.report.html.measures import Compared, compare_decisive, compare_three
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.report.html.sources import Source

_OUTCOMES = ((1, "first"), (0, "tie"), (-1, "second"))


def agreement(sources: Sequence[Source]) -> Section:
    """Return the section of agreement."""
    decisive = [compare_decisive(source.judged) for source in sources]
    three = [compare_three(source.judged) for source in sources]
    figures = [
        _figure(
            "agreement",
            "Pairs on which people prefer one answer",
            "share right; a predicted tie counts half",
            sources,
            decisive,
        ),
        _figure(
            "agreement_three_classes",
            "All labelled pairs, tie as a class of its own",
            "share with the same label",
            sources,
            three,
        ),
    ]
    return Section(
        "agreement",
        "Agreement with people",
        "The judge beside rules that need none, on the same pairs. A judge that is not clearly "
        "above 'longer wins' has shown no more than a taste for length. Intervals are Wilson's, "
        "95 %; where many pairs share a question they are too narrow.",
        tuple(figure for figure in figures if figure is not None),
        absent=_absent(sources),
    )


def confusion(sources: Sequence[Source]) -> Section:
    """Return the section of the confusion matrices."""
    figures = [
        figure
        for run, source in enumerate(sources)
        if (figure := _confusion(source, run, single=len(sources) == 1)) is not None
    ]
    return Section(
        "confusion",
        "What is taken for what",
        "A row for each label of the annotators, a column for what the judge said of those pairs. "
        "Shares are of the row. Right verdicts lie on the diagonal; what failed has its own column "
        "and is never a tie.",
        tuple(figures),
        absent=_absent(sources),
    )


def _figure(
    name: str, title: str, axis: str, sources: Sequence[Source], compared: Sequence[Compared]
) -> Figure | None:
    groups, rows, said = [], [], []
    several = len(sources) > 1
    for source, one in zip(sources, compared, strict=True):
        if not one.judge.n:
            continue
        bars = [Bar(source.name, one.judge)]
        bars += [Bar(rule, rate, "rule") for rule, rate in one.rules]
        groups.append(Group(source.name if several else "", tuple(bars)))
        rows += [
            (source.name, bar.label if bar.tone == "rule" else "the judge", bar.rate)
            for bar in bars
        ]
        best, rate = max(one.rules, key=lambda rule: rule[1].value or 0.0)
        said.append(f"{source.name} {rate_words(one.judge)}; {best} {share(rate.value)}")
    if not groups:
        return None
    table = Table(name, title, (Column("run"), Column("who"), Column(axis)), tuple(rows))
    plot = Intervals(axis, tuple(groups), marks=((0.5, "half"),))
    return Figure(title, plot, ". ".join(said) + ".", table)


def _confusion(source: Source, run: int, *, single: bool) -> Figure | None:
    pairs = source.judged.pairs
    labelled = pairs.take((pairs.gold != NOTHING) & (pairs.gold != SPLIT))
    if not len(labelled):
        return None
    shares, texts, rows, right = [], [], [], 0
    for code, name in _OUTCOMES:
        said = labelled.said[labelled.gold == code]
        counts = [int((said == other).sum()) for other in (1, 0, -1, NOTHING)]
        total = len(said)
        right += counts[[1, 0, -1].index(code)]
        shares.append(tuple(count / total if total else None for count in counts))
        texts.append(
            tuple((f"{count:,}", share(count / total) if total else "") for count in counts)
        )
        for (_, other), count in zip((*_OUTCOMES, (0, "not ok")), counts, strict=True):
            rows.append((name, other, count, proportion(count, total)))
    title = "Annotators against judge" if single else source.name
    said_words = (
        f"Of {counted(len(labelled), 'pair')} with a clear label the judge gave {right:,} "
        f"the same one."
    )
    matrix = Matrix(
        "people ↓ judge →",
        tuple(f"{name} better" if code else name for code, name in _OUTCOMES),
        ("first", "tie", "second", "not ok"),
        tuple(shares),
        tuple(texts),
    )
    table = Table(
        f"confusion_{run + 1}",
        f"What {source.name} says of the pairs with each label",
        (Column("people"), Column("judge"), Column("pairs"), Column("share of the row")),
        tuple(rows),
    )
    return Figure(title, matrix, said_words, table, run)


def _absent(sources: Sequence[Source]) -> tuple[str, ...]:
    """Say of which runs there is nothing to show, and why."""
    return tuple(
        f"{source.name}: {reason}" if len(sources) > 1 else f"{reason[0].upper()}{reason[1:]}"
        for source in sources
        if (reason := why_not_measured(source))
    )


def why_not_measured(source: Source) -> str:
    """Return why a run's agreement with people is not measured, nothing where it is."""
    pairs = source.judged.pairs
    if not len(pairs):
        return "there are no pairs of answers in it."
    if (pairs.gold == NOTHING).all():
        return (
            "no pair has a label, so agreement with people cannot be measured; "
            "--labels FILE joins a test set."
        )
    known = (pairs.gold != NOTHING) & (pairs.gold != SPLIT)
    if not known.any():
        return "the annotators of every labelled pair are split, so no label can be taken as true."
    if not pairs.ok[known].any():
        return "no labelled pair has a verdict: all readings failed or are missing."
    return ""
