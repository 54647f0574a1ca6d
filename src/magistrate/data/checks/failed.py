"""What teachers failed to label: listed beside a file that ``data label`` made."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from magistrate.data.checks.findings import EXAMPLES_KEPT, Example, Finding, excerpt
from magistrate.data.teacher_labels import FailedLabel
from magistrate.records import from_json_line
from magistrate.report.text import counted

FAILED = "failed.jsonl"


def failed_file(labelled: Path) -> Path:
    """Return where ``data label`` lists what failed.

    >>> failed_file(Path("data/labelled.jsonl")).as_posix()
    'data/labelled.teachers/failed.jsonl'
    """
    return labelled.with_name(labelled.name.split(".jsonl")[0] + ".teachers") / FAILED


def failed_labels(files: Sequence[str | os.PathLike[str]]) -> Iterator[Finding]:
    """Yield what is to be said of the readings that gave no label.

    Args:
        files: Labelled files; of those without a folder of teachers beside them nothing is said.
    """
    found = [
        (str(path), failure)
        for file in files
        if Path(file).name and (path := failed_file(Path(file))).is_file()
        for failure in _read(path)
    ]
    if not found:
        return
    statuses = Counter(failure.status for _, failure in found)
    shares = ", ".join(f"{count:,} {status}" for status, count in statuses.most_common())
    yield Finding(
        check="failed-labels",
        severity="warning",
        count=len(found),
        says=f"{counted(len(found), 'label')} that teachers did not give: {shares}",
        do="run `data label` again, which asks for these alone; they are in no label",
        examples=tuple(_example(file, failure) for file, failure in found[:EXAMPLES_KEPT]),
        values=dict(statuses),
    )


def _read(path: Path) -> Iterator[FailedLabel]:
    """Yield the lines that can be read; the file is our own, so others are half written."""
    for line in path.read_bytes().splitlines():
        try:
            yield from_json_line(FailedLabel, line)
        except ValueError:
            continue


def _example(file: str, failure: FailedLabel) -> Example:
    return Example(
        file=file,
        row=failure.row + 1,
        text=excerpt(failure.raw or ""),
        note=f"{failure.annotator}: {failure.status}: {failure.reason}",
    )
