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
    from magistrate.data.references import ReferencesMade
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
    terminal: Terminal, failures: tuple[dict[str, Any], ...], total: int, place: str | None
) -> None:
    if not total:
        return
    terminal.note(f"{total:,} failed; the same command asks them again:")
    for failure in failures[:SHOWN_ROWS]:
        terminal.note(
            f"  {failure.get('model') or ''} {failure.get('question_id') or failure.get('row')}: "
            f"{failure['reason']}"
        )
    if place is not None:
        terminal.note(f"  all are listed in {place}")


def references(
    pairs: Annotated[
        list[str],
        typer.Argument(metavar="PAIRS", help="Samples, in any known format.", show_default=False),
    ],
    engine: OneEngineOption = None,
    given: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="References by question or by id: MT-bench's, PandaLM's, any rows with both. "
            "They go before the engine's.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File of samples to write.")
    ] = Path("pairs-ref.jsonl"),
    replace: Annotated[
        bool, typer.Option("--replace", help="Put new references in the place of the input's.")
    ] = False,
    gold: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Known right answers by question or by id, which a reference must hold.",
            show_default=False,
        ),
    ] = None,
    check_with: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGE", help="A judge that grades each reference.", show_default=False
        ),
    ] = None,
    harm_with: Annotated[
        str | None,
        typer.Option(
            metavar="JUDGE",
            help="A judge that grades whether a reference could do harm.",
            show_default=False,
        ),
    ] = None,
    min_score: Annotated[
        float, typer.Option(metavar="X", help="Lowest grade of these judges that passes.")
    ] = 5.0,
    harmful_words: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Words or patterns, one a line, that no reference may have. There is no list of "
            "our own.",
            show_default=False,
        ),
    ] = None,
    by_words: Annotated[
        bool,
        typer.Option(
            "--by-words/--not-by-words",
            help="Drop references whose words fit other questions better than their own.",
        ),
    ] = True,
    temperature: TemperatureOption = 0.0,
    max_tokens: MaxTokensOption = 1024,
    seed: SeedOption = 0,
    system: SystemOption = None,
    settings: ModelOptions = None,
    max_cost: MaxCostOption = None,
    columns: ColumnsOption = None,
    format_name: FormatOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Give samples a reference each, written by a model or out of a file; drop the bad ones.

    Dropped are empty, cut and refusing references, those that say the question again or equal an
    answer, those whose words fit other questions better, and what gold answers or judges find.
    Every sample is written, with a reference or without; what was dropped is listed with reasons.
    """
    from magistrate.data.answers import checked_sampling
    from magistrate.data.references import Filters, add_references
    from magistrate.messages import Sampling

    terminal = Terminal(as_json, quiet)
    with _progress(terminal, "asking") as view:
        made = add_references(
            *pairs,
            out=out,
            engine=engine,
            given=given,
            filters=Filters(
                check_with=check_with,
                harm_with=harm_with,
                min_score=min_score,
                harmful_words=(_text_of(harmful_words, "--harmful-words") or "").splitlines(),
                gold=gold,
                by_words=by_words,
            ),
            replace=replace,
            sampling=checked_sampling(
                Sampling(), temperature=temperature, max_tokens=max_tokens, seed=seed
            ),
            system=_text_of(system),
            format=format_name,
            columns=read_columns(columns),
            strict=strict,
            options=read_engine_options(settings),
            max_cost=max_cost,
            on_progress=view,
            on_notice=view.notice,
        )
    terminal.notices(made.notices)
    terminal.bad_rows(made.bad, made.bad_count, None)
    if not as_json:
        terminal.facts(_reference_facts(made))
    _tell_failures(terminal, made.failures, made.failed, None)
    terminal.json(made.model_dump(mode="json"))


def _reference_facts(made: ReferencesMade) -> list[tuple[str, str]]:
    from magistrate.data.reference_checks import REASONS

    samples = counted(made.samples, "sample")
    rows = [("written", f"{samples} to {made.output}, {made.with_reference:,} with a reference")]
    sources = (
        (made.had_one, "had one"),
        (made.given, "from the file"),
        (made.missing, "have none"),
    )
    rows += [("samples", f"{number:,} {what}") for number, what in sources if number]
    for reason, number in made.dropped.items():
        rows.append((f"{number:,} {reason}", f"dropped: {REASONS[reason]}"))
    if made.dropped_file:
        rows.append(("", f"all that was dropped is listed in {made.dropped_file}"))
    if made.unchecked_words:
        rows.append(("not checked", f"{made.unchecked_words:,} by words: too short, or too few"))
    if made.unchecked_judge:
        rows.append(("not checked", f"{made.unchecked_judge:,} by a judge, who gave no grade"))
    if made.asked:
        rows.append(("asked", counted(made.asked, "question")))
        rows.append(("took", spent(made.usage, made.cost)))
    return rows


@contextmanager
def _progress(terminal: Terminal, label: str) -> Iterator[ProgressView]:
    with ProgressView(terminal, label, "prompt", tells_resumed=False) as view:
        yield view


def _text_of(path: Path | None, option: str = "--system") -> str | None:
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
