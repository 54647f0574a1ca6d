"""Reports as files: a page, Markdown, and a folder of CSV files.

import magistrate as mg

mg.write_report("runs/first", "runs/second", out="report.html")
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from magistrate.errors import InputError, RunError
from magistrate.formats.source import near
from magistrate.report.judged import for_each
from magistrate.store.folder import RunFolder
from magistrate.store.run import Run

if TYPE_CHECKING:
    from magistrate.report.html.contents import Contents

AnyPath = str | os.PathLike[str]

SAMPLES = 30
"""Samples that a report shows, of all its runs together."""

_PAGES = (".html", ".htm")
_MARKDOWN = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class Written:
    """What was written."""

    files: tuple[Path, ...]
    """Pages and Markdown first, then the CSV files."""
    contents: Contents
    """What stands in them: runs, sections, figures and their tables."""


def write_report(
    *runs: AnyPath | Run,
    out: AnyPath | Sequence[AnyPath] | None = None,
    csv: AnyPath | None = None,
    labels: AnyPath | None = None,
    samples: int = SAMPLES,
    judge: str | Sequence[str] | None = None,
    format: str | Sequence[str] | None = None,  # noqa: A002
) -> Written:
    """Write a report on one or more judges: plots, the numbers behind them, and samples to look at.

    Args:
        runs: Run folders, opened runs, or files in which other tools keep judgments; the files
            of one judge (such as one for each order) are joined by ``+``.
        out: One file or several; ``.html`` gives the page, which needs no network and no other
            file, ``.md`` the same tables in Markdown. None, without ``csv``: ``report.html`` in
            the folder of the only run.
        csv: Folder for the tables as CSV files, one a table, with all digits.
        labels: A test set whose labels replace those that come with the runs.
        samples: How many samples to show where judge and people differ, of all runs together.
        judge: Whose judgments to take from files that hold those of several: one name for all
            runs, or one for each.
        format: Name of the files' format, instead of finding it out; one for all or one for each.

    Raises:
        InputError: No run is given, a file cannot be read, it is not said where to write, or there
            are not as many judges or formats as runs.
        RunError: A folder is not a run or is damaged, or the disk refuses.
    """
    groups = [_paths_of(run) for run in runs]
    if not groups:
        raise InputError("no run was given; name a run folder or a file of judgments")
    outputs = _outputs(groups, out, csv)
    judges = for_each(judge, len(groups), "--judge")
    formats = for_each(format, len(groups), "--format")
    from magistrate.report.html.contents import build
    from magistrate.report.html.sources import Given, read_sources

    each = 0 if samples <= 0 else max(1, samples // len(groups))
    given = [Given(*one) for one in zip(groups, judges, formats, strict=True)]
    contents = build(read_sources(given, labels, each), each)
    written = []
    for path in outputs:
        _write(path, _text(path, contents))
        written.append(path)
    if csv is not None:
        written += _write_csv(Path(csv), contents)
    return Written(tuple(written), contents)


def _paths_of(run: AnyPath | Run) -> tuple[Path, ...]:
    """Return the folder of a run, or the files of one judge, joined by ``+`` where it has several.

    Raises:
        InputError: There is no such folder or file.
    """
    if isinstance(run, Run):
        return (run.path,)
    whole = Path(run)
    parts = (whole,) if whole.exists() else tuple(map(Path, str(run).split("+")))
    for part in parts:
        if not part.exists():
            raise InputError(f"there is no run folder and no file '{part}'{near(part)}")
    return parts


def _outputs(
    groups: Sequence[Sequence[Path]],
    out: AnyPath | Sequence[AnyPath] | None,
    csv: AnyPath | None,
) -> list[Path]:
    if out is None:
        if csv is not None:
            return []
        only = groups[0][0]
        if len(groups) == 1 and only.is_dir():
            return [RunFolder(only).report]
        raise InputError(
            "where to write the report is not said, and only the report of a single run folder "
            "has a place of its own; add -o report.html"
        )
    given = [out] if isinstance(out, str | os.PathLike) else out
    outputs = [Path(path) for path in given]
    for path in outputs:
        if path.suffix.lower() not in (*_PAGES, *_MARKDOWN):
            raise InputError(
                f"'{path}' names no form of report; end it in .html for the page or in .md for "
                f"Markdown (a folder of CSV files: --csv DIR)"
            )
        if path.is_dir():
            raise InputError(f"'{path}' is a folder; name a file")
    return outputs


def _text(path: Path, contents: Contents) -> str:
    if path.suffix.lower() in _PAGES:
        from magistrate.report.html.page import render_page

        return render_page(contents)
    from magistrate.report.html.markdown import render_markdown

    return render_markdown(contents)


def _write_csv(folder: Path, contents: Contents) -> list[Path]:
    from magistrate.report.html.tables import csv_text

    written = []
    for table in contents.tables():
        path = folder / f"{re.sub(r'[^a-z0-9_]', '_', table.name)}.csv"
        _write(path, csv_text(table))
        written.append(path)
    return written


def _write(path: Path, text: str) -> None:
    from magistrate.store.disk import write_atomically

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{path.parent} cannot be made: {error.strerror}; name another") from error
    write_atomically(path, text.encode("utf-8"))
