"""``magistrate judge``: files in, a run folder and a table out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magistrate.cli.batch import collect, emit
from magistrate.cli.dry import show_dry_run
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
    SetOption,
    StrictOption,
    read_columns,
    read_engine_options,
)
from magistrate.cli.progress import ProgressView
from magistrate.cli.remarks import remarks_on
from magistrate.cli.terminal import Terminal
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.store.run import Run

EXAMPLES = example(
    "magistrate judge examples/pairs.jsonl --judge mini --out runs/first",
    "magistrate judge examples/pairs.jsonl --judge scripted:longer --order given --json",
    "magistrate judge examples/pairs.jsonl --judge scripted:longer --mode score --dry-run",
)


class Order(StrEnum):
    """In which orders a judge sees the answers."""

    both = "both"
    given = "given"


class JudgingMode(StrEnum):
    """Whether the judge explains."""

    reason = "reason"
    score = "score"


class BatchAction(StrEnum):
    """What is done with a batch file."""

    emit = "emit"
    collect = "collect"


class Overflow(StrEnum):
    """What becomes of prompts that are too long."""

    truncate = "truncate"
    skip = "skip"
    error = "error"


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
    mode: Annotated[
        JudgingMode | None,
        typer.Option(
            metavar="reason|score",
            help="`reason`: the judge also explains (the default). `score`: it says its scores and "
            "no more, as exact probabilities where the engine has them.",
            show_default=False,
        ),
    ] = None,
    settings: SetOption = None,
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
    on_overflow: Annotated[
        Overflow,
        typer.Option(
            metavar="truncate|skip|error",
            help="Of a prompt too long for the model: cut the answers fairly, leave it out, or "
            "judge nothing.",
        ),
    ] = Overflow.truncate,
    demonstrations: Annotated[
        list[str] | None,
        typer.Option(
            "--demonstrations",
            metavar="FILE",
            help="Labelled samples of which the judge is shown some, solved, before each sample; "
            "may be given several times. None of what is judged is drawn.",
            show_default=False,
        ),
    ] = None,
    per_outcome: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="How many demonstrations of each outcome."),
    ] = 1,
    demonstrations_seed: Annotated[
        int, typer.Option(metavar="N", help="Another seed draws other demonstrations.")
    ] = 0,
    max_cost: Annotated[
        float | None,
        typer.Option(
            metavar="DOLLARS",
            min=0,
            help="Stop before the run costs more than this, all calls together.",
            show_default=False,
        ),
    ] = None,
    max_concurrency: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Requests under way at once, for engines that ask a server.",
            show_default=False,
        ),
    ] = None,
    cache: Annotated[
        bool | None,
        typer.Option(
            "--cache/--no-cache",
            help="Take answers from the response cache and keep them there; without either, for "
            "judges whose answers are dear.",
            show_default=False,
        ),
    ] = None,
    dry: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show three samples' prompts, token counts, cuts and estimated cost; send and "
            "write nothing.",
        ),
    ] = False,
    batch: Annotated[
        tuple[BatchAction, Path] | None,
        typer.Option(
            metavar="emit|collect FILE",
            help="Ask nothing: write the missing requests to FILE in OpenAI's batch form, or read "
            "the answers in FILE into the run.",
            show_default=False,
        ),
    ] = None,
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
    from magistrate.store.dry import dry_run
    from magistrate.store.running import judge as judge_into_run

    terminal = Terminal(as_json, quiet)
    asked: dict[str, Any] = {
        "mode": mode.value if mode else None,
        "engine_options": read_engine_options(settings, max_concurrency),
        "orders": order.value,
        "repeats": repeat,
        "limit": limit,
        "strict": strict,
        "on_overflow": on_overflow.value,
        "demonstrations": demonstrations or None,
        "per_outcome": per_outcome,
        "demonstrations_seed": demonstrations_seed,
    }
    samples = read_samples(
        *files,
        format=format_name,
        columns=read_columns(columns),
        questions=questions,
        join=join.value if join else None,
    )
    if dry:
        show_dry_run(dry_run(samples, judge_name, out, **asked), terminal)
        return
    if batch is not None and batch[0] is BatchAction.emit:
        emit(samples, judge_name, batch[1], out, terminal, start_over=start_over, **asked)
        return
    with ProgressView(terminal, judge_name) as progress:
        if batch is not None:
            run = collect(samples, judge_name, batch[1], out, progress, **asked)
        else:
            run = judge_into_run(
                samples,
                judge_name,
                out,
                **asked,
                max_cost=max_cost,
                cache=cache,
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
    from magistrate.report.summary import summarise
    from magistrate.report.table import summary_table

    summary = summarise(run)
    terminal.notices(notice for notice in run.notices() if notice not in progress.notices)
    terminal.bad_rows(run.bad_rows(), summary.bad_rows, run.folder.bad_rows)
    terminal.table(summary_table(summary))
    terminal.json({**run_json(run, summary), **progress.counts})
    if progress.counts["from_cache"]:
        terminal.note(
            f"{counted(progress.counts['from_cache'], 'answer')} came from the response cache; "
            f"--no-cache asks anew"
        )
    for remark in remarks_on(run):
        terminal.note(f"note: {remark}")
    if not terminal.as_json:
        terminal.note(f"\nRun folder: {run.path}")
        terminal.note(f"Look again: magistrate runs show {run.path}")
    if not summary.decisions["ok"]:
        terminal.note("not one sample was judged: see the reasons above")
        raise typer.Exit(NOTHING_JUDGED)
