"""``magistrate data answers | references | translate``: what is asked of models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magistrate.cli.exits import NOTHING_JUDGED
from magistrate.cli.help import example
from magistrate.cli.options import (
    ColumnsOption,
    FormatOption,
    JsonOption,
    LimitOption,
    QuietOption,
    StrictOption,
    read_columns,
    read_engine_options,
)
from magistrate.cli.progress import ProgressView
from magistrate.cli.terminal import SHOWN_ROWS, Terminal
from magistrate.report.text import counted, dollars

if TYPE_CHECKING:
    from magistrate.data.answers import AnswersMade
    from magistrate.records import Usage

ANSWERS_EXAMPLES = example(
    "magistrate data answers examples/pairs.jsonl --engine scripted:echo --engine scripted:words "
    "-o answers",
    "magistrate data answers examples/pairs.jsonl --engine babbler=scripted:words "
    "--decoding greedy --decoding sampled:seed=1 --limit 3 -o answers --json",
)
REFERENCES_EXAMPLES = example(
    "magistrate data references examples/pairs.jsonl --engine scripted:words -o pairs-ref.jsonl"
)
TRANSLATE_EXAMPLES = example(
    "magistrate data translate examples/pairs.jsonl --engine scripted:echo --to German "
    "-o german.jsonl"
)

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


def answers(
    questions: Annotated[
        list[str],
        typer.Argument(
            metavar="QUESTIONS",
            help="Files of questions in any known format; plain text has a question a line.",
            show_default=False,
        ),
    ],
    engine: EngineOption,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="Folder of the answers.")
    ] = Path("answers"),
    decoding: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:SETTING=VALUE,...]",
            help="How the models write: greedy, cool, sampled, warm, or a name of your own with "
            "temperature, top_p, max_tokens or seed. May be given several times.",
            show_default=False,
        ),
    ] = None,
    temperature: TemperatureOption = 0.0,
    top_p: TopPOption = 1.0,
    max_tokens: MaxTokensOption = 512,
    seed: SeedOption = 0,
    system: SystemOption = None,
    settings: ModelOptions = None,
    max_cost: MaxCostOption = None,
    limit: LimitOption = None,
    columns: ColumnsOption = None,
    format_name: FormatOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Ask models questions: a file of answers for each model and decoding.

    Nothing is asked twice: the same command goes on where it was stopped, and asks again what
    failed. Questions of several turns are asked turn by turn.
    """
    from magistrate.data.answers import (
        DEFAULT,
        Decoding,
        answer_questions,
        checked_sampling,
        read_decoding,
    )
    from magistrate.messages import Sampling

    terminal = Terminal(as_json, quiet)
    base = checked_sampling(
        Sampling(), temperature=temperature, top_p=top_p, max_tokens=max_tokens, seed=seed
    )
    with _progress(terminal, "asking") as view:
        made = answer_questions(
            *questions,
            engines=engine,
            out=out,
            decodings=[read_decoding(text, base) for text in decoding or ()]
            or [Decoding(DEFAULT, base)],
            system=_text_of(system),
            format=format_name,
            columns=read_columns(columns),
            limit=limit,
            strict=strict,
            options=read_engine_options(settings),
            max_cost=max_cost,
            on_progress=view,
            on_notice=view.notice,
        )
    terminal.notices(made.notices)
    terminal.bad_rows(made.bad, made.bad_count, None)
    if not as_json:
        terminal.facts(_answer_facts(made))
    _tell_failures(terminal, made.failures, made.failed, f"{made.folder}/failures.jsonl")
    terminal.json(made.model_dump(mode="json"))
    if not any(file.answers for file in made.files):
        raise typer.Exit(NOTHING_JUDGED)


def _answer_facts(made: AnswersMade) -> list[tuple[str, str]]:
    rows = [("questions", f"{made.questions:,}")]
    if made.repeated:
        rows.append(("", f"{counted(made.repeated, 'question')} left out, asked already"))
    for file in made.files:
        marks = [
            f"{number:,} {name}"
            for name, number in (
                ("cut", file.cut),
                ("empty", file.empty),
                ("filtered", file.filtered),
                ("failed", file.failed),
            )
            if number
        ]
        told = f" ({', '.join(marks)})" if marks else ""
        rows.append((file.model, f"{counted(file.answers, 'answer')} in {file.path}{told}"))
    if made.resumed:
        rows.append(("there already", counted(made.resumed, "prompt") + " answered before"))
    rows.append(("took", spent(made.usage, made.cost)))
    return rows


def spent(usage: Usage, cost: float) -> str:
    """Return in words what replies took."""
    text = (
        f"{counted(usage.requests, 'request')}, {usage.prompt_tokens:,} tokens read, "
        f"{usage.completion_tokens:,} written"
    )
    return f"{text}, {dollars(cost)}" if cost else text


def _tell_failures(
    terminal: Terminal, failures: tuple[dict[str, Any], ...], total: int, place: str
) -> None:
    if not total:
        return
    terminal.note(f"{total:,} failed; the same command asks them again:")
    for failure in failures[:SHOWN_ROWS]:
        terminal.note(
            f"  {failure.get('model') or ''} {failure.get('question_id') or failure.get('row')}: "
            f"{failure['reason']}"
        )
    terminal.note(f"  all are listed in {place}")


@contextmanager
def _progress(terminal: Terminal, label: str) -> Iterator[ProgressView]:
    with ProgressView(terminal, label, "prompt", tells_resumed=False) as view:
        yield view


def _text_of(path: Path | None) -> str | None:
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
