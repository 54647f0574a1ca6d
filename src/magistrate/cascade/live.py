"""``mg.run_cascade``: cheap judges settle what they are sure of, dearer ones get the rest.

    done = mg.run_cascade("pairs.jsonl", ["mini", "openai:gpt-5-mini"], "runs/cascade", budget=0.5)
    mg.evaluate(done.path)

The integrated method of arXiv 2403.02839 (section 5), over any number of judges: each has a run
folder of its own, all are asked at once, and the same call goes on where it was stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from magistrate.cascade.live_folder import CascadeFolder, CascadeRun, cascade_judge
from magistrate.cascade.live_policy import Wanted, options_for
from magistrate.cascade.live_records import Fallback, Policy
from magistrate.cascade.live_targets import labelled_only
from magistrate.cascade.live_work import Work
from magistrate.engines.base import ChecksItself
from magistrate.errors import EngineError, InputError
from magistrate.judging.judge import Judge, Mode
from magistrate.judging.orders import Orders
from magistrate.judging.plan import Plan
from magistrate.judging.window import OnOverflow
from magistrate.records import Sample
from magistrate.store.asked import checked_settings, folder_path, loaded_judge, source_of
from magistrate.store.begin import begin_or_resume
from magistrate.store.claim import claimed_folder
from magistrate.store.intake import Intake
from magistrate.store.interrupt import Interruption
from magistrate.store.manifest import InputFile, describe_input
from magistrate.store.progress import OnProgress
from magistrate.store.work import OnNotice

SamplesLike = str | Path | Sequence[str | Path] | Iterable[Sample]


def run_cascade(
    samples: SamplesLike,
    judges: Sequence[str | Path | Judge],
    out: str | Path | None = None,
    *,
    thresholds: float | Sequence[float] | None = None,
    budget: float | None = None,
    budget_calls: int | None = None,
    stream: int | None = None,
    max_cost: float | None = None,
    target_agreement: float | None = None,
    risk: float | None = None,
    calibrate_on: SamplesLike | None = None,
    fallback: Fallback = "none",
    mode: Mode | None = None,
    engine_options: Mapping[str, str] | None = None,
    orders: Orders = "both",
    repeats: int = 1,
    limit: int | None = None,
    strict: bool = False,
    on_overflow: OnOverflow = "truncate",
    cache: bool | None = None,
    start_over: bool = False,
    on_progress: OnProgress | None = None,
    on_notice: OnNotice | None = None,
) -> CascadeRun:
    """Judge samples with several judges, the cheapest first, or go on with the cascade there.

    A reading that a judge has made is not made again, whatever the policy of a later call: that
    may change, and then who decides is worked out anew.

    Args:
        samples: As :func:`magistrate.judge`.
        judges: Names, folders or loaded judges, the cheapest first; two or more.
        out: The cascade's folder; without it ``runs/cascade-TIME`` is made.
        thresholds: Confidence from which a judge settles a pair: one for all but the last judge,
            or one for each. With one for the last judge too, it abstains below.
        budget: Largest share of the pairs that the last judge gets, in [0, 1]: the unsurest ones.
        budget_calls: Most readings of the last judge; one that failed and is made again is counted
            once.
        stream: With a budget: estimate its threshold on so many first pairs, so that all judges
            work at once; without, a pair goes up when it is certain to be among the unsurest.
        max_cost: US dollars that all judges may cost together, over all calls. Alone it is the
            policy: the unsurest pairs go up as long as there is money.
        target_agreement: Share of decisions that people would agree with, in (0, 1); thresholds
            are chosen on ``calibrate_on``, and no judge decides that is not sure enough.
        risk: Probability that the target is missed nevertheless, in (0, 1): makes of it a promise
            (:func:`magistrate.cascade.guarantee.guarantee`). None for an estimate.
        calibrate_on: Labelled pairs, which all judges read.
        fallback: ``cheap``: where a dearer judge failed, the surest cheaper one decides, and the
            decision says so. ``none``: such pairs wait, and the same call asks again.
        mode: As :func:`magistrate.judge`; for all judges.
        engine_options: ``NAME`` for all judges, ``ENGINE.NAME`` for those of an engine, ``N.NAME``
            for the N-th judge.
        orders: As :func:`magistrate.judge`, and so are the others that are not named here.
        repeats: How often each order is read.
        limit: Judge only the first so many samples.
        strict: Stop at the first bad row.
        on_overflow: What becomes of prompts that are too long.
        cache: Whether answers are looked for in the response cache.
        start_over: Move a cascade that is there aside and begin anew.
        on_progress: Told how far all judges together are.
        on_notice: Told what the user should know at once.

    Returns:
        The cascade, also where pairs wait for a judge that failed on them
        (``manifest.pending``).

    Raises:
        InputError: Something of the policy does not fit; the labels do not allow the promise; the
            input cannot be read.
        EngineError: A judge broke down; the others have gone on as far as they could, and all is
            kept.
        CostLimitError: Not even the labelled pairs could be paid for.
        RunInterrupted: Ctrl-C or SIGTERM; all is kept.
        MagistrateError: As :func:`magistrate.judge` says.
    """
    wanted = Wanted(
        thresholds, budget, budget_calls, stream, max_cost, target_agreement, risk, fallback
    )
    named = [judges] if isinstance(judges, str | Path | Judge) else list(judges)
    policy = wanted.policy(len(named), calibrates=calibrate_on is not None)
    settings = checked_settings(
        ("error",),
        engine_options,
        mode=mode,
        orders=orders,
        repeats=repeats,
        limit=limit,
        strict=strict,
        on_overflow=on_overflow,
        max_cost=max_cost,
    )
    with ExitStack() as held:
        interruption = held.enter_context(Interruption())
        loaded = [
            held.enter_context(
                loaded_judge(judge, mode, options_for(judge, number, settings.engine_options))
            )
            for number, judge in enumerate(named)
        ]
        _check(loaded, policy)
        labelled = None
        if calibrate_on is not None:
            labelled = labelled_only(list(source_of(calibrate_on, strict=strict)))
        front = cascade_judge(loaded)
        plan = Plan.of(front, orders=orders, repeats=repeats)
        intake = Intake(source_of(samples, strict=strict), plan, limit=limit, strict=strict)
        files = _inputs(calibrate_on)
        claimed = held.enter_context(claimed_folder(folder_path(out), "cascade"))
        folder = CascadeFolder(claimed.path)
        folder.check()
        if start_over:
            folder.move_aside()
        manifest = begin_or_resume(claimed, intake, front, settings)
        work = Work(
            folder, loaded, manifest, policy, cache, interruption, held, on_progress, on_notice
        )
        work.labelled, work.label_files = labelled, files
        for notice in intake.changes:
            work.tell(notice)
        return work.run()


def _check(judges: Sequence[Judge], policy: Policy) -> None:
    """Let what speaks against the judges be said before there is a folder."""
    ids: dict[str, str] = {}
    for judge in judges:
        if judge.spec.id in ids:
            raise InputError(
                f"'{judge.spec.name}' is the same judge as '{ids[judge.spec.id]}'; asking it twice "
                f"tells nothing new: name each judge once"
            )
        ids[judge.spec.id] = judge.spec.name
        if isinstance(judge.engine, ChecksItself):
            judge.engine.check()
        if policy.max_cost is not None and judge.engine.info.price_unknown:
            raise EngineError(
                f"a cost limit cannot be kept: the price of '{judge.engine.info.model}' is not "
                f"known; give it as an engine option (price=IN,OUT), or leave --max-cost out"
            )


def _inputs(given: SamplesLike | None) -> tuple[InputFile, ...]:
    paths = [given] if isinstance(given, str | Path) else given
    if not isinstance(paths, list | tuple):
        return ()
    return tuple(describe_input(str(one), None) for one in paths if isinstance(one, str | Path))
