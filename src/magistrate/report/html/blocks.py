"""What a report is made of: sections with figures; a figure is a plot and its numbers.

Nothing here knows HTML: the same blocks become a page, Markdown and CSV files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.intervals import Rate
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.report.html.cards import Card

Cell = str | int | float | Rate | None
"""What stands in a table; None where there is no number."""

Unit = Literal["percent", "points", "number"]
"""How a rate or float is written: a share of 1 as a percentage, a difference of shares in
percentage points with its sign, or a number as it is."""

Tone = Literal["judge", "people", "rule", "first", "second", "plain"]
"""What a mark stands for; each has its colour and, where two meet, its shape."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    unit: Unit = "percent"
    """Of the rates and floats in it; counts and texts need none."""


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers with names; in the page, in Markdown and as a CSV file."""

    name: str
    """Name of the CSV file, such as ``agreement``; unique in a report."""
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    """Each as long as ``columns``; the first cell names the row."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One row of an interval plot."""

    label: str
    rate: Rate
    tone: Tone = "judge"
    note: str = ""
    """Said after the numbers, such as 'bounded: it won every comparison'."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows of an interval plot under one heading; without a title they stand alone."""

    title: str
    bars: tuple[Bar, ...]
    of: str = ""
    """Name of the run that they are about; empty where they are about several."""


@dataclass(frozen=True, slots=True)
class Intervals:
    """A dot with its interval per row, on one axis."""

    axis: str
    groups: tuple[Group, ...]
    unit: Unit = "percent"
    low: float = 0.0
    """Left end of the axis."""
    high: float = 1.0
    marks: tuple[tuple[float, str], ...] = ()
    """Places that mean something, such as (0.5, 'a coin')."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Counts or shares of one thing against another, darker where there is more."""

    corner: str
    """What the rows are and what the columns are."""
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shares: tuple[tuple[float | None, ...], ...]
    """In [0, 1]: how dark; None where there is nothing."""
    texts: tuple[tuple[tuple[str, str], ...], ...]
    """Per cell a large and a small text."""
    diverging: bool = False
    """Whether 1/2 is the middle: below and above it get two different colours."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of a curve."""

    x: float
    rate: Rate
    tip: str


@dataclass(frozen=True, slots=True)
class Line:
    """A series of points."""

    name: str
    tone: Tone
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """Shares over an ordered or numeric axis."""

    x_axis: str
    y_axis: str
    lines: tuple[Line, ...]
    ticks: tuple[tuple[float, str], ...]
    """Places and labels of the horizontal axis, in [0, 1] of its width."""
    diagonal: bool = False
    """Whether a line from (0, 0) to (1, 1) shows where points ought to lie."""
    level: float | None = 0.5
    """A dashed horizontal line."""
    counts: tuple[tuple[float, float, int], ...] = ()
    """Bars under the curve: from, to (in [0, 1]) and how many."""


@dataclass(frozen=True, slots=True)
class Shares:
    """One bar a row, split into parts that add up to all."""

    parts: tuple[tuple[str, Tone], ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]
    """Names of runs with a count per part."""


@dataclass(frozen=True, slots=True)
class Band:
    """An interval at a place of a line."""

    x: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Trend:
    """A line without marks, with the band of its intervals."""

    name: str
    tone: Tone
    points: tuple[tuple[float, float], ...]
    """Place in [0, 1] of the width, and share."""
    tips: tuple[str, ...] = ()
    """Said of each point, where there is something to say."""
    band: tuple[Band, ...] = ()
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Trends:
    """Shares that change steadily, on an axis that shows no more than they need."""

    x_axis: str
    y_axis: str
    lines: tuple[Trend, ...]
    ticks: tuple[tuple[float, str], ...]
    """Places and labels of the horizontal axis, in [0, 1] of its width."""
    low: float
    """Least share to show; the axis begins at a round number below."""
    high: float


Plot = Intervals | Matrix | Curve | Shares | Trends


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot, what it says in words, and its numbers."""

    title: str
    plot: Plot | None
    """None where the table alone is shown."""
    said: str
    """What the plot shows, in a sentence or two: its text alternative and its caption."""
    table: Table
    run: int | None = None
    """Place of the run that it is about; None for figures about all runs."""


@dataclass(frozen=True, slots=True)
class Section:
    """One question about a judge, with what answers it."""

    id: str
    """Anchor in the page; stable."""
    title: str
    explains: str
    """What is measured and how to read it."""
    figures: tuple[Figure, ...] = ()
    cards: tuple[Card, ...] = ()
    absent: tuple[str, ...] = ()
    """Why there is nothing to show, for the whole section or for single runs."""


def absent_lines(reasons: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return why there is nothing to show, once where it is the same of all runs.

    Args:
        reasons: Name of each run with the reason, empty where there is something to show.
    """
    given = [(name, reason) for name, reason in reasons if reason]
    if len(given) == len(reasons) and len({reason for _, reason in given}) == 1:
        reason = given[0][1]
        return (f"{reason[0].upper()}{reason[1:]}",)
    return tuple(f"{name}: {reason}" for name, reason in given)


def share(value: float | None) -> str:
    """Return a share as a percentage with one decimal."""
    return "–" if value is None else f"{100 * value:.1f}\u00a0%"


def number(value: float) -> str:
    """Return a number: three digits, whole where it is large."""
    if value != value:  # NaN has no digits
        return "–"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return text.replace("-", "−")


def rate_words(rate: Rate, unit: Unit = "percent") -> str:
    """Return a rate with its interval and its n, as in ``71.2 % [66.0, 75.9], n = 299``."""
    bounds = bounds_words(rate, unit)
    return f"{value_words(rate, unit)}{' ' + bounds if bounds else ''}, n = {rate.n:,}"


def rate_of(rate: Rate, noun: str) -> str:
    """Return a rate and what it is of, as in ``71.2 % [66.0, 75.9] of 299 pairs``."""
    bounds = bounds_words(rate)
    return f"{value_words(rate)}{' ' + bounds if bounds else ''} of {counted(rate.n, noun)}"


def signed(value: float, decimals: int = 1) -> str:
    """Return a difference of shares in points, with its sign.

    >>> signed(-0.0024), signed(0.1)
    ('−0.2', '+10.0')
    """
    if round(100 * value, decimals) == 0:
        return f"{0:.{decimals}f}"
    return f"{100 * value:+.{decimals}f}".replace("-", "−")


def value_words(rate: Rate, unit: Unit = "percent") -> str:
    """Return the value of a rate alone."""
    if rate.value is None:
        return "–"
    return words_of(rate.value, unit)


def words_of(value: float, unit: Unit) -> str:
    """Return a number in its unit."""
    if unit == "percent":
        return share(value)
    return signed(value) if unit == "points" else number(value)


def bounds_words(rate: Rate, unit: Unit = "percent") -> str:
    """Return the interval of a rate in brackets, nothing where it has none."""
    if rate.low is None and rate.high is None:
        return ""
    if rate.low is None or rate.high is None:
        ends = ("…" if end is None else words_of(end, unit) for end in (rate.low, rate.high))
        return f"[{', '.join(ends)}]"
    if unit == "percent":
        return f"[{100 * rate.low:.1f}, {100 * rate.high:.1f}]"
    if unit == "points":
        return f"[{signed(rate.low)}, {signed(rate.high)}]"
    return f"[{number(rate.low)}, {number(rate.high)}]"
