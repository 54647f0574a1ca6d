"""Agreement by category, and over categories that one set has and another lacks.

Categories come from the files, or from a judge that names one of a few (:class:`Named`); then all
sets share them, and two sets can be compared as in JudgeLM's rebuttal (table R1: the share of a
benchmark's samples whose category another benchmark does not know).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from magistrate.metrics.columns import Named as NamedColumn
from magistrate.metrics.columns import PairColumns
from magistrate.metrics.intervals import Rate, mean_of_points, proportion
from magistrate.records import Record
from magistrate.suites.grid import Column, Grid
from magistrate.suites.means import difference_of_means
from magistrate.suites.pairs import longer_points, points
from magistrate.suites.study import JudgedPairs

if TYPE_CHECKING:
    from magistrate.suites.running import Bench

RARE = 0.01
"""A category counts as unseen where less than this share of the other set has it."""

_SHOWN = 40


class CategoryRow(Record):
    """A judge on the pairs of one category of a set."""

    set: str
    title: str
    category: str
    pairs: int
    not_ok: Rate
    agreement: Rate
    longer: Rate


class OutOfDistribution(Record):
    """The categories of one set against those of another, and agreement on either side."""

    known: str
    """The set, or sets, whose categories count as seen."""
    set: str
    title: str
    samples: int
    """Samples of the set that have a category."""
    uncategorised: int
    """Samples without one; left out."""
    absent: Rate
    """Share of samples whose category does not occur in the known set at all."""
    unseen: Rate
    """Share of samples whose category does not occur there, or in less than 1 % of samples."""
    seen_agreement: Rate
    unseen_agreement: Rate
    difference: Rate
    """Agreement in seen categories less that in unseen ones."""


class NamedSet(Record):
    """How the naming of a set's categories by a judge went."""

    set: str
    title: str
    questions: int
    """Different questions of the set; each is asked once."""
    not_ok: Rate
    """Share of them that were given no category."""


