"""What should make one doubt labels: teachers with a favourite place, and nothing but ties."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from magistrate.data.label_report import TeacherReport
from magistrate.formats.base import Notice
from magistrate.records import Preference
from magistrate.report.text import counted

FEW = 5
"""Pairs below which nothing is said."""

HARDLY_CONSISTENT = 0.25
"""Share of pairs with one outcome in both orders below which a teacher is doubted. One that draws
first or second by chance has one half, one that always takes the same place 0."""

ALMOST_ALL = 0.95


def favourite_places(teachers: Iterable[TeacherReport]) -> Iterator[Notice]:
    """Yield a notice for each teacher that hardly ever says the same in both orders."""
    for one in teachers:
        share = one.consistency.value
        if share is None or one.compared < FEW or share >= HARDLY_CONSISTENT:
            continue
        yield Notice(
            kind="label",
            message=f"teacher {one.column} gave the same outcome in both orders in {share:.0%} of "
            f"{counted(one.compared, 'pair')}: it has a favourite place, and its ties say nothing; "
            f"take another teacher, or leave its labels out",
        )


def ties_alone(outcomes: Mapping[Preference | None, int]) -> Iterator[Notice]:
    """Yield a notice where (almost) all merged labels of pairs are ties.

    Args:
        outcomes: How many merged labels have each outcome.
    """
    labels = sum(outcomes.values())
    ties = outcomes.get("tie", 0)
    if labels >= FEW and ties >= ALMOST_ALL * labels:
        yield Notice(
            kind="label",
            message=f"{ties:,} of {labels:,} merged labels are ties: there is nothing in them to "
            f"learn or to measure by; look at the teachers' consistency and agreement",
        )
