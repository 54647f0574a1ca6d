"""*generalise*: how far a judge's agreement holds up on other data, schemes and prompts.

Three comparisons (arXiv 2403.02839, section on generalisability): benchmarks of the judge's own
domain against others; two answers shown together against each read alone, on the same pairs; and
the judge's own prompt against other families. Then agreement by category, and over categories that
the judge's own domain does not know (see :mod:`magistrate.suites.categories`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from magistrate.errors import FamilyError
from magistrate.metrics.intervals import NO_RATE, Rate
from magistrate.records import Record
from magistrate.suites.card import Card
from magistrate.suites.categories import (
    CategoryRow,
    Named,
    NamedSet,
    OutOfDistribution,
    by_category,
    category_grids,
    compare_categories,
)
from magistrate.suites.grid import Cell, Column, Grid, text_of, without_empty
from magistrate.suites.means import difference_of_means, mean_of_rates
from magistrate.suites.pairs import PairResult
from magistrate.suites.running import Bench
from magistrate.suites.study import (
    PAIR_COLUMNS,
    Compared,
    JudgedPairs,
    Study,
    Way,
    baseline_grid,
    baseline_means,
    compared,
    judge_pairs,
    pair_cells,
    pair_notes,
    variant_grid,
)

NAME: Literal["generalise"] = "generalise"

PROMPTS = ("pair", "judgelm", "mt-bench-pair", "ab-token")
"""Families that a judge's own prompt is compared with unless others are named."""

Domain = Literal["in-domain", "trained on", "out-of-domain", "not known"]
"""``not known`` where nothing says which domain is the judge's own."""


class DomainRow(Record):
    """A judge on one benchmark."""

    domain: Domain
    result: PairResult


class Generalise(Study):
    """Result of the study."""

    name: ClassVar[str] = NAME
    heading: ClassVar[str] = "Does the judge hold up on other data, schemes and prompts?"

    sets: tuple[DomainRow, ...] = ()
    mean: Rate = NO_RATE
    """Mean agreement over all sets, each counting alike."""
    mean_longer: Rate = NO_RATE
    """The same of the baseline 'longer'."""
    mean_over_longer: Rate = NO_RATE
    """Mean over the sets of agreement less that of 'longer'."""
    in_domain: Rate = NO_RATE
    """Mean agreement over the sets that are in-domain."""
    out_of_domain: Rate = NO_RATE
    gap: Rate = NO_RATE
    """In-domain less out-of-domain."""
    schemes: tuple[Compared, ...] = ()
    """Pairs read together, then each answer alone; compared with the judge as it is named."""
    prompts: tuple[Compared, ...] = ()
    """Other families, compared with the judge as it is named."""
    categories: tuple[CategoryRow, ...] = ()
    out_of_distribution: tuple[OutOfDistribution, ...] = ()
    named: tuple[NamedSet, ...] = ()
    """How the naming of categories by a judge went; empty for those of the files."""
    category_names: tuple[str, ...] = ()
    """What the judge chose from; empty for those of the files."""
    category_source: str = ""
    """``the files``, or the judge that assigned them."""

    def grids(self) -> tuple[Grid, ...]:
        """Return the tables."""
        found = _domain_grids(self) if self.sets else []
        for caption, rows in (
            ("Schemes: two answers together, or each alone", self.schemes),
            ("Prompts: the same judge asked in other words", self.prompts),
        ):
            if rows:
                found.append(variant_grid(caption, rows, "the judge as it is named"))
        found += category_grids(
            self.categories, self.out_of_distribution, self.named, self.category_source
        )
        return tuple(found)