class Named(Protocol):
    """Assigns categories to the pairs of judged sets."""

    @property
    def source(self) -> str:
        """Who names the categories, for people."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """The categories."""
        ...

    @property
    def results(self) -> Sequence[NamedSet]:
        """How the naming of each set went, so far."""
        ...

    def assign(
        self, bench: Bench, judged: Mapping[str, JudgedPairs], cannot: list[str]
    ) -> dict[str, JudgedPairs]:
        """Return the sets with their categories replaced."""
        ...


@dataclass(frozen=True, slots=True)
class _Counts:
    """How often each category occurs in a set."""

    total: int
    counts: Mapping[str, int]

    def is_rare(self, name: str) -> bool:
        return self.counts.get(name, 0) < RARE * self.total


def by_category(judged: Mapping[str, JudgedPairs]) -> tuple[CategoryRow, ...]:
    """Return a row per set and category, the largest category of each set first."""
    rows: list[CategoryRow] = []
    for found in judged.values():
        columns = found.columns
        names = [name for name in columns.category.names if name]
        if len(names) < 2:
            continue
        of_set = [_row(found, columns.take(columns.category.where(name)), name) for name in names]
        rows += sorted(of_set, key=lambda row: (-row.pairs, row.category))
    return tuple(rows)


def _row(found: JudgedPairs, part: PairColumns, name: str) -> CategoryRow:
    decisive = (part.gold == 1) | (part.gold == -1)
    decided = decisive & part.ok
    return CategoryRow(
        set=found.result.set,
        title=found.result.title,
        category=name,
        pairs=len(part),
        not_ok=proportion(int((~part.ok).sum()), len(part)),
        agreement=mean_of_points(points(part)[decided], part.question[decided]),
        longer=mean_of_points(longer_points(part)[decisive], part.question[decisive]),
    )


def compare_categories(
    judged: Mapping[str, JudgedPairs], own: set[str]
) -> tuple[OutOfDistribution, ...]:
    """Compare every other set's categories with those of the judge's own domain, taken together.

    Args:
        judged: The sets by name.
        own: Names of the sets of the judge's own domain; without any there is no comparison.
    """
    inside = [found for name, found in judged.items() if name in own]
    known = _counted([found.columns for found in inside])
    if not known.total:
        return ()
    title = ", ".join(found.result.title for found in inside)
    return tuple(
        row
        for name, found in judged.items()
        if name not in own and (row := _out_of(found, known, title)) is not None
    )


def _out_of(found: JudgedPairs, known: _Counts, title: str) -> OutOfDistribution | None:
    import numpy as np

    columns = found.columns
    named = np.array([bool(name) for name in columns.category.names], dtype=bool)
    has = named[columns.category.codes]
    if not has.any():
        return None
    rare = np.array([known.is_rare(name) for name in columns.category.names], dtype=bool)
    absent = np.array([name not in known.counts for name in columns.category.names], dtype=bool)
    unseen = rare[columns.category.codes]
    decided = has & columns.ok & ((columns.gold == 1) | (columns.gold == -1))
    right = points(columns)
    seen_rate, unseen_rate = (
        mean_of_points(right[which], columns.question[which])
        for which in (decided & ~unseen, decided & unseen)
    )
    return OutOfDistribution(
        known=title,
        set=found.result.set,
        title=found.result.title,
        samples=int(has.sum()),
        uncategorised=int((~has).sum()),
        absent=proportion(int(absent[columns.category.codes][has].sum()), int(has.sum())),
        unseen=proportion(int(unseen[has].sum()), int(has.sum())),
        seen_agreement=seen_rate,
        unseen_agreement=unseen_rate,
        difference=difference_of_means([seen_rate], [unseen_rate]),
    )


def _counted(parts: Sequence[PairColumns]) -> _Counts:
    counts: dict[str, int] = {}
    for columns in parts:
        for name in columns.category.names:
            if name:
                number = int(columns.category.where(name).sum())
                counts[name] = counts.get(name, 0) + number
    return _Counts(sum(counts.values()), {name: n for name, n in counts.items() if n})


def with_categories(found: JudgedPairs, of_question: Mapping[int, str]) -> JudgedPairs:
    """Return a judged set with other categories.

    Args:
        found: The set.
        of_question: Category by :attr:`PairColumns.question`; questions without one have none.
    """
    import numpy as np

    places: dict[str, int] = {}
    codes = [
        places.setdefault(of_question.get(int(question), ""), len(places))
        for question in found.columns.question
    ]
    column = NamedColumn(np.array(codes, dtype=np.int64), tuple(places))
    return replace(found, columns=replace(found.columns, category=column))


def category_grids(
    rows: Sequence[CategoryRow],
    compared: Sequence[OutOfDistribution],
    named: Sequence[NamedSet],
    source: str,
) -> list[Grid]:
    """Return the tables of categories; none where there are none."""
    grids = []
    if named:
        grids.append(
            Grid(
                f"Categories named by {source}",
                (Column("set", "text"), Column("questions", "count"), Column("not ok")),
                tuple((one.title, one.questions, one.not_ok) for one in named),
                ("A question that is not ok has no category and is left out of what follows.",),
            )
        )
    if rows:
        largest = sorted(rows, key=lambda row: -row.pairs)[:_SHOWN]
        kept = [row for row in rows if row in largest]
        notes = ["longer: share right of 'the longer answer wins' on the category's pairs."]
        if len(rows) > len(kept):
            notes.append(f"The {len(kept)} largest of {len(rows)}; bench.json has them all.")
        grids.append(
            Grid(
                f"Agreement by category (categories from {source})",
                (
                    Column("set", "text"),
                    Column("category", "text"),
                    Column("pairs", "count"),
                    Column("n", "count"),
                    Column("not ok", bare=True),
                    Column("agreement"),
                    Column("longer"),
                ),
                tuple(
                    (r.title, r.category, r.pairs, r.agreement.n, r.not_ok, r.agreement, r.longer)
                    for r in kept
                ),
                tuple(notes),
            )
        )
    if compared:
        note = (
            f"absent: the category does not occur in {compared[0].known}; unseen: nor in "
            f"{100 * RARE:g} % of its samples. Categories are the same where they have the same "
            f"name (from {source})."
        )
        grids.append(
            Grid(
                f"Out of distribution: categories that {compared[0].known} does not have",
                (
                    Column("set", "text"),
                    Column("samples", "count"),
                    Column("without", "count"),
                    Column("absent"),
                    Column("unseen"),
                    Column("seen"),
                    Column("in unseen"),
                    Column("seen less unseen", "difference"),
                ),
                tuple(
                    (
                        row.title,
                        row.samples,
                        row.uncategorised,
                        row.absent,
                        row.unseen,
                        row.seen_agreement,
                        row.unseen_agreement,
                        row.difference,
                    )
                    for row in compared
                ),
                (note, "seen, in unseen: agreement on pairs of either kind."),
            )
        )
    return grids
