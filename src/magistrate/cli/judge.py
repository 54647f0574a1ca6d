"""``magistrate judge``: files in, a run folder and a table out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magistrate.cli.exits import NOTHING_JUDGED
from magistrate.cli.help import example
from magistrate.cli.options import (
    ColumnsOption,
    FilesArgument,
    FormatOption,
    JoinOption,
    JsonOption,
    LimitOption,
    QuestionsOption,
    QuietOption,
    StrictOption,
    read_columns,
)
from magistrate.cli.progress import ProgressView
from magistrate.cli.terminal import Terminal

if TYPE_CHECKING:
    from magistrate.store.run import Run

EXAMPLES = example(
    "magistrate judge examples/pairs.jsonl --judge mini --out runs/first",
    "magistrate judge examples/pairs.jsonl --judge scripted:longer --order given --json",
)


class Order(StrEnum):
    """In which orders a judge sees the answers."""

    both = "both"
    given = "given"


def judge(
    files: FilesArgument,
    judge_name: Annotated[
        str,
        typer.Option(
            "--judge",
            metavar="NAME",
            help="`mini` (ships with the package), a judge folder, or ENGINE:MODEL[@URL][#FAMILY].",
        ),
    ] = "mini",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Run folder. An existing one is gone on with: nothing is judged twice. "
            "Without it, runs/JUDGE-TIME is made.",
            show_default=False,
        ),
    ] = None,
    format_name: FormatOption = None,
    columns: ColumnsOption = None,
    questions: QuestionsOption = None,
    join: JoinOption = None,
    order: Annotated[
        Order,
        typer.Option(
            metavar="both|given",
            help="Show the answers in both orders, or as given at half the cost.",
        ),
    ] = Order.both,
    repeat: Annotated[int, typer.Option(metavar="N", min=1, help="Read each order N times.")] = 1,
    limit: LimitOption = None,
    strict: StrictOption = False,
    start_over: Annotated[
        bool,
        typer.Option("--start-over", help="Move a run that is already in DIR aside; begin anew."),
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Judge files: who wins, and how far to trust it.

    The result is a run folder with every judgment, and a table: wins per model, consistency
    between orders, what failed, speed and cost; where the input has labels, also how often the
    judge agrees with them. A run that was stopped goes on when the same command is given again.
    """
    from magistrate.formats.reading import read_samples
    from magistrate.store.running import judge as judge_into_run

    terminal = Terminal(as_json, quiet)
    samples = read_samples(
        *files,
        format=format_name,
        columns=read_columns(columns),
        questions=questions,
        join=join.value if join else None,
    )
    with ProgressView(terminal, judge_name) as progress:
        run = judge_into_run(
            samples,
            judge_name,
            out,
            orders=order.value,
            repeats=repeat,
            limit=limit,
            strict=strict,
            start_over=start_over,
            on_progress=progress,
            on_notice=progress.notice,
        )
    show_result(run, terminal, progress)


def show_result(run: Run, terminal: Terminal, progress: ProgressView) -> None:
    """Print the result of a run that has just ended.

    Raises:
        typer.Exit: Not one sample was judged.
    """
    from magistrate.cli.runs import run_json
    from magistrate.report.summary import evaluate
    from magistrate.report.table import summary_table

    summary = evaluate(run)
    terminal.notices(notice for notice in run.notices() if notice not in progress.notices)
    terminal.bad_rows(run.bad_rows(), summary.bad_rows, run.folder.bad_rows)
    terminal.table(summary_table(summary))
    terminal.json({**run_json(run, summary), **progress.counts})
    if not terminal.as_json:
        terminal.note(f"\nRun folder: {run.path}")
        terminal.note(f"Look again: magistrate runs show {run.path}")
    if not summary.decisions["ok"]:
        terminal.note("not one sample was judged: see the reasons above")
        raise typer.Exit(NOTHING_JUDGED)
