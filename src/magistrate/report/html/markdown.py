"""The report as Markdown: the same sections, words, tables and samples, without plots.

Texts of the data stand between fences that none of their lines can close, so nothing in them is
Markdown or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from magistrate.report.html.tables import markdown_table, markdown_text
from magistrate.report.html.texts import cut, pieces

if TYPE_CHECKING:
    from magistrate.report.html.blocks import Figure, Section
    from magistrate.report.html.cards import Card, Passage, Side
    from magistrate.report.html.contents import Contents

_QUESTION = 500
_ANSWER = 1_000
_REASONS = 500
"""Characters shown of each, the same of both answers; how many were left out is said."""


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
        yield from _section(section, [run.name for run in report.runs])
    yield ""
    yield "## How this was made"
    yield ""
    for run in report.runs:
        for line in run.provenance:
            yield f"- {markdown_text(line)}"


def section_lines(section: Section) -> Iterator[str]:
    """Yield the lines of a section, without the samples that it may show."""
    yield ""
    yield f"## {markdown_text(section.title)}"
    if section.explains:
        yield ""
        yield markdown_text(section.explains)
    for reason in section.absent:
        yield ""
        yield f"*{markdown_text(reason)}*"
    for figure in section.figures:
        yield from _figure(figure)


def _section(section: Section, runs: Sequence[str]) -> Iterator[str]:
    yield from section_lines(section)
    last: int | None = None
    for card in section.cards:
        if card.run != last:
            yield ""
            yield f"### {markdown_text(runs[card.run])}"
            last = card.run
        yield from _card(card)


def _card(card: Card) -> Iterator[str]:
    people = f", people {card.people_say}" if card.people_say else ""
    votes = f" ({card.votes})" if card.votes else ""
    sure = f" ({card.confidence} sure)" if card.confidence else ""
    orders = f"; {card.in_orders}" if card.in_orders else ""
    place = f"row {card.row}" + (f", id {card.source_id}" if card.source_id else "")
    said = f"judge {card.judge_says or 'undecided'}{sure}{people}{votes}{orders}"
    yield ""
    yield f"#### {card.number}\\. {markdown_text(f'{place}: {said}')}"
    yield from _passage("Question", card.question, _QUESTION)
    if card.reference is not None:
        yield from _passage("Reference", card.reference, _ANSWER)
    for name, side in zip(("First", "Second"), card.sides, strict=True):
        yield from _passage(_side_heading(name, side), side.answer, _ANSWER)
    for order, reasons in card.reasons:
        under = f", {order}" if order else ""
        yield from _passage(f"What the judge wrote{under}", reasons, _REASONS)


def _side_heading(name: str, side: Side) -> str:
    by = f" by {side.name}" if side.name else ""
    facts = [f"{side.characters:,} characters"]
    facts += [f"score {side.score}"] if side.score else []
    facts += ["the judge prefers it"] if side.judge_prefers else []
    facts += ["people prefer it"] if side.people_prefer else []
    return f"{name} answer{by} ({', '.join(facts)})"


def _passage(heading: str, passage: Passage, most: int) -> Iterator[str]:
    """Yield a text of the data between fences longer than any in it."""
    text, more = cut(passage.text, most)
    shown = "".join(f"‹{part}›" if hidden else part for part, hidden in pieces(text))
    longest = max((len(ticks) for ticks in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    if left_out := passage.left_out + more:
        heading += f"; {left_out:,} more characters not shown"
    yield ""
    yield f"{markdown_text(heading)}:"
    yield ""
    yield f"{fence}text"
    yield shown
    yield fence


def _figure(figure: Figure) -> Iterator[str]:
    yield ""
    yield f"### {markdown_text(figure.title)}"
    if figure.said:
        yield ""
        yield markdown_text(figure.said)
    yield ""
    yield markdown_table(figure.table)
