"""*fairness*: whether the worse answer can win by its looks (LLMBar, arXiv 2310.07641).

Per subset the accuracy in each order and their mean by LLMBar's own rule: a reading that names no
winner (or a tie) is wrong. Beside it our own rule, where a tie counts half, so that the judge can
be compared with the length baseline. Then the mean of the adversarial subsets.
"""

from __future__ import annotations

from typing import ClassVar, Literal

from magistrate.metrics.columns import PairColumns
from magistrate.metrics.intervals import NO_RATE, Rate, mean_of_points
from magistrate.records import Record
from magistrate.suites.grid import Cell, Column, Grid
from magistrate.suites.means import mean_of_rates
from magistrate.suites.pairs import Baselines, PairResult
from magistrate.suites.running import Bench
from magistrate.suites.study import (
    PAIR_COLUMNS,
    Study,
    baseline_grid,
    baseline_means,
    judge_pairs,
    pair_cells,
    pair_notes,
)

NAME: Literal["fairness"] = "fairness"

_ADVERSARIAL, _ALL = "mean of the adversarial", "mean of all"

Group = Literal["natural", "adversarial"]


class LLMBarRates(Record):
    """Accuracy by LLMBar's rule, over all labelled pairs: no winner and a tie are wrong."""

    given: Rate
    """In the order of the file (``correct_False``)."""
    swapped: Rate
    """With the outputs swapped (``correct_True``)."""
    average: Rate
    """Mean of the two (``correct_average``, the paper's Acc.)."""
    both: Rate
    """Right in both orders (``correct_both``)."""
    equal: Rate
    """The same winner in both orders, no winner in both among them (``equal``, the paper's Agr.)"""


class FairnessRow(Record):
    """A judge on one subset."""

    group: Group
    llmbar: LLMBarRates
    result: PairResult


class Means(Record):
    """Means over subsets, each counting alike."""

    llmbar_average: Rate = NO_RATE
    agreement: Rate = NO_RATE
    over_longer: Rate = NO_RATE
    longer: Rate = NO_RATE
    first: Rate = NO_RATE
    random: Rate = NO_RATE
    majority: Rate = NO_RATE


class Fairness(Study):
    """Result of the study."""

    name: ClassVar[str] = NAME
    heading: ClassVar[str] = "Does the better answer win where the worse one looks better?"

    sets: tuple[FairnessRow, ...] = ()
    adversarial: Means = Means()
    all_sets: Means = Means()

    def grids(self) -> tuple[Grid, ...]:
        """Return the tables."""
        return (_llmbar_grid(self), _pair_grid(self), _baselines(self)) if self.sets else ()


def fairness(bench: Bench) -> Fairness:
    """Run the study over the natural and adversarial sets of the manifest."""
    cannot: list[str] = []
    rows = []
    for data in (*bench.manifest.of("natural"), *bench.manifest.of("adversarial")):
        found = judge_pairs(bench, NAME, data, cannot)
        if found is not None:
            group: Group = "natural" if data.has("natural") else "adversarial"
            reads_alone = found.run.manifest.reads_alone
            rates = llmbar_rates(found.columns, reads_alone=reads_alone)
            rows.append(FairnessRow(group=group, llmbar=rates, result=found.result))
    return Fairness(
        missing=bench.manifest.missing("natural", "adversarial"),
        cannot=tuple(cannot),
        sets=tuple(rows),
        adversarial=_means([row for row in rows if row.group == "adversarial"]),
        all_sets=_means(rows),
    )


def llmbar_rates(columns: PairColumns, *, reads_alone: bool = False) -> LLMBarRates:
    """Return LLMBar's statistics of a judge.

    Args:
        columns: Pairs whose labels prefer one output.
        reads_alone: Whether the judge reads each output alone; then both orders are the same.
    """
    import numpy as np

    chosen = np.isin(columns.gold, (1, -1))
    gold, clusters = columns.gold[chosen], columns.question[chosen]
    given = columns.as_given[chosen]
    swapped = given if reads_alone else columns.swapped[chosen]
    right = [(said == gold).astype(float) for said in (given, swapped)]

    def rate(values: object) -> Rate:
        return mean_of_points(np.asarray(values, dtype=float), clusters)

    return LLMBarRates(
        given=rate(right[0]),
        swapped=rate(right[1]),
        average=rate((right[0] + right[1]) / 2),
        both=rate(right[0] * right[1]),
        equal=rate(given == swapped),
    )


def _means(rows: list[FairnessRow]) -> Means:
    def baseline(name: str) -> Rate:
        return mean_of_rates([getattr(row.result.baselines, name) for row in rows])

    return Means(
        llmbar_average=mean_of_rates([row.llmbar.average for row in rows]),
        agreement=mean_of_rates([row.result.agreement for row in rows]),
        over_longer=mean_of_rates([row.result.over_longer for row in rows]),
        **{name: baseline(name) for name in Baselines.model_fields},
    )


def _llmbar_grid(study: Fairness) -> Grid:
    rows = [
        (
            row.result.title,
            row.result.decisive,
            row.result.not_ok,
            *(getattr(row.llmbar, name) for name in LLMBarRates.model_fields),
            row.result.baselines.longer,
        )
        for row in study.sets
    ]
    for name, means in _named_means(study):
        n = means.llmbar_average.n
        rows.append((name, n, None, None, None, means.llmbar_average, None, None, means.longer))
    return Grid(
        "By LLMBar's own rule: no winner and a tie are wrong",
        (
            Column("set", "text"),
            Column("n", "count"),
            Column("not ok", bare=True),
            Column("as given"),
            Column("swapped"),
            Column("average"),
            Column("both"),
            Column("equal"),
            Column("longer"),
        ),
        tuple(rows),
        ("Means count every set alike; their intervals by Zou and Donner (2008).",),
    )


def _pair_grid(study: Fairness) -> Grid:
    rows: list[tuple[Cell, ...]] = [
        (row.result.title, *pair_cells(row.result)) for row in study.sets
    ]
    for name, means in _named_means(study):
        judged = (means.agreement.n, None, means.agreement, means.over_longer)
        rows.append((name, *judged, None, None))
    return Grid(
        "A tie counts half",
        (Column("set", "text"), *PAIR_COLUMNS),
        tuple(rows),
        pair_notes([row.result for row in study.sets]),
    )


def _baselines(study: Fairness) -> Grid:
    results = [row.result for row in study.sets]
    adversarial = [row.result for row in study.sets if row.group == "adversarial"]
    named = [(_ADVERSARIAL, adversarial), (_ALL, results)]
    return baseline_grid(results, [baseline_means(name, of) for name, of in named if of])


def _named_means(study: Fairness) -> list[tuple[str, Means]]:
    named = [(_ADVERSARIAL, study.adversarial), (_ALL, study.all_sets)]
    return [(name, means) for name, means in named if means.agreement.value is not None]
