"""``magistrate inspect``: what the reader understood of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import typer

from magistrate.cli.exits import BAD_INPUT, show_message
from magistrate.cli.help import example
from magistrate.cli.options import (
    ColumnsOption,
    FilesArgument,
    FormatOption,
    JoinOption,
    JsonOption,
    LimitOption,
    QuestionsOption,
    StrictOption,
    read_columns,
)
from magistrate.cli.terminal import Terminal
from magistrate.report.text import counted, harmless

if TYPE_CHECKING:
    from magistrate.formats.inspect import Inspection, Lengths

EXAMPLES = example(
    "magistrate inspect examples/pairs.csv", "magistrate inspect examples/broken.jsonl --json"
)

SHOWN_NAMES = 12
"""How many names of a kind are shown; the JSON has more."""


def inspect(
    files: FilesArgument,
    format_name: FormatOption = None,
    columns: ColumnsOption = None,
    questions: QuestionsOption = None,
    join: JoinOption = None,
    limit: LimitOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show what is in files, and which rows are bad and why.

    Nothing is judged or written. Look here first when a file is not read as you expect. If not one
    row can be read, the exit code is 2.
    """
    from magistrate.formats.inspect import inspect_files

    terminal = Terminal(as_json)
    inspection = inspect_files(
        *files,
        format=format_name,
        columns=read_columns(columns),
        questions=questions,
        strict=strict,
        limit=limit,
        join=join.value if join else None,
    )
    terminal.facts(_facts(inspection))
    terminal.notices(inspection.notices, result=True)
    terminal.bad_rows(inspection.bad, inspection.bad_count, None, result=True)
    terminal.json(inspection.model_dump(mode="json"))
    if inspection.rows and inspection.bad_count >= inspection.rows:
        show_message(f"magistrate: not one of {counted(inspection.rows, 'row')} could be read")
        raise typer.Exit(BAD_INPUT)


def _facts(found: Inspection) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of what was found; what is not there is left out."""
    yield "files", ", ".join(map(harmless, found.files))
    containers = ", ".join(dict.fromkeys(found.containers.values()))
    yield "format", f"{found.format} ({containers})"
    if found.joined:
        yield "joined", f"into {'pairs' if found.joined == 'pairs' else 'samples of all answers'}"
    yield "rows", f"{found.rows:,}, of which bad: {found.bad_count:,}"
    yield "samples", f"{found.samples:,}"
    if found.answers_per_sample:
        yield (
            "answers",
            ", ".join(
                f"{size} in {counted(count, 'sample')}"
                for size, count in found.answers_per_sample.items()
            ),
        )
    yield from _named(found)
    for annotator, counts in list(found.annotators.items())[:SHOWN_NAMES]:
        yield f"  {harmless(annotator)}", _counts(counts)
    if len(found.annotators) > SHOWN_NAMES:
        yield "", f"and {len(found.annotators) - SHOWN_NAMES:,} more annotators"
    if found.with_scores:
        yield "gold scores", counted(found.with_scores, "sample")
    for name, lengths in (
        ("question length", found.question_characters),
        ("answer length", found.answer_characters),
    ):
        if lengths is not None:
            yield name, _lengths(lengths)
    for name, count in (
        ("empty answers", found.empty_answers),
        ("duplicate ids", found.duplicate_ids),
        ("duplicate texts", found.duplicate_texts),
    ):
        if count:
            yield name, f"{count:,}"
    if found.judgments:
        said = "; ".join(_counts(counts) for counts in (found.statuses, found.verdicts) if counts)
        yield "verdicts", f"{found.judgments:,} stored: {said}"
        yield "judges", _counts(found.judges)


def _named(found: Inspection) -> Iterator[tuple[str, str]]:
    """Yield what is counted by name."""
    names: dict[str, Mapping[str, int]] = {
        "labels": found.labels,
        "models": found.models,
        "categories": found.categories,
        "languages": found.languages,
        "fields": found.fields,
    }
    for name, counts in names.items():
        if counts:
            yield name, _counts(counts)
        if name == "labels" and found.classes:
            yield "named labels", _classes(found.classes)


def _counts(counts: Mapping[str, int]) -> str:
    shown = [f"{harmless(name)} {count:,}" for name, count in list(counts.items())[:SHOWN_NAMES]]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f", and {more:,} more" if more else "")


def _classes(counts: Mapping[str, int]) -> str:
    """Name labels that may be anything, numbers too, so that they are not taken for counts."""
    shown = [
        f"'{harmless(name)}' of {counted(count, 'sample')}"
        for name, count in list(counts.items())[:SHOWN_NAMES]
    ]
    more = len(counts) - len(shown)
    return ", ".join(shown) + (f", and {more:,} more" if more else "")


def _lengths(lengths: Lengths) -> str:
    about = "" if lengths.median_is_exact else "about "
    return (
        f"{lengths.min:,} to {lengths.max:,} characters, "
        f"median {about}{lengths.median:,.0f}, mean {lengths.mean:,.0f}"
    )
