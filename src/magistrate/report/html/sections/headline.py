"""The first table: what is known of each judge, in one place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.metrics.columns import NOTHING, PENDING, SPLIT
from magistrate.metrics.intervals import NO_RATE, Rate, proportion
from magistrate.records import STATUSES
from magistrate.report.html.blocks import (
    Cell,
    Column,
    Figure,
    Section,
    Table,
    rate_of,
    share,
    signed,
)
from magistrate.report.html.measures import (
    Compared,
    calibration_of,
    compare_decisive,
    compare_three,
    consistency_of,
    ties,
)
from magistrate.report.text import counted, dollars

if TYPE_CHECKING:
    from magistrate.metrics.reliability import Reliability
    from magistrate.report.html.sources import Source


@dataclass(frozen=True, slots=True)
class Measures:
    """What the first table says of one run."""

    samples: int
    pairs: int
    labelled: int
    not_ok: Rate
    agreement: Compared
    three: Compared
    consistent: Rate
    toward_first: Rate
    toward_second: Rate
    ties: Rate
    people_tie: Rate
    calibration: Reliability | None
    """None without confidence or labels."""


def measure(source: Source) -> Measures:
    """Return what the first table says of one run."""
    judged = source.judged
    pairs = judged.pairs
    total, not_ok = counts_of(source)
    orders = consistency_of(judged)
    majority = (pairs.gold != NOTHING) & (pairs.gold != SPLIT)
    return Measures(
        samples=total,
        pairs=len(pairs),
        labelled=int((pairs.gold != NOTHING).sum()),
        not_ok=not_ok,
        agreement=compare_decisive(judged),
        three=compare_three(judged),
        consistent=orders.consistent,
        toward_first=orders.toward_first,
        toward_second=orders.toward_second,
        ties=ties(pairs.said[pairs.ok]),
        people_tie=ties(pairs.gold[majority]),
        calibration=calibration_of(judged),
    )


def counts_of(source: Source) -> tuple[int, Rate]:
    """Return how many samples there are, and the share of the decided ones that is not ok."""
    judged = source.judged
    ranked = judged.ranked.status[judged.ranked.size > 2]
    total = decided = good = 0
    for status in (judged.pairs.status, judged.singles.status, ranked):
        total += len(status)
        decided += int((status != PENDING).sum())
        good += int((status == STATUSES.index("ok")).sum())
    return total, proportion(decided - good, decided)


def headline(sources: Sequence[Source]) -> Section:
    """Return the section."""
    measured = [measure(source) for source in sources]
    rows = [row for row in _rows(sources, measured) if any(_is_known(cell) for cell in row[1:])]
    table = Table(
        "headline",
        "Each judge in one table",
        (Column("measure"), *(Column(source.name) for source in sources)),
        tuple(rows),
    )
    return Section(
        "headline",
        "In short",
        "Shares with their 95 % intervals. Agreement counts the pairs on which the annotators "
        "prefer one answer; a tie of the judge counts half. What failed is left out of every "
        "other row, so look at 'not ok' before comparing two judges.",
        (Figure("Each judge in one table", None, "", table),),
    )


def sentences(source: Source) -> list[str]:
    """Return what a run says, in words for the top of the page."""
    found = measure(source)
    said = [f"{counted(found.samples, 'sample')}, {share(found.not_ok.value)} not ok."]
    compared = found.agreement
    if compared.judge.n:
        said.append(
            f"Agrees with people on {rate_of(compared.judge, 'decisive pair')}; the best simple "
            f"rule, '{compared.best}', gets {share(compared.rule(compared.best).value)}. "
            f"{_verdict(compared.over_best)}"
        )
    elif found.pairs:
        said.append(
            "Nobody labelled these pairs, so how often the judge is right is not known."
            if not found.labelled
            else "No labelled pair has both a clear label and a verdict."
        )
    if source.judged.reads_alone and found.pairs:
        said.append("Each answer is read alone, so their order cannot matter.")
    elif found.consistent.n:
        said.append(
            f"Says the same in both orders on {share(found.consistent.value)} of "
            f"{found.consistent.n:,} pairs; where not, it turns to the answer shown first on "
            f"{share(found.toward_first.value)} and to the second on "
            f"{share(found.toward_second.value)} of all."
        )
    return said


def _verdict(difference: Rate) -> str:
    """Say whether the judge beats the rule, by the paired difference."""
    low, high = difference.low, difference.high
    if low is None or high is None:
        return ""
    gap = f"{signed(low)} to {signed(high)} points on the same pairs"
    if low > 0:
        return f"The judge is better than that rule: {gap}."
    if high < 0:
        return f"The judge is worse than that rule: {gap}."
    return f"These labels do not show that the judge is better than that rule: {gap}."


def _rows(sources: Sequence[Source], measured: Sequence[Measures]) -> list[tuple[Cell, ...]]:
    def row(name: str, cells: Sequence[Cell]) -> tuple[Cell, ...]:
        return (name, *cells)

    return [
        row("samples", [m.samples for m in measured]),
        row("labelled pairs", [m.labelled for m in measured]),
        row("not ok", [m.not_ok for m in measured]),
        row("agreement, decisive pairs", [m.agreement.judge for m in measured]),
        row("  longer wins", [m.agreement.rule("longer wins") for m in measured]),
        row("  first wins", [m.agreement.rule("first wins") for m in measured]),
        row("  a fair coin", [m.agreement.rule("a fair coin") for m in measured]),
        row("agreement, tie as a class", [m.three.judge for m in measured]),
        row("same verdict in both orders", [m.consistent for m in measured]),
        row("toward the answer shown first", [m.toward_first for m in measured]),
        row("toward the answer shown second", [m.toward_second for m in measured]),
        row("verdicts that are ties", [m.ties for m in measured]),
        row("labels that are ties", [m.people_tie for m in measured]),
        row(
            "calibration error (ECE)",
            [m.calibration.ece if m.calibration else None for m in measured],
        ),
        row("state", [s.manifest.state if s.manifest else None for s in sources]),
        row("cost", [dollars(s.manifest.cost) if s.manifest else None for s in sources]),
        row("time", [_time(s) for s in sources]),
    ]


def _time(source: Source) -> str | None:
    from magistrate.report.text import duration

    return duration(source.manifest.seconds) if source.manifest else None


def _is_known(cell: Cell) -> bool:
    return cell is not None and cell != NO_RATE
