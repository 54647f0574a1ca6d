"""Options of the commands that ask models, and how they tell what came of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magistrate.cli.progress import ProgressView
from magistrate.cli.terminal import SHOWN_ROWS, Terminal
from magistrate.report.text import counted, dollars

if TYPE_CHECKING:
    from magistrate.records import Usage

EngineOption = Annotated[
    list[str],
    typer.Option(
        "--engine",
        metavar="ENGINE:MODEL[@URL]",
        help="Whom to ask; LABEL= before it says what the model is called in the data. May be "
        "given several times.",
        show_default=False,
    ),
]
OneEngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ENGINE:MODEL[@URL]",
        help="Whom to ask; LABEL= before it says what the model is called in the data.",
        show_default=False,
    ),
]
SystemOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="A text that the model is told first.", show_default=False),
]
TemperatureOption = Annotated[
    float, typer.Option(metavar="T", min=0, max=2, help="0 takes the likeliest token each time.")
]
TopPOption = Annotated[
    float, typer.Option("--top-p", metavar="P", help="Draw from the likeliest P of all tokens.")
]
MaxTokensOption = Annotated[
    int, typer.Option("--max-tokens", metavar="N", min=1, help="Longest reply.")
]
SeedOption = Annotated[int, typer.Option(metavar="N", min=0, help="Another seed draws others.")]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        "--max-cost",
        metavar="DOLLARS",
        min=0,
        help="What may be spent on this output, all commands together.",
        show_default=False,
    ),
]
ModelOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An option of the engine, or of one engine alone as ENGINE.NAME=VALUE; may be given "
        "several times.",
        show_default=False,
    ),
]


def spent(usage: Usage, cost: float) -> str:
    """Return in words what replies took."""
    text = (
        f"{counted(usage.requests, 'request')}, {usage.prompt_tokens:,} tokens read, "
        f"{usage.completion_tokens:,} written"
    )
    return f"{text}, {dollars(cost)}" if cost else text


def tell_failures(
    terminal: Terminal, failures: tuple[dict[str, Any], ...], total: int, place: str | None
) -> None:
    """Say what failed: how much, the first few, and where all of it is listed."""
    if not total:
        return
    terminal.note(f"{total:,} failed; what was not answered is asked again by the same command:")
    for failure in failures[:SHOWN_ROWS]:
        names = ("model", "question_id", "row", "field")
        where = " ".join(str(failure[name]) for name in names if failure.get(name) is not None)
        terminal.note(f"  {where}: {failure['reason']}")
    if place is not None:
        terminal.note(f"  all are listed in {place}")


@contextmanager
def asking_progress(terminal: Terminal, label: str) -> Iterator[ProgressView]:
    """Show how far asking is."""
    with ProgressView(terminal, label, "prompt", tells_resumed=False) as view:
        yield view


def text_of(path: Path | None, option: str = "--system") -> str | None:
    """Return a text file's contents.

    Raises:
        typer.BadParameter: It cannot be read.
    """
    if path is None:
        return None
    try:
        return path.read_text("utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(
            f"{path} cannot be read: {error}", param_hint="--system"
        ) from error
