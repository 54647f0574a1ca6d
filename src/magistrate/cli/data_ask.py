"""``magistrate data answers | references | translate``: what is asked of models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magistrate.cli.asking_options import (
    EngineOption,
    MaxCostOption,
    MaxTokensOption,
    ModelOptions,
    OneEngineOption,
    SeedOption,
    SystemOption,
    TemperatureOption,
    TopPOption,
    asking_progress,
    spent,
    tell_failures,
    text_of,
)
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
from magistrate.cli.terminal import Terminal
from magistrate.report.text import counted, harmless

if TYPE_CHECKING:
    from magistrate.data.answers import AnswersMade
    from magistrate.data.references import ReferencesMade

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
    with asking_progress(terminal, "asking") as view:
        made = answer_questions(
            *questions,
            engines=engine,
            out=out,
            decodings=[read_decoding(text, base) for text in decoding or ()]
            or [Decoding(DEFAULT, base)],
            system=text_of(system),
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
    tell_failures(terminal, made.failures, made.failed, f"{made.folder}/asked/failures.jsonl")
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
    from magistrate.data.references import ReferenceFilters, add_references
    from magistrate.messages import Sampling

    terminal = Terminal(as_json, quiet)
    with asking_progress(terminal, "asking") as view:
        made = add_references(
            *pairs,
            out=out,
            engine=engine,
            given=given,
            filters=ReferenceFilters(
                check_with=check_with,
                harm_with=harm_with,
                min_score=min_score,
                harmful_words=(text_of(harmful_words, "--harmful-words") or "").splitlines(),
                gold=gold,
                by_words=by_words,
            ),
            replace=replace,
            sampling=checked_sampling(
                Sampling(), temperature=temperature, max_tokens=max_tokens, seed=seed
            ),
            system=text_of(system),
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
    tell_failures(terminal, made.failures, made.failed, None)
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


def translate(
    labelled: Annotated[
        list[str],
        typer.Argument(
            metavar="LABELLED", help="Samples, in any known format.", show_default=False
        ),
    ],
    engine: Annotated[
        str,
        typer.Option(
            metavar="ENGINE:MODEL[@URL]",
            help="Who translates; LABEL= before it says what the model is called in the data.",
            show_default=False,
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            metavar="LANGUAGE", help="Into which language, such as German.", show_default=False
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File of samples to write.")
    ] = Path("translated.jsonl"),
    temperature: TemperatureOption = 0.0,
    max_tokens: MaxTokensOption = 2048,
    seed: SeedOption = 0,
    settings: ModelOptions = None,
    max_cost: MaxCostOption = None,
    limit: LimitOption = None,
    columns: ColumnsOption = None,
    format_name: FormatOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Translate labelled samples; the labels stay, and the samples are marked as translated.

    Numbers and code must survive. A sample of which a text does not is left out and listed.
    """
    from magistrate.data.answers import checked_sampling
    from magistrate.data.translating import translate_samples
    from magistrate.messages import Sampling

    terminal = Terminal(as_json, quiet)
    with asking_progress(terminal, "translating") as view:
        made = translate_samples(
            *labelled,
            out=out,
            engine=engine,
            language=to,
            sampling=checked_sampling(
                Sampling(), temperature=temperature, max_tokens=max_tokens, seed=seed
            ),
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
    rows = [
        ("written", f"{made.written:,} of {counted(made.samples, 'sample')} to {made.output}"),
        ("texts", f"{made.texts:,} different ones into {harmless(made.language)}"),
        ("took", spent(made.usage, made.cost)),
    ]
    terminal.facts(rows)
    tell_failures(terminal, made.failures, made.failed, made.dropped_file)
    terminal.json(made.model_dump(mode="json"))
    if not made.written:
        raise typer.Exit(NOTHING_JUDGED)
