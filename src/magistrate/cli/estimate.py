"""``magistrate estimate``: what people would say of everything that was judged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from magistrate.cli.help import example
from magistrate.cli.options import JsonOption, QuietOption
from magistrate.cli.terminal import Terminal

EXAMPLES = example(
    "magistrate judge examples/pairs.jsonl --judge scripted:longer --out runs/longer",
    "magistrate estimate runs/longer",
    "magistrate estimate RUN --labels FEW.jsonl --next 50 --out to-label.jsonl",
)


def estimate(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|FILE",
            help="A run folder, or files of another tool's judgments.",
            show_default=False,
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The labelled samples: some of those judged, drawn at random or by --next. The "
            "run's own labels by default.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Only this model; may be given several times.", show_default=False
        ),
    ] = None,
    more: Annotated[
        int | None,
        typer.Option(
            "--next",
            metavar="N",
            min=1,
            help="Instead write N pairs to label next, drawn where labels tell most.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Where --next writes them."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of --next.")] = 0,
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
    """Correct win rates, agreement and mean scores of a judge by a few labels.

    The judge's numbers over everything and people's over a few give one estimate without the
    judge's bias, with an interval (prediction-powered inference). The labelled samples must be
    drawn at random from what was judged; those that somebody picked correct nothing.
    """
    from magistrate.errors import InputError
    from magistrate.report.estimate import choose_next
    from magistrate.report.estimate import estimate as estimate_run
    from magistrate.report.estimate_table import estimate_table, next_table

    terminal = Terminal(as_json, quiet)
    if more is not None:
        if out is None:
            raise InputError("--next writes the pairs to label; say where with --out FILE")
        chosen = choose_next(*sources, out=out, count=more, labels=labels, judge=judge, seed=seed)
        terminal.table(next_table(chosen, str(out)))
        terminal.json({"out": str(out), **chosen.model_dump(mode="json")})
        return
    found = estimate_run(*sources, labels=labels, models=model or (), judge=judge)
    terminal.notices(found.notices)
    terminal.bad_rows(found.bad, found.bad_rows, None)
    terminal.table(estimate_table(found))
    terminal.json(found.model_dump(mode="json"))
