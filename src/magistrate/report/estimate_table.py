"""Estimates corrected by a few labels, on the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from magistrate.metrics.intervals import Rate
from magistrate.metrics.prediction_powered import Corrected
from magistrate.report.estimate import Estimate, NextLabels
from magistrate.report.table import NOTHING, facts_table, laid_table, rate_text
from magistrate.report.text import counted, harmless
from magistrate.report.wrap import Wrapped


def estimate_table(found: Estimate) -> RenderableType:
    """Return the quantities, a row each."""
    heading = Text.assemble(
        (harmless(found.judge), "bold"),
        f": {counted(found.samples, 'sample')} in {harmless(found.source)}, of which "
        f"{found.labelled:,} are labelled",
    )
    parts: list[RenderableType] = [Wrapped(heading), Text("")]
    header = ("", "corrected", "labels alone", "judge alone", "labels", "factor", "worth")
    shares = list(_rows(found, scores=False))
    if shares:
        parts.append(laid_table(header, shares))
    scores = list(_rows(found, scores=True))
    if scores:
        parts += [Wrapped("Mean scores, on the scale of the labels"), laid_table(header, scores)]
    parts.append(
        Wrapped(
            "corrected: by all judgments and the labels (prediction-powered inference), 95 % "
            "interval over questions. worth: how many labels each would be worth without the judge."
        )
    )
    if found.strata > 1:
        parts.append(Wrapped(f"Labels were drawn from {found.strata} groups of like confidence."))
    if found.not_decided:
        parts.append(
            Wrapped(
                f"{counted(found.not_decided, 'sample')} without a decision: the judge's mean "
                f"stands in for its number there."
            )
        )
    if found.left_out:
        parts += [Text(""), facts_table((k, harmless(v)) for k, v in found.left_out.items())]
    return Group(*parts)


def next_table(found: NextLabels, path: str) -> RenderableType:
    """Return what was chosen, and what it is expected to bring."""
    drawn = ", ".join(str(n) for n in found.strata)
    return Group(
        Wrapped(f"{counted(found.written, 'pair')} to label: {harmless(path)}"),
        facts_table(
            (
                ("from groups of rising confidence", drawn),
                ("interval of the agreement now", f"± {found.half_width_now:.1%}"),
                ("expected with these", f"± {found.half_width_expected:.1%}"),
                ("with as many drawn from all", f"± {found.half_width_random:.1%}"),
            )
        ),
    )


def _rows(found: Estimate, *, scores: bool) -> Iterator[tuple[str, ...]]:
    if scores:
        for name, one in found.mean_scores.items():
            yield (harmless(name), *_cells(one, shares=False))
        return
    if found.agreement is not None:
        yield ("agreement with people", *_cells(found.agreement, shares=True))
    for name, one in found.win_rates.items():
        yield (f"win rate of {harmless(name)}", *_cells(one, shares=True))


def _cells(one: Corrected, *, shares: bool) -> tuple[str, ...]:
    def text(rate: Rate) -> str:
        if shares or rate.value is None:
            return rate_text(rate)
        return f"{rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}]"

    return (
        text(one.corrected),
        text(one.labels_alone),
        _alone(one.judge_alone, shares=shares),
        f"{one.labelled:,}",
        f"{one.factor:.2f}",
        NOTHING if one.worth is None else f"{one.worth:.2f}",
    )


def _alone(value: float | None, *, shares: bool) -> str:
    if value is None:
        return NOTHING
    return f"{value:.1%}" if shares else f"{value:.2f}"
