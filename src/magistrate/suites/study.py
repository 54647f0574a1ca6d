"""What every study returns, and how a study judges the pairs of one set."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from magistrate.errors import FamilyError, InputError
from magistrate.judging.judge import Mode
from magistrate.metrics.columns import PairColumns
from magistrate.metrics.intervals import Rate, mean_of_points, mean_of_scores
from magistrate.records import Record, Sample
from magistrate.store.run import Run
from magistrate.suites.asking import sees_rubric
from magistrate.suites.grid import Cell, Column, Grid
from magistrate.suites.manifest import DataSet
from magistrate.suites.means import mean_of_rates
from magistrate.suites.pairs import AGREEMENT_RULE, PairResult, measure_pairs, points
from magistrate.suites.running import Bench, read_pairs


class Study(Record, ABC):
    """The result of one study."""

    name: ClassVar[str]
    """As ``--suite`` takes it."""
    heading: ClassVar[str]
    """What it asks, for people."""

    missing: tuple[str, ...] = ()
    """Sets of the manifest that have no file."""
    cannot: tuple[str, ...] = ()
    """What the study could not do with this judge or this data, and why."""

    @abstractmethod
    def grids(self) -> tuple[Grid, ...]:
        """Return the tables."""

    def reading(self) -> tuple[str, ...]:
        """Return how the numbers are to be read."""
        return (f"In per cent. {AGREEMENT_RULE}.",)


@dataclass(frozen=True, slots=True)
class Way:
    """A way of asking a judge."""

    variant: str = ""
    """Its name in tables."""
    family: str | None = None
    """None for the judge's own."""
    mode: Mode | None = None
    demonstrations: tuple[Sample, ...] = ()
    rubric: str | None = None
    folder: str = ""
    """What is added to the set's name for the run folder."""
    notes: tuple[str, ...] = ()


AS_NAMED = Way()


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """A set of pairs judged in one way."""

    result: PairResult
    columns: PairColumns
    run: Run


def judge_pairs(
    bench: Bench, study: str, data: DataSet, cannot: list[str], way: Way = AS_NAMED
) -> JudgedPairs | None:
    """Judge a set of pairs and measure the run; None where it cannot be, with the reason added.

    Args:
        bench: What is under way.
        study: Folder of the run.
        data: The set.
        cannot: Takes the reason why there is no result.
        way: How the judge is asked.

    Raises:
        MagistrateError: The judge as a whole cannot go on, or the folder cannot be used; what was
            judged is kept.
    """
    shown = data.entry.shown + (f", {way.variant}" if way.variant else "")
    try:
        drawn = bench.drawn(data)
        if way.rubric is not None:
            drawn = drawn.with_rubric(way.rubric)
        judge = bench.opened.asked(way.family, mode=way.mode, demonstrations=way.demonstrations)
        if way.rubric is not None and not sees_rubric(judge.family, drawn.samples[0]):
            cannot.append(
                f"{shown}: family '{judge.family.name}' shows no rubric, so the judge cannot be "
                f"told what to judge by"
            )
            return None
        run = bench.run(study, data.entry.name + way.folder, drawn, judge)
    except (InputError, FamilyError) as error:
        cannot.append(f"{shown}: {error}")
        return None
    read = read_pairs(run)
    result = measure_pairs(run, read, data, drawn, variant=way.variant, notes=way.notes)
    return JudgedPairs(result, read.columns, run)


class Compared(Record):
    """One way of asking beside another one, on the same pairs."""

    result: PairResult
    difference: Rate
    """Agreement of this way less that of the other, with an interval for paired values."""
    same: Rate
    """Share of pairs where both ways say the same, of those that are ok in both."""


def compared(one: JudgedPairs, other: JudgedPairs) -> Compared:
    """Compare two ways of asking; their runs hold the same pairs in the same sequence."""
    import numpy as np

    shared = np.arange(min(len(one.columns), len(other.columns)))
    left, right = (each.columns.take(shared) for each in (one, other))
    both = left.ok & right.ok
    decisive = both & ((left.gold == 1) | (left.gold == -1))
    gaps = (points(left) - points(right))[decisive]
    same = (left.said == right.said)[both].astype(float)
    return Compared(
        result=one.result,
        difference=mean_of_scores(gaps, left.question[decisive]),
        same=mean_of_points(same, left.question[both]),
    )


