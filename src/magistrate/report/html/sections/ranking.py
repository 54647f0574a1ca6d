"""Which models are better, by this judge: the ranking, and who beats whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from magistrate.metrics.columns import UNNAMED
from magistrate.metrics.intervals import Rate, mean_of_points, mean_of_scores, proportion
from magistrate.report.html.battles import Battles, battles_of
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
    rate_words,
)

if TYPE_CHECKING:
    from magistrate.report.html.sources import Source
    from magistrate.report.judged import Judged

_DRAWN = 40
_IN_MATRIX = 24


def ranking(sources: Sequence[Source]) -> Section:
    """Return the section of the ranking."""
    groups, rows, said, absent = [], [], [], []
    several = len(sources) > 1
    for source in sources:
        found = _win_rates(battles_of(source.judged))
        if not found:
            reason = _why_none(source.judged)
            absent.append(f"{source.name}: {reason}" if several else _capital(reason))
            continue
        bars = tuple(Bar(name, rate) for name, rate, *_ in found[:_DRAWN])
        groups.append(Group(source.name if several else "", bars))
        rows += [(source.name, place, *line) for place, line in enumerate(found, 1)]
        said.append(f"{source.name}: best {found[0][0]}, {rate_words(found[0][1])}")
    figures: tuple[Figure, ...] = ()
    if groups:
        title = "Win rate of each model"
        columns = map(Column, ("run", "place", "model", "win rate", "wins", "ties", "losses"))
        plot = Intervals("win rate; a tie counts half", tuple(groups), marks=((0.5, "half"),))
        table = Table("ranking", title, tuple(columns), tuple(rows))
        figures = (Figure(title, plot, ". ".join(said) + ".", table),)
    return Section(
        "ranking",
        "Ranking of the models",
        "Wins and half the ties, of all comparisons of a model by this judge. Models whose "
        "intervals overlap widely are not told apart, and models that met different opponents are "
        "compared through them.",
        figures,
        absent=tuple(absent),
    )


def wins(sources: Sequence[Source]) -> Section:
    """Return the section of the pairwise win matrix."""
    figures, absent = [], []
    several = len(sources) > 1
    for run, source in enumerate(sources):
        figure, reason = _matrix(source, run, single=not several)
        if figure is not None:
            figures.append(figure)
        else:
            absent.append(f"{source.name}: {reason}" if several else _capital(reason))
    return Section(
        "wins",
        "Who beats whom",
        "Share of comparisons that the model of the row wins against the model of the column; a "
        "tie counts half. Blue is above one half, orange below.",
        tuple(figures),
        absent=tuple(absent),
    )


def _win_rates(battles: Battles) -> list[tuple[str, Rate, int, int, int]]:
    """Return name, win rate, wins, ties and losses of each model, the best first."""
    import numpy as np

    found = []
    for code, name in enumerate(battles.models):
        mine = np.concatenate(
            (battles.outcome[battles.first == code], -battles.outcome[battles.second == code])
        )
        if not len(mine):
            continue
        clusters = np.concatenate(
            (battles.question[battles.first == code], battles.question[battles.second == code])
        )
        rate = mean_of_points((1 + mine) / 2, clusters)
        won, tied, lost = (int((mine == outcome).sum()) for outcome in (1, 0, -1))
        found.append((name, rate, won, tied, lost))
    return sorted(found, key=lambda one: (-(one[1].value or 0.0), one[0]))


def _matrix(source: Source, run: int, *, single: bool) -> tuple[Figure | None, str]:
    import numpy as np

    battles = battles_of(source.judged)
    ranked = [name for name, *_ in _win_rates(battles)]
    if len(ranked) < 2:
        return None, _why_none(source.judged)
    codes = [battles.models.index(name) for name in ranked]
    size = len(battles.models)
    cell = battles.first * size + battles.second
    half = np.bincount(cell, weights=(1 + battles.outcome) / 2, minlength=size * size)
    counts = np.bincount(cell, minlength=size * size).reshape(size, size)
    points = half.reshape(size, size)
    won = points + (counts - points).T
    met = counts + counts.T
    rows: list[tuple[Cell, ...]] = [
        (
            ranked[i],
            ranked[j],
            proportion(float(won[codes[i], codes[j]]), int(met[codes[i], codes[j]])),
        )
        for i in range(len(ranked))
        for j in range(len(ranked))
        if i != j and met[codes[i], codes[j]]
    ]
    drawn = codes[:_IN_MATRIX]
    shares = tuple(
        tuple(float(won[a, b] / met[a, b]) if a != b and met[a, b] else None for b in drawn)
        for a in drawn
    )
    texts = tuple(
        tuple(
            (f"{100 * won[a, b] / met[a, b]:.0f} %", f"n = {met[a, b]:,}")
            if a != b and met[a, b]
            else ("", "")
            for b in drawn
        )
        for a in drawn
    )
    names = tuple(ranked[:_IN_MATRIX])
    said = f"{len(ranked):,} models, best first."
    if len(ranked) > _IN_MATRIX:
        said += f" The best {_IN_MATRIX} are drawn; the table has all pairs."
    matrix = Matrix("row beats column", names, names, shares, texts, diverging=True)
    title = "Share won" if single else source.name
    columns = (Column("model"), Column("against"), Column("share won"))
    table = Table(f"wins_{run + 1}", f"{source.name}: share won", columns, tuple(rows))
    return Figure(title, matrix, said, table, run), ""


def scores(sources: Sequence[Source]) -> Section | None:
    """Return the section of scores of single answers; None when there are none."""
    import numpy as np

    groups, rows, said, ends = [], [], [], []
    for source in sources:
        singles = source.judged.singles
        if not singles.ok.any():
            continue
        good = singles.take(singles.ok)
        ends += [float(good.score.min()), float(good.score.max())]
        bars = []
        for code, name in enumerate(good.model.names):
            mine = good.model.codes == code
            if not mine.any():
                continue
            rate = mean_of_scores(good.score[mine], good.question[mine])
            label = "all answers" if name == UNNAMED else name
            bars.append(Bar(label, rate))
            low, middle, high = (float(q) for q in np.quantile(good.score[mine], (0.25, 0.5, 0.75)))
            rows.append((source.name, label, rate, low, middle, high))
        bars.sort(key=lambda bar: -(bar.rate.value or 0.0))
        groups.append(Group(source.name if len(sources) > 1 else "", tuple(bars[:_DRAWN])))
        mean = mean_of_scores(good.score, good.question)
        said.append(f"{source.name}: mean score {rate_words(mean, 'number')}")
    if not groups:
        return None
    low, high = min(ends), max(ends)
    title = "Mean score"
    names = ("run", "model", "mean score", "lower quartile", "median", "upper quartile")
    plot = Intervals(
        "score, on the judge's own scale",
        tuple(groups),
        unit="number",
        low=low,
        high=high if high > low else low + 1,
    )
    columns = tuple(Column(name, "number") for name in names)
    return Section(
        "scores",
        "Scores of single answers",
        "Mean of the judge's scores on its own scale, with the 95 % interval over questions. "
        "Scores of different judges need not mean the same.",
        (Figure(title, plot, ". ".join(said) + ".", Table("scores", title, columns, tuple(rows))),),
    )


def _why_none(judged: Judged) -> str:
    if not len(judged.pairs) and not len(judged.ranked):
        return "single answers are not compared with each other; see the scores."
    if not judged.pairs.ok.any() and not (judged.ranked.status == 0).any():
        return "no comparison has a verdict."
    return "there are no comparisons between different models."


def _capital(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"
