"""A replayed cascade as a page: the curve between what chance does and what an oracle would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from magistrate.cascade.measuring import CurvePoint
from magistrate.metrics.intervals import NO_RATE, Rate
from magistrate.report.cascade import CascadeReport
from magistrate.report.cascade_promise import Promised
from magistrate.report.cascade_table import budget_words, cost_words, heading_words, promise_words
from magistrate.report.html.blocks import (
    Band,
    Column,
    Figure,
    Section,
    Table,
    Trend,
    Trends,
    rate_words,
    share,
)
from magistrate.report.html.contents import Tile
from magistrate.report.html.document import Document, now, render_document
from magistrate.report.html.texts import seen
from magistrate.report.text import counted


def write_page(found: CascadeReport, path: Path) -> None:
    """Write the page.

    Raises:
        InputError: The file cannot be written.
    """
    from magistrate.formats.writers.base import new_file

    with new_file(str(path)) as file:
        file.write(render_document(cascade_document(found)).encode("utf-8"))


def cascade_document(found: CascadeReport) -> Document:
    """Return what the page says."""
    names = " → ".join(seen(judge.judge) for judge in found.judges)
    sections = [_curve_section(found), _judges_section(found)]
    if any(point.cost for point in found.replay.curve):
        sections.insert(1, _cost_section(found))
    if found.sources:
        sections.append(_sources_section(found))
    if found.promised is not None:
        sections.append(_promise_section(found.promised))
    return Document(
        title=f"Cascade: {names}",
        sections=tuple(sections),
        tiles=tuple(_tiles(found)),
        sentences=tuple(_sentences(found)),
        provenance=tuple(_provenance(found)),
        made=now(),
    )


def _tiles(found: CascadeReport) -> Iterator[Tile]:
    for judge, right in zip(found.judges, found.replay.alone, strict=True):
        yield Tile(f"{seen(judge.judge)} alone", share(right.value), _bounds(right))
    for point in found.replay.points:
        right = point.accuracy
        yield Tile(f"cascade, budget {budget_words(point)}", share(right.value), _bounds(right))


def _bounds(rate: Rate) -> str:
    if rate.low is None or rate.high is None:
        return ""
    return f"[{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def _sentences(found: CascadeReport) -> Iterator[str]:
    truth = "people say" if found.truth == "people" else "the last judge says"
    yield f"{seen(heading_words(found))}. Right is what {truth}."
    first, last = seen(found.judges[0].judge), seen(found.judges[-1].judge)
    for point in found.replay.points:
        if point.gap_closed.value is not None:
            asked = share(point.asked[-1])
            yield (
                f"With {asked} of the pairs asked of {last} {share(point.gap_closed.value)} "
                f"{_bounds(point.gap_closed)} of the gap between {first} and {last} is closed; "
                f"passing on as many by chance closes {asked}."
            )
    if found.promised is not None:
        yield promise_words(found.promised)


def _curve_section(found: CascadeReport) -> Section:
    last = seen(found.judges[-1].judge)
    points = found.replay.curve
    plot = _trends(
        found,
        f"share of pairs asked of {last}",
        [point.asked[-1] for point in points],
        [(step / 100, f"{step} %") for step in range(0, 101, 20)],
    )
    figure = Figure(
        "Right, by how many pairs are passed on",
        plot,
        f"The band is the 95 % interval of the cascade. {_recommended_words(found)}",
        _curve_table(found),
    )
    return Section(
        "curve",
        "The curve",
        f"A pair is settled by the first judge that is sure enough; {last} decides the rest. "
        f"Random passes on as many pairs by chance; the oracle knows where {last} is right and "
        f"{seen(found.judges[0].judge)} is not. What lies between random and cascade is what the "
        f"confidence is worth.",
        (figure,),
    )


def _cost_section(found: CascadeReport) -> Section:
    points = found.replay.curve
    most = max(point.cost for point in points)
    ticks = [(step / 4, cost_words(most * step / 4)) for step in range(5)]
    plot = _trends(found, "cost of a pair", [point.cost / most for point in points], ticks)
    figure = Figure(
        "Right, by what a pair costs",
        plot,
        f"From {cost_words(points[0].cost)} to {cost_words(points[-1].cost)} a pair.",
        Table(
            "cost",
            "Share right by cost",
            (Column("budget"), Column("cost of a pair"), Column("right")),
            tuple((budget_words(p), cost_words(p.cost), p.accuracy) for p in points),
        ),
    )
    return Section("cost", "What it costs", "All judges that a pair is asked of.", (figure,))


def _trends(
    found: CascadeReport, axis: str, places: list[float], ticks: list[tuple[float, str]]
) -> Trends:
    points = found.replay.curve
    lines = (
        Trend("oracle", "rule", _line(places, [point.oracle for point in points]), dashed=True),
        Trend("random", "people", _line(places, [point.random for point in points]), dashed=True),
        Trend(
            "cascade",
            "judge",
            _line(places, [point.accuracy.value or 0.0 for point in points]),
            tips=tuple(f"{budget_words(p)}: {rate_words(p.accuracy)}" for p in points),
            band=tuple(
                Band(place, point.accuracy.low, point.accuracy.high)
                for place, point in zip(places, points, strict=True)
                if point.accuracy.low is not None and point.accuracy.high is not None
            ),
        ),
    )
    values = [y for line in lines for _, y in line.points]
    values += [edge for band in lines[-1].band for edge in (band.low, band.high)]
    return Trends(axis, "share right", lines, tuple(ticks), low=min(values), high=max(values))


def _line(places: list[float], values: list[float]) -> tuple[tuple[float, float], ...]:
    return tuple(zip(places, values, strict=True))


def _curve_table(found: CascadeReport) -> Table:
    columns = (
        Column("budget"),
        Column("asked of the last"),
        Column("right"),
        Column("random"),
        Column("oracle"),
        Column("gap closed"),
        Column("like the last judge"),
        Column("threshold", "number"),
        Column("cost of a pair"),
    )
    points = (*found.replay.points, *found.replay.curve)
    rows = tuple(_cells(budget_words(point), point) for point in points)
    goals = tuple(_cells(one.goal, one.point) for one in found.replay.recommended)
    return Table("curve", "What the cascade does at each budget", columns, rows + goals)


def _cells(name: str, point: CurvePoint) -> tuple[str | float | Rate | None, ...]:
    return (
        name,
        point.asked[-1],
        point.accuracy,
        point.random,
        point.oracle,
        point.gap_closed,
        point.like_last,
        point.threshold,
        cost_words(point.cost),
    )


def _recommended_words(found: CascadeReport) -> str:
    told = [
        f"{one.goal}: {share(one.point.asked[-1])} asked, {rate_words(one.point.accuracy)}"
        for one in found.replay.recommended
    ]
    words = "; ".join(told)
    return (
        f"Least budgets, chosen by these labels and so a little too good: {words}." if told else ""
    )


def _judges_section(found: CascadeReport) -> Section:
    rows = [
        (
            seen(judge.judge),
            right,
            seen(judge.confidence),
            judge.decisions,
            cost_words(cost),
            seen(judge.source),
        )
        for judge, right, cost in zip(
            found.judges, found.replay.alone, found.replay.costs, strict=True
        )
    ]
    if found.replay.surest_cheap.value is not None:
        rows.append(("surest of all but the last", found.replay.surest_cheap, "", 0, "", ""))
    columns = (
        Column("judge"),
        Column("right alone"),
        Column("confidence"),
        Column("decisions"),
        Column("cost of a pair"),
        Column("from"),
    )
    table = Table("judges", "Judges, the cheapest first", columns, tuple(rows))
    return Section("judges", "The judges", "Each alone.", (Figure("Judges", None, "", table),))


def _sources_section(found: CascadeReport) -> Section:
    rows = tuple((seen(row.source), row.accuracy, row.gap_closed) for row in found.sources)
    columns = (Column("confidence"), Column("right"), Column("gap closed"))
    budget = f"{100 * found.sources[0].budget:g} %"
    table = Table("confidences", f"At a budget of {budget}", columns, rows)
    return Section(
        "confidences",
        "Which confidence to go by",
        f"The cascade at a budget of {budget}, by each confidence of the first judge. The best of "
        f"several looks better than it is; the last row chooses it on other questions.",
        (Figure("Confidences", None, "", table),),
    )


def _promise_section(found: Promised) -> Section:
    made = found.guarantee
    rows = tuple(
        (
            seen(one.judge),
            one.threshold,
            one.n,
            one.kept,
            one.wrong,
            one.bound,
        )
        for one in made.judges
    )
    columns = (
        Column("judge"),
        Column("keeps from", "number"),
        Column("tested on"),
        Column("kept"),
        Column("wrong"),
        Column("at most wrong"),
    )
    kept = found.kept
    said = (
        f"Calibrated on {counted(made.n, 'pair')} on {counted(found.questions, 'question')}. "
        f"Assumption: {made.assumption}. Expected coverage: {share(made.coverage)}."
    )
    if found.shared:
        said += (
            f" Not so here: {counted(found.shared, 'pair')} to be judged on questions of "
            f"calibration pairs, so this may not hold on new questions."
        )
    if kept is not None and not found.refusal:
        said += f" Of the pairs to judge {rate_words(kept.coverage)} are decided."
        if kept.agreement != NO_RATE:
            said += f" Of these {rate_words(kept.agreement)} agree with people."
    table = Table("promise", "Thresholds", columns, rows)
    return Section(
        "promise",
        "What is promised",
        promise_words(found),
        (Figure("Thresholds", None, said, table),),
    )


def _provenance(found: CascadeReport) -> Iterator[str]:
    yield "Replayed over stored decisions; nothing was asked of any judge."
    for judge in found.judges:
        yield f"{seen(judge.judge)}: {seen(judge.source)} ({judge.format})"
    yield "Intervals are at 95 %, bootstrapped over questions."
    for notice in found.notices:
        yield seen(notice.message)
