"""``magistrate bench``: the four studies of a judge."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from magistrate.cli.exits import NOTHING_JUDGED
from magistrate.cli.help import example
from magistrate.cli.judge import JudgingMode
from magistrate.cli.options import JsonOption, QuietOption, SetOption, read_engine_options
from magistrate.cli.progress import ProgressView
from magistrate.cli.terminal import Terminal

EXAMPLES = example(
    "magistrate bench mini --suite fairness --data examples --limit 5",
    "magistrate bench scripted:longer --suite generalise --data examples --families judgelm",
    "magistrate bench scripted:longer --suite scalability --data examples --json",
)


class Suite(StrEnum):
    """The studies."""

    generalise = "generalise"
    fairness = "fairness"
    aspects = "aspects"
    scalability = "scalability"
    all = "all"


def bench(
    judge: Annotated[
        str,
        typer.Argument(
            metavar="JUDGE",
            help="`mini`, a judge folder, or ENGINE:MODEL[@URL][#FAMILY].",
            show_default=False,
        ),
    ],
    suite: Annotated[
        Suite, typer.Option(metavar="NAME", help="generalise, fairness, aspects, scalability, all.")
    ] = Suite.all,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="A manifest (TOML), or a folder with a magistrate.toml or with public data sets; "
            "without it, the folder that MAGISTRATE_DATA names.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Samples per set, drawn by seed.", show_default=False
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the runs and of bench.json and bench.md; runs/bench-JUDGE without it. "
            "What is there is gone on with: nothing is judged twice.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of all draws.")] = 0,
    sets: Annotated[
        str | None,
        typer.Option("--sets", metavar="A,B,...", help="Use only these sets.", show_default=False),
    ] = None,
    in_domain: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="generalise: sets of the kind that the judge was trained on.",
            show_default=False,
        ),
    ] = None,
    families: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="generalise: families to compare the judge's own prompt with.",
            show_default=False,
        ),
    ] = None,
    classify: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGE",
            help="generalise: a judge that writes, to assign --categories to questions.",
            show_default=False,
        ),
    ] = None,
    categories: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="The categories to assign.", show_default=False),
    ] = None,
    demonstrations: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="scalability: labelled pairs to draw solved samples from; without it, a set of "
            "the manifest.",
            show_default=False,
        ),
    ] = None,
    per_outcome: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many demonstrations of each outcome.")
    ] = 1,
    judges: Annotated[
        str | None,
        typer.Option(
            metavar="DIR,DIR,...",
            help="scalability: judge folders to compare by how much each was trained on.",
            show_default=False,
        ),
    ] = None,
    mode: Annotated[
        JudgingMode | None,
        typer.Option(
            metavar="reason|score",
            help="Whether the judge explains; without it, scores alone where its family can.",
            show_default=False,
        ),
    ] = None,
    settings: SetOption = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            metavar="DOLLARS",
            min=0,
            help="Stop before all runs in DIR cost more than this together.",
            show_default=False,
        ),
    ] = None,
    start_over: Annotated[
        bool,
        typer.Option("--start-over", help="Move runs that are already in DIR aside; begin anew."),
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Study a judge: on other data, on traps, on single qualities, with more thought.

    Tables with intervals, and simple baselines beside the judge. What a study cannot do with this
    judge or this data is said in words.
    """
    from magistrate.suites.bench import bench as run_bench
    from magistrate.suites.show import shown

    terminal = Terminal(as_json, quiet)

    def watch(label: str) -> ProgressView:
        terminal.note(f"judging {label}")
        return ProgressView(terminal, label)

    report = run_bench(
        judge,
        suite.value,
        data=data,
        out=out,
        limit=limit,
        seed=seed,
        sets=_names(sets),
        in_domain=_names(in_domain),
        families=_names(families),
        demonstrations=demonstrations,
        per_outcome=per_outcome,
        judges=_names(judges),
        classify=classify,
        categories=_names(categories),
        mode=mode.value if mode else None,
        engine_options=read_engine_options(settings),
        max_cost=max_cost,
        start_over=start_over,
        watch=watch,
    )
    chosen = report.studies if suite is Suite.all else (getattr(report, suite.value),)
    terminal.table(shown(report, chosen))
    terminal.json(report.model_dump(mode="json"))
    if not as_json:
        terminal.note(f"\nRuns, bench.json and bench.md: {report.out}")
    if not any(study.grids() for study in chosen):
        terminal.note("not one set was judged: see the reasons above")
        raise typer.Exit(NOTHING_JUDGED)


def _names(given: str | None) -> tuple[str, ...]:
    """Return the parts of a comma-separated list."""
    return tuple(part.strip() for part in (given or "").split(",") if part.strip())
