"""What could not be judged, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from magistrate.metrics.columns import PENDING
from magistrate.records import STATUSES
from magistrate.report.html.blocks import Cell, Column, Figure, Section, Table, rate_words
from magistrate.report.html.sections.headline import counts_of
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.report.html.sources import Source


def failures(sources: Sequence[Source]) -> Section:
    """Return the section of failures."""
    rows: list[tuple[Cell, ...]] = []
    reasons: list[tuple[Cell, ...]] = []
    said = []
    for source in sources:
        counts = _statuses(source)
        total, not_ok = counts_of(source)
        rows.append((source.name, *counts, total, not_ok))
        reasons += [(source.name, status, reason, n) for status, reason, n in source.reasons]
        said.append(f"{source.name}: {rate_words(not_ok)} decisions not ok")
        if source.judged.bad_rows:
            said.append(f"{counted(source.judged.bad_rows, 'row')} of its input not usable")
    columns = (*map(Column, ("run", *STATUSES, "not judged yet", "samples")), Column("not ok"))
    caption = "Samples by the status of their decision"
    figures = [
        Figure(caption, None, ". ".join(said) + ".", Table("status", caption, columns, tuple(rows)))
    ]
    absent: tuple[str, ...] = ()
    if reasons:
        caption = "The most frequent reasons of readings that are not ok"
        names = tuple(map(Column, ("run", "status", "reason", "readings")))
        figures.append(Figure(caption, None, "", Table("failures", caption, names, tuple(reasons))))
    else:
        absent = ("No reading failed, so there are no reasons to list.",)
    return Section(
        "failures",
        "What was not judged",
        "Only 'ok' counts in the measures above. What failed is never turned into a tie, a middle "
        "score or a guess.",
        tuple(figures),
        absent=absent,
    )


def _statuses(source: Source) -> list[int]:
    return [
        sum(int((column == code).sum()) for column in source.statuses)
        for code in (*range(len(STATUSES)), PENDING)
    ]
