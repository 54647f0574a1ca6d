"""``magistrate pairs``: which answers to compare next."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from magistrate.cli.exits import BAD_INPUT
from magistrate.cli.help import example
from magistrate.cli.options import FormatOption, JsonOption, QuestionsOption, QuietOption
from magistrate.cli.terminal import Terminal
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.report.tournament import Plan

EXAMPLES = example(
    "magistrate pairs examples/outputs/alder.json examples/outputs/birch.json --budget 6",
    "magistrate judge pairs.jsonl --judge scripted:longer --out runs/round1",
    "magistrate pairs examples/outputs/alder.json examples/outputs/birch.json --budget 4 "
    "--runs runs/round1 -o more.jsonl",
)

SHOWN_PAIRS = 20


class PairScheme(StrEnum):
    """How pairs are chosen."""

    all = "all"
    baseline = "baseline"
    swiss = "swiss"


def pairs(
    answers: Annotated[
        list[str],
        typer.Argument(
            metavar="ANSWERS",
            help="Files of answers, one per model, joined by id or by question; or a file of "
            "samples with several answers each.",
            show_default=False,
        ),
    ],
    scheme: Annotated[
        PairScheme,
        typer.Option(
            metavar="all|baseline|swiss",
            help="Every two models equally often, all against one, or where ranks are uncertain.",
        ),
    ] = PairScheme.swiss,
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="How many pairs at most; swiss needs it.", show_default=False
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="The model that all others meet.", show_default=False),
    ] = None,
    runs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="What was judged already: not planned again, and swiss learns from it. May be "
            "given several times.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="File of pairs to write.")
    ] = "pairs.jsonl",
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, help="Equal seeds give equal plans.")
    ] = 0,
    questions: QuestionsOption = None,
    format_name: FormatOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Plan a tournament: write the pairs of answers that are worth judging.

    Judge the file with `magistrate judge`, rank with `magistrate rank`, and plan the next round
    with `--runs`. Pairs are spread over the questions, and each model is as often first as second.
    """
    from magistrate.report.tournament import plan_pairs

    terminal = Terminal(as_json, quiet)
    made = plan_pairs(
        *answers,
        out=out,
        scheme=scheme.value,
        budget=budget,
        baseline=baseline,
        runs=runs or (),
        questions=questions,
        format=format_name,
        seed=seed,
    )
    terminal.notices(made.notices)
    terminal.bad_rows(made.bad, made.bad_count, None)
    if out != "-":
        terminal.facts(_facts(made))
    terminal.json(made.model_dump(mode="json"))
    if not made.planned:
        terminal.note("every pair is judged already; nothing was written")
        raise typer.Exit(BAD_INPUT)


def _facts(made: Plan) -> list[tuple[str, str]]:
    from magistrate.report.text import harmless

    rows = [
        ("written", f"{counted(made.planned, 'pair')} to {made.output}"),
        ("models", ", ".join(map(harmless, made.models))),
        (
            "there are",
            (
                f"{made.candidates:,} pairs of answers to {counted(made.questions, 'question')}, "
                f"of which {made.judged:,} judged already"
            ),
        ),
    ]
    if made.unnamed:
        rows.append(("left out", f"{counted(made.unnamed, 'pair')} without two named models"))
    chosen = sorted((pair for pair in made.pairs if pair.planned), key=lambda pair: -pair.planned)
    for pair in chosen[:SHOWN_PAIRS]:
        names = f"{harmless(pair.first)} and {harmless(pair.second)}"
        rows.append((f"{pair.planned:,} times", names))
    if len(chosen) > SHOWN_PAIRS:
        rows.append(("", f"and {len(chosen) - SHOWN_PAIRS:,} more pairs of models; --json has all"))
    return rows
