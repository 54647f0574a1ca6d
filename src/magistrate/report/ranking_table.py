"""Rankings on the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from magistrate.metrics.intervals import FEW_CLUSTERS
from magistrate.metrics.length_controlled import LengthControlled
from magistrate.metrics.ranking.estimates import StyleEffect
from magistrate.metrics.ranking.ranking import BOOTSTRAP, ModelRanking, RankedModel
from magistrate.report.json_view import rate_json
from magistrate.report.ranking import JudgeRanking, Leaderboard
from magistrate.report.table import NOTHING, facts_table, interval, percent, plain_table, rate_text
from magistrate.report.text import counted, harmless
from magistrate.report.wrap import NARROWEST, Fitting, Wrapped, slack

Json = dict[str, Any]

_NAMES = {
    "bradley-terry": "Bradley-Terry with ties (Davidson)",
    "elo": "Elo, mean of shuffled sequences",
    "win-rate": "win rate",
}
_UNKNOWN = {
    "absent": "no answer has any",
    "equal": "no two answers that met differ in it",
    "above": "open above: whoever has more of it wins so strictly that its worth has no bound",
    "below": "open below: whoever has less of it wins so strictly that its worth has no bound",
    "aside": "open: these battles do not tell what it is worth from what the rest is worth",
}
_MARK = {"above": "↑", "below": "↓", "aside": "?", None: ""}


def leaderboard_table(board: Leaderboard) -> RenderableType:
    """Return a table per judge and category."""
    parts: list[RenderableType] = []
    for one in board.rankings:
        if parts:
            parts.append(Text(""))
        parts += _ranking(one, board)
    return Group(*parts)


def _ranking(one: JudgeRanking, board: Leaderboard) -> Iterator[RenderableType]:
    yield _heading(one)
    if one.ranking is None:
        yield Text("no battles")
    else:
        several = len(one.ranking.components) > 1
        for number, models in enumerate(one.ranking.components):
            if several:
                yield Text(f"group {number + 1}: {counted(len(models), 'model')}")
            yield _models([m for m in one.ranking.models if m.component == number], one.ranking)
    if one.length_controlled:
        yield _controlled(one.length_controlled)
    yield facts_table(_facts(one, board))


def _heading(one: JudgeRanking) -> Wrapped:
    what = f" on {harmless(one.category)}" if one.category is not None else ""
    pooled = ", pooled" if one.pooled else ""
    return Wrapped(
        Text.assemble("models ranked by ", (harmless(one.judge), "bold"), f"{pooled}{what}")
    )


def _models(models: list[RankedModel], ranking: ModelRanking) -> Fitting:
    """Return a row for each model, or a few lines each where rows are too wide."""
    shares = ranking.method == "win-rate"
    headers = (
        ("win rate", "95 % interval", "wins", "ties", "losses")
        if shares
        else ("strength", "95 % interval", "wins", "ties", "losses", "win rate")
    )
    table = plain_table()
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("ranks", justify="right", no_wrap=True)
    table.add_column("model", overflow="fold", min_width=NARROWEST)
    for header in headers:
        table.add_column(header, justify="right", no_wrap=True)
    lines: list[RenderableType] = []
    for model in models:
        cells = _cells(model, shares=shares)
        name = f"{harmless(model.model)} {_MARK[model.beyond]}".rstrip()
        of_ranks = _ranks(model)
        table.add_row(str(model.rank), of_ranks, Wrapped(name), *cells)
        said = ", ".join(
            f"{head} {cell}" for head, cell in zip(headers, cells, strict=True) if cell
        )
        lines += [
            Wrapped(
                f"{model.rank}. {name}, {'rank' if '-' not in of_ranks else 'ranks'} {of_ranks}"
            ),
            Padding(said, (0, 0, 0, 2)),
        ]
    return Fitting(table, Group(*lines), slack(harmless(model.model) for model in models))


def _cells(model: RankedModel, *, shares: bool) -> list[str]:
    counts = [_count(model.wins), _count(model.ties), _count(model.losses)]
    strength = model.strength
    if shares:
        return [percent(strength.value), interval(strength), *counts]
    value = NOTHING if strength.value is None else f"{strength.value:.0f}"
    return [value, _ends(model), *counts, percent(model.win_rate)]


def _ranks(model: RankedModel) -> str:
    best, worst = model.best_rank, model.worst_rank
    return str(best) if best == worst else f"{best}-{worst}"


def _ends(model: RankedModel) -> str:
    low, high = model.strength.low, model.strength.high
    if low is None and high is None:
        return ""
    return f"[{'-∞' if low is None else f'{low:.0f}'}, {'∞' if high is None else f'{high:.0f}'}]"


def _count(weight: float) -> str:
    return f"{weight:,.0f}" if weight == round(weight) else f"{weight:,.1f}"


def _controlled(rates: tuple[LengthControlled, ...]) -> Table:
    table = plain_table()
    table.add_column("model", overflow="fold", min_width=NARROWEST)
    for header in ("n", "win rate", "length-controlled", "pull of length"):
        table.add_column(header, justify="right")
    for rate in sorted(rates, key=lambda one: -(one.controlled.value or 0)):
        table.add_row(
            Wrapped(harmless(rate.model)),
            f"{rate.n:,}",
            percent(rate.win_rate),
            rate_text(rate.controlled),
            f"{rate.length_effect:+.2f}",
        )
    return table


def _facts(one: JudgeRanking, board: Leaderboard) -> Iterator[tuple[str, str]]:
    ranking = one.ranking
    if ranking is not None:
        method = _NAMES[ranking.method]
        if board.style_controlled:
            method += ", length and markdown held constant"
        yield "method", method
        yield (
            "battles",
            f"{ranking.battles:,} on {counted(ranking.questions, 'question')}",
        )
        drawn = f"{BOOTSTRAP}, {ranking.resamples:,} resamples"
        yield "intervals", ranking.interval.replace(BOOTSTRAP, drawn)
        if ranking.method != "win-rate":
            yield "scale", f"1000 is {_zero(ranking)}; 400 points are odds of 10 to 1"
        ranks = "not ruled out at 95 %, for all models together (Holm, Shaffer)"
        if board.style_controlled:
            ranks += f"; of fewer than {FEW_CLUSTERS} questions nothing is ruled out"
        yield "ranks", ranks
        yield from _warnings(ranking)
        for effect in ranking.style or ():
            yield f"style: {effect.feature}", _worth(effect)
    yield "not ok", f"{rate_text(one.not_ok)} of {counted(one.decided, 'decision')}, left out"
    yield from _left_out(one)


def _worth(effect: StyleEffect) -> str:
    if effect.unknown is not None:
        return _UNKNOWN[effect.unknown].format(effect.feature)
    bounds = interval(effect.effect, scale=1, decimals=0)
    return f"{effect.effect.value or 0:+.0f} points {bounds}".rstrip()


def _zero(ranking: ModelRanking) -> str:
    if ranking.baseline is not None:
        return harmless(ranking.baseline)
    return "the mean of each group" if len(ranking.components) > 1 else "the mean"


def _warnings(ranking: ModelRanking) -> Iterator[tuple[str, str]]:
    if len(ranking.components) > 1:
        groups = "; ".join(
            ", ".join(harmless(name) for name in models[:5]) + (", ..." if len(models) > 5 else "")
            for models in ranking.components
        )
        yield (
            "not comparable",
            f"no chain of battles connects these groups, so there are no ranks across: {groups}",
        )
    separated = any(effect.unknown in ("above", "below") for effect in ranking.style or ())
    sides = {
        "above": "never lost nor tied against a model outside this list: how far above is open",
        "below": "never won nor tied against a model outside this list: how far below is open",
        "aside": (
            "style alone can explain their battles: how strong they would be with answers that "
            "look alike cannot be known"
            if separated
            else "met the rest with one-sided results alone: where they stand is open"
        ),
    }
    for side, what in sides.items():
        names = [harmless(model.model) for model in ranking.models if model.beyond == side]
        if names:
            yield f"beyond the scale {_MARK[side]}", f"{', '.join(names)}: {what}"
    if not ranking.converged:
        yield "fit", "did not converge; take the strengths with care"


def _left_out(one: JudgeRanking) -> Iterator[tuple[str, str]]:
    for count, name, what in (
        (one.pending, "not judged yet", "sample"),
        (one.single, "single answers", "sample"),
        (one.unnamed, "models not named", "battle"),
        (one.own, "model against itself", "battle"),
    ):
        if count:
            yield name, f"{counted(count, what)} left out"
    if one.repeated:
        yield (
            "judged repeatedly",
            f"{counted(one.repeated, 'verdict')} on answers judged before; counted once",
        )


def leaderboard_json(board: Leaderboard) -> Json:
    """Return rankings under their stable keys."""
    return {
        "method": board.method,
        "style_controlled": board.style_controlled,
        "rankings": [
            one.model_dump(mode="json", exclude={"ranking", "not_ok"})
            | {"not_ok": rate_json(one.not_ok), **_ranking_json(one.ranking)}
            for one in board.rankings
        ],
    }


def _ranking_json(ranking: ModelRanking | None) -> Json:
    keys = ("models", "components", "tie_weight", "baseline", "battles", "questions", "interval",
            "resamples", "style", "pairs", "converged")  # fmt: skip
    if ranking is None:
        return dict.fromkeys(keys)
    value = ranking.model_dump(mode="json")
    return {key: value[key] for key in keys}
