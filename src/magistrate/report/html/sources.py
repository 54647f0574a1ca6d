"""The runs and files that a report is about, read once, with the samples that it shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from magistrate.report.html.texts import seen
from magistrate.report.html.worst import Chosen, choose

if TYPE_CHECKING:
    from magistrate.report.judged import AnyPath, Judged, Reading
    from magistrate.store.manifest import RunManifest

_REASONS = 8


@dataclass(frozen=True, slots=True)
class Source:
    """One judge over one input, and what the report needs beside its columns."""

    name: str
    """Tells the runs of a report apart: the judge's name, with the run's where two share it."""
    judged: Judged
    manifest: RunManifest | None
    """None for files of other tools."""
    reasons: tuple[tuple[str, str, int], ...]
    """The most frequent reasons of readings that are not ``ok``: status, reason, how many."""
    shown: tuple[tuple[Chosen, Reading], ...]
    """Samples to look at, the most telling first."""


def read_sources(
    paths: Sequence[AnyPath], labels: AnyPath | None, samples: int
) -> tuple[Source, ...]:
    """Read runs and files.

    Args:
        paths: Run folders, or files in which other tools keep judgments.
        labels: A test set whose labels replace those of the runs.
        samples: How many samples to show of each.

    Raises:
        InputError: A file cannot be read or holds no judgments.
        RunError: A folder is not a run, or is damaged.
    """
    read = [_read(path, labels, samples) for path in paths]
    judges = [judged.judge for judged, *_ in read]
    sources: list[Source] = []
    for path, (judged, manifest, reasons, shown) in zip(paths, read, strict=True):
        name = judged.judge
        if judges.count(name) > 1:
            name = f"{name} ({Path(path).name or path})"
        sources.append(Source(_unlike(name, sources), judged, manifest, reasons, shown))
    return tuple(sources)


def _unlike(name: str, sources: Sequence[Source]) -> str:
    taken = {source.name for source in sources}
    tried, number = seen(name), 1
    while tried in taken:
        number += 1
        tried = f"{seen(name)} ({number})"
    return tried


def _read(
    path: AnyPath, labels: AnyPath | None, samples: int
) -> tuple[
    Judged,
    RunManifest | None,
    tuple[tuple[str, str, int], ...],
    tuple[tuple[Chosen, Reading], ...],
]:
    from magistrate.report.judged import judged_run, read_judged
    from magistrate.store.run import open_run

    if not Path(path).is_dir():
        judged = read_judged(path, labels=labels, keep_samples=True)
        return judged, None, _reasons(judged.samples), _pick(judged, judged.samples, samples)
    run = open_run(Path(path))
    if labels is not None:
        judged = judged_run(run, labels=labels, keep_samples=True)
        picked = _pick(judged, judged.samples, samples)
        return judged, run.manifest, _reasons(judged.samples), picked
    judged = judged_run(run)
    # A second look at the run is cheaper than keeping all of its texts.
    chosen = {one.row: one for one in choose(judged.pairs, samples)}
    reasons: Counter[tuple[str, str]] = Counter()
    found: dict[int, Reading] = {}
    if chosen or set(run.manifest.judgments) - {"ok"}:
        for row, reading in enumerate(run.readings()):
            _count_reasons(reasons, reading)
            if row in chosen:
                found[row] = reading
    shown = tuple((one, found[row]) for row, one in chosen.items())
    return judged, run.manifest, _most(reasons), shown


def _pick(
    judged: Judged, readings: Sequence[Reading], samples: int
) -> tuple[tuple[Chosen, Reading], ...]:
    return tuple((one, readings[one.row]) for one in choose(judged.pairs, samples))


def _reasons(readings: Sequence[Reading]) -> tuple[tuple[str, str, int], ...]:
    counts: Counter[tuple[str, str]] = Counter()
    for reading in readings:
        _count_reasons(counts, reading)
    return _most(counts)


def _count_reasons(counts: Counter[tuple[str, str]], reading: Reading) -> None:
    for judgment in reading[1]:
        if judgment.status != "ok":
            counts[judgment.status, (judgment.error or "no reason given")[:300]] += 1


def _most(counts: Counter[tuple[str, str]]) -> tuple[tuple[str, str, int], ...]:
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple((status, reason, n) for (status, reason), n in ranked[:_REASONS])
