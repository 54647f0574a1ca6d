"""A replayed cascade on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from magistrate.cascade.measuring import CurvePoint
from magistrate.cascade.replay import goal_of_target
from magistrate.metrics.intervals import Rate
from magistrate.report.cascade import CascadeReport
from magistrate.report.cascade_promise import Promised
from magistrate.report.table import NOTHING, facts_table, interval, laid_table, percent, rate_text
from magistrate.report.text import counted, harmless
from magistrate.report.wrap import Wrapped


def cascade_table(found: CascadeReport, *, curve: bool = False) -> RenderableType:
    """Return judges, what happens at the budgets, what is recommended and what can be promised.

    Args:
        found: The report.
        curve: Also list the whole curve.
    """
    parts: list[RenderableType] = [_heading(found), Text(""), _judges(found)]
    parts += [Text(""), *_budgets(found, curve=curve)]
    if found.sources:
        parts += [Text(""), *_sources(found)]
    if found.promised is not None:
        parts += [Text(""), *_promise(found.promised)]
    return Group(*parts)


def heading_words(found: CascadeReport) -> str:
    """Say what was replayed."""
    names = " → ".join(judge.judge for judge in found.judges)
    measured = found.replay
    left_out = f"; {measured.left_out:,} without label or decision left out"
    words = f"{names}: {counted(measured.n, 'pair')} on {counted(measured.questions, 'question')}"
    if found.decisive:
        words += " where people prefer one answer"
    return words + (left_out if measured.left_out else "")


def _heading(found: CascadeReport) -> Wrapped:
    return Wrapped(Text(harmless(heading_words(found)), style="bold"))


def _judges(found: CascadeReport) -> RenderableType:
    measured = found.replay
    rows = []
    for place, (judge, right) in enumerate(zip(found.judges, measured.alone, strict=True)):
        is_last = place == len(found.judges) - 1
        joined = ", ".join(f"{count:,} by {how}" for how, count in judge.joined.items())
        rows.append(
            (
                harmless(judge.judge),
                *_rate(right),
                "decides the rest" if is_last else harmless(judge.confidence),
                f"{judge.decisions:,}",
                joined or NOTHING,
                cost_words(measured.costs[place]),
            )
        )
    if measured.surest_cheap.value is not None:
        cells = ("", "", "", "")
        rows.append(("surest of all but the last", *_rate(measured.surest_cheap), *cells))
    return laid_table(
        ("judge", "right alone", "95 %", "confidence", "decisions", "joined", "cost a pair"),
        rows,
        words=("confidence", "joined"),
    )


def _budgets(found: CascadeReport, *, curve: bool) -> Iterator[RenderableType]:
    measured = found.replay
    last = found.judges[-1].judge
    yield Wrapped(
        harmless(
            f"At a budget, as the share of pairs that {last} is asked: share right, beside passing "
            f"on as many by chance (random) or where it helps (oracle), and the part of the gap "
            f"between {found.judges[0].judge} and {last} that is closed"
        )
    )
    yield _points(measured.points, found)
    cheap, dear = measured.alone[0].value, measured.alone[-1].value
    if cheap is not None and dear is not None and dear <= cheap:
        yield Wrapped(
            harmless(
                f"No gap to close: {last} alone is not better than {found.judges[0].judge} on "
                f"these pairs, so asking it more often need not help."
            )
        )
    if curve:
        yield Text("")
        yield Wrapped("The curve")
        yield _points(measured.curve, found)
    yield Text("")
    yield Wrapped("Least budgets for a goal, chosen by these labels and so a little too good")
    yield laid_table(
        ("goal", *_POINT_HEADERS),
        ((one.goal, *_point_cells(one.point)) for one in measured.recommended),
    )
    if found.target is not None and not any(
        one.goal == goal_of_target(found.target) for one in measured.recommended
    ):
        yield Wrapped(f"No budget reaches {goal_of_target(found.target)}.")


_POINT_HEADERS = (
    "asked", "right", "95 %", "random", "oracle", "gap closed", "95 %", "threshold", "cost a pair",
)  # fmt: skip


def _points(points: Iterable[CurvePoint], found: CascadeReport) -> RenderableType:
    middle = [judge.judge for judge in found.judges[1:-1]]
    headers = ("budget", *(f"asked {harmless(name)}" for name in middle), *_POINT_HEADERS)
    rows = (
        (
            budget_words(point),
            *(percent(share) for share in point.asked[1:-1]),
            *_point_cells(point),
        )
        for point in points
    )
    return laid_table(headers, rows)


def budget_words(point: CurvePoint) -> str:
    """Return a budget as it was given."""
    if point.max_cost is not None:
        return f"${point.max_cost:g}"
    return f"{100 * point.budget:g} %"


def _point_cells(point: CurvePoint) -> tuple[str, ...]:
    return (
        percent(point.asked[-1]),
        *_rate(point.accuracy),
        percent(point.random),
        percent(point.oracle),
        *_rate(point.gap_closed),
        NOTHING if point.threshold is None else f"{point.threshold:.4g}",
        cost_words(point.cost),
    )


def _sources(found: CascadeReport) -> Iterator[RenderableType]:
    first = found.sources[0]
    yield Wrapped(
        harmless(
            f"At a budget of {100 * first.budget:g} %, by which confidence of "
            f"{found.judges[0].judge} ('as given' is {found.judges[0].confidence})"
        )
    )
    yield laid_table(
        ("confidence", "right", "95 %", "gap closed", "95 %"),
        ((row.source, *_rate(row.accuracy), *_rate(row.gap_closed)) for row in found.sources),
    )


def promise_words(found: Promised) -> str:
    """Say what is promised, or why nothing is."""
    made = found.guarantee
    if found.refusal:
        return f"{found.refusal}."
    return (
        f"Of the decisions that are kept at least {1 - made.promise.alpha:.1%} agree with people, "
        f"with a probability of {1 - made.promise.delta:.0%} over the draw of the calibration "
        f"pairs. The rest is left open."
    )


def _promise(found: Promised) -> Iterator[RenderableType]:
    made = found.guarantee
    yield Wrapped(Text(harmless(promise_words(found)), style="bold"))
    yield facts_table(_promise_facts(found))
    if not found.refusal:
        yield laid_table(
            ("judge", "keeps from", "tested on", "kept", "wrong", "at most wrong"),
            (
                (
                    harmless(one.judge),
                    NOTHING if one.threshold is None else f"{one.threshold:.4g}",
                    f"{one.n:,}",
                    f"{one.kept:,}",
                    f"{one.wrong:,}",
                    percent(one.bound),
                )
                for one in made.judges
            ),
        )


def _promise_facts(found: Promised) -> Iterator[tuple[str, str]]:
    made = found.guarantee
    yield (
        "calibrated on",
        (
            f"{counted(made.n, 'pair')} on {counted(found.questions, 'question')}: "
            f"{harmless(found.calibrated_on)}"
        ),
    )
    if found.left_out:
        words = f"{counted(found.left_out, 'calibration pair')}, since they are to be judged"
        yield "left out", words
    yield "assumption", made.assumption
    if found.shared:
        words = f"{counted(found.shared, 'pair')} to be judged on questions of calibration pairs"
        yield "not so here", f"{words}: this may not hold on new questions"
    if found.questions < made.n:
        yield "not so here", "calibration pairs share questions: see --one-per-question"
    if found.refusal:
        return
    yield "expected coverage", f"{percent(made.coverage)} of pairs are decided"
    kept = found.kept
    if kept is None:
        return
    yield "of the pairs to judge", f"{rate_text(kept.coverage)} of {kept.n:,} are decided"
    if kept.agreement.value is not None:
        yield (
            "agreement of these",
            f"{rate_text(kept.agreement)} of {kept.agreement.n:,} that have a label",
        )
    for one, decided, asked in zip(made.judges, kept.by_judge, kept.asked, strict=True):
        yield harmless(one.judge), f"asked {percent(asked)}, decides {percent(decided)}"
    yield "cost a pair", cost_words(kept.cost)


def cost_words(dollars: float | None) -> str:
    """Return US dollars with as many digits as a small price needs."""
    if dollars is None:
        return NOTHING
    if dollars == 0:
        return "$0"
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.3g}"


def _rate(rate: Rate) -> tuple[str, str]:
    return percent(rate.value), interval(rate)
