"""``magistrate data check``, ``split`` and ``card``: what is wrong, what goes where, what it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from magistrate.cli.exits import BAD_INPUT
from magistrate.cli.help import example
from magistrate.cli.options import (
    ColumnsOption,
    FilesArgument,
    FormatOption,
    JsonOption,
    QuietOption,
    read_columns,
)
from magistrate.cli.steps import StepView
from magistrate.cli.terminal import Terminal
from magistrate.report.text import counted, harmless, shortened

if TYPE_CHECKING:
    from magistrate.data.checks.findings import CheckReport, Example, Finding
    from magistrate.data.checks.near import Nearness
    from magistrate.data.split_files import SplitReport

CHECK_EXAMPLES = example(
    "magistrate data check examples/pairs.jsonl",
    "magistrate data check examples/pairs.jsonl --against examples/single.jsonl -o findings.jsonl",
)
SPLIT_EXAMPLES = example(
    "magistrate data split examples/pairs.jsonl --shares train=0.5,dev=0.5 -o splits",
    "magistrate data split examples/pairs.jsonl --dev 2 --against examples/single.jsonl -o small",
)
CARD_EXAMPLES = example(
    "magistrate data card examples/pairs.jsonl --licence pairs=Apache-2.0 -o card.html -o card.md",
)

SHOWN_EXAMPLES = 3

AgainstOption = Annotated[
    list[str] | None,
    typer.Option(
        "--against",
        metavar="TEST_SET",
        help="A test set that must not be known, in any format; may be given several times.",
        show_default=False,
    ),
]
NearOption = Annotated[
    float,
    typer.Option(
        "--near",
        metavar="SIMILARITY",
        min=0.0,
        max=1.0,
        help="From which Jaccard similarity of their runs of 5 characters on texts are nearly the "
        "same, 0.3 to 1; 0 looks for none.",
    ),
]


def check(
    files: FilesArgument,
    against: AgainstOption = None,
    near: NearOption = 0.7,
    length_limit: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Warn when the longer, or the shorter, answer wins so often, 0.5 to 1.",
        ),
    ] = 0.65,
    position_limit: Annotated[
        float,
        typer.Option(metavar="SHARE", help="Warn when one place wins so often, 0.5 to 1."),
    ] = 0.55,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Write every finding with up to 1,000 examples, one JSON object a line.",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 2 if there is an error.")
    ] = False,
    format_name: FormatOption = None,
    columns: ColumnsOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Check labelled data: duplicates, leaks, contradictions, and labels that can be guessed.

    Errors make numbers wrong (a test set that is known, labels that follow the place), warnings
    are worth a look, notes are worth knowing. Each comes with what to do.
    """
    from magistrate.data.checks.balance import Limits
    from magistrate.data.checks.check import check_data

    terminal = Terminal(as_json, quiet)
    limits = Limits(position=position_limit, length=length_limit)
    with StepView(terminal, "check") as view:
        report = check_data(
            *files,
            against=against or (),
            near=_nearness(near),
            limits=limits,
            format=format_name,
            columns=read_columns(columns),
            on_step=view.step,
        )
    if out is not None:
        _write_findings(out, report)
    terminal.notices(report.notices)
    terminal.bad_rows(report.bad, report.bad_count, None)
    terminal.line("\n".join(_check_lines(report, out)))
    terminal.json(_shortened_json(report))
    if strict and report.count("error"):
        raise typer.Exit(BAD_INPUT)


