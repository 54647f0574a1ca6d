"""``magistrate data``: build the data that judges are trained and measured on."""

from __future__ import annotations

import typer

from magistrate.cli import data_ask, data_check, data_label, data_make

app = typer.Typer(
    help="Build judge data: questions, answers, pairs, references, labels; check and split it.",
    rich_markup_mode=None,
    invoke_without_command=True,
)
app.command("questions", epilog=data_make.QUESTIONS_EXAMPLES)(data_make.questions)
app.command("answers", epilog=data_ask.ANSWERS_EXAMPLES)(data_ask.answers)
app.command("pairs", epilog=data_make.PAIRS_EXAMPLES)(data_make.pairs)
app.command("references", epilog=data_ask.REFERENCES_EXAMPLES)(data_ask.references)
app.command("translate", epilog=data_ask.TRANSLATE_EXAMPLES)(data_ask.translate)
app.command("label", epilog=data_label.LABEL_EXAMPLES)(data_label.label)
app.command("check", epilog=data_check.CHECK_EXAMPLES)(data_check.check)
app.command("split", epilog=data_check.SPLIT_EXAMPLES)(data_check.split)
app.command("card", epilog=data_check.CARD_EXAMPLES)(data_check.card)


@app.callback()
def data(context: typer.Context) -> None:
    """Show what there is, unless a command is named."""
    if context.invoked_subcommand is None:
        print(context.get_help())
