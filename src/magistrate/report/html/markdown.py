"""The report as Markdown: the same sections, words and tables, without plots and samples' texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from magistrate.report.html.tables import markdown_table, markdown_text

if TYPE_CHECKING:
    from magistrate.report.html.blocks import Figure, Section
    from magistrate.report.html.contents import Contents


def render_markdown(report: Contents) -> str:
    """Return the report as Markdown."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Contents) -> Iterator[str]:
    yield f"# {markdown_text(report.title)}"
    yield ""
    yield f"Made {report.made} by magistrate {report.version}."
    for run in report.runs:
        yield ""
        yield f"**{markdown_text(run.name)}** ({markdown_text(run.source)})"
        for sentence in run.sentences:
            yield f"- {markdown_text(sentence)}"
    for section in report.sections:
        yield from _section(section)
    yield ""
    yield "## How this was made"
    yield ""
    for run in report.runs:
        for line in run.provenance:
            yield f"- {markdown_text(line)}"


def _section(section: Section) -> Iterator[str]:
    yield ""
    yield f"## {markdown_text(section.title)}"
    yield ""
    yield markdown_text(section.explains)
    for reason in section.absent:
        yield ""
        yield f"*{markdown_text(reason)}*"
    for figure in section.figures:
        yield from _figure(figure)
    for card in section.cards:
        people = f", people {card.people_say}" if card.people_say else ""
        sure = f" ({card.confidence} sure)" if card.confidence else ""
        place = f"row {card.row}" + (f", id {card.source_id}" if card.source_id else "")
        yield ""
        yield markdown_text(
            f"{card.number}. {place}: judge {card.judge_says or 'undecided'}{sure}{people}"
        ).replace("\\.", ".", 1)


def _figure(figure: Figure) -> Iterator[str]:
    yield ""
    yield f"### {markdown_text(figure.title)}"
    if figure.said:
        yield ""
        yield markdown_text(figure.said)
    yield ""
    yield markdown_table(figure.table)
