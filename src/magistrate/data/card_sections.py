"""The sections of a data card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.data.checks.balance import Labelled, model_rows
from magistrate.data.checks.collected import Collected
from magistrate.data.checks.findings import CheckReport, Example
from magistrate.data.split_files import SplitReport
from magistrate.metrics.annotators import MOST_ANNOTATORS, describe
from magistrate.metrics.intervals import mean_of_points
from magistrate.report.html.blocks import (
    Cell,
    Column,
    Curve,
    Figure,
    Line,
    Point,
    Section,
    Shares,
    Table,
    Tone,
    rate_words,
)
from magistrate.report.html.contents import Tile
from magistrate.report.text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PARTS: tuple[tuple[str, Tone], ...] = (
    ("first", "first"),
    ("tie", "plain"),
    ("second", "second"),
)
_CODES = {"first": 1, "tie": 0, "second": -1}
LENGTH_BINS = 10
MODELS_SHOWN = 50
EXAMPLES_SHOWN = 5


@dataclass(frozen=True)
class CardData:
    """What a card is made of."""

    data: Collected
    pairs: Labelled
    report: CheckReport
    split: SplitReport | None
    licences: Mapping[str, str]


def card_tiles(card: CardData) -> Iterator[Tile]:
    """Yield the numbers at the top."""
    report = card.report
    yield Tile("samples", f"{report.samples:,}", f"{report.labelled:,} labelled pairs")
    yield Tile("questions", f"{report.questions:,}", f"{report.answers:,} different answers")
    errors, warnings = report.count("error"), report.count("warning")
    yield Tile("findings", f"{errors + warnings:,}", f"{errors:,} errors, {warnings:,} warnings")


def sentences(card: CardData) -> Iterator[str]:
    """Yield what to know first."""
    yield f"Hash of the data: {card.report.data_hash}"
    for finding in card.report.findings:
        if finding.severity == "error":
            yield f"Error: {finding.says}. What to do: {finding.do}."


def card_sections(card: CardData) -> Iterator[Section]:
    """Yield the sections in their sequence."""
    yield _sources(card)
    yield _labels(card)
    yield _lengths(card)
    yield _models(card)
    yield _annotators(card)
    yield _split(card)
    yield _findings(card)


def _sources(card: CardData) -> Section:
    rows: list[tuple[Cell, ...]] = []
    in_file = Counter(card.data.file_of)
    used: set[str] = set()
    for number, name in enumerate(card.data.files):
        licence = _licence(card.licences, name, used)
        rows.append((name, in_file[number], licence or "not stated"))
    rows += [(name, None, said) for name, said in card.licences.items() if name not in used]
    missing = [str(row[0]) for row in rows if row[2] == "not stated"]
    table = Table(
        "sources", "Sources", (Column("source"), Column("samples"), Column("licence")), tuple(rows)
    )
    absent = (
        (f"The licence of {', '.join(missing)} is not stated (--licence NAME=LICENCE).",)
        if missing
        else ()
    )
    languages = ""
    if card.data.languages:
        told = ", ".join(f"{k} ({n:,})" for k, n in card.data.languages.most_common(20))
        languages = f"Languages: {told}."
    return Section(
        "sources",
        "Sources and licences",
        "Where the data come from and under what terms.",
        (Figure("Sources", None, languages, table),),
        absent=absent,
    )


def _licence(licences: Mapping[str, str], file: str, used: set[str]) -> str | None:
    """Return the licence given for a file: by its path, its name, or a folder that it is in."""
    parts = file.replace("\\", "/").split("/")
    for name in (file, parts[-1], parts[-1].split(".", 1)[0], *reversed(parts[:-1])):
        if name in licences:
            used.add(name)
            return licences[name]
    return None


def _counts(labels: NDArray[np.int64]) -> tuple[int, ...]:
    return tuple(int((labels == _CODES[name]).sum()) for name, _ in _PARTS)


def _labels(card: CardData) -> Section:
    pairs = card.pairs
    if not pairs.labelled:
        return Section("labels", "Labels", "", absent=("No pair has a label.",))
    rows: list[tuple[str, tuple[int, ...]]] = [("all", _counts(pairs.label))]
    category = pairs.columns.category
    frequent = Counter(category.codes.tolist()).most_common(30)
    if len(frequent) > 1:
        rows += [
            (category.names[code] or "(no category)", _counts(pairs.label[category.codes == code]))
            for code, _ in frequent
        ]
    table = Table(
        "labels",
        "Labels by category",
        (Column("category"), *(Column(name) for name, _ in _PARTS)),
        tuple((name, *counts) for name, counts in rows),
    )
    plot = Shares(_PARTS, tuple(rows))
    said = _says(card, "position-balance") or "No label prefers an answer."
    figures = [Figure("Which answer is better", plot, said, table)]
    figures += list(_scores(card))
    return Section(
        "labels",
        "Labels",
        "How often the first answer, neither, or the second is labelled better; a merged label "
        "counts where there is one, otherwise the annotators' majority.",
        tuple(figures),
    )


def _scores(card: CardData) -> Iterator[Figure]:
    if not card.data.scores:
        return
    rows = tuple(
        (name or "annotator", f"{score:g}", count)
        for name, found in sorted(card.data.scores.items())[:MOST_ANNOTATORS]
        for score, count in sorted(found.items())
    )
    columns = (Column("annotator"), Column("score"), Column("answers"))
    table = Table("scores", "Scores by annotator", columns, rows)
    yield Figure("Scores", None, "How often each score was given.", table)


def _lengths(card: CardData) -> Section:
    import numpy as np

    pairs = card.pairs
    lengths = pairs.columns.lengths
    told = pairs.decisive & (lengths[:, 0] != lengths[:, 1])
    if not told.any():
        reason = "No labelled pair has answers of unequal length."
        return Section("length", "Length", "", absent=(reason,))
    gap = np.abs(np.log2((lengths[told, 0] + 1) / (lengths[told, 1] + 1)))
    longer = np.sign(lengths[told, 0] - lengths[told, 1]) == pairs.label[told]
    questions = pairs.columns.question[told]
    edges = np.unique(np.quantile(gap, np.linspace(0, 1, LENGTH_BINS + 1)))
    place = np.clip(np.searchsorted(edges, gap, side="right") - 1, 0, max(len(edges) - 2, 0))
    bins = [
        (float(gap[place == k].mean()), mean_of_points(longer[place == k], questions[place == k]))
        for k in np.unique(place)
    ]
    widest = max(max(middle for middle, _ in bins), 1e-9)
    points = tuple(
        Point(middle / widest, rate, f"{2**middle:.2g} times as long: {rate_words(rate)}")
        for middle, rate in bins
    )
    ticks = tuple((k / 4, f"{2 ** (widest * k / 4):.2g}×") for k in range(5))
    plot = Curve(
        "longer answer is so many times as long",
        "longer is labelled better",
        (Line("longer wins", "people", points),),
        ticks,
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple((f"{2**middle:.3g}", rate) for middle, rate in bins)
    table = Table(
        "length",
        "How often the longer answer is labelled better, by how much longer it is",
        (Column("times as long (mean)"), Column("longer wins")),
        rows,
    )
    return Section(
        "length",
        "Length",
        "A label that follows length can be guessed without reading. The dashed line is one half.",
        (Figure("The longer answer wins", plot, _says(card, "length-label"), table),),
    )


def _models(card: CardData) -> Section:
    rows = model_rows(card.pairs)
    if not rows:
        return Section("models", "Models", "", absent=("No answer of a pair names its model.",))
    shown = rows[:MODELS_SHOWN]
    table = Table(
        "models",
        "Models",
        (Column("model"), Column("stands first"), Column("stands second"), Column("wins")),
        tuple((row.model, row.first, row.second, row.wins) for row in shown),
    )
    plot = Shares(
        (("stands first", "first"), ("stands second", "second")),
        tuple((row.model, (row.first, row.second)) for row in shown),
    )
    said = f"{counted(len(rows), 'model')}; wins are of decisive pairs."
    return Section(
        "models",
        "Models",
        "Who wrote the answers, in which place they stand, and how often they are labelled better.",
        (Figure("Places and wins of models", plot, said, table),),
    )


def _annotators(card: CardData) -> Section:
    columns = card.pairs.columns
    told = None
    if len(columns) and columns.annotators:
        told = describe(columns.votes, columns.annotators, columns.question)
    if told is None:
        return Section("annotators", "Annotators", "", absent=("Nobody labelled a pair.",))
    counts = tuple(
        (name, _counts(columns.votes[:, k].astype(int)))
        for k, name in enumerate(told.names[:MOST_ANNOTATORS])
    )
    table = Table(
        "annotators",
        "Labels of each annotator",
        (Column("annotator"), *(Column(name) for name, _ in _PARTS)),
        tuple((name, *found) for name, found in counts),
    )
    said = f"{counted(len(told.names), 'annotator')}"
    if told.several:
        said += (
            f"; {told.several:,} pairs have several labels, all alike in {told.unanimous:,}, "
            f"three different ones in {told.three_way:,}"
        )
    if told.krippendorff is not None:
        said += f"; Krippendorff's alpha {told.krippendorff:.3f}"
    figures = [Figure("Labels", Shares(_PARTS, counts), f"{said}.", table)]
    if told.between:
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (f"{each.one} and {each.other}", each.agreement, each.kappa) for each in told.between
        )
        columns_of = (Column("annotators"), Column("agreement"), Column("Cohen's kappa", "number"))
        agreement = Table("between", "Agreement of every two", columns_of, rows)
        figures.append(Figure("Agreement of every two", None, "", agreement))
    return Section(
        "annotators",
        "Annotators",
        "People or models that labelled the pairs, and how far they agree. Labels that were merged "
        "from others are no annotator.",
        tuple(figures),
    )


def _split(card: CardData) -> Section:
    split = card.split
    if split is None:
        reason = "No folder of splits was named (--split DIR)."
        return Section("splits", "Splits", "", absent=(reason,))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (part.name, part.samples, part.share, *(part.labels.get(name, 0) for name, _ in _PARTS),
         part.data_hash)
        for part in split.splits
    )  # fmt: skip
    columns = ("split", "samples", "share", *(name for name, _ in _PARTS), "hash")
    table = Table("splits", "Splits", tuple(map(Column, columns)), rows)
    plot = Shares(
        _PARTS,
        tuple(
            (part.name, tuple(part.labels.get(name, 0) for name, _ in _PARTS))
            for part in split.splits
        ),
    )
    dropped = ", ".join(f"{count:,} {kind}" for kind, count in split.dropped.items()) or "none"
    said = (
        f"{counted(split.groups, 'group')} by {split.by}, seed {split.seed}, the largest of "
        f"{counted(split.largest_group, 'sample')}. Dropped: {dropped}."
    )
    explains = "A group (equal and nearly equal questions) is in one split alone."
    return Section("splits", "Splits", explains, (Figure("Splits", plot, said, table),))


def _findings(card: CardData) -> Section:
    report = card.report
    if not report.findings:
        return Section("findings", "Findings", "", absent=("The check found nothing.",))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (finding.check, finding.severity, finding.count, finding.says, finding.do)
        for finding in report.findings
    )
    names = ("check", "severity", "count", "what was found", "what to do")
    table = Table("findings", "Findings", tuple(map(Column, names)), rows)
    figures = [Figure("What a check finds", None, "", table)]
    examples: tuple[tuple[Cell, ...], ...] = tuple(
        (finding.check, _place(each), each.text or each.note)
        for finding in report.findings
        if finding.severity != "note"
        for each in finding.examples[:EXAMPLES_SHOWN]
    )
    if examples:
        headings = (Column("check"), Column("where"), Column("text"))
        shown = Table("examples", "Examples", headings, examples)
        figures.append(Figure("Examples", None, "The first of each.", shown))
    leaks = "" if report.against else " No test set was named, so leaks were not looked for."
    return Section(
        "findings",
        "Findings",
        f"Errors make numbers wrong, warnings are worth a look, notes are worth knowing.{leaks}",
        tuple(figures),
    )


def _place(each: Example) -> str:
    where = f"{each.file}, row {each.row}"
    return where if each.other_file is None else f"{where}; {each.other_file}, row {each.other_row}"


def _says(card: CardData, check: str) -> str:
    for finding in card.report.findings:
        if finding.check == check:
            return f"{finding.says[0].upper()}{finding.says[1:]}."
    return ""
