"""``magistrate cascade FILES``: cheap judges first, strong ones for the doubtful rest."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magistrate.cli.exits import NOTHING_JUDGED, WAITING
from magistrate.cli.help import example
from magistrate.cli.judge import JudgingMode, Order, Overflow
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
from magistrate.cli.terminal import Terminal
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.cascade.live_folder import CascadeRun

EXAMPLES = example(
    "magistrate cascade examples/pairs.jsonl --judge mini --judge scripted:longer --budget 0.5 "
    "--out runs/cascade",
    "magistrate cascade judge examples/pairs.jsonl --judge mini --judge scripted:longer "
    "--threshold 0.8 --out runs/cascade --json",
)


class Fallback(StrEnum):
    """Who decides where a dearer judge failed."""

    none = "none"
    cheap = "cheap"


def cascade(
    files: FilesArgument,
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            metavar="NAME",
            help="Judges, the cheapest first; give it several times. `mini`, a judge folder, or "
            "ENGINE:MODEL[@URL][#FAMILY].",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="The cascade's folder. An existing one is gone on with: nothing is asked twice, "
            "also under another policy. Without it, runs/cascade-TIME is made.",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            metavar="P",
            min=0,
            max=1,
            help="Confidence from which a judge settles a pair: once for all but the last judge, "
            "or once for each (with one for the last too, it abstains below).",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="At most this share of the pairs goes to the last judge: the unsurest.",
            show_default=False,
        ),
    ] = None,
    budget_calls: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="At most so many readings by the last judge (two a pair, with both orders).",
            show_default=False,
        ),
    ] = None,
    stream: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="With a budget: estimate its threshold on the first N pairs, so that judges are "
            "at work together from then on.",
            show_default=False,
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            metavar="DOLLARS",
            min=0,
            help="What all judges may cost together, over all calls. Alone it is the policy: the "
            "unsurest pairs go up as long as there is money.",
            show_default=False,
        ),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(
            "--target-agreement",
            metavar="SHARE",
            help="Agreement with people that decisions must have; what no judge is sure enough of "
            "is abstained from.",
            show_default=False,
        ),
    ] = None,
    risk: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            help="Make a promise of the target, which is broken with this probability at most.",
            show_default=False,
        ),
    ] = None,
    calibrate_on: Annotated[
        list[str] | None,
        typer.Option(
            "--calibrate-on",
            metavar="FILE",
            help="Labelled pairs on which thresholds for the target are chosen.",
            show_default=False,
        ),
    ] = None,
    fallback: Annotated[
        Fallback,
        typer.Option(
            metavar="none|cheap",
            help="Where a dearer judge fails: let the pair wait for the next call, or let the "
            "cheaper judge decide, which the decision then says.",
        ),
    ] = Fallback.none,
    mode: Annotated[
        JudgingMode | None,
        typer.Option(
            metavar="reason|score",
            help="`reason`: judges also explain (the default). `score`: scores and no more, as "
            "exact probabilities where the engine has them.",
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
            metavar="truncate|skip",
            help="Of a prompt too long for the model: cut the answers fairly, or leave it out.",
        ),
    ] = Overflow.truncate,
    cache: Annotated[
        bool | None,
        typer.Option(
            "--cache/--no-cache",
            help="Take answers from the response cache and keep them there; without either, for "
            "judges whose answers are dear.",
            show_default=False,
        ),
    ] = None,
    start_over: Annotated[
        bool,
        typer.Option("--start-over", help="Move a cascade that is already in DIR aside."),
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Judge files with several judges: each settles what it is sure of, the next gets the rest.

    Judges work at the same time. Every decision says who decided, why, how sure it was and what it
    cost. The folder reads as a run does (runs show, evaluate, rank, report), and holds a run of
    each judge. An engine option with N. or ENGINE. before its name is for that judge alone.
    """
    from magistrate.cascade.live import run_cascade
    from magistrate.formats.reading import read_samples

    terminal = Terminal(as_json, quiet)
    samples = read_samples(
        *files,
        format=format_name,
        columns=read_columns(columns),
        questions=questions,
        join=join.value if join else None,
    )
    with ProgressView(terminal, "cascade", "answer", tells_resumed=False) as progress:
        done = run_cascade(
            samples,
            judges or [],
            out,
            thresholds=threshold or None,
            budget=budget,
            budget_calls=budget_calls,
            stream=stream,
            max_cost=max_cost,
            target_agreement=target,
            risk=risk,
            calibrate_on=calibrate_on or None,
            fallback=fallback.value,
            mode=mode.value if mode else None,
            engine_options=read_engine_options(settings),
            orders=order.value,
            repeats=repeat,
            limit=limit,
            strict=strict,
            on_overflow=on_overflow.value,
            cache=cache,
            start_over=start_over,
            on_progress=progress,
            on_notice=progress.notice,
        )
    show_cascade(done, terminal, progress.notices)


def show_cascade(done: CascadeRun, terminal: Terminal, told: list[Any]) -> None:
    """Print the result of a cascade that has just ended.

    Raises:
        typer.Exit: Pairs wait for a judge that failed, or not one was decided.
    """
    from magistrate.report.cascade_live import cascade_table

    manifest, run = done.manifest, done.run
    terminal.notices(notice for notice in run.notices() if notice not in told)
    terminal.bad_rows(run.bad_rows(), run.manifest.bad_rows, run.folder.bad_rows)
    terminal.table(cascade_table(manifest))
    terminal.json(cascade_json(done))
    if not terminal.as_json:
        terminal.note(f"\nCascade folder: {done.path}")
        terminal.note(f"Who won: magistrate runs show {done.path}")
        terminal.note(f"With labels: magistrate evaluate {done.path} --labels FILE")
    if manifest.pending:
        terminal.note(
            f"{counted(manifest.pending, 'pair')} wait for a judge that failed on them; the same "
            f"command asks again"
        )
        raise typer.Exit(WAITING)
    if not any(tier.decided for tier in manifest.tiers):
        terminal.note("not one pair was decided: see the reasons above")
        raise typer.Exit(NOTHING_JUDGED)


def cascade_json(done: CascadeRun) -> dict[str, Any]:
    """Return the result of a cascade for programs."""
    from itertools import islice

    from magistrate.cli.runs import ROWS_IN_JSON

    run = done.run
    return {
        "cascade": str(done.path),
        **done.manifest.model_dump(mode="json"),
        "bad_rows": run.manifest.bad_rows,
        "bad": [row.model_dump(mode="json") for row in islice(run.bad_rows(), ROWS_IN_JSON)],
        "notices": [notice.model_dump(mode="json") for notice in run.notices()],
    }
