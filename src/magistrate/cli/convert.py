"""``magistrate convert``: from any format that is read to any that is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magistrate.cli.exits import BAD_INPUT, show_message
from magistrate.cli.help import example
from magistrate.cli.options import (
    ColumnsOption,
    FormatOption,
    JoinOption,
    JsonOption,
    LimitOption,
    QuestionsOption,
    QuietOption,
    StrictOption,
    read_columns,
)
from magistrate.cli.terminal import SHOWN_ROWS, Terminal
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.formats.writers import WriteReport

EXAMPLES = example(
    "magistrate convert examples/pairs.jsonl pairs-judgelm.jsonl --to judgelm",
    "magistrate convert examples/outputs/alder.json examples/outputs/birch.json pairs.csv --to csv",
)


STDOUT = "-"


def convert(
    sources: Annotated[
        list[str], typer.Argument(metavar="IN", help="Files to read.", show_default=False)
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help="File to write, in a folder that exists, or `-` for standard output; for "
            "`--to mt-bench` a new folder. A file that exists is replaced, once the new one is "
            "complete.",
            show_default=False,
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="NAME",
            help="Format to write; without it OUT's name must say which. `list` lists all.",
            show_default=False,
        ),
    ] = None,
    format_name: FormatOption = None,
    columns: ColumnsOption = None,
    questions: QuestionsOption = None,
    join: JoinOption = None,
    limit: LimitOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write the samples of files in another format.

    What the format cannot hold is named, with the number of samples that have it; samples that it
    cannot hold at all are listed with the reason (with `--strict` the first one stops the command).
    If not one sample can be written, the exit code is 2 and OUT is left as it was.
    """
    from magistrate.formats.reading import read_samples
    from magistrate.formats.source import is_same_file
    from magistrate.formats.writers import write_samples

    if target == STDOUT and as_json:
        raise typer.BadParameter("standard output cannot take both the samples and --json")
    for source in (*sources, *([str(questions)] if questions else ())):
        if target != STDOUT and is_same_file(source, target):
            raise typer.BadParameter(f"OUT is the input {source}; name another file to write")
    terminal = Terminal(as_json, quiet)
    samples = read_samples(
        *sources,
        format=format_name,
        columns=read_columns(columns),
        questions=questions,
        join=join.value if join else None,
        strict=strict,
        limit=limit,
    )
    report = write_samples(samples, target, to, strict=strict)
    terminal.notices([*samples.notices, *report.notices])
    terminal.bad_rows(samples.bad, samples.bad_count, None)
    for skipped in report.skipped[:SHOWN_ROWS]:
        name = f" ({skipped.id})" if skipped.id else ""
        terminal.note(f"left out: sample {skipped.place}{name}: {skipped.reason}")
    if report.skipped_count > SHOWN_ROWS:
        terminal.note(f"left out: {report.skipped_count - SHOWN_ROWS:,} more")
    if report.written:
        terminal.note(f"{counted(report.written, 'sample')} written to {target} as {report.to}")
    terminal.json(
        {
            "input_format": samples.format,
            "rows": samples.rows,
            "bad": [row.model_dump(mode="json") for row in samples.bad],
            "bad_count": samples.bad_count,
            "notices": [
                notice.model_dump(mode="json") for notice in (*samples.notices, *report.notices)
            ],
            "output": report.path,
            "to": report.to,
            "written": report.written,
            "skipped": [skipped.model_dump(mode="json") for skipped in report.skipped],
            "skipped_count": report.skipped_count,
        }
    )
    if not report.written:
        show_message(f"magistrate: {_nothing_written(report)}")
        raise typer.Exit(BAD_INPUT)


def _nothing_written(report: WriteReport) -> str:
    kept = ""
    if report.path != STDOUT:
        kept = (
            f"; {report.path} is left as it was"
            if Path(report.path).exists()
            else f"; no {report.path} was made"
        )
    if not report.skipped:
        return f"nothing was written: there are no samples{kept}"
    return (
        f"nothing was written: '{report.to}' can hold none of "
        f"{counted(report.skipped_count, 'sample')} (the first: {report.skipped[0].reason}){kept}"
    )
