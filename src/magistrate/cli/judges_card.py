"""``magistrate judges card``: what a judge folder says of its judge, and measuring it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magistrate.cli.help import example
from magistrate.cli.options import JsonOption, QuietOption, SetOption, read_engine_options
from magistrate.cli.progress import ProgressView
from magistrate.cli.terminal import Terminal

if TYPE_CHECKING:
    from magistrate.report.evaluation import Evaluation

EXAMPLES = example(
    "magistrate judges card mini",
    "magistrate judges card JUDGE_DIR --measure LABELLED.jsonl",
)

CARD_FILE = "CARD.md"


def card(
    name: Annotated[
        str,
        typer.Argument(
            metavar="JUDGE", help="A judge folder, or a bundled judge.", show_default=False
        ),
    ],
    measure: Annotated[
        Path | None,
        typer.Option(
            "--measure",
            metavar="FILE",
            help="Judge this labelled file in both orders, and put a table of what was found into "
            "the card, in place of an earlier one of the same file.",
            show_default=False,
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(
            "--title",
            metavar="TEXT",
            help="Heading of the table; the file's name when not given.",
            show_default=False,
        ),
    ] = None,
    settings: SetOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the card of a judge; measure the judge first, if asked to.

    Every figure has its interval and number of pairs, with simple rules on the same pairs beside
    it. The card of a bundled judge is not changed: its table is only shown.
    """
    from magistrate.errors import JudgeNotFoundError
    from magistrate.judging.folder import read_judge_file
    from magistrate.judging.resolve import find_judge_folder, list_judges

    terminal = Terminal(as_json, quiet)
    folder = find_judge_folder(name)
    if folder is None:
        raise JudgeNotFoundError(
            f"'{name}' is no judge folder (it holds no judge.toml) and no bundled judge; judges "
            f"without a folder have no card: see 'magistrate judges show'"
        )
    file = read_judge_file(folder)
    path = folder / CARD_FILE
    text = path.read_text("utf-8") if path.exists() else f"# {file.name}\n"
    evaluation = None
    if measure is not None:
        from magistrate.report.judge_card import put_measured, table_of_evaluation

        evaluation = _measured(name, measure, settings, terminal)
        lines = table_of_evaluation(evaluation)
        if not lines:
            from magistrate.errors import InputError

            raise InputError(
                f"{measure}: no pair with a label was judged, so there is nothing to put into the "
                f"card; labels are looked for as 'magistrate inspect {measure}' shows"
            )
        text = put_measured(text, title or measure.name, lines)
        if folder in [judge.folder for judge in list_judges()]:
            terminal.note(f"{name} is bundled: its card on disk stays as it is")
        else:
            _replace(path, text)
    terminal.markdown(text)
    terminal.json(
        {
            "name": file.name,
            "version": file.version,
            "folder": str(folder),
            "card": text,
            "measured": evaluation.model_dump(mode="json") if evaluation else None,
        }
    )


def _measured(
    name: str, labelled: Path, settings: list[str] | None, terminal: Terminal
) -> Evaluation:
    from magistrate.formats.reading import read_samples
    from magistrate.report.evaluation import evaluate
    from magistrate.store.running import judge

    with (
        tempfile.TemporaryDirectory(prefix="magistrate-card-") as place,
        ProgressView(terminal, name) as progress,
    ):
        run = judge(
            read_samples(labelled),
            name,
            Path(place) / "run",
            engine_options=read_engine_options(settings),
            on_progress=progress,
            on_notice=progress.notice,
        )
        return evaluate(run)


def _replace(path: Path, text: str) -> None:
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(text, "utf-8")
    draft.replace(path)
