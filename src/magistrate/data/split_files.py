"""The files of a split, and the report on it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magistrate.data.checks.near import Nearness
from magistrate.data.hashing import hash_of_digests
from magistrate.data.intake import Intake
from magistrate.errors import InputError
from magistrate.formats.base import BadRow
from magistrate.formats.writers.base import new_folder
from magistrate.records import Record, Sample, from_json_line, to_json_line

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from magistrate.formats.reading import SampleReader

REPORT = "split.json"
DROPPED = "dropped.jsonl"

_LABELS = {1: "first", 0: "tie", -1: "second", 8: "no majority", 9: "unlabelled"}


class Dropped(Record):
    """A sample that is in no split, and why."""

    kind: str
    """``leaked-question``, ``leaked-answer``, ``models-apart``, ``no-model`` or ``links``."""
    reason: str
    file: str
    row: int
    test_file: str | None = None
    test_row: int | None = None
    similarity: float | None = None
    """True Jaccard similarity with the test set's text, of near-duplicates."""
    sample: Sample | None = None
    """As it was read; in ``dropped.jsonl``."""


class SplitPart(Record):
    """One split."""

    name: str
    file: str
    samples: int
    share: float
    """Of all samples that were not dropped."""
    wanted: float | None
    """The share asked for; None where a number was."""
    labels: dict[str, int]
    data_hash: str


class SplitReport(Record):
    """What became of the samples."""

    folder: str
    files: tuple[str, ...]
    against: tuple[str, ...]
    by: str
    seed: int
    exact: bool
    near: float | None
    """Least Jaccard similarity of near-duplicates; None where none were looked for."""
    samples: int
    groups: int
    largest_group: int
    """Samples in the largest group (by model: of the most frequent model)."""
    splits: tuple[SplitPart, ...]
    label_gap: float | None
    """The largest difference of a label's share between a split and all, in [0, 1]."""
    dropped: dict[str, int]
    """Samples that are in no split, by kind."""
    bad_count: int
    bad: tuple[BadRow, ...]


def report_of(
    intake: Intake,
    reader: SampleReader,
    split_of: NDArray[np.int64],
    names: tuple[str, ...],
    dropped: Mapping[int, Dropped],
    *,
    files: Sequence[str | os.PathLike[str]],
    against: Sequence[str | os.PathLike[str]],
    by: str,
    seed: int,
    shares: Mapping[str, float],
    exact: bool,
    near: Nearness | None,
    groups: int,
    largest: int,
    folder: str | os.PathLike[str],
) -> SplitReport:
    """Return the report; arguments as they were collected in splitting."""
    kept = len(intake) - len(dropped)
    parts = []
    for number, name in enumerate(names):
        members = [int(place) for place in (split_of == number).nonzero()[0]]
        labels = Counter(_LABELS[intake.label_of[place]] for place in members)
        parts.append(
            SplitPart(
                name=name,
                file=f"{name}.jsonl",
                samples=len(members),
                share=len(members) / kept if kept else 0.0,
                wanted=shares[name] if all(shares.values()) else None,
                labels={word: labels[word] for word in _LABELS.values() if labels[word]},
                data_hash=hash_of_digests(intake.digests[place] for place in members),
            )
        )
    return SplitReport(
        folder=os.fspath(folder),
        files=tuple(map(os.fspath, files)),
        against=tuple(map(os.fspath, against)),
        by=by,
        seed=seed,
        exact=exact,
        near=None if near is None else near.threshold,
        samples=len(intake),
        groups=groups,
        largest_group=largest,
        splits=tuple(parts),
        label_gap=_label_gap(parts),
        dropped=dict(Counter(each.kind for each in dropped.values())),
        bad_count=reader.bad_count,
        bad=tuple(reader.bad),
    )


def _label_gap(parts: Sequence[SplitPart]) -> float | None:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part.labels)
    n = sum(total.values())
    if not n:
        return None
    return max(
        abs(part.labels.get(label, 0) / part.samples - count / n)
        for part in parts
        for label, count in total.items()
        if part.samples
    )


def write_split(
    folder: str | os.PathLike[str],
    intake: Intake,
    split_of: NDArray[np.int64],
    names: tuple[str, ...],
    dropped: Mapping[int, Dropped],
    report: SplitReport,
) -> None:
    """Write the folder, which takes its name only when it is complete.

    Raises:
        InputError: It exists and is not empty, or cannot be written.
    """
    with new_folder(os.fspath(folder)) as draft:
        for number, name in enumerate(names):
            with (draft / f"{name}.jsonl").open("wb") as file:
                for place in (split_of == number).nonzero()[0]:
                    file.write(intake.lines[int(place)] + b"\n")
        with (draft / DROPPED).open("wb") as file:
            for place in sorted(dropped):
                sample = from_json_line(Sample, intake.lines[place])
                whole = dropped[place].model_copy(update={"sample": sample})
                file.write(to_json_line(whole) + b"\n")
        told: dict[str, Any] = report.model_dump(mode="json")
        (draft / REPORT).write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def files_of_split(folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Return the files of a split folder by the names of the splits.

    Raises:
        InputError: It is not one.
    """
    path = Path(folder)
    if not (path / REPORT).is_file():
        raise InputError(f"{path} is no folder of splits: it has no {REPORT}")
    return {file.stem: file for file in sorted(path.glob("*.jsonl")) if file.name != DROPPED}
