"""``magistrate calibrate``: make a judge's confidence the share of its decisions that is right."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magistrate.cli.confidence import AnnotatorsOption, BaseOption
from magistrate.cli.help import example
from magistrate.cli.options import (
    ColumnsOption,
    FormatOption,
    JsonOption,
    LimitOption,
    QuietOption,
    SetOption,
    read_columns,
    read_engine_options,
)
from magistrate.cli.terminal import Terminal

if TYPE_CHECKING:
    from magistrate.store.run import Run

EXAMPLES = example(
    "magistrate calibrate mini LABELLED.jsonl",
    "magistrate calibrate mini --run RUN --method isotonic --out calibration.toml",
)


class CalibrationMethod(StrEnum):
    """How confidence is made a probability."""

    temperature = "temperature"
    platt = "platt"
    isotonic = "isotonic"
    auto = "auto"


class Mode(StrEnum):
    """What a judge writes."""

    reason = "reason"
    score = "score"


def calibrate(
    judge_name: Annotated[
        str,
        typer.Argument(
            metavar="JUDGE",
            help="`mini`, a judge folder, or ENGINE:MODEL[@URL][#FAMILY].",
            show_default=False,
        ),
    ],
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LABELLED",
            help="Labelled pairs to judge; with --run the labels of what was judged, where the run "
            "has none.",
            show_default=False,
        ),
    ] = None,
    run_folder: Annotated[
        Path | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="A run of this judge over labelled pairs, instead of judging.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        CalibrationMethod,
        typer.Option(
            metavar="temperature|platt|isotonic|auto",
            help="How; `auto` takes the simplest that is as good as the best.",
        ),
    ] = CalibrationMethod.auto,
    folds: Annotated[
        int,
        typer.Option(metavar="N", min=2, help="Folds of questions for the numbers afterwards."),
    ] = 5,
    source: Annotated[
        str, typer.Option(metavar="NAME", help="Which confidence; see `magistrate confidence`.")
    ] = "probability",
    base: BaseOption = None,
    annotators: AnnotatorsOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Keep the calibration in this file, not with the judge.",
            show_default=False,
        ),
    ] = None,
    judged: Annotated[
        Path | None,
        typer.Option(
            "--judged",
            metavar="DIR",
            help="Run folder for judging LABELLED; gone on with where it is there already.",
            show_default=False,
        ),
    ] = None,
    mode: Annotated[
        Mode | None,
        typer.Option(
            metavar="reason|score", help="As `magistrate judge` has it.", show_default=False
        ),
    ] = None,
    settings: SetOption = None,
    format_name: FormatOption = None,
    columns: ColumnsOption = None,
    limit: LimitOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Calibrate a judge on labelled pairs, and keep it with the judge.

    A decision is right when it is what most annotators say, a tie included. Every number after
    calibration is from a map that was fitted on other questions. From then on the judge's
    decisions have calibrated confidence, and each run says by what.
    """
    from magistrate.report.calibration import calibrate_run, keep
    from magistrate.report.confidence_table import calibration_table

    terminal = Terminal(as_json, quiet)
    if run_folder is not None:
        run = _run_of(run_folder, judge_name)
        labels = _only(files)
    elif files:
        run = _judge(
            files,
            judge_name,
            judged,
            terminal,
            mode=mode,
            settings=settings,
            format_name=format_name,
            columns=columns,
            limit=limit,
            source=source,
            method=method,
        )
        labels = None
    else:
        raise typer.BadParameter(
            "labelled pairs are needed: name a file, or a run of the judge with --run"
        )
    found = calibrate_run(
        run,
        labels=labels,
        source=source,
        method=method.value,
        folds=folds,
        base=base,
        annotators=annotators or (),
    )
    path = keep(found.calibration, run.manifest.judge, out)
    terminal.notices(found.notices)
    terminal.bad_rows(found.bad, found.bad_rows, None)
    terminal.table(calibration_table(found))
    terminal.json({**found.model_dump(mode="json"), "kept": str(path), "run": str(run.path)})
    if not terminal.as_json:
        terminal.note(f"\nKept in {path}")
        if out is None:
            terminal.note("Runs that this judge begins or resumes from now on have it.")


def _run_of(folder: Path, judge_name: str) -> Run:
    from magistrate.store.run import open_run

    run = open_run(folder)
    name = run.manifest.judge.name
    if name != judge_name:
        raise typer.BadParameter(
            f"{folder} is a run of '{name}', not of '{judge_name}'; name that judge",
            param_hint="JUDGE",
        )
    return run


def _only(files: list[str] | None) -> str | None:
    if files and len(files) > 1:
        raise typer.BadParameter("with --run, give one file of labels at most")
    return files[0] if files else None


def _judge(
    files: list[str],
    judge_name: str,
    out: Path | None,
    terminal: Terminal,
    *,
    mode: Mode | None,
    settings: list[str] | None,
    format_name: str | None,
    columns: list[str] | None,
    limit: int | None,
    source: str,
    method: CalibrationMethod,
) -> Run:
    """Judge the labelled pairs, or go on with that; not where there are too few."""
    from magistrate.cli.progress import ProgressView
    from magistrate.formats.reading import read_samples
    from magistrate.report.calibration import check_labels
    from magistrate.store.running import judge

    named = read_columns(columns)
    if "-" not in files:  # what comes through a pipe can be read once
        known = read_samples(*files, format=format_name, columns=named, limit=limit)
        check_labels(known, source=source, method=method.value)
    samples = read_samples(*files, format=format_name, columns=named)
    with ProgressView(terminal, judge_name) as progress:
        return judge(
            samples,
            judge_name,
            out,
            mode=mode.value if mode else None,
            engine_options=read_engine_options(settings),
            limit=limit,
            on_progress=progress,
            on_notice=progress.notice,
        )
