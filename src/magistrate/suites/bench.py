"""``mg.bench``: the four studies of one judge over the data at hand.

import magistrate as mg

print(mg.bench("mini", "fairness", data="data", out="runs/bench-mini"))
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from magistrate.errors import InputError, RunError, nearest_of
from magistrate.judging.judge import Mode
from magistrate.store.disk import writing
from magistrate.store.folder import RunFolder
from magistrate.suites.asking import OpenedJudge
from magistrate.suites.aspects import aspects
from magistrate.suites.card import read_card
from magistrate.suites.fairness import fairness
from magistrate.suites.generalise import generalise
from magistrate.suites.manifest import find_manifest
from magistrate.suites.naming import Naming
from magistrate.suites.report import SUITES, BenchReport, write_report
from magistrate.suites.running import Bench, Watch, unwatched
from magistrate.suites.scalability import SHOWN_EACH, scalability
from magistrate.suites.study import Study

ALL = "all"


def bench(
    judge: str,
    suite: str = ALL,
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    sets: Sequence[str] = (),
    in_domain: Sequence[str] = (),
    families: Sequence[str] = (),
    demonstrations: str | Path | None = None,
    per_outcome: int = SHOWN_EACH,
    judges: Sequence[str] = (),
    classify: str | None = None,
    categories: Sequence[str] = (),
    mode: Mode | None = None,
    engine_options: Mapping[str, str] | None = None,
    max_cost: float | None = None,
    start_over: bool = False,
    watch: Watch = unwatched,
) -> BenchReport:
    """Study a judge: generalisation, fairness, aspects, scalability (arXiv 2403.02839).

    Every set is judged into a run folder of its own, ``out/STUDY/SET``, which a second call goes on
    with; the tables are written to ``bench.json`` and ``bench.md`` in ``out``.

    Args:
        judge: Name of a judge, or its folder.
        suite: One of :data:`SUITES`, or ``all``.
        data: A manifest, or a folder with one or with the public data sets; None for the folder
            that the environment's ``MAGISTRATE_DATA`` names.
        out: Folder of the runs; ``runs/bench-JUDGE`` when None.
        limit: Samples per set, drawn by seed; None for all.
        seed: Of all draws.
        sets: Names of the only sets to use; all when empty.
        in_domain: Sets of the kind that the judge was trained on, for *generalise*.
        families: Families that its own prompt is compared with, for *generalise*.
        demonstrations: Labelled file to draw solved samples from, for *scalability*; a set of the
            manifest when None.
        per_outcome: How many demonstrations of each outcome.
        judges: Judge folders to compare by training size, for *scalability*.
        classify: A judge that assigns ``categories``, for *generalise*; None takes those of the
            files.
        categories: Their names.
        mode: ``score`` or ``reason``; None reads scores alone where the judge's family can.
        engine_options: Settings of the judge's engine by name.
        max_cost: US dollars that all runs in ``out`` may cost together.
        start_over: Move the runs that are in ``out`` aside, each when its set is judged.
        watch: Makes what looks on while a set is judged.

    Returns:
        The studies that were asked for, and those that an earlier call left in ``out``.

    Raises:
        InputError: The manifest is wrong, or there is no data.
        RunError: ``out`` is a run itself.
        JudgeNotFoundError: The judge's name means nothing here.
        EngineError: The engine cannot go on; what was judged is kept.
        FamilyError: The judge's family cannot be used, or the categories cannot be assigned.
        CostLimitError: The next request could pass ``max_cost``; what was judged is kept.
        RunError: A run folder cannot be used, or holds another judge's run.
        InputError: Also where an argument has no such value.
    """
    wanted = _wanted(suite)
    _check_numbers(limit, per_outcome)
    if classify and not categories:
        raise InputError("classify needs the names of the categories: categories=('math', ...)")
    manifest = find_manifest(data)
    for name in in_domain:
        manifest.only([name])
    if sets:
        manifest = manifest.only(sets)
    folder = Path(out) if out is not None else Path("runs") / f"bench-{_plain(judge)}"
    if RunFolder(folder).manifest.exists():
        raise RunError(f"{folder} is a run; studies have runs below their folder: give another one")
    card = read_card(judge)
    with OpenedJudge(judge, mode=mode, options=engine_options) as opened:
        naming = _naming(classify, categories, opened)
        desk = Bench(opened, manifest, folder, limit, seed, max_cost, watch, start_over)
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        report = BenchReport(
            judge=judge,
            family=opened.family.name,
            judge_id=opened.judge.spec.id,
            manifest=manifest.path.name,
            data=str(manifest.base),
            limit=limit,
            seed=seed,
            out=str(folder),
        )
        for study in wanted:
            found: Study
            if study == "generalise":
                found = generalise(desk, card, in_domain=in_domain, families=families, named=naming)
            elif study == "fairness":
                found = fairness(desk)
            elif study == "aspects":
                found = aspects(desk, card)
            else:
                found = scalability(
                    desk, demonstrations=demonstrations, per_outcome=per_outcome, judges=judges
                )
            # Written after each study: one that cannot go on must not cost the others.
            report = write_report(report.model_copy(update={study: found}), folder)
    return report


def _wanted(suite: str) -> tuple[str, ...]:
    if suite == ALL:
        return SUITES
    if suite not in SUITES:
        raise InputError(f"no suite '{suite}'; {nearest_of(suite, (*SUITES, ALL), 'the help')}")
    return (suite,)


def _naming(classify: str | None, names: Sequence[str], opened: OpenedJudge) -> Naming | None:
    """Return what assigns categories; where that is the judge itself, its model is shared."""
    if classify is None:
        return None
    is_itself = opened.writes and classify.partition("#")[0] == opened.name.partition("#")[0]
    return Naming(classify, names, engine=opened.judge.engine if is_itself else None)


def _check_numbers(limit: Any, per_outcome: Any) -> None:
    for name, value in (("limit", limit), ("per_outcome", per_outcome)):
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= 1
        if not fits and not (name == "limit" and value is None):
            raise InputError(f"{name} is {value!r}; it takes a whole number from 1")


def _plain(name: str) -> str:
    """Return a judge's name as the name of a folder."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:60] or "judge"
