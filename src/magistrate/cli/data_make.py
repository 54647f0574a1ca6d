"""``magistrate data questions | pairs``: what is drawn from files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magistrate.cli.help import example
from magistrate.cli.options import (
    ColumnsOption,
    FormatOption,
    JsonOption,
    QuestionsOption,
    QuietOption,
    StrictOption,
    read_columns,
)
from magistrate.cli.terminal import Terminal
from magistrate.report.text import counted, harmless

if TYPE_CHECKING:
    from magistrate.data.pairing import PairsDrawn
    from magistrate.data.sampling import Distance, QuestionsDrawn

QUESTIONS_EXAMPLES = example(
    "magistrate data questions examples/pairs.jsonl -n 4 --by category -o questions.jsonl",
    "magistrate data questions examples/pairs.jsonl -n 4 --like examples/single.jsonl "
    "-o like-users.jsonl --json",
)
PAIRS_EXAMPLES = example(
    "magistrate data pairs examples/outputs/alder.json examples/outputs/birch.json "
    "--per-question 1 -o pairs.jsonl",
    "magistrate data pairs examples/n-way.jsonl --per-question 2 -o pairs.jsonl --json",
)

SHOWN_CATEGORIES = 20
SHOWN_MEETINGS = 20


class SampleBy(StrEnum):
    """What questions are drawn by."""

    category = "category"
    embedding = "embedding"


def questions(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES",
            help="Files with questions, in any known format; plain text has a question a line.",
            show_default=False,
        ),
    ],
    number: Annotated[
        int,
        typer.Option("--number", "-n", metavar="N", min=1, help="How many.", show_default=False),
    ],
    like: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Real users' questions, which the drawn ones are to resemble. May be given "
            "several times.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        SampleBy | None,
        typer.Option(
            metavar="category|embedding",
            help="Give each category its share (in the target, or in the files), or take the "
            "nearest question to each of the target. Without it: at random, or by embedding where "
            "there is a target.",
            show_default=False,
        ),
    ] = None,
    even: Annotated[
        bool, typer.Option("--even", help="By category: equally many of each, as far as they go.")
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="A sentence encoder for the embedding, a folder or the hub's id (extra hf); "
            "by default words and pairs of words, with no model.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File of questions to write.")
    ] = Path("questions.jsonl"),
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Equal seeds draw equally.")] = 0,
    columns: ColumnsOption = None,
    format_name: FormatOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Draw questions: at random, by category, or so that they resemble real users' questions.

    How far all questions, and those drawn, are from the target is measured and told.
    """
    from magistrate.data.sampling import draw_questions

    terminal = Terminal(as_json, quiet)
    made = draw_questions(
        *files,
        out=out,
        number=number,
        like=like or (),
        by=by.value if by else None,
        even=even,
        encoder=encoder,
        seed=seed,
        format=format_name,
        columns=read_columns(columns),
        strict=strict,
    )
    terminal.notices(made.notices)
    terminal.bad_rows(made.bad, made.bad_count, None)
    if not as_json:
        terminal.facts(_question_facts(made))
    terminal.json(made.model_dump(mode="json"))


def _question_facts(made: QuestionsDrawn) -> list[tuple[str, str]]:
    rows = [("written", f"{counted(made.drawn, 'question')} of {made.pool:,} to {made.output}")]
    if made.repeated:
        rows.append(("", f"{counted(made.repeated, 'question')} stood there twice, counted once"))
    if made.before is not None and made.after is not None:
        rows.append(("like", f"{counted(made.target or 0, 'question')} of the target"))
        rows += _distance_facts(made.before, made.after)
        if made.in_target:
            rows.append(("", f"{counted(made.in_target, 'question')} drawn stand in the target"))
    if len(made.categories) > 1:
        for share in made.categories[:SHOWN_CATEGORIES]:
            aim = "" if share.target is None else f", target {share.target:.1%}"
            told = f"{share.drawn_count:,} = {share.drawn:.1%} (files {share.pool:.1%}{aim})"
            rows.append((harmless(share.category), told))
        if len(made.categories) > SHOWN_CATEGORIES:
            more = len(made.categories) - SHOWN_CATEGORIES
            rows.append(("", f"and {more:,} more categories; --json has all"))
    return rows


