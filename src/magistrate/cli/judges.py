"""``magistrate judges``: who can judge here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from magistrate.cli import judges_card, judges_export
from magistrate.cli.help import example
from magistrate.cli.judges_card import CARD_FILE
from magistrate.cli.options import JsonOption
from magistrate.cli.terminal import Terminal

app = typer.Typer(
    help="List judges, show and measure them, write them in other forms.",
    rich_markup_mode=None,
    invoke_without_command=True,
)
app.command("card", epilog=judges_card.EXAMPLES)(judges_card.card)
app.command("export", epilog=judges_export.EXAMPLES)(judges_export.export)


@app.callback()
def judges(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the judges, unless a command says otherwise."""
    if context.invoked_subcommand is None:
        list_judges(as_json=as_json)


@app.command("list", epilog=example("magistrate judges list"))
def list_judges(as_json: JsonOption = False) -> None:
    """List the judges that ship with the package, and the engines that run other models."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from magistrate.engines.table import ENGINES
    from magistrate.judging import resolve

    terminal = Terminal(as_json)
    bundled = list(resolve.list_judges())
    judges = Table(box=None, pad_edge=False, header_style="bold")
    judges.add_column("judge")
    judges.add_column("version")
    for judge in bundled:
        judges.add_row(judge.name, judge.version)
    engines = Table(box=None, pad_edge=False, header_style="bold")
    engines.add_column("engine", no_wrap=True)
    engines.add_column("runs, as --judge ENGINE:MODEL[@URL][#FAMILY]", overflow="fold")
    for name, (_, what) in sorted(ENGINES.items()):
        engines.add_row(name, what)
    terminal.table(Group(judges, Text(""), engines))
    terminal.json(
        {
            "judges": [
                {"name": judge.name, "version": judge.version, "folder": str(judge.folder)}
                for judge in bundled
            ],
            "engines": {name: what for name, (_, what) in sorted(ENGINES.items())},
        }
    )


@app.command(
    "show", epilog=example("magistrate judges show mini", "magistrate judges show mini --json")
)
def show_judge(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Any name that --judge takes, such as mini.", show_default=False
        ),
    ],
    as_json: JsonOption = False,
) -> None:
    """Show what a judge is: the card of a judge folder, the specification of any other."""
    from magistrate.judging.resolve import find_judge_folder

    terminal = Terminal(as_json)
    folder = find_judge_folder(name)
    if folder is None:
        _show_specification(name, terminal)
    else:
        _show_card(folder, terminal)


def _show_card(folder: Path, terminal: Terminal) -> None:
    from magistrate.judging.folder import read_judge_file

    file = read_judge_file(folder)
    path = folder / CARD_FILE
    card = path.read_text("utf-8") if path.exists() else None
    terminal.markdown(card or f"# {file.name}, version {file.version}\n\nNo card.")
    terminal.note(f"Judge folder: {folder}")
    terminal.json(
        {
            "name": file.name,
            "version": file.version,
            "engine": file.engine,
            "folder": str(folder),
            "card": card,
            "spec": None,
        }
    )


def _show_specification(name: str, terminal: Terminal) -> None:
    import json

    from magistrate.judging.resolve import load_judge

    with load_judge(name) as judge:
        spec: dict[str, Any] = judge.spec.model_dump(mode="json")
    terminal.line(json.dumps(spec, indent=2, ensure_ascii=False))
    terminal.json(
        {
            "name": name,
            "version": None,
            "engine": spec["engine"],
            "folder": None,
            "card": None,
            "spec": spec,
        }
    )
