"""Options that several commands share, and how their values are read."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Join(StrEnum):
    """How several files of single answers become samples."""

    pairs = "pairs"
    nway = "nway"
    off = "off"


FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES",
        help="Files to read, `-` for standard input. Two files of answers, or more, are joined "
        "by id or by question.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Read the files as this format instead of recognising it; `list` lists all.",
        show_default=False,
    ),
]
FormatsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Read the files as this format instead of recognising it; once for all, or once for "
        "each run or file in their sequence.",
        show_default=False,
    ),
]
JudgesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        metavar="NAME",
        help="Whose judgments to take from a file of several judges; once for all, or once for "
        "each run or file in their sequence.",
        show_default=False,
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="OURS=THEIRS,...",
        help="Which column of the file holds what, such as `question=prompt,answer1=left`.",
        show_default=False,
    ),
]
QuestionsOption = Annotated[
    Path | None,
    typer.Option(
        "--questions",
        metavar="FILE",
        help="File of questions, for files of answers that name their questions by id only.",
        show_default=False,
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Stop at the first bad row instead of listing bad rows.")
]
LimitOption = Annotated[
    int | None,
    typer.Option(
        "--limit",
        metavar="N",
        min=1,
        max=sys.maxsize,
        help="Use only the first N samples.",
        show_default=False,
    ),
]
JoinOption = Annotated[
    Join | None,
    typer.Option(
        metavar="pairs|nway|off",
        help="Join files of single answers into pairs (the default), into samples of all their "
        "answers, or not at all.",
        show_default=False,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="An option of the judge's engine; may be given several times. A wrong name lists all.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object to standard output (keys: docs/json.md)."),
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress and no notes; errors are still told.")
]


def read_columns(given: Sequence[str] | None) -> Mapping[str, str]:
    """Return ``--columns`` as our field name to the file's column name.

    A column name may hold commas when its mapping has a ``--columns`` of its own.

    Raises:
        typer.BadParameter: A part is not ``OURS=THEIRS``, or a field is mapped twice.
    """
    columns: dict[str, str] = {}
    for text in given or ():
        parts = text.split(",") if text.count("=") > 1 else [text]
        for part in parts:
            ours, equals, theirs = part.partition("=")
            ours = ours.strip()
            if not equals or not ours or not theirs:
                raise typer.BadParameter(
                    f"'{part}' is not OURS=THEIRS, such as question=prompt", param_hint="--columns"
                )
            if ours in columns:
                raise typer.BadParameter(
                    f"'{ours}' is mapped twice, to '{columns[ours]}' and to '{theirs}'",
                    param_hint="--columns",
                )
            columns[ours] = theirs
    return columns


def read_engine_options(
    given: Sequence[str] | None, max_concurrency: int | None = None
) -> Mapping[str, str]:
    """Return ``--set`` as the engine's options by name, ``--max-concurrency`` among them.

    Raises:
        typer.BadParameter: One is not ``NAME=VALUE``, or is given twice.
    """
    options: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise typer.BadParameter(
                f"'{text}' is not NAME=VALUE, such as temperature=0.5", param_hint="--set"
            )
        if name.strip() in options:
            raise typer.BadParameter(f"'{name.strip()}' is given twice", param_hint="--set")
        options[name.strip()] = value
    if max_concurrency is not None:
        options["max_concurrency"] = str(max_concurrency)
    return options
