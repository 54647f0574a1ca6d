"""``magistrate compare``: which of several judges is better, by how much, and is it noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from magistrate.cli.exits import NOTHING_JUDGED
from magistrate.cli.help import example
from magistrate.cli.options import FormatsOption, JsonOption, JudgesOption, QuietOption
from magistrate.cli.terminal import Terminal

EXAMPLES = example(
    "magistrate judge examples/pairs.jsonl --judge scripted:longer --out runs/longer",
    "magistrate judge examples/pairs.jsonl --judge scripted:first --out runs/first",
    "magistrate compare runs/longer runs/first",
)


def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|FILE",
            help="Two or more judges of one input: run folders, or files of other tools' "
            "judgments.",
            show_default=False,
        ),
    ],
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="File of labels, where they do not come with the judgments.",
            show_default=False,
        ),
    ] = None,
    judge: JudgesOption = None,
    format_name: FormatsOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare judges on the pairs that all were given.

    Says which agrees more with the labels, by how much, with interval and test, and whether that
    may be noise; then where their verdicts differ. Pairs count where both judges are ok. Without
    labels: how far the judges agree with each other, and which win rates differ. Of three judges
    and more every two are compared, and the p-values corrected.
    """
    from magistrate.report.comparison import compare as compare_judges
    from magistrate.report.comparison_table import comparison_json, comparison_table

    terminal = Terminal(as_json, quiet)
    comparison = compare_judges(*sources, labels=labels, judge=judge, format=format_name)
    terminal.notices(comparison.notices)
    terminal.bad_rows(comparison.bad, comparison.bad_rows, None)
    terminal.table(comparison_table(comparison))
    for pair in comparison.pairs:
        if pair.only_first or pair.only_second:
            terminal.note(
                f"note: {pair.first} and {pair.second} judged different inputs; only the "
                f"{pair.common:,} pairs that both were given are compared"
            )
    terminal.json(comparison_json(comparison))
    if not any(pair.result.n for pair in comparison.pairs):
        terminal.note("not one pair has an ok decision of two judges")
        raise typer.Exit(NOTHING_JUDGED)
