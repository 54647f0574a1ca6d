"""``magistrate runs``: what stands in run folders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from magistrate.cli.exits import BAD_RUN
from magistrate.cli.help import example
from magistrate.cli.options import JsonOption, QuietOption
from magistrate.cli.remarks import remarks_on
from magistrate.cli.terminal import Terminal

if TYPE_CHECKING:
    from magistrate.report.summary import RunSummary
    from magistrate.store.run import Run

app = typer.Typer(
    help="List, show and check run folders.", rich_markup_mode=None, invoke_without_command=True
)

_MAKE_A_RUN = "magistrate judge examples/pairs.jsonl --judge mini --out runs/first"

ROWS_IN_JSON = 1_000
"""How many bad rows a run's JSON holds; all are in the run folder."""

RunArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="A run folder.", show_default=False)
]


@app.callback()
def runs(context: typer.Context, as_json: JsonOption = False) -> None:
    """List the runs in the folder `runs`, unless a command says otherwise."""
    if context.invoked_subcommand is None:
        list_runs(as_json=as_json)


@app.command(
    "list", epilog=example("magistrate runs list", "magistrate runs list --in runs --json")
)
def list_runs(
    folder: Annotated[
        Path, typer.Option("--in", metavar="DIR", help="Folder that holds run folders.")
    ] = Path("runs"),
    as_json: JsonOption = False,
) -> None:
    """List the runs in a folder, the latest last."""
    from rich.console import Group, RenderableType
    from rich.padding import Padding
    from rich.table import Table

    from magistrate.report.text import harmless
    from magistrate.report.wrap import NARROWEST, Fitting, Wrapped, slack

    terminal = Terminal(as_json)
    found, unreadable = _find_runs(folder)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("run", overflow="fold", min_width=NARROWEST)
    table.add_column("judge", overflow="fold", min_width=NARROWEST)
    table.add_column("samples", justify="right", no_wrap=True)
    table.add_column("judged", justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("updated", no_wrap=True)
    lines: list[RenderableType] = []
    for run in found:
        manifest = run.manifest
        path, judge = harmless(str(run.path)), harmless(manifest.judge.name)
        judged = f"{manifest.judged / manifest.readings:.0%}" if manifest.readings else ""
        cells = (
            f"{manifest.samples:,}",
            judged,
            manifest.state,
            f"{manifest.updated.astimezone():%Y-%m-%d %H:%M}",
        )
        table.add_row(Wrapped(path), Wrapped(judge), *cells)
        said = f"{judge}: {cells[0]} samples, {judged} judged, {cells[2]}, {cells[3]}"
        lines += [Wrapped(path), Padding(Wrapped(said), (0, 0, 0, 2))]
    if found:
        spare = slack(str(run.path) for run in found) + slack(r.manifest.judge.name for r in found)
        terminal.table(Fitting(table, Group(*lines), spare))
    else:
        terminal.note(f"no runs in {folder}; 'magistrate judge FILES' makes one")
    for message in unreadable:
        terminal.note(f"note: {message}")
    terminal.json(
        {
            "folder": str(folder),
            "runs": [_listed_json(run) for run in found],
            "unreadable": unreadable,
        }
    )


@app.command("show", epilog=example(_MAKE_A_RUN, "magistrate runs show runs/first"))
def show_run(
    run_folder: RunArgument, as_json: JsonOption = False, quiet: QuietOption = False
) -> None:
    """Show the result of a run again, finished or not; of a cascade also what each judge did."""
    from magistrate.cascade.live_folder import is_cascade, read_cascade
    from magistrate.report.cascade_live import cascade_table
    from magistrate.report.summary import summarise
    from magistrate.report.table import summary_table
    from magistrate.report.text import counted, dollars
    from magistrate.store.conversations import asked_of
    from magistrate.store.run import open_run
    from magistrate.store.seal import changed_since

    terminal = Terminal(as_json, quiet)
    run = open_run(run_folder)
    changed = changed_since(run)
    summary = summarise(run)
    terminal.notices([*run.notices(), *([changed] if changed else [])])
    terminal.bad_rows(run.bad_rows(), summary.bad_rows, run.folder.bad_rows)
    made = read_cascade(run_folder) if is_cascade(run_folder) else None
    terminal.table(summary_table(summary))
    if made is not None:
        terminal.line("")
        terminal.table(cascade_table(made))
    more = {} if made is None else {"cascade": made.model_dump(mode="json")}
    terminal.json({**run_json(run, summary), **more})
    for remark in remarks_on(run):
        terminal.note(f"note: {remark}")
    asked = asked_of(run.folder.conversations)
    if asked.questions:
        terminal.note(
            f"{counted(asked.questions, 'question')} to the judge cost {dollars(asked.cost)} more"
        )
    if summary.pending:
        terminal.note(
            f"{summary.pending:,} of {summary.samples:,} samples are not judged yet; "
            f"the command that began the run goes on with it"
        )


@app.command("verify", epilog=example(_MAKE_A_RUN, "magistrate runs verify runs/first"))
def verify(
    run_folder: RunArgument,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="First move damaged lines aside, to be judged again."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a run: hashes, counts, that every judgment belongs to a sample and agrees with itself.

    A finding is a contradiction in the folder; with one or more the exit code is 4. Of a cascade
    the runs of its judges are checked too.
    """
    from magistrate.cascade.live_folder import is_cascade, read_cascade
    from magistrate.report.text import counted
    from magistrate.store.repair import repair_run
    from magistrate.store.verify import verify_run

    terminal = Terminal(as_json)
    moved = repair_run(run_folder) if repair else 0
    if moved:
        terminal.note(f"{counted(moved, 'damaged line')} moved to judgments.damaged.jsonl")
    report = verify_run(run_folder)
    judges = read_cascade(run_folder).tiers if is_cascade(run_folder) else ()
    others = [(one.folder, verify_run(run_folder / one.folder)) for one in judges]
    for text in (*(str(finding) for finding in report.findings), *report.notes):
        terminal.line(text)
    hidden = report.findings_count - len(report.findings)
    if hidden:
        terminal.line(f"and {hidden:,} more findings")
    terminal.line(
        f"{counted(report.samples, 'sample')}, {counted(report.judgments, 'judgment')}, "
        f"{report.missing:,} missing, {report.failures:,} not ok: "
        + ("sound" if report.ok else counted(report.findings_count, "finding"))
    )
    for folder, other in others:
        for finding in other.findings:
            terminal.line(f"{folder}/{finding}")
        found = "sound" if other.ok else counted(other.findings_count, "finding")
        terminal.line(f"{folder}: {counted(other.judgments, 'judgment')}: {found}")
    terminal.json(
        {
            "run": str(report.path),
            "ok": report.ok,
            "samples": report.samples,
            "judgments": report.judgments,
            "missing": report.missing,
            "failures": report.failures,
            "findings": [asdict(finding) for finding in report.findings],
            "findings_count": report.findings_count,
            "notes": list(report.notes),
            "repaired_lines": moved,
            **(
                {"tiers": [{"folder": name, "ok": one.ok} for name, one in others]}
                if others
                else {}
            ),
        }
    )
    if not (report.ok and all(other.ok for _, other in others)):
        raise typer.Exit(BAD_RUN)


def run_json(run: Run, summary: RunSummary) -> dict[str, Any]:
    """Return the result of a run with its bad rows and notices."""
    from magistrate.report.json_view import summary_json
    from magistrate.store.conversations import asked_of

    return {
        **summary_json(summary),
        "asked": asked_of(run.folder.conversations).model_dump(mode="json"),
        "bad": [row.model_dump(mode="json") for row in islice(run.bad_rows(), ROWS_IN_JSON)],
        "notices": [notice.model_dump(mode="json") for notice in run.notices()],
    }


def _find_runs(folder: Path) -> tuple[list[Run], list[str]]:
    """Return the readable runs of a folder, the latest last, and what is wrong with the others."""
    from magistrate.errors import RunError
    from magistrate.store.run import open_run

    runs: list[Run] = []
    unreadable: list[str] = []
    for path in _folders_with_a_run(folder):
        try:
            runs.append(open_run(path))
        except RunError as error:
            unreadable.append(str(error))
    return sorted(runs, key=lambda run: run.manifest.updated), unreadable


def _folders_with_a_run(folder: Path) -> Iterator[Path]:
    from magistrate.store.folder import RunFolder

    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.is_dir() and RunFolder(path).manifest.exists():
                yield path


def _listed_json(run: Run) -> dict[str, Any]:
    manifest = run.manifest
    return {
        "run": str(run.path),
        "judge": manifest.judge.name,
        "state": manifest.state,
        "samples": manifest.samples,
        "readings": manifest.readings,
        "judged": manifest.judged,
        "updated": manifest.updated.isoformat(),
    }
