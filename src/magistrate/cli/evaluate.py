"""``magistrate evaluate``: how far a judge can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magistrate.cli.exits import NOTHING_JUDGED
from magistrate.cli.help import example
from magistrate.cli.options import FormatOption, JsonOption, QuestionsOption, QuietOption
from magistrate.cli.terminal import Terminal

if TYPE_CHECKING:
    from magistrate.metrics.breakdown import By

EXAMPLES = example(
    "magistrate judge examples/pairs.jsonl --judge mini --out runs/first",
    "magistrate evaluate runs/first --by category,length",
    "magistrate evaluate runs/first --labels examples/pairs.jsonl --rule pandalm --json",
)

SourcesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN|FILES",
        help="A run folder, or files in which another tool keeps the judgments of one judge (both "
        "orders together).",
        show_default=False,
    ),
]
LabelsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Labels, where the judgments come without them or others are to count: a test set, "
        "or judgments that are to be the truth.",
        show_default=False,
    ),
]


def evaluate(
    sources: SourcesArgument,
    labels: LabelsOption = None,
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Apply another tool's own rule besides: judgelm, auto-j, llmbar, judgebench, "
            "alpaca-eval, mt-bench or pandalm.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME,...",
            help="Break down by category, language, model, length, length-gap (whether the longer "
            "answer is the better one) or question-type.",
            show_default=False,
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="RUN|FILE",
            help="A second judge of the same samples, to stand beside the first where one "
            "annotator is taken as the truth.",
            show_default=False,
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Whose judgments to take from a file of several judges.",
            show_default=False,
        ),
    ] = None,
    good_label: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL",
            help="For single answers with a label of two values: which one a high score should "
            "go with.",
            show_default=False,
        ),
    ] = None,
    questions: QuestionsOption = None,
    format_name: FormatOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure a judge: agreement with people, position bias, where it fails, and how sure that is.

    Our own measures count nothing that is not ok as a tie or as anything else. A rule of another
    tool is applied only when it is named.
    """
    from magistrate.report.evaluation import evaluate as evaluate_judge
    from magistrate.report.evaluation_table import evaluation_table

    terminal = Terminal(as_json, quiet)
    found = evaluate_judge(
        *sources,
        labels=labels,
        rule=rule,
        by=_read_breakdowns(by),
        against=against,
        judge=judge,
        good_label=good_label,
        questions=questions,
        format=format_name,
    )
    terminal.notices(found.notices)
    terminal.bad_rows(found.bad, found.bad_rows, None)
    terminal.table(evaluation_table(found))
    terminal.json(found.model_dump(mode="json"))
    if not found.has_ok:
        terminal.note("not one sample has a decision that is ok")
        raise typer.Exit(NOTHING_JUDGED)


def _read_breakdowns(given: Sequence[str] | None) -> tuple[By, ...]:
    """Return ``--by`` as names.

    Raises:
        typer.BadParameter: A name is unknown.
    """
    from magistrate.metrics.breakdown import BREAKDOWNS

    known = {str(name): name for name in BREAKDOWNS}
    names = [name.strip() for text in given or () for name in text.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise typer.BadParameter(
                f"'{name}' is unknown; known: {', '.join(known)}", param_hint="--by"
            )
    return tuple(known[name] for name in dict.fromkeys(names))