PAIR_COLUMNS = (
    Column("n", "count"),
    Column("not ok"),
    Column("agreement"),
    Column("over longer", "difference"),
    Column("consistent"),
    Column("ties", bare=True),
)
"""Columns of a judge's results on pairs."""

BASELINE_COLUMNS = (
    Column("n", "count"),
    Column("longer"),
    Column("first"),
    Column("random"),
    Column("majority"),
)
_BASELINES = ("longer", "first", "random", "majority")


def pair_cells(result: PairResult) -> tuple[Cell, ...]:
    """Return the cells under :data:`PAIR_COLUMNS`."""
    return (
        result.agreement.n,
        result.not_ok,
        result.agreement,
        result.over_longer,
        consistency_cell(result),
        result.ties,
    )


def consistency_cell(result: PairResult) -> Cell:
    """Return the rate, or that order cannot matter."""
    return "always" if result.consistency_basis == "by construction" else result.consistency


def baseline_cells(result: PairResult) -> tuple[Cell, ...]:
    """Return the cells under :data:`BASELINE_COLUMNS`."""
    known = result.baselines
    return (result.decisive, known.longer, known.first, known.random, known.majority)


def baseline_grid(results: Sequence[PairResult], means: Sequence[tuple[Cell, ...]] = ()) -> Grid:
    """Return the baselines of the sets, each set once, and rows of their means below."""
    sets = {result.set: result for result in results}
    rows = tuple((one.title, *baseline_cells(one)) for one in sets.values())
    return Grid(
        "Baselines on the same sets",
        (Column("set", "text"), *BASELINE_COLUMNS),
        (*rows, *means),
    )


def baseline_means(name: str, results: Sequence[PairResult]) -> tuple[Cell, ...]:
    """Return a row of the means of the baselines over sets, each set counting alike."""
    sets = {result.set: result.baselines for result in results}
    means = [mean_of_rates([getattr(one, key) for one in sets.values()]) for key in _BASELINES]
    return (name, means[0].n, *means)


def variant_grid(caption: str, rows: Sequence[Compared], other: str) -> Grid:
    """Return the table of one judge asked in several ways.

    Args:
        caption: Of the table.
        rows: A row per set and way.
        other: What each way is compared with, for the note.
    """
    cells = tuple(
        (
            row.result.title,
            row.result.variant,
            row.result.family + (f" ({row.result.mode})" if row.result.mode else ""),
            row.result.agreement.n,
            row.result.not_ok,
            row.result.agreement,
            row.difference if row.difference.low is not None else None,
            row.same,
            consistency_cell(row.result),
            row.result.ties,
        )
        for row in rows
    )
    note = (
        f"gain: agreement less that of {other}, on the pairs that are ok in both; same: share of "
        f"these on which both say the same."
    )
    return Grid(
        caption,
        (
            Column("set", "text"),
            Column("way", "text"),
            Column("family", "text"),
            Column("n", "count"),
            Column("not ok", bare=True),
            Column("agreement"),
            Column("gain", "difference"),
            Column("same", bare=True),
            Column("consistent"),
            Column("ties", bare=True),
        ),
        cells,
        (note, *pair_notes([row.result for row in rows])),
    )


def pair_notes(results: Sequence[PairResult]) -> tuple[str, ...]:
    """Return what the reader of these rows should know of their sets."""
    notes = []
    if any(result.consistency_basis == "by construction" for result in results):
        notes.append("consistent 'always': each answer is read alone, so order cannot matter.")
    drawn = {
        result.title: f"{result.title} {result.pairs:,} of {result.available:,}"
        for result in results
        if result.pairs < result.available
    }
    if drawn:
        notes.append(f"Pairs drawn by seed: {', '.join(drawn.values())}.")
    remarks: dict[str, list[str]] = {}
    for result in results:
        for note in result.notes:
            titles = remarks.setdefault(note, [])
            if result.title not in titles:
                titles.append(result.title)
    notes += [f"{', '.join(titles)}: {_ended(note)}" for note, titles in remarks.items()]
    shortened = [f"{_name(r)} {r.truncated:,}" for r in results if r.truncated]
    if shortened:
        notes.append(f"Pairs that the judge read shortened: {', '.join(shortened)}.")
    return tuple(notes)


def _ended(note: str) -> str:
    return note if note.endswith((".", "…")) else f"{note}."


def _name(result: PairResult) -> str:
    return f"{result.title}, {result.variant}" if result.variant else result.title
