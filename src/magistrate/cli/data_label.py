"""``magistrate data label``: labels by teachers, merged into one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from magistrate.cli.exits import NOTHING_JUDGED
from magistrate.cli.help import example
from magistrate.cli.judge import JudgingMode, Order
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
    read_engine_options,
)
from magistrate.cli.progress import ProgressView
from magistrate.cli.terminal import SHOWN_ROWS, Terminal

LABEL_EXAMPLES = example(
    "magistrate data label examples/pairs.jsonl --teacher mini --teacher scripted:longer "
    "-o labelled.jsonl",
    "magistrate data label examples/pairs.jsonl --teacher scripted:longer "
    "--with-and-without-reference -o labelled.jsonl --json",
)


class Merge(StrEnum):
    """By which rule labels are merged."""

    mean = "mean"
    agreement = "agreement"
    dawid_skene = "dawid-skene"


class Reference(StrEnum):
    """Whether teachers see the reference."""

    yes = "yes"
    no = "no"


class Target(StrEnum):
    """What is written."""

    samples = "samples"
    judgelm = "judgelm"


def label(
    files: FilesArgument,
    teacher: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A judge by any name: `mini`, a judge folder, or ENGINE:MODEL[@URL][#FAMILY]; "
            "LABEL= before it says what the annotator is called. May be given several times.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File of the labelled samples. The teachers' runs are kept beside it, in "
            "NAME.teachers: the same command goes on where it stopped.",
        ),
    ] = Path("labelled.jsonl"),
    reference: Annotated[
        Reference | None,
        typer.Option(
            metavar="yes|no",
            help="Show the teachers the reference, or not: the family's sibling that does so is "
            "taken. Without it, as the family says.",
            show_default=False,
        ),
    ] = None,
    with_and_without_reference: Annotated[
        bool,
        typer.Option(
            "--with-and-without-reference",
            help="Ask every teacher both ways; each way has its own merged label.",
        ),
    ] = False,
    order: Annotated[
        Order,
        typer.Option(
            metavar="both|given",
            help="Show the answers in both orders, or as given at half the cost.",
        ),
    ] = Order.both,
    merge: Annotated[
        Merge,
        typer.Option(
            metavar="mean|agreement|dawid-skene",
            help="How the annotators' labels become one: their mean; weighted by agreement with "
            "the input's own labels; or by Dawid and Skene's model, which needs none.",
        ),
    ] = Merge.mean,
    to: Annotated[
        Target,
        typer.Option(
            metavar="samples|judgelm",
            help="Write magistrate's own samples, with everything; or JudgeLM's training records.",
        ),
    ] = Target.samples,
    mode: Annotated[
        JudgingMode | None,
        typer.Option(
            metavar="reason|score",
            help="`reason`: teachers also explain (the default). `score`: scores alone.",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="An option of the teachers' engines, or of one engine alone as "
            "ENGINE.NAME=VALUE; may be given several times.",
            show_default=False,
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            metavar="DOLLARS",
            min=0,
            help="Stop before all teachers together cost more than this, all calls together.",
            show_default=False,
        ),
    ] = None,
    cache: Annotated[
        bool | None,
        typer.Option(
            "--cache/--no-cache",
            help="Take answers from the response cache and keep them there; without either, for "
            "teachers whose answers are dear.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Another seed divides the questions otherwise (agreement)."
        ),
    ] = 0,
    start_over: Annotated[
        bool, typer.Option("--start-over", help="Move the teachers' runs aside; begin anew.")
    ] = False,
    format_name: FormatOption = None,
    columns: ColumnsOption = None,
    questions: QuestionsOption = None,
    join: JoinOption = None,
    limit: LimitOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Label samples by teachers, in both orders, and merge the labels into one.

    A reading that fails never becomes a label: it is listed in NAME.teachers/failed.jsonl and
    counted. Labels that the input has count as further annotators, and as gold to measure by.
    """
    from magistrate.data.label_table import label_table
    from magistrate.data.labelling import label as label_samples
    from magistrate.formats.reading import read_samples
    from magistrate.formats.source import keep_inputs

    if not teacher:
        raise typer.BadParameter("name at least one judge that labels", param_hint="--teacher")
    if with_and_without_reference and reference is not None:
        raise typer.BadParameter("give --reference or --with-and-without-reference, not both")
    terminal = Terminal(as_json, quiet)
    keep_inputs(files, out)
    samples = read_samples(
        *files,
        format=format_name,
        columns=read_columns(columns),
        questions=questions,
        join=join.value if join else None,
        strict=strict,
    )
    with ProgressView(terminal, "labelling") as progress:
        labelled = label_samples(
            samples,
            teacher,
            out,
            reference="both"
            if with_and_without_reference
            else (reference.value if reference else "named"),
            orders=order.value,
            merge=merge.value,
            to=to.value,
            mode=mode.value if mode else None,
            engine_options=read_engine_options(settings),
            limit=limit,
            strict=strict,
            max_cost=max_cost,
            cache=cache,
            start_over=start_over,
            seed=seed,
            on_progress=progress,
            on_notice=progress.notice,
        )
    terminal.notices(notice for notice in labelled.notices if notice not in progress.notices)
    terminal.bad_rows(labelled.bad, labelled.bad_count, None)
    for skipped in labelled.skipped[:SHOWN_ROWS]:
        terminal.note(f"left out: sample {skipped.place}: {skipped.reason}")
    terminal.table(label_table(labelled))
    terminal.json({**labelled.model_dump(mode="json"), **progress.counts})
    if not labelled.written:
        terminal.note("not one sample was labelled: see the reasons above")
        raise typer.Exit(NOTHING_JUDGED)
