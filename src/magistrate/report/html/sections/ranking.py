"""Which models are better, by this judge: the ranking, and who beats whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from magistrate.metrics.breakdown import UNNAMED_PART
from magistrate.metrics.intervals import Rate, proportion
from magistrate.report.html.blocks import (
    Bar,
    Cell,
    Column,
    Figure,
    Group,
    Intervals,
    Matrix,
    Section,
    Table,
    absent_lines,
    number,
    rate_words,
)

if TYPE_CHECKING:
    from magistrate.report.html.sources import Source

_DRAWN = 40
_IN_MATRIX = 24


def ranking(sources: Sequence[Source]) -> Section:
    """Return the section of the ranking."""
    figures = [_win_rates(sources), _mean_ranks(sources)]
    return Section(
        "ranking",
        "Ranking of the models",
        "By this judge alone: a ranking is worth no more than the judge's agreement with people. "
        "Models whose intervals overlap widely are not told apart.",
        tuple(figure for figure in figures if figure is not None),
        absent=absent_lines(
            [(source.name, "" if _is_ranked(source) else _why_none(source)) for source in sources]
        ),
    )


def wins(sources: Sequence[Source]) -> Section:
    """Return the section of the pairwise win matrix."""
    figures = [
        figure
        for run, source in enumerate(sources)
        if (figure := _matrix(source, run, single=len(sources) == 1)) is not None
    ]
    return Section(
        "wins",
        "Who beats whom",
        "Share of comparisons that the model of the row wins against the model of the column; a "
        "tie counts half, and the same two answers count once however often they were judged. "
        "Blue is above one half, orange below.",
        tuple(figures),
        absent=absent_lines(
            [(s.name, "" if len(s.battles) else _why_no_battles(s)) for s in sources]
        ),
    )


def scores(sources: Sequence[Source]) -> Section | None:
    """Return the section of scores of single answers; None when there are none."""
    groups: list[Group] = []
    rows: list[tuple[Cell, ...]] = []
    said = []
    for source in sources:
        found = source.singles
        if found is None or not found.mean_score.n:
            continue
        bars = tuple(
            Bar("all answers" if one.part == UNNAMED_PART else one.part, one.mean_score)
            for one in found.models[:_DRAWN]
        )
        groups.append(Group(source.name if len(sources) > 1 else "", bars))
        rows += [
            (source.name, bar.label, one.mean_score, one.mean_gold_score)
            for bar, one in zip(bars, found.models, strict=False)
        ]
        correlation = ""
        if found.correlations is not None and found.correlations.spearman.value is not None:
            rho = found.correlations.spearman
            correlation = (
                f"; Spearman's correlation with the scores of people {rate_words(rho, 'number')}"
            )
        said.append(
            f"{source.name}: mean score {rate_words(found.mean_score, 'number')}{correlation}"
        )
    if not groups:
        return None
    low, high = _ends([bar.rate for group in groups for bar in group.bars])
    title = "Mean score"
    plot = Intervals("score, on the judge's own scale", tuple(groups), "number", low, high)
    names = ("run", "model", "mean score", "mean score by people")
    columns = tuple(Column(name, "number") for name in names)
    return Section(
        "scores",
        "Scores of single answers",
        "Mean of the judge's scores on its own scale, with the 95 % interval over questions. "
        "Scores of different judges need not mean the same.",
        (Figure(title, plot, ". ".join(said) + ".", Table("scores", title, columns, tuple(rows))),),
    )


def _win_rates(sources: Sequence[Source]) -> Figure | None:
    groups: list[Group] = []
    rows: list[tuple[Cell, ...]] = []
    said = []
    for source in sources:
        found = [row for row in (source.pairs.models if source.pairs else ()) if row.win_rate.n]
        if not found:
            continue
        bars = tuple(Bar(row.model, row.win_rate) for row in found[:_DRAWN])
        groups.append(Group(source.name if len(sources) > 1 else "", bars))
        rows += [
            (source.name, place, row.model, row.win_rate, row.wins, row.ties, row.losses)
            for place, row in enumerate(found, 1)
        ]
        said.append(f"{source.name}: best {found[0].model}, {rate_words(found[0].win_rate)}")
    if not groups:
        return None
    title = "Win rate of each model, of its own pairs"
    columns = tuple(map(Column, ("run", "place", "model", "win rate", "wins", "ties", "losses")))
    plot = Intervals("win rate; a tie counts half", tuple(groups), marks=((0.5, "half"),))
    table = Table("ranking", title, columns, tuple(rows))
    return Figure(title, plot, ". ".join(said) + ".", table)


def _mean_ranks(sources: Sequence[Source]) -> Figure | None:
    """Return the mean rank of models in samples of three answers and more."""
    groups: list[Group] = []
    rows: list[tuple[Cell, ...]] = []
    for source in sources:
        found = [row for row in (source.ranked.models if source.ranked else ()) if row.order.n]
        if not found:
            continue
        bars = tuple(
            Bar("unnamed models" if row.model == UNNAMED_PART else row.model, row.order)
            for row in found[:_DRAWN]
        )
        groups.append(Group(source.name if len(sources) > 1 else "", bars))
        rows += [
            (source.name, place, row.model, row.order, row.samples)
            for place, row in enumerate(found, 1)
        ]
    if not groups:
        return None
    title = "Mean rank of each model, where several answers were ranked at once"
    low, high = _ends([bar.rate for group in groups for bar in group.bars])
    plot = Intervals("mean rank; 1 is best", tuple(groups), "number", min(1.0, low), high)
    best = groups[0].bars[0]
    said = f"Best: {best.label}, mean rank {number(best.rate.value or 0.0)}."
    names = ("run", "place", "model", "mean rank", "samples")
    columns = tuple(Column(name, "number") for name in names)
    return Figure(title, plot, said, Table("mean_ranks", title, columns, tuple(rows)))


def _matrix(source: Source, run: int, *, single: bool) -> Figure | None:
    import numpy as np

    battles = source.battles
    if not len(battles):
        return None
    size = len(battles.models)
    won, met = np.zeros((size, size)), np.zeros((size, size))
    points = battles.weight * (1 + battles.outcome) / 2
    for one, other, gained in (
        (battles.first, battles.second, points),
        (battles.second, battles.first, battles.weight - points),
    ):
        np.add.at(won, (one, other), gained)
        np.add.at(met, (one, other), battles.weight)
    codes = np.argsort(-won.sum(1) / np.maximum(met.sum(1), 1e-9), kind="stable").tolist()
    rows: list[tuple[Cell, ...]] = [
        (battles.models[a], battles.models[b], proportion(won[a, b], round(met[a, b])))
        for a in codes
        for b in codes
        if round(met[a, b])
    ]
    drawn = codes[:_IN_MATRIX]
    shares = tuple(
        tuple(float(won[a, b] / met[a, b]) if met[a, b] else None for b in drawn) for a in drawn
    )
    texts = tuple(
        tuple(
            (f"{100 * won[a, b] / met[a, b]:.0f}\u00a0%", f"n = {met[a, b]:,.0f}")
            if met[a, b]
            else ("", "")
            for b in drawn
        )
        for a in drawn
    )
    names = tuple(battles.models[code] for code in drawn)
    said = f"{size:,} models, the best first by share of all their comparisons."
    if size > _IN_MATRIX:
        said += f" The best {_IN_MATRIX} are drawn; the table has all pairs."
    matrix = Matrix("row beats column", names, names, shares, texts, diverging=True)
    columns = (Column("model"), Column("against"), Column("share won"))
    table = Table(f"wins_{run + 1}", f"{source.name}: share won", columns, tuple(rows))
    return Figure("Share won" if single else source.name, matrix, said, table, run)


def _ends(rates: Sequence[Rate]) -> tuple[float, float]:
    """Return ends of an axis that hold all intervals."""
    ends = [end for rate in rates for end in (rate.low, rate.value, rate.high) if end is not None]
    low, high = min(ends), max(ends)
    room = 0.08 * (high - low) or 0.5
    return low - room, high + room


def _is_ranked(source: Source) -> bool:
    pairs = source.pairs
    return bool(pairs and pairs.models) or bool(
        source.ranked and any(row.order.n for row in source.ranked.models)
    )


def _why_none(source: Source) -> str:
    judged = source.judged
    if not len(judged.pairs) and not len(judged.ranked):
        return "single answers are not compared with each other; see their scores."
    return "no comparison has a verdict."


def _why_no_battles(source: Source) -> str:
    if not _is_ranked(source):
        return _why_none(source)
    return "the file does not name two different models, so there is no one to tell apart."
