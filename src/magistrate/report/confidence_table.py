"""Sources of confidence compared, and a calibration, on the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from magistrate.metrics.intervals import Rate
from magistrate.metrics.reliability import BINNING
from magistrate.report.calibration import CalibrationResult, Measured
from magistrate.report.confidence import ConfidenceReport, SourceRow
from magistrate.report.table import NOTHING, facts_table, interval, laid_table, percent, rate_text
from magistrate.report.text import counted, harmless
from magistrate.report.wrap import Wrapped


def confidence_table(found: ConfidenceReport, *, show_all: bool = False) -> RenderableType:
    """Return the sources, a row each, the best order of decisions first.

    Args:
        found: The comparison.
        show_all: Also list what the run tells nothing of.
    """
    rows = sorted(found.rows, key=lambda row: (row.selective.aurc.value or 0.0, row.source))
    heading = Text.assemble(
        (harmless(found.judge), "bold"),
        f": {rate_text(found.accuracy)} of {counted(found.n, 'labelled decision')} are right in "
        f"{harmless(found.source)}",
    )
    parts: list[RenderableType] = [
        Wrapped(heading),
        Text(""),
        Wrapped(
            "Which decisions are right: AURC (mean share wrong of the surest; lower is better), "
            "AUROC, share right of the surer half and what it is above a random half"
        ),
        laid_table(
            ("source", "n", "AURC", "95 %", "AUROC", "95 %", "top half", "gain", "95 %"),
            (_order_cells(row) for row in rows),
        ),
        Text(""),
        Wrapped("Share right in five groups of equal size, the surest first"),
        laid_table(
            ("source", "1", "2", "3", "4", "5"),
            ((row.source, *(percent(one.value) for one in row.selective.buckets)) for row in rows),
        ),
        Text(""),
        Wrapped(
            f"As a probability: ECE ({BINNING}; in brackets what a calibrated judge stays below in "
            f"95 of 100 cases) and Brier score, as told and calibrated on other questions"
        ),
        laid_table(
            ("source", "ECE told", "Brier told", "ECE calibrated", "Brier calibrated", "95 %"),
            (_probability_cells(row) for row in rows),
        ),
    ]
    if found.uncalibrated:
        parts.append(Wrapped(f"Not calibrated: {found.uncalibrated}."))
    if found.learned_from:
        parts.append(Wrapped(f"learned from: {', '.join(found.learned_from)}"))
    if show_all and found.absent:
        parts += [
            Text(""),
            Wrapped("This run tells nothing of"),
            facts_table(found.absent.items()),
            Text(""),
            facts_table((row.source, row.description) for row in found.rows),
        ]
    return Group(*parts)


def calibration_table(found: CalibrationResult) -> RenderableType:
    """Return a calibration: what it was fitted on, what it does, and what becomes of confidence."""
    made = found.calibration
    rows = (
        ("as told", *_measured_cells(found.before)),
        ("calibrated, on other questions", *_measured_cells(found.after)),
    )
    return Group(
        facts_table(_calibration_facts(found)),
        Text(""),
        laid_table(("", "ECE", "Brier", "95 %", "AURC", "95 %", "AUROC", "95 %"), rows),
        Wrapped(
            f"ECE: {BINNING}; in brackets what a calibrated judge with these confidences stays "
            f"below in 95 of 100 cases."
        ),
        Text(""),
        Wrapped(f"What {made.source} becomes"),
        laid_table(
            (made.source, *found.becomes),
            (("calibrated", *(f"{value:.3f}" for value in found.becomes.values())),),
        ),
    )


def _calibration_facts(found: CalibrationResult) -> Iterator[tuple[str, str]]:
    made = found.calibration
    yield "judge", harmless(made.judge)
    yield "confidence", made.source
    how: str = made.method
    if made.method == "temperature":
        how += f" {1 / made.slope:.3f}" if made.slope else " without bound: it tells nothing"
    elif made.method == "platt":
        how += f" (slope {made.slope:.3f}, intercept {made.intercept:.3f})"
    else:
        how += f" ({len(made.knots)} knots)"
    yield "method", how
    size = f"{counted(made.n, 'labelled decision')} on {counted(made.questions, 'question')}"
    yield "fitted on", f"{size}, {made.right:,} right; a tie is right where people say tie"
    out = [
        f"{n:,} {why}"
        for n, why in (
            (found.no_majority, "without a majority"),
            (found.not_ok, "not ok"),
            (found.missing, f"without {made.source}"),
        )
        if n
    ]
    if out:
        yield "left out", ", ".join(out)


def _order_cells(row: SourceRow) -> tuple[str, ...]:
    found = row.selective
    gain = found.top_half_gain
    return (
        row.source,
        f"{found.n:,}",
        *_number(found.aurc),
        *_number(found.auroc),
        percent(found.top_half.value),
        NOTHING if gain.value is None else f"{100 * gain.value:+.1f}",
        interval(gain),
    )


def _probability_cells(row: SourceRow) -> tuple[str, ...]:
    raw, made = row.raw, row.calibrated
    return (
        row.source,
        f"{raw.ece:.3f} ({raw.chance:.3f})" if raw else NOTHING,
        _plain(raw.brier) if raw else NOTHING,
        f"{made.ece:.3f} ({made.chance:.3f})" if made else NOTHING,
        _plain(made.brier) if made else NOTHING,
        interval(made.brier, scale=1.0, decimals=3) if made else "",
    )


def _measured_cells(found: Measured) -> tuple[str, ...]:
    error = found.error
    return (
        f"{error.ece:.3f} ({error.chance:.3f})" if error else NOTHING,
        *(_number(error.brier) if error else (NOTHING, "")),
        *_number(found.selective.aurc),
        *_number(found.selective.auroc),
    )


def _number(rate: Rate) -> tuple[str, str]:
    if rate.value is None:
        return NOTHING, ""
    return f"{rate.value:.3f}", interval(rate, scale=1.0, decimals=3)


def _plain(rate: Rate) -> str:
    return NOTHING if rate.value is None else f"{rate.value:.3f}"
