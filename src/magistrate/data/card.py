"""A data card: what labelled data are, who labelled them, and what a check finds in them.

from magistrate.data.card import make_card, write_card

write_card(make_card("labelled.jsonl", licences={"labelled.jsonl": "CC-BY-4.0"}), ["card.html"])
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from magistrate.data.card_sections import CardData, card_sections, card_tiles, sentences
from magistrate.data.checks.balance import Limits, labelled
from magistrate.data.checks.check import AnyPath, Step, check_collected, collect_tests
from magistrate.data.checks.collected import collect
from magistrate.data.checks.findings import CheckReport
from magistrate.data.checks.near import Nearness
from magistrate.data.split_files import REPORT, SplitReport
from magistrate.errors import InputError
from magistrate.formats.reading import read_samples
from magistrate.report.html.document import Document, document_markdown, now, render_document
from magistrate.report.html.texts import seen

_PAGES = (".html", ".htm")
_MARKDOWN = (".md", ".markdown")


@dataclass(frozen=True)
class DataCard:
    """A card before it is a file."""

    document: Document
    check: CheckReport
    licences: Mapping[str, str]
    split: SplitReport | None

    def html(self) -> str:
        """Return the card as a page, one file without scripts."""
        return render_document(self.document)

    def markdown(self) -> str:
        """Return the card as Markdown."""
        return document_markdown(self.document)

    def facts(self) -> dict[str, Any]:
        """Return what the card says as plain values."""
        told = self.check.model_dump(mode="json")
        for finding in told["findings"]:
            finding["examples"] = finding["examples"][:10]
        return {
            **told,
            "licences": dict(self.licences),
            "split": None if self.split is None else self.split.model_dump(mode="json"),
        }


def make_card(
    *files: AnyPath,
    licences: Mapping[str, str] | None = None,
    title: str | None = None,
    split: AnyPath | None = None,
    against: Sequence[AnyPath] = (),
    near: Nearness | None = Nearness(),  # noqa: B008 (frozen)
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    on_step: Step | None = None,
) -> DataCard:
    """Read labelled data, check them, and describe them.

    Args:
        files: Samples in any known format.
        licences: Licence by name of a source: a file, or whatever the data came from.
        title: Of the card; by default it names the files.
        split: The folder that :func:`magistrate.data.splitting.split_data` made of them.
        against: Test sets that leaks are looked for in.
        near: What counts as a near-duplicate; None does not look for any.
        format: Of ``files``, instead of finding it out.
        columns: Of ``files``: our field name to the file's column name.
        on_step: Called with the name of every step that begins.

    Raises:
        InputError: A file cannot be read, or ``split`` is no folder of splits.
        MissingExtraError: Near-duplicates are looked for and rensa is not installed.
    """
    step = on_step or (lambda name: None)
    parts = None if split is None else read_split(split)
    step("reading")
    data = collect(read_samples(*files, format=format, columns=columns))
    tests = collect_tests(against)
    report = check_collected(data, tests, files, against, near, Limits(), step)
    named = dict(licences or {})
    card = CardData(data, labelled(data), report, parts, named)
    names = ", ".join(seen(Path(file).name) for file in report.files)
    document = Document(
        title=title or f"Data card: {names}",
        sections=tuple(card_sections(card)),
        tiles=tuple(card_tiles(card)),
        sentences=tuple(sentences(card)),
        provenance=tuple(_provenance(report)),
        made=now(),
    )
    return DataCard(document, report, named, parts)


def read_split(folder: AnyPath) -> SplitReport:
    """Return the report of a folder of splits.

    Raises:
        InputError: It is not one, or its report cannot be read.
    """
    path = Path(folder) / REPORT
    try:
        return SplitReport.model_validate(json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise InputError(
            f"{os.fspath(folder)} is no folder that `data split` made: {REPORT} is missing or "
            f"cannot be read"
        ) from error


def read_licences(given: Sequence[str]) -> dict[str, str]:
    """Return ``NAME=LICENCE`` entries as licences by name.

    Raises:
        InputError: One has another form.
    """
    licences: dict[str, str] = {}
    for text in given:
        name, equals, licence = text.partition("=")
        if not equals or not name.strip() or not licence.strip():
            raise InputError(f"'{text}' is not NAME=LICENCE, such as mydata=CC-BY-4.0")
        licences[name.strip()] = licence.strip()
    return licences


def write_card(card: DataCard, out: Sequence[AnyPath]) -> tuple[Path, ...]:
    """Write a card to files: ``.html`` for the page, ``.md`` for Markdown.

    Raises:
        InputError: A name has another ending, or the file cannot be written.
    """
    from magistrate.formats.writers.base import new_file

    paths = [Path(path) for path in out]
    for path in paths:
        if path.suffix.lower() not in (*_PAGES, *_MARKDOWN):
            raise InputError(f"'{path}' names no form of card; end it in .html or in .md")
    for path in paths:
        text = card.html() if path.suffix.lower() in _PAGES else card.markdown()
        with new_file(os.fspath(path)) as file:
            file.write(text.encode("utf-8"))
    return tuple(paths)


def _provenance(report: CheckReport) -> list[str]:
    lines = [f"Read from {', '.join(map(seen, report.files))}."]
    if report.against:
        lines.append(f"Leaks were looked for in {', '.join(map(seen, report.against))}.")
    if report.settings["near"] is None:
        lines.append("Near-duplicates were not looked for.")
    else:
        told = report.settings
        lines.append(
            f"Near-duplicates: Jaccard similarity {told['near']:g} and more of runs of "
            f"{told['shingle_characters']} characters; MinHash with {told['permutations']} values "
            f"in {told['bands']} bands of {told['rows']}, which finds a pair just at the threshold "
            f"with probability {told['found_at_threshold']:.3f}; every pair found was then "
            f"compared exactly."
        )
    if report.bad_count:
        lines.append(f"{report.bad_count:,} rows could not be read and are not in these numbers.")
    lines.append(
        "The hash is the SHA-256 of the sorted SHA-256 of what each sample says (without meta "
        "fields and row ids), so the sequence of the rows does not matter."
    )
    return lines
