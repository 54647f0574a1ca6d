"""``magistrate data``: build the data that judges are trained and measured on."""

from __future__ import annotations

import typer

app = typer.Typer(
    help="Build judge data: questions, answers, pairs, references, labels; check and split it.",
    rich_markup_mode=None,
    invoke_without_command=True,
)


@app.callback()
def data(context: typer.Context) -> None:
    """Show what there is, unless a command is named."""
    if context.invoked_subcommand is None:
        print(context.get_help())
