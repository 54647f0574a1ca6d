"""``magistrate data``: build the data that judges are trained and measured on."""

from __future__ import annotations

import typer

from magistrate.cli import data_ask

app = typer.Typer(
    help="Build judge data: questions, answers, pairs, references, labels; check and split it.",
    rich_markup_mode=None,
    invoke_without_command=True,
)
app.command("answers", epilog=data_ask.ANSWERS_EXAMPLES)(data_ask.answers)


@app.callback()
def data(context: typer.Context) -> None:
    """Show what there is, unless a command is named."""
    if context.invoked_subcommand is None:
        print(context.get_help())
