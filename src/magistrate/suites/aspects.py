"""*aspects*: whether a judge can tell one quality apart from being good in general.

Factuality on single answers with a label (HaluEval): how well the judge's score ranks good answers
above bad ones (AUROC), its accuracy at a threshold chosen on other questions, and at the threshold
that arXiv 2403.02839 tunes on the test set itself, under that name. Safety on pairs (hh-rlhf
harmless, HHH). Each with the aspect's rubric in the prompt, and without, so that it shows whether
the judge heeds what it is told to judge by.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar, Literal

from magistrate.errors import FamilyError, InputError
from magistrate.metrics.intervals import NO_RATE, Rate, proportion
from magistrate.metrics.singles import SingleCollector, SingleColumns
from magistrate.metrics.thresholds import BinaryResult, binary
from magistrate.records import Record
from magistrate.store.run import Run
from magistrate.suites.asking import sees_rubric
from magistrate.suites.card import Card
from magistrate.suites.drawing import Drawn
from magistrate.suites.grid import Column, Grid
from magistrate.suites.manifest import DataSet
from magistrate.suites.running import Bench
from magistrate.suites.study import (
    PAIR_COLUMNS,
    Compared,
    JudgedPairs,
    Study,
    Way,
    baseline_grid,
    compared,
    judge_pairs,
    pair_cells,
    pair_notes,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME: Literal["aspects"] = "aspects"

PLAIN, RUBRIC = "plain", "rubric"
"""The two ways of asking: without and with the aspect's rubric."""


class AnswerResult(Record):
    """A judge's scores of single answers against their labels."""

    set: str
    title: str
    aspect: str
    variant: str
    family: str
    mode: str | None
    run: str
    available: int
    answers: int
    """Drawn and judged."""
    labelled: int
    not_ok: Rate
    """Share of answers without a score; they are left out of what follows."""
    scores: BinaryResult
    """Of the judge: the good label is the positive one, and a high score should speak for it."""
    longer: BinaryResult
    """Of the baseline that scores an answer by its characters."""
    random: Rate
    """AUROC of a coin."""
    truncated: int
    trained_on: bool
    """Whether the judge's card says that it learned from this set."""


class PairRow(Record):
    """A judge on pairs with one quality in question."""

    aspect: str
    row: Compared
    """Compared with the plain way of asking."""
    trained_on: bool


class Aspects(Study):
    """Result of the study."""

    name: ClassVar[str] = NAME
    heading: ClassVar[str] = "Can the judge judge one quality when told to?"

    answers: tuple[AnswerResult, ...] = ()
    pairs: tuple[PairRow, ...] = ()

    def grids(self) -> tuple[Grid, ...]:
        """Return the tables."""
        grids = []
        if self.answers:
            grids += [_answer_grid(self.answers), _answer_baselines(self.answers)]
        if self.pairs:
            grids.append(_pair_grid(self.pairs))
            grids.append(baseline_grid([row.row.result for row in self.pairs]))
        return tuple(grids)


def aspects(bench: Bench, card: Card) -> Aspects:
    """Run the study over the sets of the manifest that are about an aspect."""
    cannot: list[str] = []
    answers: list[AnswerResult] = []
    pairs: list[PairRow] = []
    for data in bench.manifest.of("aspect"):
        if data.entry.holds == "answers":
            answers += _answers(bench, data, card, cannot)
        else:
            pairs += _pairs(bench, data, card, cannot)
    return Aspects(
        missing=bench.manifest.missing("aspect"),
        cannot=tuple(dict.fromkeys(cannot)),
        answers=tuple(answers),
        pairs=tuple(pairs),
    )


def _pairs(bench: Bench, data: DataSet, card: Card, cannot: list[str]) -> Iterator[PairRow]:
    aspect, known = data.entry.aspect or "", data.entry.name in card.trained_on
    plain: JudgedPairs | None = None
    ways = [Way(variant=PLAIN)]
    if data.entry.rubric:
        ways.append(Way(variant=RUBRIC, rubric=data.entry.rubric, folder=f".{RUBRIC}"))
    for way in ways:
        found = judge_pairs(bench, NAME, data, cannot, way)
        if found is not None:
            plain = plain or found
            yield PairRow(aspect=aspect, row=compared(found, plain), trained_on=known)


def _answers(bench: Bench, data: DataSet, card: Card, cannot: list[str]) -> Iterator[AnswerResult]:
    """Judge single answers, plainly and by the rubric."""
    entry, opened = data.entry, bench.opened
    try:
        drawn = bench.drawn(data)
        judge = opened.asked(opened.single_family())
        samples = {PLAIN: drawn}
        if entry.rubric:
            samples[RUBRIC] = drawn.with_rubric(entry.rubric)
            if not sees_rubric(judge.family, samples[RUBRIC].samples[0]):
                del samples[RUBRIC]
                cannot.append(
                    f"{entry.shown}, {RUBRIC}: family '{judge.family.name}' shows no rubric, so "
                    f"the judge cannot be told what to judge by"
                )
        for variant, each in samples.items():
            folder = entry.name if variant == PLAIN else f"{entry.name}.{variant}"
            run = bench.run(NAME, folder, each, judge)
            yield _measured(run, data, each, variant, trained_on=entry.name in card.trained_on)
    except (InputError, FamilyError) as error:
        cannot.append(f"{entry.shown}: {error}")


