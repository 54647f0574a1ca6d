"""Models ranked by what judges said of their answers.

import magistrate as mg

print(mg.rank("runs/first", method="bradley-terry", baseline="vicuna-13b"))
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Literal

from magistrate.errors import InputError
from magistrate.metrics.columns import UNNAMED, PairColumns
from magistrate.metrics.intervals import Rate, proportion
from magistrate.metrics.length_controlled import LengthControlled, length_controlled
from magistrate.metrics.ranking.battles import BattleCollector, Battles
from magistrate.metrics.ranking.estimates import METHODS, Method
from magistrate.metrics.ranking.ranking import ModelRanking, rank_models
from magistrate.records import Record
from magistrate.report.answer_ids import read_answer_ids, with_models
from magistrate.report.judged import Judged, read_judged
from magistrate.store.run import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Source = str | PathLike[str] | Run
By = Literal["category"]

NO_CATEGORY = "(none)"
"""Name of the samples without a category."""


class JudgeRanking(Record):
    """Models as one judge sees them, or several judges pooled."""

    judge: str
    """The judge; several pooled ones are named one after the other."""
    pooled: bool
    """Whether the verdicts of several judges count together."""
    sources: tuple[str, ...]
    category: str | None
    """The category that the battles are from; None for all."""
    decided: int
    """Samples with a decision, ``ok`` or not."""
    not_ok: Rate
    """Share of them that are not ``ok``; they are no battles."""
    pending: int
    """Samples that are not judged yet."""
    single: int
    """Samples of one answer, which is compared with no other."""
    unnamed: int
    """Battles left out since the input does not name a model."""
    own: int
    """Battles of a model with itself, left out."""
    repeated: int
    """Verdicts on two answers on which there was one already; together they count once."""
    ranking: ModelRanking | None
    """None where there are no battles."""
    length_controlled: tuple[LengthControlled, ...] | None
    """Win rates over the baseline with lengths held equal, when asked for."""


class Leaderboard(Record):
    """Rankings, one per judge (and category). ``str()`` gives the tables as plain text."""

    method: Method
    style_controlled: bool
    rankings: tuple[JudgeRanking, ...]

    def __str__(self) -> str:
        """Return the rankings as plain tables, 100 columns wide at most."""
        from magistrate.report.ranking_table import leaderboard_table
        from magistrate.report.table import plain_text

        return plain_text(leaderboard_table(self), width=100)


def rank(
    *sources: Source,
    method: Method = "bradley-terry",
    baseline: str | None = None,
    by: By | None = None,
    pool: bool = False,
    style_control: bool = False,
    length_control: bool = False,
    labels: str | PathLike[str] | None = None,
    answers: Sequence[str | PathLike[str]] = (),
    votes: bool = False,
    judge: str | None = None,
) -> Leaderboard:
    """Rank models by the judgments of runs, or of other tools' files.

    Sources of one judge count together; different judges have a ranking each.

    Args:
        sources: Run folders, files of other tools' judgments, opened runs.
        method: ``bradley-terry`` (with ties, Davidson's model), ``elo`` or ``win-rate``.
        baseline: The model whose strength is 1000.
        by: Rank within every category besides.
        pool: Count the verdicts of different judges together, each pair of answers once.
        style_control: Hold length and markdown constant (``bradley-terry`` only).
        length_control: Also give the win rates over the baseline with lengths held equal, as
            AlpacaEval 2 does; needs a baseline.
        labels: The samples that were judged, where the judgments do not name the models.
        answers: Files of answers (``answer_id``, ``model_id``), where the judgments know answers
            by id alone.
        votes: Take the labels of files without judgments, such as people's votes, as the verdicts.
        judge: Whose judgments to take from files that hold those of several.

    Raises:
        InputError: A source cannot be read, or there is nothing to rank by; the baseline is in no
            battle; options that do not go together.
        RunError: A folder is not a run, or is damaged.
    """
    _check(method, baseline, style_control=style_control, length_control=length_control)
    if not sources:
        raise InputError("nothing to rank by; name a run or a file of judgments")
    groups = _groups(
        sources,
        pool=pool,
        style=style_control,
        labels=labels,
        models=read_answer_ids(answers),
        votes=votes,
        judge=judge,
    )
    collected = [(group, group.battles.result()) for group in groups]
    _check_baseline(baseline, [battles for _, battles in collected])
    rankings = []
    for group, battles in collected:
        # A judge that never saw the baseline is ranked about the mean.
        own = _within(baseline, battles)
        controlled = _controlled(group, own) if length_control and own else None
        rankings.append(
            group.ranking(battles, method, own, style_control, category=None, controlled=controlled)
        )
        if by is not None:
            rankings += [
                group.ranking(part, method, _within(baseline, part), style_control, category=name)
                for name, part in _by_category(battles)
            ]
    if not any(one.ranking for one in rankings):
        raise InputError(_nothing_to_rank(rankings))
    return Leaderboard(method=method, style_controlled=style_control, rankings=tuple(rankings))


def _check(
    method: Method, baseline: str | None, *, style_control: bool, length_control: bool
) -> None:
    if method not in METHODS:
        raise InputError(f"no method '{method}'; known: {', '.join(METHODS)}")
    if style_control and method != "bradley-terry":
        raise InputError(f"style can be held constant by bradley-terry alone, not by {method}")
    if length_control and baseline is None:
        raise InputError(
            "length-controlled win rates are over one model: name the baseline (--baseline)"
        )


class _Group:
    """The sources of one judge, or of all where they are pooled."""

    def __init__(self, judges: Sequence[str], style: bool) -> None:
        self.judges = list(judges)
        self.sources: list[str] = []
        self.battles = BattleCollector(style=style)
        self.judged: list[Judged] = []

    def ranking(
        self,
        battles: Battles,
        method: Method,
        baseline: str | None,
        style_control: bool,
        *,
        category: str | None,
        controlled: tuple[LengthControlled, ...] | None = None,
    ) -> JudgeRanking:
        """Return the ranking by some of the battles, those of a category or all."""
        met = self.battles.met(category)
        ranking = None
        if len(battles):
            ranking = rank_models(battles, method, baseline=baseline, style_control=style_control)
        return JudgeRanking(
            judge=", ".join(self.judges),
            pooled=len(self.judges) > 1,
            sources=tuple(self.sources),
            category=None if category is None else category or NO_CATEGORY,
            decided=met.decided,
            not_ok=proportion(met.not_ok, met.decided),
            pending=met.pending,
            single=met.single,
            unnamed=met.unnamed,
            own=met.own,
            repeated=met.repeated,
            ranking=ranking,
            length_controlled=controlled,
        )


def _groups(
    sources: Sequence[Source],
    *,
    pool: bool,
    style: bool,
    labels: str | PathLike[str] | None,
    models: dict[str, str],
    votes: bool,
    judge: str | None,
) -> list[_Group]:
    groups: dict[str, _Group] = {}
    for source in sources:
        path = source.path if isinstance(source, Run) else source
        # Who judged is known only once all is read; what was met on the way joins its group then.
        met = BattleCollector(style=style)
        judged = read_judged(
            path,
            labels=labels,
            judge=judge,
            labels_as_judge=votes,
            visit=lambda reading, met=met: met.add(  # type: ignore[misc]
                with_models(reading[0], models), reading[2]
            ),
        )
        key = "" if pool else judged.judge
        group = groups.setdefault(key, _Group([], style))
        if judged.judge not in group.judges:
            group.judges.append(judged.judge)
        group.sources.append(judged.source)
        group.battles.extend(met)
        group.judged.append(judged)
    return list(groups.values())


def _check_baseline(baseline: str | None, all_battles: Sequence[Battles]) -> None:
    names = sorted({name for battles in all_battles for name in battles.models})
    if baseline is not None and names and baseline not in names:
        raise InputError(
            f"the baseline '{baseline}' is in no battle; models: {', '.join(names[:20])}"
        )


def _within(baseline: str | None, battles: Battles) -> str | None:
    """Return the baseline if it has a battle among these."""
    if baseline is None or baseline not in battles.models:
        return None
    place = battles.models.index(baseline)
    there = (battles.first == place).any() or (battles.second == place).any()
    return baseline if there else None


def _by_category(battles: Battles) -> Iterator[tuple[str, Battles]]:
    """Yield each category (empty for none) and its battles, with the models that have one there."""
    for code, name in sorted(enumerate(battles.category), key=lambda each: each[1]):
        part = battles.take(battles.category_code == code)
        if len(part):
            yield name, part.with_models_that_met()


def _controlled(group: _Group, baseline: str) -> tuple[LengthControlled, ...] | None:
    """Return length-controlled win rates of all models that met the baseline."""
    import numpy as np

    parts = [_against(judged.pairs, baseline) for judged in group.judged if judged.has_texts]
    names = sorted({name for part in parts for name in part[0]})
    if not names:
        raise InputError(
            f"no length-controlled win rates: {', '.join(group.sources)} has no answers' texts, or "
            f"none against {baseline}"
        )
    codes = [np.array([names.index(name) for name in part[0]])[part[1]] for part in parts]
    columns = [np.concatenate([part[2][k] for part in parts]) for k in range(4)]
    preference, own, theirs, question = columns
    return length_controlled(preference, own, theirs, question, np.concatenate(codes), tuple(names))


def _against(
    pairs: PairColumns, baseline: str
) -> tuple[list[str], NDArray[np.int64], list[NDArray[np.generic]]]:
    """Return models, each pair's place in them, and preference, lengths and question."""
    import numpy as np

    is_first, is_second = pairs.first_model.where(baseline), pairs.second_model.where(baseline)
    taken = pairs.ok & (is_first ^ is_second)
    chosen, second = pairs.take(taken), is_second[taken]
    soft = chosen.probability[:, 0] + chosen.probability[:, 1] / 2
    for_first = np.where(np.isnan(soft), (1 + chosen.said) / 2, soft)
    names = np.array(chosen.first_model.names, dtype=object)[chosen.first_model.codes]
    others = np.array(chosen.second_model.names, dtype=object)[chosen.second_model.codes]
    model = np.where(second, names, others)
    found, place = np.unique(model[model != UNNAMED].astype(str), return_inverse=True)
    named = model != UNNAMED
    return (
        [str(name) for name in found],
        place.astype(np.int64),
        [
            np.where(second, for_first, 1 - for_first)[named],
            np.where(second, chosen.lengths[:, 0], chosen.lengths[:, 1])[named],
            np.where(second, chosen.lengths[:, 1], chosen.lengths[:, 0])[named],
            chosen.question[named],
        ],
    )


def _nothing_to_rank(rankings: Sequence[JudgeRanking]) -> str:
    total = rankings[0]
    reasons = [
        f"{count:,} {what}"
        for count, what in (
            (sum(one.single for one in rankings), "samples have one answer"),
            (sum(one.unnamed for one in rankings), "pairs do not name their models"),
            (sum(one.own for one in rankings), "pairs are of one model with itself"),
            (round(sum((one.not_ok.value or 0) * one.decided for one in rankings)), "are not ok"),
            (sum(one.pending for one in rankings), "are not judged yet"),
        )
        if count
    ]
    found = "; ".join(reasons) or "there are no samples"
    return (
        f"nothing to rank models by in {', '.join(total.sources)}: {found}. Ranking needs verdicts "
        f"on two answers, each with the name of its model; give the samples beside (--labels) or, "
        f"where answers are known by id, the answers (--answers)"
    )
