"""``magistrate families import``: a peer's own wording becomes a family of yours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magistrate.cli.help import example
from magistrate.cli.options import JsonOption
from magistrate.cli.terminal import Terminal

if TYPE_CHECKING:
    from magistrate.prompts.importing.importer import Imported

EXAMPLES = example("magistrate families import mine examples/prompt.txt --like pair")


def import_family(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A peer's family, such as judgelm-reference; a wrong name lists all.",
            show_default=False,
        ),
    ],
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE_OR_FOLDER",
            help="Your copy of the peer's repository or package, or the one file.",
            show_default=False,
        ),
    ],
    as_name: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="OTHER_NAME", help="Store it under this name.", show_default=False
        ),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(
            "--prompt",
            metavar="NAME",
            help="The prompt's name in the peer's files, where there are several.",
            show_default=False,
        ),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            "--licence",
            metavar="TEXT",
            help="The wording's licence, where no licence file beside it tells.",
            show_default=False,
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="FAMILY",
            help="For a wording of no known peer: a family whose replies look alike.",
            show_default=False,
        ),
    ] = None,
    slot: Annotated[
        list[str] | None,
        typer.Option(
            "--slot",
            metavar="THEIRS=OURS",
            help="What a place of the wording shows, such as `task=question`; can be repeated.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Import a peer's wording from your copy of its files, as a family of yours.

    Nothing of the peer is run. The family keeps where the wording is from and its licence.
    """
    from magistrate.prompts.importing.importer import import_family as do_import

    imported = do_import(
        name,
        path,
        prompt=prompt,
        as_name=as_name,
        licence=licence,
        like=like,
        slots=_read_slots(slot),
    )
    terminal = Terminal(as_json)
    terminal.line(f"imported {imported.name} into {imported.folder}")
    terminal.facts(_facts(imported))
    for note in imported.notes:
        terminal.line(f"note: {note}")
    terminal.line(
        f"\ntry:\n  magistrate families show {imported.name}\n  {_next_command(imported)}"
    )
    terminal.json(_as_json(imported))


def _read_slots(given: Sequence[str] | None) -> Mapping[str, str]:
    slots: dict[str, str] = {}
    for text in given or ():
        theirs, equals, ours = text.rpartition("=")
        if not equals or not theirs.strip() or not ours.strip():
            raise typer.BadParameter(
                f"'{text}' is not THEIRS=OURS, such as task=question", param_hint="--slot"
            )
        slots[theirs.strip()] = ours.strip()
    return slots


def _facts(imported: Imported) -> list[tuple[str, str]]:
    first = imported.origins[0]
    facts = [
        ("wording", f"{imported.peer}, prompt '{imported.prompt}'"),
        ("from", ", ".join(origin.file for origin in imported.origins)),
        ("project", " ".join(filter(None, (imported.url, first.package))) or "not known"),
    ]
    if first.commit:
        facts.append(("commit", first.commit))
    facts += [("SHA-256", origin.sha256) for origin in imported.origins]
    facts.append(("licence", f"{imported.licence} ({imported.licence_note})"))
    facts += [
        ("slots" if not place else "", f"{theirs} <- {ours}")
        for place, (theirs, ours) in enumerate(imported.slots.items())
    ]
    facts.append(("modes", "reason and score" if imported.has_score_mode else "reason"))
    if imported.needs:
        facts.append(("samples need", " and ".join(imported.needs)))
    if imported.replaced:
        facts.append(("replaced", "the earlier import of that name"))
    return facts


def _next_command(imported: Imported) -> str:
    mode = " --mode score" if imported.has_score_mode else ""
    return f"magistrate judge pairs.jsonl --judge {imported.judge}#{imported.name}{mode}"


def _as_json(imported: Imported) -> dict[str, Any]:
    first = imported.origins[0]
    return {
        "name": imported.name,
        "folder": str(imported.folder),
        "peer": imported.peer,
        "prompt": imported.prompt,
        "files": [{"file": origin.file, "sha256": origin.sha256} for origin in imported.origins],
        "url": imported.url,
        "package": first.package,
        "commit": first.commit,
        "licence": imported.licence,
        "licence_note": imported.licence_note,
        "slots": dict(imported.slots),
        "needs": list(imported.needs),
        "reads_alone": imported.reads_alone,
        "has_score_mode": imported.has_score_mode,
        "replaced": imported.replaced,
        "notes": list(imported.notes),
    }
