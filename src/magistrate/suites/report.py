"""The result of ``bench``: one record, written as JSON and as Markdown beside the runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from magistrate.records import Record
from magistrate.store.disk import write_atomically
from magistrate.suites.aspects import Aspects
from magistrate.suites.fairness import Fairness
from magistrate.suites.generalise import Generalise
from magistrate.suites.grid import markdown
from magistrate.suites.scalability import Scalability
from magistrate.suites.study import Study

JSON_FILE, MARKDOWN_FILE = "bench.json", "bench.md"

SUITES = ("generalise", "fairness", "aspects", "scalability")
"""The studies, in the sequence in which they are run."""


class BenchReport(Record):
    """What the studies found; a study that was not run is None. ``str()`` gives the tables."""

    format_version: Literal[1] = 1
    judge: str
    family: str
    judge_id: str
    """Content id of the judge: weights, prompt and settings."""
    manifest: str
    """The manifest that named the sets."""
    data: str
    """The folder in which they lie."""
    limit: int | None
    """Samples per set; None for all."""
    seed: int
    """Of all draws."""
    out: str
    generalise: Generalise | None = None
    fairness: Fairness | None = None
    aspects: Aspects | None = None
    scalability: Scalability | None = None

    @property
    def studies(self) -> tuple[Study, ...]:
        """The studies that were run."""
        found = (getattr(self, name) for name in SUITES)
        return tuple(study for study in found if study is not None)

    def markdown(self) -> str:
        """Return everything as Markdown."""
        lines = [f"# Studies of {_code(self.judge)}", "", *self._facts(), ""]
        for study in self.studies:
            lines += [f"## {study.name}: {study.heading}", ""]
            lines += [markdown(grid) for grid in study.grids()]
            lines += [f"{said}\n" for said in map(_escaped, study.reading())]
            lines += [f"- {said}" for said in map(_escaped, remarks(study))]
            lines.append("")
        return "\n".join(lines)

    def __str__(self) -> str:
        """Return the tables as plain text, 120 columns wide at most."""
        from magistrate.report.table import plain_text
        from magistrate.suites.show import shown

        return plain_text(shown(self), width=120)

    def _facts(self) -> Iterator[str]:
        drawn = "all samples" if self.limit is None else f"{self.limit} samples per set at most"
        yield (
            f"Family {_code(self.family)}; data sets of {_code(self.manifest)}; {drawn}, drawn by "
            f"seed {self.seed}."
        )


def remarks(study: Study) -> Iterator[str]:
    """Yield what a study lacks, in words."""
    for one in study.missing:
        yield f"missing: {one}"
    for one in study.cannot:
        yield f"cannot: {one}"


def write_report(report: BenchReport, out: Path) -> BenchReport:
    """Write ``bench.json`` and ``bench.md``, with the studies that an earlier call left there.

    Returns:
        The report with these studies, as far as they are of the same judge, data and draw.

    Raises:
        RunError: The folder cannot be written.
    """
    whole = _joined(report, _read(out / JSON_FILE))
    text = json.dumps(whole.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False)
    write_atomically(out / JSON_FILE, text.encode("utf-8", "replace") + b"\n")
    write_atomically(out / MARKDOWN_FILE, whole.markdown().encode("utf-8", "replace"))
    return whole


def _joined(new: BenchReport, old: BenchReport | None) -> BenchReport:
    same = ("judge_id", "manifest", "data", "limit", "seed")
    if old is None or any(getattr(old, name) != getattr(new, name) for name in same):
        return new
    kept = {
        name: study
        for name in SUITES
        if getattr(new, name) is None and (study := getattr(old, name)) is not None
    }
    return new.model_copy(update=kept)


def _read(path: Path) -> BenchReport | None:
    """Return an earlier report; one of another version is made anew and not mended."""
    try:
        return BenchReport.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
