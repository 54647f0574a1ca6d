"""``magistrate rank``: which models are better, by a judge's verdicts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from magistrate.cli.help import example
from magistrate.cli.options import JsonOption, QuietOption
from magistrate.cli.terminal import Terminal

EXAMPLES = example(
    "magistrate judge examples/pairs.jsonl --judge scripted:longer --out runs/longer",
    "magistrate rank runs/longer --style-control",
    "magistrate rank runs/longer --method win-rate --by category",
)


class RankMethod(StrEnum):
    """How strengths are found."""

    bradley_terry = "bradley-terry"
    elo = "elo"
    win_rate = "win-rate"


class RankBy(StrEnum):
    """What rankings are broken down by."""

    category = "category"


def rank(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|FILE",
            help="Run folders, or files of other tools' judgments. Those of one judge count "
            "together; each judge has a ranking of its own.",
            show_default=False,
        ),
    ],
    method: Annotated[
        RankMethod,
        typer.Option(
            metavar="bradley-terry|elo|win-rate",
            help="Bradley-Terry with ties (Davidson's model), Elo averaged over shuffled "
            "sequences, or the share of battles won.",
        ),
    ] = RankMethod.bradley_terry,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="The model whose strength is 1000; the mean by default.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        RankBy | None,
        typer.Option(
            metavar="category", help="Rank within every category besides.", show_default=False
        ),
    ] = None,
    pool: Annotated[
        bool,
        typer.Option("--pool", help="Count the verdicts of different judges together."),
    ] = False,
    style_control: Annotated[
        bool,
        typer.Option(
            "--style-control",
            help="Hold the length and markdown of the answers constant (Bradley-Terry only).",
        ),
    ] = False,
    length_control: Annotated[
        bool,
        typer.Option(
            "--length-control",
            help="Also give win rates over the baseline as if both answers were equally long, as "
            "AlpacaEval 2 does.",
        ),
    ] = False,
    labels: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The samples that were judged, where the judgments do not name the models.",
            show_default=False,
        ),
    ] = None,
    answers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Answers with answer_id and model_id, where the judgments know answers by id "
            "alone. May be given several times.",
            show_default=False,
        ),
    ] = None,
    votes: Annotated[
        bool,
        typer.Option(
            "--votes",
            help="Take the labels of files without judgments, such as people's votes, as verdicts.",
        ),
    ] = False,
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
    """Rank the models whose answers were judged, with intervals and the ranks that they allow.

    Decisions that are not ok are left out and counted. Two answers count once, in whichever order
    and however often they were judged. Models that no chain of battles connects have no ranks among
    each other.
    """
    from magistrate.report.ranking import rank as rank_models
    from magistrate.report.ranking_table import leaderboard_json, leaderboard_table

    terminal = Terminal(as_json, quiet)
    board = rank_models(
        *sources,
        method=method.value,
        baseline=baseline,
        by=by.value if by else None,
        pool=pool,
        style_control=style_control,
        length_control=length_control,
        labels=labels,
        answers=answers or (),
        votes=votes,
        judge=judge,
    )
    terminal.table(leaderboard_table(board))
    terminal.json(leaderboard_json(board))
