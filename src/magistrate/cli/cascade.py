"""``magistrate cascade``: cheap judges first, strong ones for the doubtful rest."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from magistrate.cli import cascade_live, cascade_replay

JUDGING = "judge"
"""The command that is meant where none is named: ``magistrate cascade pairs.jsonl --judge ...``."""


class _JudgingUnlessNamed(TyperGroup):
    """A group whose arguments go to one of its commands, unless the first names another."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the name of the command in front where none is."""
        named = not args or args[0] in self.commands or args[0] in ("-h", "--help")
        if not named and JUDGING in self.commands:
            args = [JUDGING, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    help="Cheap judges first, strong ones for the doubtful rest; replay what it would do.",
    rich_markup_mode=None,
    cls=_JudgingUnlessNamed,
    no_args_is_help=True,
)
app.command(JUDGING, epilog=cascade_live.EXAMPLES)(cascade_live.cascade)
app.command("replay", epilog=cascade_replay.EXAMPLES)(cascade_replay.replay)


@app.callback()
def cascade() -> None:
    """Judge with a cascade, or replay one over stored runs."""