def generalise(
    bench: Bench,
    card: Card,
    *,
    in_domain: Sequence[str] = (),
    families: Sequence[str] = (),
    named: Named | None = None,
) -> Generalise:
    """Run the study.

    Args:
        bench: Judge, data and folder.
        card: What the judge's folder says of its training.
        in_domain: Names of sets of the judge's own domain, besides those that the card and the
            manifest name.
        families: Families to compare the judge's own with; :data:`PROMPTS` when empty.
        named: Assigns categories; None for those of the files.
    """
    cannot: list[str] = []
    judged = {
        data.entry.name: found
        for data in bench.manifest.of("benchmark", "in-domain")
        if (found := judge_pairs(bench, NAME, data, cannot)) is not None
    }
    own = {data.entry.name for data in bench.manifest.of("in-domain")}
    own |= {*in_domain, *card.in_domain}
    rows = tuple(
        DomainRow(domain=_domain(name, own, card), result=found.result)
        for name, found in judged.items()
    )
    if rows and not own & judged.keys():
        cannot.append(
            "in-domain against out-of-domain: no judged set is named as the judge's own domain; "
            "name it with --in-domain, or as in_domain in [made] of its judge.toml"
        )
    schemes = _schemes(bench, judged, cannot)
    prompts = _prompts(bench, judged, families or PROMPTS, cannot)
    categories = named.assign(bench, judged, cannot) if named else judged
    inside = [row.result.agreement for row in rows if row.domain == "in-domain"]
    outside = [row.result.agreement for row in rows if row.domain == "out-of-domain"]
    return Generalise(
        missing=bench.manifest.missing("benchmark", "in-domain"),
        cannot=tuple(dict.fromkeys(cannot)),
        sets=rows,
        mean=mean_of_rates([row.result.agreement for row in rows]),
        mean_longer=mean_of_rates([row.result.baselines.longer for row in rows]),
        mean_over_longer=mean_of_rates([row.result.over_longer for row in rows]),
        in_domain=mean_of_rates(inside),
        out_of_domain=mean_of_rates(outside),
        gap=difference_of_means(inside, outside),
        schemes=schemes,
        prompts=prompts,
        categories=by_category(categories),
        out_of_distribution=compare_categories(categories, own),
        named=tuple(named.results) if named else (),
        category_names=tuple(named.names) if named else (),
        category_source=named.source if named else "the files",
    )


def _domain(name: str, own: set[str], card: Card) -> Domain:
    if name in card.trained_on:
        return "trained on"
    if name in own:
        return "in-domain"
    return "out-of-domain" if own or card.trained_on else "not known"


def _varied(bench: Bench, judged: dict[str, JudgedPairs]) -> list[tuple[str, JudgedPairs]]:
    names = [data.entry.name for data in bench.manifest.of("varied")]
    return [(name, judged[name]) for name in names if name in judged]


def _schemes(
    bench: Bench, judged: dict[str, JudgedPairs], cannot: list[str]
) -> tuple[Compared, ...]:
    """Judge the varied sets in the scheme that is not the judge's own."""
    opened = bench.opened
    try:
        together, alone = opened.pair_family(), opened.single_family()
    except FamilyError as error:
        cannot.append(f"pairwise against pointwise: {error}")
        return ()
    is_alone = opened.family.reads_alone
    ways = (
        Way(variant="together", family=together, folder="" if not is_alone else ".together"),
        Way(variant="each alone", family=alone, folder="" if is_alone else ".alone"),
    )
    return _in_ways(bench, judged, ways, cannot)


def _prompts(
    bench: Bench, judged: dict[str, JudgedPairs], families: Sequence[str], cannot: list[str]
) -> tuple[Compared, ...]:
    own = bench.opened.family.name
    if not bench.opened.writes:
        cannot.append(
            f"prompt changes: judge '{bench.opened.name}' has a scoring head and is asked in one "
            f"way only"
        )
        return ()
    ways = [Way(variant="own", family=own)]
    ways += [Way(variant=name, family=name, folder=f".{name}") for name in families if name != own]
    return _in_ways(bench, judged, ways, cannot)


def _in_ways(
    bench: Bench, judged: dict[str, JudgedPairs], ways: Sequence[Way], cannot: list[str]
) -> tuple[Compared, ...]:
    rows = []
    for name, own in _varied(bench, judged):
        data = next(one for one in bench.manifest.sets if one.entry.name == name)
        for way in ways:
            found = judge_pairs(bench, NAME, data, cannot, way)
            if found is not None:
                rows.append(compared(found, own))
    return tuple(rows)


def _domain_grids(study: Generalise) -> list[Grid]:
    rows: list[tuple[Cell, ...]] = [
        (row.result.title, "" if row.domain == "not known" else row.domain, *pair_cells(row.result))
        for row in study.sets
    ]
    for name, rate, over in (
        ("mean over sets", study.mean, study.mean_over_longer),
        ("mean in-domain", study.in_domain, None),
        ("mean out-of-domain", study.out_of_domain, None),
    ):
        if rate.value is not None:
            rows.append((name, "", rate.n, None, rate, over, None, None))
    notes = pair_notes([row.result for row in study.sets])
    if study.gap.value is not None:
        gap = study.gap
        shown = text_of(gap, Column("gap", "difference"))
        notes = (f"In-domain less out-of-domain: {shown} points.", *notes)
    grid = Grid(
        "Agreement by benchmark",
        (Column("set", "text"), Column("domain", "text"), *PAIR_COLUMNS),
        tuple(rows),
        (*notes, "Means count every set alike; their intervals by Zou and Donner (2008)."),
    )
    results = [row.result for row in study.sets]
    means = [baseline_means("mean over sets", results)]
    return [without_empty(grid, ["domain"]), baseline_grid(results, means)]
