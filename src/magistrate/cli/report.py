"""``magistrate report``: runs in, a page to look at out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magistrate.cli.help import example
from magistrate.cli.options import FormatsOption, JsonOption, JudgesOption, QuietOption
from magistrate.cli.terminal import Terminal

if TYPE_CHECKING:
    from magistrate.report.html.write import Written

EXAMPLES = example(
    "magistrate judge examples/pairs.jsonl --judge mini --out runs/first",
    "magistrate report runs/first -o report.html -o report.md --csv report",
)


def report(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUNS",
            help="Run folders, or files in which other tools keep their judgments (several of one "
            "judge, such as one for each order, joined by `+`); judges are shown side by side.",
            show_default=False,
        ),
    ],
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="`.html` for the page, `.md` for its tables in Markdown; may be given several "
            "times. Without it, report.html in the run folder.",
            show_default=False,
        ),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            metavar="DIR",
            help="Write the tables as CSV files into this folder, with all digits.",
            show_default=False,
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="A test set whose labels replace those that come with the runs.",
            show_default=False,
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            "--samples",
            metavar="N",
            min=0,
            max=1_000,
            help="Samples to show where judge and people differ most, of all runs together.",
        ),
    ] = 30,
    judge: JudgesOption = None,
    format_name: FormatsOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a report to look at: how far one or more judges can be trusted, plotted.

    The page is one file that needs no network: agreement with intervals beside baselines, what is
    mistaken for what, position, length, confidence, categories, the ranking, and the samples where
    judge and people differ most. What a run has no data for is said, not drawn.
    """
    from magistrate.report.html.write import write_report

    terminal = Terminal(as_json, quiet)
    written = write_report(
        *runs,
        out=out or None,
        csv=csv,
        labels=labels,
        samples=samples,
        judge=judge,
        format=format_name,
    )
    for run in written.contents.runs:
        terminal.line(run.name)
        for sentence in run.sentences:
            terminal.line(f"  {sentence}")
    for path in written.files:
        if path.suffix != ".csv":
            terminal.line(f"{path}  {path.stat().st_size / 1000:,.0f} kB")
    if csv is not None:
        tables = sum(path.suffix == ".csv" for path in written.files)
        terminal.line(f"{csv}  {tables} CSV files")
    terminal.json(_json(written))


def _json(written: Written) -> dict[str, Any]:
    contents = written.contents
    return {
        "files": [{"path": str(path), "bytes": path.stat().st_size} for path in written.files],
        "title": contents.title,
        "runs": [
            {"name": run.name, "source": run.source, "sentences": list(run.sentences)}
            for run in contents.runs
        ],
        "sections": [
            {
                "id": section.id,
                "title": section.title,
                "figures": [
                    {"title": figure.title, "says": figure.said, "table": figure.table.name}
                    for figure in section.figures
                ],
                "samples": len(section.cards),
                "absent": list(section.absent),
            }
            for section in contents.sections
        ],
    }