def _measured(
    run: Run, data: DataSet, drawn: Drawn, variant: str, *, trained_on: bool
) -> AnswerResult:
    columns, truncated = _read(run)
    labelled = columns.take(_labelled(columns))
    good = labelled.label.where(data.entry.good_label or "")
    return AnswerResult(
        set=data.entry.name,
        title=data.entry.shown,
        aspect=data.entry.aspect or "",
        variant=variant,
        family=run.manifest.judge.family,
        mode=run.manifest.judge.settings.get("mode"),
        run=str(run.path),
        available=len(drawn),
        answers=len(columns),
        labelled=len(labelled),
        not_ok=proportion(int((~columns.ok).sum()), len(columns)),
        scores=binary(
            labelled.score, good, labelled.question, name=data.entry.good_label or "good"
        ),
        longer=binary(
            labelled.length.astype(float),
            good,
            labelled.question,
            name=data.entry.good_label or "good",
        ),
        random=_coin(int(good.sum()), int((~good).sum())),
        truncated=truncated,
        trained_on=trained_on,
    )


def _coin(good: int, bad: int) -> Rate:
    """Return the AUROC of scores that know nothing, with where 95 % of such draws fall.

    The spread is that of the Mann-Whitney statistic without ties (Mann and Whitney 1947).
    """
    if not good or not bad:
        return NO_RATE
    half = NormalDist().inv_cdf(0.975) * math.sqrt((good + bad + 1) / (12 * good * bad))
    low, high = max(0.0, 0.5 - half), min(1.0, 0.5 + half)
    return Rate(value=0.5, n=good + bad, low=low, high=high)


def _read(run: Run) -> tuple[SingleColumns, int]:
    collector, truncated = SingleCollector(), 0
    for row, (sample, _, decision) in enumerate(run.readings()):
        collector.add(row, sample, decision)
        truncated += decision is not None and decision.truncated
    return collector.result(), truncated


def _labelled(columns: SingleColumns) -> NDArray[np.bool_]:
    """Return which answers have a label; shape (n,)."""
    import numpy as np

    named = np.array([bool(name) for name in columns.label.names], dtype=bool)
    found: NDArray[np.bool_] = named[columns.label.codes]
    return found


def _answer_grid(rows: Sequence[AnswerResult]) -> Grid:
    cells = tuple(
        (
            row.title,
            row.aspect,
            row.variant,
            row.family + (f" ({row.mode})" if row.mode else ""),
            row.scores.n,
            row.not_ok,
            row.scores.auroc,
            row.scores.cross_validated,
            _tuned(row.scores),
        )
        for row in rows
    )
    notes = [
        (
            "AUROC: how often a good answer scores above a bad one; 50 is chance. "
            "threshold: accuracy with thresholds chosen on other questions. tuned on test: of ten "
            "thresholds the best on these very samples (arXiv 2403.02839); no interval tells what "
            "that choice is worth."
        )
    ]
    notes += _remarks(rows)
    return Grid(
        "Single answers with a label",
        (
            Column("set", "text"),
            Column("aspect", "text"),
            Column("way", "text"),
            Column("family", "text"),
            Column("n", "count"),
            Column("not ok"),
            Column("AUROC"),
            Column("threshold"),
            Column("tuned on test"),
        ),
        cells,
        tuple(notes),
    )


def _answer_baselines(rows: Sequence[AnswerResult]) -> Grid:
    sets = {row.set: row for row in rows if row.variant == PLAIN}
    return Grid(
        "Baselines on the same answers",
        (
            Column("set", "text"),
            Column("n", "count"),
            Column("longer: AUROC"),
            Column("longer: threshold"),
            Column("tuned on test"),
            Column("random: AUROC"),
            Column("majority"),
        ),
        tuple(
            (
                row.title,
                row.longer.n,
                row.longer.auroc,
                row.longer.cross_validated,
                _tuned(row.longer),
                row.random,
                row.longer.majority_class,
            )
            for row in sets.values()
        ),
        (
            (
                "longer: the number of characters as the score; random: a coin as the score; "
                "majority: accuracy of always saying the more frequent label."
            ),
        ),
    )


def _remarks(rows: Sequence[AnswerResult]) -> Iterator[str]:
    for row in rows:
        if row.variant != PLAIN:
            continue
        share = f"{row.title}: {row.scores.positives:,} of {row.scores.n:,} answers are good"
        drawn = f"; {row.answers:,} of {row.available:,} drawn by seed"
        yield share + (drawn if row.answers < row.available else "") + "."
        if row.trained_on:
            yield f"{row.title}: {_SEEN}."
        if row.truncated:
            yield f"{row.title}: {row.truncated:,} answers read shortened."


_SEEN = "the judge's card says that it learned from this set, so this is no test of it"


def _tuned(result: BinaryResult) -> Rate:
    return Rate(value=result.tuned_on_test.accuracy, n=result.tuned_on_test.n)


def _pair_grid(rows: Sequence[PairRow]) -> Grid:
    results = [row.row.result for row in rows]
    cells = tuple(
        (
            row.row.result.title,
            row.aspect,
            row.row.result.variant,
            *pair_cells(row.row.result),
            row.row.difference if row.row.result.variant == RUBRIC else None,
        )
        for row in rows
    )
    seen = dict.fromkeys(row.row.result.title for row in rows if row.trained_on)
    notes = [f"{title}: {_SEEN}." for title in seen]
    return Grid(
        "Pairs with one quality in question",
        (
            Column("set", "text"),
            Column("aspect", "text"),
            Column("way", "text"),
            *PAIR_COLUMNS,
            Column("over plain", "difference"),
        ),
        cells,
        (*pair_notes(results), *notes),
    )
