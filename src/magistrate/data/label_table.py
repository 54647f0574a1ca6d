"""What came of labelling, on the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from magistrate.data.label_report import (
    Labelled,
    TeacherReport,
    agreement_with_humans,
    agreement_with_teachers,
)
from magistrate.metrics.annotators import WithAnnotator
from magistrate.report.layout import CLOSE_GAP, LaidColumn, Layout, Layouts
from magistrate.report.table import NOTHING, facts_table, percent
from magistrate.report.text import counted, dollars, harmless

_NUMBERS = ("labelled", "failed", "consistent", "with teachers", "with humans", "kappa", "cost")


def label_table(labelled: Labelled) -> RenderableType:
    """Return a row for each teacher and for the merged labels, and what else there is to know."""
    rows = [*_teacher_rows(labelled), *_merged_rows(labelled)]
    columns = [LaidColumn("teacher", tuple(harmless(row[0]) for row in rows), breaks=True)]
    columns += [
        LaidColumn(name, tuple(row[place] for row in rows), right=True)
        for place, name in enumerate(_NUMBERS, 1)
    ]
    facts = facts_table(_facts(labelled))
    layouts = [Layout(tuple(columns)), Layout(tuple(columns), gap=CLOSE_GAP)]
    return Group(Layouts(layouts, Text("\n".join(_plain(rows)))), Text(""), facts)


def _teacher_rows(labelled: Labelled) -> Iterator[tuple[str, ...]]:
    teachers = [one.column for one in labelled.teachers]
    for one in labelled.teachers:
        with_teachers = agreement_with_teachers(labelled.measured, one.column, teachers)
        human = agreement_with_humans(labelled.measured, one.column)
        yield (
            one.column,
            f"{one.labelled:,}",
            _failed(one),
            percent(one.consistency.value),
            percent(with_teachers[0]) if with_teachers else NOTHING,
            *_human(human),
            dollars(one.cost) if one.cost else NOTHING,
        )


def _merged_rows(labelled: Labelled) -> Iterator[tuple[str, ...]]:
    for one in labelled.measured.human:
        if one.annotator.startswith("merged"):
            name = f"{one.annotator}, teachers alone"
            yield (name, NOTHING, NOTHING, NOTHING, NOTHING, *_human(one), NOTHING)


def _human(found: WithAnnotator | None) -> tuple[str, str]:
    if found is None or found.agreement.value is None:
        return NOTHING, NOTHING
    return percent(found.agreement.value), NOTHING if found.kappa is None else f"{found.kappa:.2f}"


def _failed(one: TeacherReport) -> str:
    return ", ".join(f"{n:,} {status}" for status, n in one.failed.items()) or "0"


def _facts(labelled: Labelled) -> Iterator[tuple[str, str]]:
    yield "written", f"{counted(labelled.written, 'sample')} to {harmless(labelled.output)}"
    yield "merged by", labelled.rule
    if labelled.unlabelled:
        yield "unlabelled", f"{counted(labelled.unlabelled, 'sample')}: nobody gave a label"
    if labelled.skipped_count:
        yield "left out", f"{counted(labelled.skipped_count, 'sample')} that '{labelled.to}' lacks"
    if labelled.failed:
        yield "failed", f"{counted(labelled.failed, 'label')}, {harmless(labelled.failed_file)}"
    contradicting = sum(one.contradicting for one in labelled.teachers)
    if contradicting:
        yield (
            "scores left out",
            f"of {counted(contradicting, 'label')}: over both orders they say another outcome",
        )
    for way, skill in labelled.measured.skill.items():
        if skill:
            told = ", ".join(f"{harmless(name)} {value:.2f}" for name, value in skill.items())
            yield f"skill ({way})", told
    if labelled.cost:
        yield "cost", dollars(labelled.cost)


def _plain(rows: list[tuple[str, ...]]) -> Iterator[str]:
    for row in rows:
        values = ", ".join(
            f"{name} {value}" for name, value in zip(_NUMBERS, row[1:], strict=True) if value != "0"
        )
        yield f"{harmless(row[0])}: {values}"
