"""The first table: what is known of each judge, in one place, and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from magistrate.metrics.columns import PENDING
from magistrate.metrics.intervals import NO_RATE, Rate, proportion
from magistrate.records import STATUSES
from magistrate.report.html.blocks import (
    Cell,
    Column,
    Figure,
    Section,
    Table,
    rate_of,
    rate_words,
    share,
    signed,
)
from magistrate.report.text import counted, dollars, duration

if TYPE_CHECKING:
    from magistrate.report.evaluation_pairs import RowOfBaselines
    from magistrate.report.html.sources import Source


def headline(sources: Sequence[Source]) -> Section:
    """Return the section."""
    rows = [
        (name, *cells)
        for name, cells in _rows(sources)
        if any(cell is not None and cell != NO_RATE for cell in cells)
    ]
    title = "All judges in one table" if len(sources) > 1 else "The judge in one table"
    table = Table(
        "headline",
        title,
        (Column("measure"), *(Column(source.name) for source in sources)),
        tuple(rows),
    )
    return Section(
        "headline",
        "In short",
        "Shares with their 95 % intervals. Agreement on decisive pairs counts those on which the "
        "annotators prefer one answer; a tie of the judge counts half. What failed is left out of "
        "every other row, so look at 'not ok' before comparing two judges.",
        (Figure(title, None, "", table),),
    )


def counts_of(source: Source) -> tuple[int, Rate]:
    """Return how many samples there are, and the share of the decided ones that is not ok."""
    total = decided = good = 0
    for status in source.statuses:
        total += len(status)
        decided += int((status != PENDING).sum())
        good += int((status == STATUSES.index("ok")).sum())
    return total, proportion(decided - good, decided)


def best_rule(source: Source) -> RowOfBaselines | None:
    """Return the rule without a judge that is most often right on decisive pairs."""
    if source.pairs is None:
        return None
    rules = [row for row in source.pairs.baselines[1:] if row.decisive.n]
    return max(rules, key=lambda row: row.decisive.value or 0.0, default=None)


def sentences(source: Source) -> list[str]:
    """Return what a run says, in words for the top of the page."""
    total, not_ok = counts_of(source)
    pending = sum(int((status == PENDING).sum()) for status in source.statuses)
    waiting = f", {pending:,} of them not judged yet" if pending else ""
    said = [f"{counted(total, 'sample')}{waiting}; {share(not_ok.value)} not ok."]
    pairs = source.pairs
    if source.singles is not None and source.singles.mean_score.n:
        said.append(
            f"Mean score of single answers: {rate_words(source.singles.mean_score, 'number')}."
        )
    if pairs is None:
        return said
    rule = best_rule(source)
    if rule is not None:
        said.append(
            f"Agrees with people on {rate_of(pairs.baselines[0].decisive, 'decisive pair')}; the "
            f"best rule without a judge, '{rule.name}', gets {share(rule.decisive.value)}. "
            f"{_verdict(source.over_best)}".strip()
        )
    elif not pairs.labelled:
        who = "Nobody labelled" if source.judged.join is None else "No label of the file is of"
        said.append(f"{who} these pairs, so how often the judge is right is not known.")
    position = pairs.position
    if pairs.reads_alone:
        said.append("Each answer is read alone, so their order cannot matter.")
    elif position is not None:
        said.append(
            f"Says the same in both orders on {rate_of(position.consistent, 'pair')}; it turns to "
            f"the answer shown first on {share(position.toward_first.value)} and to the one shown "
            f"second on {share(position.toward_second.value)}."
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


def _rows(sources: Sequence[Source]) -> list[tuple[str, list[Cell]]]:
    pairs = [source.pairs for source in sources]
    agreement = [one.agreement if one else None for one in pairs]
    position = [one.position if one else None for one in pairs]
    return [
        ("samples", [counts_of(source)[0] for source in sources]),
        ("labelled pairs", [one.labelled if one else None for one in pairs]),
        ("not ok", [counts_of(source)[1] for source in sources]),
        ("agreement, decisive pairs", [one.decisive if one else None for one in agreement]),
        *_rule_rows(sources),
        ("agreement, tie as a class", [one.accuracy if one else None for one in agreement]),
        ("macro F1, tie as a class", [one.macro.f1 if one else None for one in agreement]),
        ("same verdict in both orders", [one.consistent if one else None for one in position]),
        ("toward the answer shown first", [one.toward_first if one else None for one in position]),
        (
            "toward the answer shown second",
            [one.toward_second if one else None for one in position],
        ),
        ("verdicts that are ties", [one.says["tie"] if one else None for one in pairs]),
        ("labels that are ties", [one.gold["tie"] if one else None for one in pairs]),
        (
            "calibration error (ECE)",
            [one.calibration.ece if one.calibration else None for one in sources],
        ),
        ("labels to halve the interval", [one.more_labels if one else None for one in pairs]),
        ("state", [one.manifest.state if one.manifest else None for one in sources]),
        ("cost", [dollars(one.manifest.cost) if one.manifest else None for one in sources]),
        ("time", [duration(one.manifest.seconds) if one.manifest else None for one in sources]),
    ]


def _rule_rows(sources: Sequence[Source]) -> list[tuple[str, list[Cell]]]:
    """Return a row for every rule without a judge, indented under the judge's."""
    found = [source.pairs.baselines[1:] if source.pairs else () for source in sources]
    names = dict.fromkeys(row.name for rows in found for row in rows)
    rows: list[tuple[str, list[Cell]]] = []
    for name in names:
        known = [{row.name: row.decisive for row in rows} for rows in found]
        rows.append((f"  {name}", [one.get(name) for one in known]))
    return rows