def _distance_facts(before: Distance, after: Distance) -> list[tuple[str, str]]:
    measures = (
        ("category", "total variation of categories", before.category, after.category),
        ("energy", "energy distance of embeddings", before.energy, after.energy),
        ("auroc", "AUROC of a classifier, 0.5 cannot tell", before.auroc, after.auroc),
    )
    return [
        (name, f"{_number(old)} before, {_number(new)} after ({what})")
        for name, what, old, new in measures
        if old is not None or new is not None
    ]


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def pairs(
    answers: Annotated[
        list[str],
        typer.Argument(
            metavar="ANSWERS",
            help="Files of answers, one per model; or files of samples with several answers each.",
            show_default=False,
        ),
    ],
    per_question: Annotated[
        int,
        typer.Option(
            "--per-question", metavar="K", min=1, help="Pairs for each question, where there are."
        ),
    ] = 1,
    against: Annotated[
        str | None,
        typer.Option(metavar="MODEL", help="A model to stand in every pair.", show_default=False),
    ] = None,
    difficulty: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Strengths of the models, as JSON (model to number, or what `magistrate rank "
            "--json` prints): half of the pairs are then of near models, half of far ones.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="File of pairs to write.")
    ] = Path("pairs.jsonl"),
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Equal seeds draw equally.")] = 0,
    question_file: QuestionsOption = None,
    columns: ColumnsOption = None,
    format_name: FormatOption = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Draw pairs of answers to label and to train on, so many for each question.

    Every model stands in as many pairs, every two models meet as often, and each is as often first
    as second, as far as the answers allow. (To rank models at the least cost plan battles with
    `magistrate pairs` instead: it spends a budget where ranks are uncertain.)
    """
    from magistrate.data.pairing import draw_pairs, read_strengths

    terminal = Terminal(as_json, quiet)
    made = draw_pairs(
        *answers,
        out=out,
        per_question=per_question,
        against=against,
        strengths=read_strengths(difficulty) if difficulty else None,
        questions=question_file,
        format=format_name,
        columns=read_columns(columns),
        strict=strict,
        seed=seed,
    )
    terminal.notices(made.notices)
    terminal.bad_rows(made.bad, made.bad_count, None)
    if not as_json:
        terminal.facts(_pair_facts(made))
    terminal.json(made.model_dump(mode="json"))


def _pair_facts(made: PairsDrawn) -> list[tuple[str, str]]:
    amount = f"{counted(made.pairs, 'pair')} of {counted(made.questions, 'question')}"
    rows = [("written", f"{amount} to {made.output}")]
    left_out = (
        (made.identical, "possible pair", "with equal answers"),
        (made.empty, "possible pair", "with two empty answers"),
        (made.alone, "question", "answered by one model alone"),
        (made.duplicates, "answer", "of a model that had answered before"),
    )
    rows += [("left out", f"{counted(n, noun)} {why}") for n, noun, why in left_out if n]
    if made.short:
        rows.append(("", f"{counted(made.short, 'question')} with fewer pairs than wanted"))
    for model in made.models:
        told = f"{counted(model.pairs, 'pair')}: {model.first:,} first, {model.second:,} second"
        rows.append((harmless(model.model), told))
    if made.difficulty is not None:
        rows.append(
            ("difficulty", ", ".join(f"{n:,} {kind}" for kind, n in made.difficulty.items()))
        )
    for meeting in made.meetings[:SHOWN_MEETINGS]:
        names = f"{harmless(meeting.first)} and {harmless(meeting.second)}"
        rows.append((counted(meeting.pairs, "time"), names))
    if len(made.meetings) > SHOWN_MEETINGS:
        more = len(made.meetings) - SHOWN_MEETINGS
        rows.append(("", f"and {more:,} more pairs of models; --json has all"))
    return rows
