"""Is a judge that is 80 % sure right on 80 % of such pairs?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from magistrate.metrics.reliability import BINNING, Reliability
from magistrate.report.html.blocks import (
    Column,
    Curve,
    Figure,
    Line,
    Point,
    Section,
    Table,
    absent_lines,
    rate_words,
    share,
)
from magistrate.report.html.sections.agreement import why_not_measured

if TYPE_CHECKING:
    from magistrate.report.html.sources import Source


def confidence(sources: Sequence[Source]) -> Section:
    """Return the section of reliability diagrams."""
    found = [_measured(source) for source in sources]
    single = len(sources) == 1
    figures = [
        figure
        for run, (source, (measured, _)) in enumerate(zip(sources, found, strict=True))
        if measured is not None
        for figure in (
            _figure(source, measured, run, single=single),
            _kept(source, measured, run, single=single),
        )
    ]
    return Section(
        "confidence",
        "Reliability of the confidence",
        "Confidence is the probability that the judge gives its own verdict (first, tie or "
        "second); of a calibrated judge, how probable it is that this is right. "
        f"Pairs are grouped by it into {BINNING}; a point on the diagonal is as often "
        "right as it is sure, one below is too sure. ECE, the expected calibration error, is the "
        "mean distance from the diagonal, weighted by pairs. It is above 0 by chance alone: beside "
        "it stands what a perfectly calibrated judge with the same confidences would show. "
        "The second plot keeps the surest pairs alone: where it falls, the judge knows which of "
        "its verdicts to doubt; where it is level, its confidence tells nothing.",
        tuple(figures),
        absent=absent_lines(
            [
                (source.name, "" if measured else reason)
                for source, (measured, reason) in zip(sources, found, strict=True)
            ]
        ),
    )


def _measured(source: Source) -> tuple[Reliability | None, str]:
    reason = why_not_measured(source)
    found = None if reason else source.calibration
    return found, reason or "this judge gives no confidence."


def _figure(source: Source, found: Reliability, run: int, *, single: bool) -> Figure:
    points, rows = [], []
    for one in found.bins:
        span = f"{100 * one.low:.0f}–{100 * one.high:.0f} %"
        rows.append((span, one.confidence if one.right.n else None, one.right))
        if one.confidence is not None:
            words = f"sure {share(one.confidence)}, right {rate_words(one.right)}"
            points.append(Point(one.confidence, one.right, words))
    said = (
        f"ECE {share(found.ece)} ({BINNING}, n = {found.n:,}); a perfectly calibrated judge would "
        f"show {share(found.expected)} on average and up to {share(found.chance)} in 95 of 100 "
        f"cases. On average {share(found.confidence)} sure, right on {rate_words(found.right)}."
    )
    plot = Curve(
        "confidence of the judge",
        "share with the label of people",
        (Line("pairs of like confidence", "judge", tuple(points)),),
        tuple((step / 100, f"{step} %") for step in range(0, 101, 20)),
        diagonal=True,
        level=None,
        counts=tuple((one.low, one.high, one.right.n) for one in found.bins),
    )
    title = "Right, by how sure the judge is" if single else source.name
    columns = (Column("confidence"), Column("mean confidence"), Column("right"))
    table = Table(
        f"reliability_{run + 1}",
        f"{source.name}: share right by confidence",
        columns,
        (*rows, ("all", found.confidence, found.right), ("ECE", found.ece, None)),
    )
    return Figure(title, plot, said, table, run)


def _kept(source: Source, found: Reliability, run: int, *, single: bool) -> Figure:
    """Return the share right among the surest pairs, from few to all."""
    points = tuple(
        Point(one.coverage, one.accuracy, f"{share(one.coverage)} kept: {rate_words(one.accuracy)}")
        for one in source.kept
    )
    half = next(one.accuracy for one in source.kept if one.coverage >= 0.5)
    plot = Curve(
        "share of pairs kept, the surest first",
        "share with the label of people",
        (Line("the surest pairs", "judge", points),),
        tuple((step / 100, f"{step} %") for step in range(0, 101, 20)),
        level=found.right.value,
    )
    rows = [(share(one.coverage), one.accuracy.n, one.accuracy) for one in source.kept]
    title = "Right, when only the surest pairs are kept" if single else f"{source.name}: kept"
    return Figure(
        title,
        plot,
        f"Of the surer half {rate_words(half)} are right, of all {rate_words(found.right)} "
        f"(dashed; what a random half has on average).",
        Table(
            f"kept_{run + 1}",
            f"{source.name}: share right of the surest",
            (Column("kept"), Column("pairs"), Column("right")),
            tuple(rows),
        ),
        run,
    )
