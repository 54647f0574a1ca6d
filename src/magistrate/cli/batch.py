"""``magistrate judge --batch``: requests to a file, answers from a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from magistrate.cli.progress import ProgressView
from magistrate.cli.terminal import Terminal
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.formats.reading import SampleReader
    from magistrate.store.run import Run


def emit(
    samples: SampleReader,
    judge_name: str,
    file: Path,
    out: Path | None,
    terminal: Terminal,
    **asked: Any,
) -> None:
    """Write the requests that are missing, and say what to do with them."""
    from magistrate.store.batch import emit_batch

    said = lambda notice: terminal.note(f"note: {notice.message}")  # noqa: E731
    batch = emit_batch(samples, judge_name, file, out, on_notice=said, **asked)
    if batch.requests:
        names = ", ".join(map(str, batch.files))
        terminal.line(f"{counted(batch.requests, 'request')} written to {names}")
        terminal.note(
            f"When they are answered, give the same command with --out {batch.run.path} "
            f"--batch collect ANSWERS"
        )
    else:
        terminal.line("nothing is missing; no file was written")
    terminal.json(
        {
            "run": str(batch.run.path),
            "files": [str(path) for path in batch.files],
            "requests": batch.requests,
        }
    )


def collect(
    samples: SampleReader,
    judge_name: str,
    file: Path,
    out: Path | None,
    progress: ProgressView,
    **asked: Any,
) -> Run:
    """Read answers into the run.

    Raises:
        typer.BadParameter: The run folder is not named.
    """
    from magistrate.store.batch import collect_batch

    if out is None:
        raise typer.BadParameter(
            "name the run folder that waits for the answers", param_hint="--out"
        )
    return collect_batch(
        samples,
        judge_name,
        file,
        out,
        on_progress=progress,
        on_notice=progress.notice,
        **asked,
    )
