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
from magistrate.report.html.texts import seen
from magistrate.report.text import counted, shortened

if TYPE_CHECKING:
    from magistrate.metrics.ranking.ranking import ModelRanking, RankedModel
    from magistrate.report.html.sources import Source

_DRAWN = 40
_IN_MATRIX = 24
_LONGEST_NAME = 40
_FEWEST = 3
"""Models from which on a strength says more than a win rate."""


def ranking(sources: Sequence[Source]) -> Section:
    """Return the section of the ranking."""
    figures = [_strengths(sources), _win_rates(sources), _mean_ranks(sources)]
    return Section(
        "ranking",
        "Ranking of the models",
        "By this judge alone: a ranking is worth no more than the judge's agreement with people. "
        "Strengths are those of the Bradley-Terry model with ties (Davidson), on Elo's scale: they "
        "allow for whom a model met, which win rates do not. The ranks beside them are all that "
        "the data allow at 95 %.",
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
        absent=absent_lines([(s.name, "" if s.ranking else _why_no_battles(s)) for s in sources]),
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
        groups.append(Group(source.name if len(sources) > 1 else "", bars, source.name))
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
        if found.binary is not None:
            correlation += (
                f"; it tells '{seen(found.binary.positive)}' apart with an area under the ROC "
                f"curve of {rate_words(found.binary.auroc, 'number')}"
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


def _strengths(sources: Sequence[Source]) -> Figure | None:
    """Return the models' strengths; None where two models at most have names."""
    groups: list[Group] = []
    rows: list[tuple[Cell, ...]] = []
    said = []
    for source in sources:
        found = source.ranking
        if found is None or len(found.models) < _FEWEST:
            continue
        groups += _groups_of_strengths(found, source.name, several=len(sources) > 1)
        rows += [
            (source.name, _ranks(one), one.model, one.strength, one.wins, one.ties, one.losses)
            for one in found.models
        ]
        said.append(_said_of_ranking(source.name, found))
    if not groups:
        return None
    low, high = _ends([bar.rate for group in groups for bar in group.bars])
    title = "Strength of each model"
    plot = Intervals(
        "strength on Elo's scale; 1000 is the mean", tuple(groups), "number", low, high
    )
    names = ("run", "ranks allowed", "model", "strength", "wins", "ties", "losses")
    columns = tuple(Column(name, "number") for name in names)
    return Figure(title, plot, " ".join(said), Table("strengths", title, columns, tuple(rows)))


def _groups_of_strengths(found: ModelRanking, run: str, *, several: bool) -> list[Group]:
    """Return a group for every set of models that battles connect."""
    groups = []
    name = run if several else ""
    for place, models in enumerate(found.components):
        bars = tuple(
            Bar(one.model, one.strength, note=_note(one))
            for one in found.models[: _DRAWN if place == 0 else None]
            if one.model in models
        )
        title = name
        if len(found.components) > 1:
            title = f"{name}{': ' if name else ''}models connected by comparisons, set {place + 1}"
        groups.append(Group(title, bars, run))
    return [group for group in groups if group.bars]


def _note(one: RankedModel) -> str:
    if one.beyond == "above":
        return f"ranks {_ranks(one)}; won all, so unbounded above"
    if one.beyond == "below":
        return f"ranks {_ranks(one)}; lost all, so unbounded below"
    return f"ranks {_ranks(one)}" if one.best_rank != one.worst_rank else f"rank {_ranks(one)}"


def _ranks(one: RankedModel) -> str:
    best, worst = one.best_rank, one.worst_rank
    return str(best) if best == worst else f"{best}–{worst}"


def _said_of_ranking(name: str, found: ModelRanking) -> str:
    text = f"{name}: {counted(found.battles, 'comparison')} of {len(found.models):,} models"
    first = [one.model for one in found.models if one.component == 0 and one.best_rank == 1]
    if len(first) == 1:
        text += f"; the data allow {first[0]} alone to be the best."
    else:
        some = ", ".join(shortened(seen(name), _LONGEST_NAME) for name in first[:6]) + (
            " and others" if len(first) > 6 else ""
        )
        text += f"; {len(first):,} of them may be the best: {some}."
    if len(found.components) > 1:
        text += " Some models are not connected by comparisons; between the sets nothing is known."
    return text


def _win_rates(sources: Sequence[Source]) -> Figure | None:
    groups: list[Group] = []
    rows: list[tuple[Cell, ...]] = []
    said = []
    for source in sources:
        found = [row for row in (source.pairs.models if source.pairs else ()) if row.win_rate.n]
        if not found:
            continue
        bars = tuple(Bar(row.model, row.win_rate) for row in found[:_DRAWN])
        groups.append(Group(source.name if len(sources) > 1 else "", bars, source.name))
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
        groups.append(Group(source.name if len(sources) > 1 else "", bars, source.name))
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
    found = source.ranking
    if found is None:
        return None
    won: dict[tuple[str, str], tuple[float, float]] = {}
    rows: list[tuple[Cell, ...]] = []
    for pair in found.pairs:
        met = pair.wins + pair.ties + pair.losses
        for one, other, wins, losses in (
            (pair.first, pair.second, pair.wins, pair.losses),
            (pair.second, pair.first, pair.losses, pair.wins),
        ):
            won[one, other] = (wins + pair.ties / 2, met)
            share_won = proportion(wins + pair.ties / 2, round(met))
            rows.append((one, other, share_won, wins, pair.ties, losses))
    names = tuple(one.model for one in found.models)
    drawn = names[:_IN_MATRIX]
    shares = tuple(tuple(_share(won.get((one, other))) for other in drawn) for one in drawn)
    texts = tuple(tuple(_texts(won.get((one, other))) for other in drawn) for one in drawn)
    said = f"{len(names):,} models, the strongest first."
    if len(names) > _IN_MATRIX:
        said += f" The first {_IN_MATRIX} are drawn; the table has all pairs."
    matrix = Matrix("row beats column", drawn, drawn, shares, texts, diverging=True)
    titles = ("model", "against", "share won", "wins", "ties", "losses")
    columns = tuple(Column(name, "percent" if "share" in name else "number") for name in titles)
    place = {name: at for at, name in enumerate(names)}
    rows.sort(key=lambda row: (place[str(row[0])], place[str(row[1])]))
    table = Table(f"wins_{run + 1}", f"{source.name}: share won", columns, tuple(rows))
    return Figure("Share won" if single else source.name, matrix, said, table, run)


def _share(won: tuple[float, float] | None) -> float | None:
    return None if won is None else won[0] / won[1]


def _texts(won: tuple[float, float] | None) -> tuple[str, str]:
    if won is None:
        return "", ""
    points, met = won
    return f"{100 * points / met:.0f}\u00a0%", f"n = {met:,.0f}"


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
