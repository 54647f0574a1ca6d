"""``magistrate confidence``: which way of telling how sure a judge is tells best."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from magistrate.cli.help import example
from magistrate.cli.options import JsonOption, QuietOption
from magistrate.cli.terminal import Terminal

EXAMPLES = example(
    "magistrate judge examples/pairs.jsonl --judge mini --out runs/first",
    "magistrate confidence runs/first --all",
)

BaseOption = Annotated[
    Path | None,
    typer.Option(
        "--base",
        metavar="RUN",
        help="Run of the model that the judge was tuned from, on the same samples in the same "
        "orders, best in score mode; for the sources that correct by it.",
        show_default=False,
    ),
]
AnnotatorsOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--annotator",
        metavar="RUN",
        help="Run of the same judge with other demonstrations (`--demonstrations-seed`); several "
        "are simulated annotators.",
        show_default=False,
    ),
]


def confidence(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|FILES",
            help="A run folder, or files in which another tool keeps the judgments of one judge.",
            show_default=False,
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Labels, where the judgments come without them.",
            show_default=False,
        ),
    ] = None,
    base: BaseOption = None,
    annotators: AnnotatorsOption = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--source",
            metavar="NAME",
            help="Only this source; may be given several times.",
            show_default=False,
        ),
    ] = None,
    show_all: Annotated[
        bool,
        typer.Option("--all", help="Say what each source is, and which the run tells nothing of."),
    ] = False,
    folds: Annotated[
        int, typer.Option(metavar="N", min=2, help="Folds of questions for calibrating.")
    ] = 5,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Whose judgments to take from a file of several judges.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare ways of telling how sure a judge is, on decisions that people have labelled.

    Each source is measured by whether it puts right decisions before wrong ones, and, calibrated
    on other questions, by how near it comes to the share that is right.
    """
    from magistrate.report.confidence import compare_confidence
    from magistrate.report.confidence_table import confidence_table

    terminal = Terminal(as_json, quiet)
    found = compare_confidence(
        *sources,
        labels=labels,
        base=base,
        annotators=annotators or (),
        sources=only or (),
        folds=folds,
        judge=judge,
    )
    terminal.notices(found.notices)
    terminal.bad_rows(found.bad, found.bad_rows, None)
    terminal.table(confidence_table(found, show_all=show_all))
    terminal.json(found.model_dump(mode="json"))
