"""``magistrate probe``: what sways a judge beside the quality of answers."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Self

import typer

from magistrate.cli.exits import NOTHING_JUDGED
from magistrate.cli.help import example
from magistrate.cli.judge import JudgingMode
from magistrate.cli.options import (
    ColumnsOption,
    FilesArgument,
    FormatOption,
    JsonOption,
    QuietOption,
    SetOption,
    StrictOption,
    read_columns,
    read_engine_options,
)
from magistrate.cli.progress import ProgressView
from magistrate.cli.terminal import Terminal

if TYPE_CHECKING:
    from magistrate.formats.base import Notice

EXAMPLES = example(
    "magistrate probe mini examples/pairs.jsonl --probes position,length --out runs/audit",
    "magistrate probe scripted:swayed,length=2 examples/pairs.jsonl --probes length --json",
)


def probe(
    judge_name: Annotated[
        str,
        typer.Argument(
            metavar="JUDGE",
            help="`mini` (ships with the package), a judge folder, or ENGINE:MODEL[@URL][#FAMILY].",
            show_default=False,
        ),
    ],
    files: FilesArgument,
    probes: Annotated[
        str,
        typer.Option(
            "--probes",
            metavar="NAME,...",
            help="Which probes: position, length, format, knowledge, self, authority, null, "
            "template (all of these unless said otherwise); style-matrix for RM-Bench's files, "
            "perturbed for judgement-bias's.",
            show_default=False,
        ),
    ] = "",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the audit, with a run folder for every arm. An audit that was stopped "
            "is gone on with. Without it, runs/probe-JUDGE-TIME is made.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Use only the first N samples; of several files, of each, questions that stand in "
            "most of the files first.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="S", help="Another seed changes other answers of the pairs.")
    ] = 0,
    own_model: Annotated[
        list[str] | None,
        typer.Option(
            "--own-model",
            metavar="NAME",
            help="A model of the judge's own family, for probe self; may be given several times.",
            show_default=False,
        ),
    ] = None,
    matters: Annotated[
        float,
        typer.Option(
            metavar="POINTS",
            min=0.1,
            max=99.0,
            help="The smallest effect that matters, in points of a hundred: where none is found, "
            "it decides between `none found` and `too few to tell`.",
        ),
    ] = 10.0,
    mode: Annotated[
        JudgingMode | None,
        typer.Option(
            metavar="reason|score",
            help="`reason`: the judge also explains (the default). `score`: it says its scores and "
            "no more.",
            show_default=False,
        ),
    ] = None,
    settings: SetOption = None,
    format_name: FormatOption = None,
    columns: ColumnsOption = None,
    strict: StrictOption = False,
    max_cost: Annotated[
        float | None,
        typer.Option(
            metavar="DOLLARS",
            min=0,
            help="Stop before the audit costs more than this, all its runs together.",
            show_default=False,
        ),
    ] = None,
    start_over: Annotated[
        bool,
        typer.Option("--start-over", help="Move the runs that are in DIR aside; begin anew."),
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Probe a judge: what sways it, by how much, and what could have been missed.

    Every probe changes the answers in one respect (their place, length, dress, sources, ...), has
    both versions judged, and compares. The table gives each effect with its interval, the smallest
    effect that would have been found, and what is to be held of it after correction for the number
    of effects.
    """
    from magistrate.formats.reading import read_samples
    from magistrate.probes.audit import DEFAULT
    from magistrate.probes.audit import probe as run_audit
    from magistrate.probes.table import probes_table, report_json

    terminal = Terminal(as_json, quiet)
    samples = read_samples(*files, format=format_name, columns=read_columns(columns), strict=strict)
    with ArmProgress(terminal) as progress:
        report = run_audit(
            judge_name,
            samples,
            probes=[name.strip() for name in probes.split(",")] if probes else DEFAULT,
            out=out,
            limit=limit,
            seed=seed,
            own_models=own_model or (),
            matters=matters / 100,
            mode=mode.value if mode else None,
            engine_options=read_engine_options(settings),
            max_cost=max_cost,
            start_over=start_over,
            on_arm=progress.begin,
            on_notice=progress.notice,
        )
    terminal.bad_rows(samples.bad, samples.bad_count, None)
    terminal.table(probes_table(report))
    terminal.json(report_json(report))
    if not as_json:
        terminal.note(f"\nAudit folder: {report.folder}")
    if not any(effect.n for effect in report.effects):
        terminal.note("not one effect was measured: see the reasons above")
        raise typer.Exit(NOTHING_JUDGED)


class ArmProgress:
    """Progress of an audit: the bar of whichever run is under way."""

    def __init__(self, terminal: Terminal) -> None:
        """Say where to show it."""
        self._terminal = terminal
        self._view: ProgressView | None = None

    def begin(self, arm: str) -> ProgressView:
        """Take the last run's bar away and draw the next one's."""
        self._end()
        self._view = ProgressView(self._terminal, arm).__enter__()
        return self._view

    def notice(self, notice: Notice) -> None:
        """Say something that cannot wait for the end."""
        if self._view is not None:
            self._view.notice(notice)

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._end()

    def _end(self) -> None:
        if self._view is not None:
            self._view.__exit__(None, None, None)
            self._view = None
