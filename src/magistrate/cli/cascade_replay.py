"""``magistrate cascade replay``: what a cascade would have done, from stored decisions."""

from __future__ import annotations

from typing import Annotated

import typer

from magistrate.cli.help import example
from magistrate.cli.options import JsonOption, QuietOption

EXAMPLES = example(
    "magistrate judge examples/pairs.jsonl --judge mini --out runs/cheap",
    "magistrate judge examples/pairs.jsonl --judge scripted:longer --out runs/strong",
    "magistrate cascade replay runs/cheap runs/strong --budget 0.5",
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
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Replay a cascade over stored judgments: accuracy and cost at every budget."""
    raise typer.BadParameter("not there yet")