def split(
    files: FilesArgument,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder to make: NAME.jsonl for every split, dropped.jsonl, split.json.",
        ),
    ] = Path("splits"),
    by: Annotated[
        str,
        typer.Option(
            metavar="WHAT",
            help="What must not be parted: question, category, language, model, or a field of the "
            "file. Nearly equal questions are never parted (except by model).",
        ),
    ] = "question",
    shares: Annotated[
        str,
        typer.Option(metavar="NAME=SHARE,...", help="Splits and their shares, which add up to 1."),
    ] = "train=0.9,dev=0.1",
    dev: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="So many samples in dev, all others in train; in place of --shares.",
            show_default=False,
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact",
            help="Meet sizes and give all splits the same shares of labels, as far as groups "
            "allow. Rows that are added later may then move others.",
        ),
    ] = False,
    against: AgainstOption = None,
    answers_too: Annotated[
        bool,
        typer.Option("--answers-too", help="Also drop samples whose answers a test set has."),
    ] = False,
    near: NearOption = 0.7,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder made before: what stands in it stays in its split.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives another split.")] = 0,
    format_name: FormatOption = None,
    columns: ColumnsOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Split labelled data without leaks: groups stay whole, what a test set has is dropped.

    A sample's split depends on its question and the seed alone: another sequence of rows changes
    nothing, and rows that are added move no others.
    """
    from magistrate.data.splitting import split_data

    terminal = Terminal(as_json, quiet)
    with StepView(terminal, "split") as view:
        report = split_data(
            *files,
            out=out,
            by=by,
            shares=shares,
            dev=dev,
            exact=exact,
            against=against or (),
            answers_too=answers_too,
            near=_nearness(near),
            keep=keep,
            seed=seed,
            format=format_name,
            columns=read_columns(columns),
            on_step=view.step,
        )
    terminal.bad_rows(report.bad, report.bad_count, None)
    terminal.facts(_split_facts(report))
    terminal.json(report.model_dump(mode="json"))


def card(
    files: FilesArgument,
    out: Annotated[
        list[Path] | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to write: .html for a page with plots, .md for Markdown; may be given "
            "twice. Without it, Markdown is printed.",
            show_default=False,
        ),
    ] = None,
    licence: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=LICENCE",
            help="The licence of a source; may be given several times.",
            show_default=False,
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Title of the card.", show_default=False)
    ] = None,
    splits: Annotated[
        Path | None,
        typer.Option(
            "--split",
            metavar="DIR",
            help="The folder that `data split` made of these data: its sizes and what it dropped.",
            show_default=False,
        ),
    ] = None,
    against: AgainstOption = None,
    near: NearOption = 0.7,
    format_name: FormatOption = None,
    columns: ColumnsOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a data card: what the data are, who labelled them, and what a check finds.

    Sources with their licences, models, annotators and their agreement, labels, lengths, splits,
    leaks, findings, and the hash by which a judge's folder names these data.
    """
    from magistrate.data.card import make_card, read_licences, write_card

    terminal = Terminal(as_json, quiet)
    licences = read_licences(licence or ())
    with StepView(terminal, "card") as view:
        made = make_card(
            *files,
            licences=licences,
            title=title,
            split=splits,
            against=against or (),
            near=_nearness(near),
            format=format_name,
            columns=read_columns(columns),
            on_step=view.step,
        )
    written = write_card(made, out or ())
    if not out:
        terminal.markdown(made.markdown())
    terminal.facts([("written", str(path)) for path in written])
    terminal.json({**made.facts(), "written": [str(path) for path in written]})


def _nearness(similarity: float) -> Nearness | None:
    from magistrate.data.checks.near import Nearness

    return None if similarity == 0 else Nearness(similarity)


def _write_findings(path: Path, report: CheckReport) -> None:
    from magistrate.formats.writers.base import new_file
    from magistrate.records import to_json_line

    with new_file(str(path)) as file:
        for finding in report.findings:
            file.write(to_json_line(finding) + b"\n")


def _shortened_json(report: CheckReport) -> dict[str, object]:
    told = report.model_dump(mode="json")
    for finding in told["findings"]:
        finding["examples"] = finding["examples"][:10]
    return told


def _check_lines(report: CheckReport, out: Path | None) -> Iterator[str]:
    yield (
        f"{counted(report.samples, 'sample')} ({counted(report.pairs, 'pair')}, "
        f"{report.labelled:,} labelled), {counted(report.questions, 'question')}, "
        f"{counted(report.answers, 'different answer')}"
    )
    for finding in report.findings:
        yield ""
        yield from _finding_lines(finding)
    yield ""
    yield (
        f"{counted(report.count('error'), 'error')}, {counted(report.count('warning'), 'warning')},"
        f" {counted(report.count('note'), 'note')}"
        + (f"; all examples are in {out}" if out else "; -o FILE keeps all examples")
    )
    yield f"hash of the data: {report.data_hash}"


def _finding_lines(finding: Finding) -> Iterator[str]:
    yield f"{finding.severity}  {finding.check}"
    yield f"  {finding.says}"
    if finding.do:
        yield f"  -> {finding.do}"
    if finding.severity != "note":
        for each in finding.examples[:SHOWN_EXAMPLES]:
            yield f"     {_example_line(each)}"


def _example_line(each: Example) -> str:
    parts = [f"{each.file}, row {each.row}"]
    if each.other_file is not None:
        parts.append(f"and {each.other_file}, row {each.other_row}")
    if each.similarity is not None:
        parts.append(f"(similarity {each.similarity:.2f})")
    if each.note:
        parts.append(f"({each.note})")
    line = " ".join(parts)
    if each.text:
        line += f": {shortened(harmless(each.text), 70)}"
    return line


def _split_facts(report: SplitReport) -> Sequence[tuple[str, str]]:
    rows = [
        (
            part.name,
            f"{counted(part.samples, 'sample')} ({100 * part.share:.1f} %): "
            + ", ".join(f"{count:,} {label}" for label, count in part.labels.items()),
        )
        for part in report.splits
    ]
    largest = counted(report.largest_group, "sample")
    rows.append(("groups", f"{report.groups:,} by {harmless(report.by)}, the largest of {largest}"))
    if report.label_gap is not None:
        gap = f"{100 * report.label_gap:.1f} points"
        rows.append(("labels", f"shares differ by {gap} at most between a split and all"))
    for kind, count in report.dropped.items():
        rows.append(("dropped", f"{counted(count, 'sample')}: {kind}"))
    rows.append(("written", f"{report.folder} (dropped samples with reasons: dropped.jsonl)"))
    return rows
