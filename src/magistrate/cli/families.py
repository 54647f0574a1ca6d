"""``magistrate families``: how judges are asked and read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from magistrate.cli import families_import, families_read
from magistrate.cli.help import example
from magistrate.cli.options import JsonOption
from magistrate.cli.terminal import Terminal

if TYPE_CHECKING:
    from magistrate.prompts.text_family import TextFamily

app = typer.Typer(
    help="List, show and import judge families, and read stored replies as they do.",
    rich_markup_mode=None,
    invoke_without_command=True,
)


@app.callback()
def families(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the families, unless a command says otherwise."""
    if context.invoked_subcommand is None:
        list_families(as_json=as_json)


@app.command("list", epilog=example("magistrate families list"))
def list_families(as_json: JsonOption = False) -> None:
    """List the families: the package's own, then yours."""
    from rich.table import Table
    from rich.text import Text

    from magistrate.errors import FamilyError
    from magistrate.prompts import catalog

    terminal = Terminal(as_json)
    listed: list[dict[str, Any]] = []
    broken: list[str] = []
    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in ("family", "answers", "what it asks"):
        table.add_column(header, overflow="fold")
    for entry in catalog.list_families():
        try:
            family = catalog.load_family(entry.name)
        except FamilyError as error:
            broken.append(str(error))
            continue
        listed.append(
            {
                "name": family.name,
                "description": family.file.description,
                "verdict": family.file.verdict.kind,
                "score_mode": family.file.score_mode is not None,
                "min_answers": family.min_answers,
                "max_answers": family.max_answers,
                "reads_alone": family.reads_alone,
                "bundled": entry.bundled,
            }
        )
        table.add_row(entry.name, _answers(family), Text(family.file.description))
    terminal.table(table)
    for message in broken:
        terminal.note(f"note: {message}")
    terminal.json({"families": listed, "broken": broken})


@app.command(
    "show", epilog=example("magistrate families show pair", "magistrate families show pair --json")
)
def show_family(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A family, or its folder.", show_default=False),
    ],
    as_json: JsonOption = False,
) -> None:
    """Show one family: its prompt, its scale, and where the verdict stands in the reply."""
    from magistrate.prompts.catalog import load_family

    terminal = Terminal(as_json)
    family = load_family(name)
    file = family.file
    verdict = file.verdict
    alone = ", each read alone" if family.reads_alone else ""
    terminal.line(f"{file.name}, version {file.version}: {file.description}")
    terminal.line(f"answers: {_answers(family)}{alone}")
    if family.shows_images:
        terminal.line("images: the sample's, before the text of the last message")
    terminal.line(f"verdict: {verdict.words}, {verdict.place} in the reply")
    terminal.line(f"prompt hash: {family.prompt_hash}")
    if file.score_mode is None:
        terminal.line("modes: reason")
    else:
        lead = family.in_mode("score").start
        terminal.line(f"modes: reason, score{f' (the reply begins {lead!r})' if lead else ''}")
    if family.start:
        terminal.line(f"the reply begins {family.start!r}")
    for message in file.messages:
        terminal.line(f"\n[{message.role}]\n{message.text}")
    terminal.json(
        {
            "name": file.name,
            "version": file.version,
            "description": file.description,
            "min_answers": family.min_answers,
            "max_answers": family.max_answers,
            "reads_alone": family.reads_alone,
            "shows_images": family.shows_images,
            "prompt_hash": family.prompt_hash,
            "start": family.start,
            "score_start": family.in_mode("score").start if file.score_mode else None,
            "verdict": verdict.model_dump(mode="json"),
            "messages": [{"role": part.role, "text": part.text} for part in file.messages],
        }
    )


app.command("read", epilog=families_read.EXAMPLES)(families_read.read_replies)
app.command("import", epilog=families_import.EXAMPLES)(families_import.import_family)


def _answers(family: TextFamily) -> str:
    low, high = family.min_answers, family.max_answers
    if low == high:
        return str(low)
    return f"{low} or more" if high is None else f"{low} to {high}"
