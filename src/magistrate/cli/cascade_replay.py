"""``magistrate cascade replay``: what a cascade would have done, from stored decisions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from magistrate.cli.help import example
from magistrate.cli.options import FormatsOption, JsonOption, JudgesOption, QuietOption
from magistrate.cli.terminal import Terminal

EXAMPLES = example(
    "magistrate judge examples/pairs.jsonl --judge mini --out runs/cheap",
    "magistrate judge examples/pairs.jsonl --judge scripted:longer --out runs/strong",
    "magistrate cascade replay runs/cheap runs/strong --budget 0.5 --curve",
)


def replay(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|FILE",
            help="Two judges or more over the same pairs, the cheapest first: run folders, or "
            "files of other tools' judgments.",
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
    budget: Annotated[
        list[float] | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the pairs that may be asked of the last judge; may be given several "
            "times. 0.5 where no budget is given.",
            show_default=False,
        ),
    ] = None,
    max_cost: Annotated[
        list[float] | None,
        typer.Option(
            "--max-cost",
            metavar="DOLLARS",
            help="What all pairs together may cost; may be given several times.",
            show_default=False,
        ),
    ] = None,
    price: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=DOLLARS",
            help="What a decision of a judge costs, instead of what was measured; may be given "
            "for several judges.",
            show_default=False,
        ),
    ] = None,
    confidence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|FILE|by:RUN",
            help="How sure a judge is: a source that `magistrate confidence` lists, `learned`, a "
            "file with a number for each pair, or which probability another judge gives to its "
            "decision; once for all or once for each judge.",
            show_default=False,
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option("--compare-confidence", help="Compare all confidences of the first judge."),
    ] = False,
    target: Annotated[
        float | None,
        typer.Option(
            "--target-agreement",
            metavar="SHARE",
            help="Agreement with people to reach; with --risk, to promise.",
            show_default=False,
        ),
    ] = None,
    risk: Annotated[
        float | None,
        typer.Option(
            metavar="PROBABILITY",
            help="How probable it may be that the promised agreement does not hold; what cannot be "
            "promised is left open.",
            show_default=False,
        ),
    ] = None,
    calibrate_on: Annotated[
        list[Path] | None,
        typer.Option(
            "--calibrate-on",
            metavar="FILE|RUN",
            help="Labels of a part of the pairs, or other labelled runs, one for each judge; what "
            "is promised is chosen on these alone.",
            show_default=False,
        ),
    ] = None,
    one_per_question: Annotated[
        bool,
        typer.Option(
            "--one-per-question", help="Use one pair of each question to choose what is promised."
        ),
    ] = False,
    decisive: Annotated[
        bool,
        typer.Option("--decisive", help="Count only pairs where people prefer one answer."),
    ] = False,
    curve: Annotated[bool, typer.Option("--curve", help="List the whole curve.")] = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            help="Write a page with the curve plotted.",
            show_default=False,
        ),
    ] = None,
    judge: JudgesOption = None,
    format_name: FormatsOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Replay a cascade over stored judgments: agreement and cost at every budget.

    A pair is settled by the first judge that is sure enough; the last decides the rest. Beside it
    stand passing on by chance, by an oracle, and each judge alone. With a target agreement and a
    risk it chooses thresholds that keep that promise, or says how many labels would do.
    """
    from magistrate.report.cascade import (
        PromiseOptions,
        ReadOptions,
        cascade_json,
        replay_cascade,
    )
    from magistrate.report.cascade_page import write_page
    from magistrate.report.cascade_table import cascade_table

    terminal = Terminal(as_json, quiet)
    found = replay_cascade(
        *sources,
        labels=labels,
        budgets=tuple(budget or ()),
        max_costs=tuple(max_cost or ()),
        promise=PromiseOptions(target, risk, tuple(calibrate_on or ()), one_per_question),
        decisive=decisive,
        sources=compare,
        reading=ReadOptions(confidence or (), read_prices(price), judge or (), format_name or ()),
    )
    terminal.notices(found.notices)
    terminal.bad_rows(found.bad, found.bad_rows, None)
    terminal.table(cascade_table(found, curve=curve))
    if html is not None:
        write_page(found, html)
        terminal.note(f"\nWritten: {html}")
    terminal.json(cascade_json(found))


def read_prices(given: Sequence[str] | None) -> dict[str, float]:
    """Return ``--price`` as US dollars a decision by a judge's name.

    Raises:
        typer.BadParameter: One is not ``NAME=DOLLARS``.
    """
    prices: dict[str, float] = {}
    for text in given or ():
        name, equals, dollars = text.rpartition("=")
        try:
            value = float(dollars.removeprefix("$"))
        except ValueError:
            value = -1.0
        if not equals or not name or not 0 <= value < float("inf"):
            raise typer.BadParameter(
                f"'{text}' is not NAME=DOLLARS, such as gpt-4=0.01", param_hint="--price"
            )
        prices[name] = value
    return prices
