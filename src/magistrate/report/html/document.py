"""A document of sections with figures, such as a card: a page without any script, and Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from magistrate._version import __version__
from magistrate.report.html.markdown import section_lines
from magistrate.report.html.tables import markdown_text

if TYPE_CHECKING:
    from magistrate.report.html.blocks import Section
    from magistrate.report.html.contents import Tile


@dataclass(frozen=True, slots=True)
class Document:
    """What a page or a Markdown file says."""

    title: str
    sections: tuple[Section, ...]
    tiles: tuple[Tile, ...] = ()
    """Numbers at the top."""
    sentences: tuple[str, ...] = ()
    """What to know first."""
    provenance: tuple[str, ...] = ()
    """How it was made."""
    made: str = ""
    version: str = __version__


def now() -> str:
    """Return the time as a document gives it."""
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC"


def render_document(document: Document) -> str:
    """Return the page: one file that loads nothing and runs nothing."""
    from magistrate.report.html.page import render_unscripted

    return render_unscripted("document.html.j2", document=document)


def document_markdown(document: Document) -> str:
    """Return the document as Markdown: the same words and tables, without plots."""
    return "\n".join(_lines(document)) + "\n"


def _lines(document: Document) -> Iterator[str]:
    yield f"# {markdown_text(document.title)}"
    yield ""
    yield f"Made {document.made} by magistrate {document.version}."
    if document.tiles:
        yield ""
        for tile in document.tiles:
            small = f" ({markdown_text(tile.small)})" if tile.small else ""
            yield f"- {markdown_text(tile.name)}: {markdown_text(tile.value)}{small}"
    for sentence in document.sentences:
        yield ""
        yield markdown_text(sentence)
    for section in document.sections:
        yield from section_lines(section)
    yield ""
    yield "## How this was made"
    yield ""
    for line in document.provenance:
        yield f"- {markdown_text(line)}"
