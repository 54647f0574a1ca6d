"""A bench report laid out for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from magistrate.report.text import harmless
from magistrate.report.wrap import Wrapped
from magistrate.suites.grid import rendered
from magistrate.suites.report import remarks

if TYPE_CHECKING:
    from magistrate.suites.report import BenchReport
    from magistrate.suites.study import Study


def shown(report: BenchReport, studies: Sequence[Study] | None = None) -> RenderableType:
    """Return the tables of all studies, or of some, with what each lacks below them."""
    draw = "all samples" if report.limit is None else f"up to {report.limit} samples per set"
    parts: list[RenderableType] = [
        Wrapped(
            Text.assemble(
                (harmless(report.judge), "bold"),
                f" on the data of {harmless(report.data)}: {draw}, seed {report.seed}",
            )
        )
    ]
    for study in report.studies if studies is None else studies:
        parts += [Text(""), Text(f"{study.name}: {study.heading}", style="bold")]
        for grid in study.grids():
            parts += [Text(""), rendered(grid)]
        if study.grids():
            parts += [Text(""), *(Text(said, style="dim") for said in study.reading())]
        said = [harmless(one) for one in remarks(study)]
        if said:
            parts += [Text(""), *(Wrapped(one) for one in said)]
    return Group(*parts)
