"""Agreement with people, beside rules that need no judge, and what is mistaken for what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.classification import CLASSES
from magistrate.metrics.columns import NOTHING, SPLIT
from magistrate.metrics.intervals import Rate, proportion
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
    absent_lines,
    number,
    rate_words,
    share,
)
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.report.evaluation_pairs import PairEvaluation, RowOfBaselines
    from magistrate.report.html.sources import Source

Reading = Literal["decisive", "accuracy"]
_SAID = (*CLASSES, "not ok")


def agreement(sources: Sequence[Source]) -> Section:
    """Return the section of agreement."""
    figures = [
        _figure(
            "agreement",
            "Pairs on which people prefer one answer",
            "share right; a predicted tie counts half",
            sources,
            "decisive",
        ),
        _figure(
            "agreement_three_classes",
            "All labelled pairs, tie as a class of its own",
            "share with the same label",
            sources,
            "accuracy",
        ),
        _people(sources),
    ]
    return Section(
        "agreement",
        "Agreement with people",
        "The judge beside rules that need none, on the same pairs. A judge that is not clearly "
        "above 'longer wins' has shown no more than a taste for length.",
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


def _figure(
    name: str, title: str, axis: str, sources: Sequence[Source], reading: Reading
) -> Figure | None:
    groups: list[Group] = []
    rows: list[tuple[Cell, ...]] = []
    said = []
    several = len(sources) > 1
    for source in sources:
        found = [row for row in _baselines(source) if _rate(row, reading).n]
        if not found:
            continue
        judge, *rules = found
        bars = [Bar("the judge" if several else source.name, _rate(judge, reading))]
        bars += [Bar(row.name, _rate(row, reading), "rule") for row in rules]
        groups.append(Group(source.name if several else "", tuple(bars), source.name))
        rows += [(source.name, row.name, _rate(row, reading)) for row in found]
        best = max(rules, key=lambda row: _rate(row, reading).value or 0.0)
        said.append(
            f"{source.name}: {rate_words(_rate(judge, reading))}; best rule without a judge: "
            f"{best.name}, {share(_rate(best, reading).value)}"
        )
    if not groups:
        return None
    table = Table(name, title, (Column("run"), Column("who"), Column(axis)), tuple(rows))
    plot = Intervals(axis, tuple(groups), marks=((0.5, "half"),))
    return Figure(title, plot, ". ".join(said) + ".", table)


def _baselines(source: Source) -> tuple[RowOfBaselines, ...]:
    return source.pairs.baselines if source.pairs and not why_not_measured(source) else ()


def _rate(row: RowOfBaselines, reading: Reading) -> Rate:
    return row.decisive if reading == "decisive" else row.accuracy


def _people(sources: Sequence[Source]) -> Figure | None:
    """Return the judge against each annotator beside the annotators against each other."""
    groups: list[Group] = []
    rows: list[tuple[Cell, ...]] = []
    said = []
    for source in sources:
        found = source.pairs
        if found is None or found.annotators is None or not found.annotators.between:
            continue
        bars = [
            Bar(f"the judge and {one.annotator}", one.agreement)
            for one in found.with_each_annotator
        ]
        bars += [
            Bar(f"{two.one} and {two.other}", two.agreement, "people")
            for two in found.annotators.between
        ]
        groups.append(Group(source.name if len(sources) > 1 else "", tuple(bars), source.name))
        rows += [(source.name, bar.label, bar.rate) for bar in bars]
        said.append(_said_of_people(source.name, found))
    if not groups:
        return None
    title = "The judge among the annotators"
    axis = "share with the same label, first, tie or second"
    columns = (Column("run"), Column("who"), Column(axis))
    plot = Intervals(axis, tuple(groups))
    return Figure(title, plot, " ".join(said), Table("annotators", title, columns, tuple(rows)))


def _said_of_people(name: str, found: PairEvaluation) -> str:
    people = found.annotators
    assert people is not None
    text = (
        f"{name}: all annotators agree on {people.unanimous:,} of {people.several:,} pairs that "
        f"several labelled"
    )
    alpha = people.krippendorff
    return text + ("." if alpha is None else f" (Krippendorff's alpha {number(alpha)}).")


def _confusion(source: Source, run: int, *, single: bool) -> Figure | None:
    found = source.pairs.agreement if source.pairs else None
    if found is None:
        return None
    shares, texts = [], []
    rows: list[tuple[Cell, ...]] = []
    for name, counts in zip(CLASSES, found.confusion, strict=True):
        total = sum(counts)
        shares.append(tuple(count / total if total else None for count in counts))
        texts.append(
            tuple((f"{count:,}", share(count / total) if total else "") for count in counts)
        )
        rows += [
            (name, said, count, proportion(count, total))
            for said, count in zip(_SAID, counts, strict=True)
        ]
    total = sum(map(sum, found.confusion))
    right = sum(found.confusion[k][k] for k in range(len(CLASSES)))
    kappa = "" if found.kappa.value is None else f" Cohen's kappa {number(found.kappa.value)}."
    said = (
        f"Of {counted(total, 'pair')} with a clear label the judge gave {right:,} the same one."
        f"{kappa}"
    )
    matrix = Matrix("people ↓ judge →", CLASSES, _SAID, tuple(shares), tuple(texts))
    table = Table(
        f"confusion_{run + 1}",
        f"What {source.name} says of the pairs with each label",
        (Column("people"), Column("judge"), Column("pairs"), Column("share of the row")),
        tuple(rows),
    )
    return Figure("Annotators against judge" if single else source.name, matrix, said, table, run)


def _absent(sources: Sequence[Source]) -> tuple[str, ...]:
    return absent_lines([(source.name, why_not_measured(source)) for source in sources])
