"""``magistrate ask``: follow-up questions to a judge about one of its judgments."""

from __future__ import annotations

from typing import Annotated

import typer

from magistrate.cli.help import example
from magistrate.cli.options import JsonOption, SetOption, read_engine_options
from magistrate.cli.runs import RunArgument
from magistrate.cli.terminal import Terminal

EXAMPLES = example(
    "magistrate judge examples/pairs.jsonl --judge scripted:longer --out runs/asked",
    'magistrate ask runs/asked 1 "Why is the first answer better?" "Are you sure?"',
)


def ask(
    run_folder: RunArgument,
    sample: Annotated[
        str,
        typer.Argument(
            metavar="SAMPLE",
            help="A sample's id in the input file, its row from 1 (`row:3` where ids are numbers "
            "too), or the beginning of its id or content id.",
            show_default=False,
        ),
    ],
    questions: Annotated[
        list[str],
        typer.Argument(
            metavar="QUESTIONS",
            help="What to ask; each question builds on the ones before.",
            show_default=False,
        ),
    ],
    is_reversed: Annotated[
        bool,
        typer.Option(
            "--reversed", help="Ask about the reading with the answers in reversed order."
        ),
    ] = False,
    repeat: Annotated[
        int, typer.Option(metavar="N", min=0, help="Ask about this repeat of the reading, from 0.")
    ] = 0,
    answer: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Which answer, from 1, where the judge reads each alone.",
            show_default=False,
        ),
    ] = None,
    judge_name: Annotated[
        str | None,
        typer.Option(
            "--judge",
            metavar="NAME",
            help="The run's judge, where it has another name by now; it must be the same one.",
            show_default=False,
        ),
    ] = None,
    settings: SetOption = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            metavar="DOLLARS",
            min=0,
            help="Stop before the run costs more than this, judgments and all questions together; "
            "without it, the limit that the run was judged with.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Ask the judge of a run about one of its judgments.

    The judge reads its own prompt and reply again, then the question. Questions and replies are
    added to conversations.jsonl in the run folder. Only judges that write can be asked.
    """
    from magistrate.store.asking import ask as ask_judge

    terminal = Terminal(as_json)
    follow_ups = ask_judge(
        run_folder,
        sample,
        *questions,
        reversed=is_reversed,
        repeat=repeat,
        answer=answer,
        judge=judge_name,
        engine_options=read_engine_options(settings) if settings else None,
        max_cost=max_cost,
    )
    for follow_up in follow_ups:
        if len(questions) > 1:
            terminal.line(f"> {follow_up.question}")
        terminal.line(follow_up.reply.rstrip("\n"))
    replies = [follow_up.model_dump(mode="json") for follow_up in follow_ups]
    terminal.json({"run": str(run_folder), "replies": replies})
