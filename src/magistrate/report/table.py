"""A run's summary on the terminal.

All that came from data (model names, paths, reasons) is shown as plain text: it cannot colour,
move the cursor or be taken for markup.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from magistrate.metrics.intervals import Rate
from magistrate.report.layout import CLOSE_GAP, LaidColumn, Layout, Layouts
from magistrate.report.text import counted, harmless, shortened, three_digits
from magistrate.report.wrap import Wrapped

if TYPE_CHECKING:
    from magistrate.metrics.agreement import Compared
    from magistrate.metrics.consistency import Consistency
    from magistrate.metrics.wins import ModelResult
    from magistrate.report.summary import RunSummary

NOTHING = "–"
"""Shown where there is no number."""

_LONGEST_REASON = 200
_LONGEST_NAME = 32


def summary_table(summary: RunSummary) -> RenderableType:
    """Return the result of a run: models, then trust and cost, then agreement."""
    parts: list[RenderableType] = [_heading(summary)]
    if summary.models:
        parts.append(_models(summary))
    parts.append(facts_table(_fact_rows(summary)))
    if summary.agreement is not None:
        parts.append(_agreement(summary))
    spaced = [part for one in parts for part in (Text(""), one)]
    return Group(*spaced[1:])


def plain_text(renderable: RenderableType, width: int) -> str:
    """Render without colour or control sequences, ``width`` columns wide at most."""
    out = io.StringIO()
    console = Console(
        file=out, width=width, color_system=None, force_terminal=False, legacy_windows=False
    )
    console.print(renderable)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


def percent(share: float | None) -> str:
    """Return a share as a percentage with one decimal."""
    return NOTHING if share is None else f"{100 * share:.1f} %"


def interval(rate: Rate, *, scale: float = 100.0, decimals: int = 1) -> str:
    """Return the bounds of a rate in brackets, nothing where it has none."""
    if rate.low is None or rate.high is None:
        return ""
    return f"[{scale * rate.low:.{decimals}f}, {scale * rate.high:.{decimals}f}]"


def rate_text(rate: Rate) -> str:
    """Return a rate with its interval."""
    return f"{percent(rate.value)} {interval(rate)}".rstrip()


def _heading(summary: RunSummary) -> Wrapped:
    names = ("standard input" if name == "-" else harmless(name) for name in summary.inputs)
    files = ", ".join(names) or "Python"
    return Wrapped(
        Text.assemble(
            (harmless(summary.judge), "bold"),
            f" judged {summary.decisions['ok']:,} of {counted(summary.samples, 'sample')} from "
            f"{files}",
        )
    )


def _models(summary: RunSummary) -> Layouts:
    compared = any(model.win_rate.n for model in summary.models)
    # Scores of pairs are a means to the verdict; alone they are the result.
    headers = (
        ("wins", "ties", "losses", "win rate", "95 % interval")
        if compared
        else ("answers", "mean score", "95 % interval")
    )
    return laid_table(
        ("model", *headers),
        (
            (harmless(model.model), *_model_cells(model, compared=compared))
            for model in summary.models
        ),
    )


def _model_cells(model: ModelResult, *, compared: bool) -> list[str]:
    if compared:
        counts = [f"{count:,}" for count in (model.wins, model.ties, model.losses)]
        return [*counts, percent(model.win_rate.value), interval(model.win_rate)]
    score = model.mean_score
    if score is None or score.value is None:
        return [NOTHING] * 3
    return [f"{score.n:,}", f"{score.value:.2f}", interval(score, scale=1.0, decimals=2)]


def laid_table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], words: Collection[str] = ()
) -> Layouts:
    """Return a table that never breaks a word or a number, whatever the width.

    Where it is too wide headers take several lines, then columns move together, and at last every
    row becomes a few lines of text, so that no number is lost.

    Args:
        headers: Of all columns. One that begins with ``95 %`` stands over the intervals of the
            column before it.
        rows: A name, harmless already, and its cells; as long as the headers.
        words: Headers of the columns besides the first that hold words, not numbers.
    """
    kept = [tuple(row) for row in rows]
    cells = [tuple(row[place] for row in kept) for place in range(len(headers))]

    def columns(stacked: bool) -> tuple[LaidColumn, ...]:
        return tuple(
            LaidColumn(header, own, breaks=True)
            if place == 0 or header in words
            else LaidColumn(_stacked(header, own) if stacked else header, own, right=True)
            for place, (header, own) in enumerate(zip(headers, cells, strict=True))
        )

    layouts = (Layout(columns(False)), Layout(columns(True)), Layout(columns(True), CLOSE_GAP))
    lines: list[RenderableType] = []
    for name, *others in kept:
        said = Wrapped(_sentence(headers[1:], others))
        lines += [Wrapped(name), Padding(said, (0, 0, 0, 2))]
    return Layouts(layouts, Group(*lines))


def _stacked(header: str, cells: Iterable[str]) -> str:
    """Return a header on as many lines as make it no wider than its cells or its longest word."""
    width = max(map(cell_len, [*cells, *header.split()]), default=1)
    return "\n".join(textwrap.wrap(header, max(1, width), break_on_hyphens=False))


def _sentence(headers: Iterable[str], cells: Iterable[str]) -> str:
    """Return ``wins 3, win rate 60.0 % [23.1, 88.2]``."""
    said: list[str] = []
    for header, cell in zip(headers, cells, strict=True):
        if cell and said and header.startswith("95 %"):
            said[-1] += f" {cell}"
        elif cell:
            said.append(f"{header} {cell}".strip())
    return ", ".join(said)


def facts_table(rows: Iterable[tuple[str, str]]) -> Table:
    """Return names and values in two columns."""
    table = Table.grid(padding=(0, 2))
    # A name from data may be long; it must leave room for what is said of it.
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=_LONGEST_NAME, style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Wrapped(value))
    return table


def _fact_rows(summary: RunSummary) -> Iterator[tuple[str, str]]:
    if summary.repeated:
        have = "has" if summary.repeated == 1 else "have"
        yield (
            "readings",
            (
                f"{summary.readings:,}: equal texts are read once, and "
                f"{counted(summary.repeated, 'sample')} {have} the text of an earlier one"
            ),
        )
    yield from _consistency_rows(summary.consistency)
    if summary.flips is not None:
        yield "flips", f"{rate_text(summary.flips)} of {summary.flips.n:,} readings, when repeated"
    if summary.pending:
        yield "not judged yet", counted(summary.pending, "sample")
    decided = summary.samples - summary.pending
    not_ok = decided - summary.decisions["ok"]
    yield "not ok", f"{rate_text(summary.not_ok)} ({not_ok:,} of {decided:,})"
    for failure in summary.failures:
        reason = shortened(harmless(failure.reason), _LONGEST_REASON)
        yield "", f"{counted(failure.n, 'reading')} {failure.status}: {reason}"
    yield "truncated", f"{counted(summary.truncated, 'sample')} read shortened"
    if summary.bad_rows:
        yield "bad rows", f"{counted(summary.bad_rows, 'row')} of the input could not be used"
    speed = summary.samples_per_second
    yield "speed", NOTHING if speed is None else f"{three_digits(speed)} samples/s"
    usage = summary.usage
    yield "tokens", f"{usage.prompt_tokens:,} read, {usage.completion_tokens:,} written"
    yield "cost", f"${summary.cost:,.2f}" if summary.cost >= 0.01 or not summary.cost else "< $0.01"


def _consistency_rows(consistency: Consistency) -> Iterator[tuple[str, str]]:
    if consistency.basis == "by construction":
        yield "consistency", "by construction: each answer is read alone, order cannot matter"
    elif consistency.basis == "not measured":
        yield "consistency", "not measured: no sample has ok readings in two orders"
    else:
        share = consistency.consistent
        yield "consistency", f"{rate_text(share)} same outcome in all orders (n = {share.n:,})"
        if consistency.toward_first.n:
            yield (
                "bias",
                (
                    f"{percent(consistency.toward_first.value)} toward the answer shown first, "
                    f"{percent(consistency.toward_second.value)} toward the second"
                ),
            )


def _agreement(summary: RunSummary) -> Group:
    agreement = summary.agreement
    assert agreement is not None
    caption = f"Agreement with the annotators of {counted(agreement.labelled, 'labelled pair')}"
    left_out = [
        f"{count:,} {reason}"
        for count, reason in (
            (agreement.no_majority, "without a majority"),
            (agreement.not_ok, "without an ok decision"),
        )
        if count
    ]
    if left_out:
        caption += f"; left out: {', '.join(left_out)}"
    readings: list[tuple[str, Compared]] = [("decisive pairs", agreement.decisive)]
    if agreement.confident_half is not None:
        readings.append(("more confident half", agreement.confident_half))
    readings.append(("all, tie as a class", agreement.three_class))
    table = plain_table()
    table.add_column("share right, %", overflow="fold", min_width=8)
    for name, compared in readings:
        table.add_column(f"{name}\nn = {compared.judge.n:,}", justify="right", overflow="fold")
    for key in ("judge", "longer_wins", "first_wins", "random"):
        rates = [getattr(compared, key) for _, compared in readings]
        table.add_row(key.replace("_", " "), *map(_share_cell, rates))
    return Group(Text(caption), table)


def _share_cell(rate: Rate) -> str:
    return NOTHING if rate.value is None else f"{100 * rate.value:.1f} {interval(rate)}"


def plain_table() -> Table:
    """Return an empty table in the style of all tables: a rule under the header alone."""
    from rich import box

    return Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
