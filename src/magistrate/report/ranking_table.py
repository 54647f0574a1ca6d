"""Rankings on the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from magistrate.metrics.length_controlled import LengthControlled
from magistrate.metrics.ranking.ranking import ModelRanking, RankedModel
from magistrate.report.json_view import rate_json
from magistrate.report.ranking import JudgeRanking, Leaderboard
from magistrate.report.table import facts_table, interval, percent, plain_table, rate_text
from magistrate.report.text import counted, harmless
from magistrate.report.wrap import NARROWEST, Wrapped

Json = dict[str, Any]

_NAMES = {
    "bradley-terry": "Bradley-Terry with ties (Davidson)",
    "elo": "Elo, mean of shuffled sequences",
    "win-rate": "win rate",
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


def _models(models: list[RankedModel], ranking: ModelRanking) -> Table:
    shares = ranking.method == "win-rate"
    table = plain_table()
    table.add_column("rank", justify="right", no_wrap=True)
    table.add_column("ranks", justify="right", no_wrap=True)
    table.add_column("model", overflow="fold", min_width=NARROWEST)
    for header in ("strength", "95 % interval", "wins", "ties", "losses", "win rate"):
        if not (shares and header == "win rate"):
            table.add_column("win rate" if shares and header == "strength" else header,
                             justify="right", no_wrap=True)  # fmt: skip
    for model in models:
        spread = str(model.best_rank)
        if model.worst_rank != model.best_rank:
            spread += f"-{model.worst_rank}"
        strength = model.strength
        cells = [percent(strength.value) if shares else f"{strength.value or 0:.0f}",
                 interval(strength) if shares else _ends(model)]  # fmt: skip
        cells += [_count(model.wins), _count(model.ties), _count(model.losses)]
        cells += [] if shares else [percent(model.win_rate)]
        name = f"{harmless(model.model)} {_MARK[model.beyond]}".rstrip()
        table.add_row(str(model.rank), spread, Wrapped(name), *cells)
    return table


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
        if ranking.resamples:
            yield "intervals", f"{ranking.interval}, {ranking.resamples:,} resamples"
        else:
            yield "intervals", ranking.interval
        if ranking.method != "win-rate":
            yield "scale", f"1000 is {_zero(ranking)}; 400 points are odds of 10 to 1"
        yield "ranks", "not ruled out at 95 %, corrected over the models (Holm)"
        yield from _warnings(ranking)
        for effect in ranking.style or ():
            rate = effect.effect
            bounds = interval(rate, scale=1, decimals=0)
            yield f"style: {effect.feature}", f"{rate.value or 0:+.0f} points {bounds}"
    if one.category is None:
        yield "not ok", f"{rate_text(one.not_ok)} of {one.decided:,} decisions, left out"
        yield from _left_out(one)


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
    sides = {
        "above": "won (through others) against all the rest and never lost: how far above is open",
        "below": "never won nor tied against the rest: how far below is open",
        "aside": "are connected to the rest by one-sided results alone: where they stand is open",
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
