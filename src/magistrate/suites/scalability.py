"""*scalability*: does a judge get better with more thought, more examples, more training?

The same pairs with the verdict alone (zero-shot), with the reasons written before the verdict
(chain of thought), and with solved samples in the prompt (in-context learning), as in the study of
that name in arXiv 2403.02839; and, over several judge folders, agreement as a function of how much
each was trained on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from magistrate.errors import FamilyError, InputError
from magistrate.formats.reading import read_samples
from magistrate.metrics.compact import question_cluster
from magistrate.metrics.gold import gold_label
from magistrate.metrics.intervals import NO_RATE, Rate
from magistrate.prompts.demonstrations import draw_demonstrations
from magistrate.records import Record, Sample
from magistrate.suites.asking import OpenedJudge
from magistrate.suites.card import read_card
from magistrate.suites.grid import Column, Grid
from magistrate.suites.manifest import DataSet
from magistrate.suites.means import mean_of_rates
from magistrate.suites.pairs import PairResult
from magistrate.suites.running import Bench
from magistrate.suites.study import (
    AS_NAMED,
    Compared,
    JudgedPairs,
    Study,
    Way,
    baseline_grid,
    compared,
    judge_pairs,
    pair_notes,
    variant_grid,
)

NAME: Literal["scalability"] = "scalability"

SHOWN_EACH = 1
"""Demonstrations of each outcome, unless asked otherwise."""


class SizeRow(Record):
    """One judge folder of a study of training sizes."""

    judge: str
    size: float | None
    """How much it was trained on, from its card."""
    unit: str | None
    sets: tuple[PairResult, ...]
    mean: Rate
    """Mean agreement over the sets."""
    mean_longer: Rate
    over_least: Rate
    """Mean over the sets of its agreement less that of the judge trained on least, paired."""


class Scalability(Study):
    """Result of the study."""

    name: ClassVar[str] = NAME
    heading: ClassVar[str] = "Do reasons, demonstrations or more training make the judge better?"

    ways: tuple[Compared, ...] = ()
    """Per set: zero-shot, reasons first, demonstrations; each compared with zero-shot."""
    demonstrations: tuple[str, ...] = ()
    """Content ids of the samples shown, in their sequence."""
    sizes: tuple[SizeRow, ...] = ()
    """Least training first."""

    def grids(self) -> tuple[Grid, ...]:
        """Return the tables."""
        grids = []
        if self.ways:
            caption = "Zero-shot, reasons first, demonstrations"
            grids.append(variant_grid(caption, self.ways, "zero-shot"))
            grids.append(_price_grid(self.ways))
        if self.sizes:
            grids.append(_size_grid(self.sizes))
        results = [row.result for row in self.ways]
        results += [result for row in self.sizes for result in row.sets]
        return (*grids, baseline_grid(results)) if results else ()


def scalability(
    bench: Bench,
    *,
    demonstrations: str | Path | None = None,
    per_outcome: int = SHOWN_EACH,
    judges: Sequence[str] = (),
) -> Scalability:
    """Run the study over the varied sets of the manifest.

    Args:
        bench: Judge, data and folder.
        demonstrations: A labelled file to draw from; the manifest's set of that role when None.
        per_outcome: How many demonstrations of each outcome.
        judges: Judge folders to compare by their training size.
    """
    cannot: list[str] = []
    sets = bench.manifest.of("varied")
    ways: tuple[Compared, ...] = ()
    drawn: tuple[Sample, ...] = ()
    if not bench.opened.writes:
        cannot.append(
            f"reasons first, demonstrations: judge '{bench.opened.name}' has a scoring head: it "
            f"writes nothing, so it can neither reason before its verdict nor learn from solved "
            f"samples"
        )
        ways = _in_ways(bench, sets, (Way(variant="zero-shot"),), cannot)
    else:
        drawn = _demonstrations(bench, sets, demonstrations, per_outcome, cannot)
        ways = _in_ways(bench, sets, tuple(_ways(bench.opened, drawn)), cannot)
    sizes = _sizes(bench, sets, judges, cannot)
    if not judges:
        cannot.append("training size: give several judge folders with --judges DIR1,DIR2")
    return Scalability(
        missing=bench.manifest.missing("varied", "demonstrations"),
        cannot=tuple(dict.fromkeys(cannot)),
        ways=ways,
        demonstrations=tuple(sample.text_id for sample in drawn),
        sizes=sizes,
    )


def _ways(opened: OpenedJudge, drawn: tuple[Sample, ...]) -> Iterable[Way]:
    direct = opened.direct_family()
    reasons = opened.reasons_family()
    note: tuple[str, ...] = ()
    if reasons not in (direct, f"{direct}-reasons-first"):
        note = (
            f"family '{direct}' has no form with reasons first; '{reasons}' differs in wording too",
        )
    yield Way(variant="zero-shot", family=direct, folder=".zero-shot")
    yield Way(variant="reasons first", family=reasons, mode="reason", folder=".reasons", notes=note)
    if drawn:
        yield Way(
            variant=f"{len(drawn)} demonstrations",
            family=direct,
            demonstrations=drawn,
            folder=f".shown-{len(drawn)}",
        )


def _in_ways(
    bench: Bench, sets: Sequence[DataSet], ways: Sequence[Way], cannot: list[str]
) -> tuple[Compared, ...]:
    rows = []
    for data in sets:
        first: JudgedPairs | None = None
        for way in ways:
            found = judge_pairs(bench, NAME, data, cannot, way)
            if found is not None:
                first = first or found
                rows.append(compared(found, first))
    return tuple(rows)


def _demonstrations(
    bench: Bench,
    sets: Sequence[DataSet],
    file: str | Path | None,
    per_outcome: int,
    cannot: list[str],
) -> tuple[Sample, ...]:
    """Draw decisive pairs whose question is not judged; none, with the reason, where it fails."""
    try:
        judged = [sample for data in sets for sample in bench.drawn(data)]
        asked = {question_cluster(sample) for sample in judged}
        free = [
            sample
            for sample in _labelled(bench, file)
            if gold_label(sample) in ("first", "second") and question_cluster(sample) not in asked
        ]
        return draw_demonstrations(free, per_outcome=per_outcome, seed=bench.seed, judged=judged)
    except (InputError, FamilyError) as error:
        cannot.append(f"demonstrations: {error}")
        return ()


def _labelled(bench: Bench, file: str | Path | None) -> list[Sample]:
    """Return the labelled samples to draw from.

    Raises:
        InputError: There is no file of them, or it cannot be read.
    """
    if file is not None:
        return list(read_samples(file))
    sets = bench.manifest.of("demonstrations")
    if not sets:
        raise InputError(
            "there is nothing to draw from: give a labelled file with --demonstrations, or name a "
            "set of the role 'demonstrations' in the manifest"
        )
    return [sample for data in sets for sample in bench.drawn(data)]


def _sizes(
    bench: Bench, sets: Sequence[DataSet], judges: Sequence[str], cannot: list[str]
) -> tuple[SizeRow, ...]:
    """Judge the varied sets with each judge folder; the one trained on least comes first."""
    cards = [(name, read_card(name)) for name in judges]
    for name, card in cards:
        if card.size is None:
            cannot.append(
                f"training size of '{name}': its folder does not say how much it was trained on "
                f"([made] of judge.toml, such as training_pairs = 3688)"
            )
    units = {card.unit for _, card in cards if card.unit}
    if len(units) > 1:
        cannot.append(
            f"training sizes are given in {', '.join(sorted(units))} and cannot be compared"
        )
    cards.sort(key=lambda one: one[1].size if one[1].size is not None else float("inf"))
    found: list[tuple[str, dict[str, JudgedPairs]]] = []
    with ExitStack() as held:
        for place, (name, _) in enumerate(cards):
            opened = held.enter_context(OpenedJudge(name))
            own = replace(bench, opened=opened)
            way = replace(AS_NAMED, folder=f".judge-{_folder_name(name, place)}")
            runs = {data.entry.name: judge_pairs(own, NAME, data, cannot, way) for data in sets}
            found.append((name, {key: run for key, run in runs.items() if run is not None}))
    return tuple(
        _size_row(name, card.size, card.unit, runs, found[0][1])
        for (name, card), (_, runs) in zip(cards, found, strict=True)
    )


def _size_row(
    name: str,
    size: float | None,
    unit: str | None,
    runs: dict[str, JudgedPairs],
    least: dict[str, JudgedPairs],
) -> SizeRow:
    gaps = [compared(run, least[key]).difference for key, run in runs.items() if key in least]
    return SizeRow(
        judge=name,
        size=size,
        unit=unit,
        sets=tuple(run.result for run in runs.values()),
        mean=mean_of_rates([run.result.agreement for run in runs.values()]),
        mean_longer=mean_of_rates([run.result.baselines.longer for run in runs.values()]),
        over_least=NO_RATE if runs is least else mean_of_rates(gaps),
    )


def _folder_name(name: str, place: int) -> str:
    """Return a name for a run folder that two judges never share."""
    plain = "".join(sign if sign.isalnum() or sign in "-_" else "-" for sign in Path(name).name)
    return f"{place}-{plain[:40]}" if plain != name else plain


def _price_grid(rows: Sequence[Compared]) -> Grid:
    return Grid(
        "What each way costs",
        (
            Column("set", "text"),
            Column("way", "text"),
            Column("pairs", "count"),
            Column("tokens read", "count"),
            Column("tokens written", "count"),
            Column("cost", "text"),
        ),
        tuple(
            (
                row.result.title,
                row.result.variant,
                row.result.pairs,
                row.result.usage.prompt_tokens,
                row.result.usage.completion_tokens,
                f"${row.result.cost:,.4f}",
            )
            for row in rows
        ),
    )


def _size_grid(rows: Sequence[SizeRow]) -> Grid:
    names = {result.set: result.title for row in rows for result in row.sets}
    cells = []
    for row in rows:
        by_set = {result.set: result for result in row.sets}
        agreements = (by_set[key].agreement if key in by_set else None for key in names)
        size = None if row.size is None else f"{row.size:,.0f} {row.unit}"
        worst = max((r.not_ok for r in row.sets), key=lambda rate: rate.value or 0, default=None)
        over = row.over_least if row.over_least.value is not None else None
        cells.append((row.judge, size, worst, *agreements, row.mean, over, row.mean_longer))
    return Grid(
        "Agreement by training size",
        (
            Column("judge", "text"),
            Column("trained on", "text"),
            Column("not ok, worst", bare=True),
            *(Column(title) for title in names.values()),
            Column("mean"),
            Column("over least", "difference"),
            Column("longer", bare=True),
        ),
        tuple(cells),
        (
            "over least: mean agreement less that of the judge trained on least, on equal pairs.",
            *pair_notes([result for row in rows[:1] for result in row.sets]),
        ),
    )
