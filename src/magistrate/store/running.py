"""``mg.judge``: samples in, a run folder out; the same call again goes on where it stopped."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from magistrate.engines.base import ChecksItself
from magistrate.formats.base import Notice
from magistrate.judging.chunk import Manner
from magistrate.judging.judge import Judge, Mode
from magistrate.judging.orders import Orders
from magistrate.judging.spending import Spending
from magistrate.judging.window import OnOverflow
from magistrate.records import Sample, Status
from magistrate.store.asked import checked_settings
from magistrate.store.cache import SqliteCache
from magistrate.store.demonstrating import wanted_demonstrations
from magistrate.store.index import FAILURES
from magistrate.store.progress import OnProgress
from magistrate.store.run import Run
from magistrate.store.work import OnNotice, work_on


def judge(
    samples: str | Path | Sequence[str | Path] | Iterable[Sample],
    judge: str | Path | Judge = "mini",
    out: str | Path | None = None,
    *,
    mode: Mode | None = None,
    engine_options: Mapping[str, str] | None = None,
    orders: Orders = "both",
    repeats: int = 1,
    limit: int | None = None,
    strict: bool = False,
    on_overflow: OnOverflow = "truncate",
    demonstrations: str | Path | Sequence[str | Path] | Iterable[Sample] | None = None,
    per_outcome: int = 1,
    demonstrations_seed: int = 0,
    max_cost: float | None = None,
    cache: bool | None = None,
    start_over: bool = False,
    retry: Collection[Status] = FAILURES,
    on_progress: OnProgress | None = None,
    on_notice: OnNotice | None = None,
) -> Run:
    """Judge samples into a run folder, or go on with the run that is there.

    A reading that has an ``ok`` judgment is never made again; failures are. The run can be
    stopped at any moment, even by a power loss, and resumed with the same call. Samples added
    behind those of the run, and changed labels or model names, are taken over.

    Args:
        samples: Samples; or what :func:`magistrate.read_samples` returns; or paths of files.
        judge: Name or folder of a judge, or a loaded judge, which is then left open.
        out: The run folder; without it ``runs/JUDGE-TIME`` is made.
        mode: ``reason`` lets the judge explain; ``score`` reads its scores and no more, as exact
            probabilities where the engine has them. None leaves it to the judge (``reason``).
        engine_options: Settings of the judge's engine by name.
        orders: ``both`` reads every sample in the given order and reversed; ``given`` only once.
        repeats: How often each order is read.
        limit: Judge only the first so many samples. A later call may raise it.
        strict: Stop at the first bad row of the input instead of listing it and going on.
        on_overflow: Of a prompt that is too long for the model: ``truncate`` cuts the answers
            fairly, ``skip`` leaves it out with status ``truncated``, ``error`` judges nothing.
        demonstrations: Labelled samples, or paths of files of them: the judge is shown some of
            these solved before each sample. None of what is judged is ever drawn.
        per_outcome: How many of each outcome that occurs among them (first, second, tie; or each
            score; or which answer is best).
        demonstrations_seed: Another seed draws others.
        max_cost: US dollars that the run may cost, all calls together.
        cache: Whether answers are looked for in the response cache, and kept there. None does so
            for engines whose answers are dear.
        start_over: If the folder holds a run, move it to a folder beside it and begin anew.
        retry: Failures to judge again on a resume.
        on_progress: Called up to ten times a second and at the end.
        on_notice: Called with what the user should know at once.

    Raises:
        InputError: The input cannot be read, holds nothing to judge, or holds other things than
            samples; or a sample is too long, and that was to be an error.
        JudgeNotFoundError: The judge's name means nothing here.
        EngineError: The engine cannot go on; what was judged is kept.
        CostLimitError: The next request could pass ``max_cost``; what was judged is kept.
        RunLockedError: Another process is writing to the folder.
        FamilyError: The judge cannot be shown a demonstration.
        RunMismatchError: The folder holds a run of another input, judge or setting.
        RunDamagedError: The folder's files contradict each other.
        RunError: The folder cannot be written; what was judged is kept.
        RunInterrupted: Ctrl-C or SIGTERM; what was judged is kept.
        MagistrateError: A setting has no such value.
    """
    settings = checked_settings(
        retry,
        engine_options,
        mode=mode,
        orders=orders,
        repeats=repeats,
        limit=limit,
        strict=strict,
        on_overflow=on_overflow,
        max_cost=max_cost,
    )
    with (
        work_on(
            samples,
            judge,
            out,
            settings,
            demonstrations=wanted_demonstrations(demonstrations, per_outcome, demonstrations_seed),
            start_over=start_over,
            check=_can_ask,
            on_progress=on_progress,
            on_notice=on_notice,
        ) as work,
        _cache_for(work.judge, cache, work.tell) as kept,
    ):
        return work.run(
            Manner(
                on_overflow=settings.on_overflow,
                cache=kept,
                spending=Spending(work.spent, settings.max_cost),
            )
        )


def _can_ask(judge: Judge) -> None:
    """Let an engine say that it cannot be asked before there is a folder for its answers."""
    if isinstance(judge.engine, ChecksItself):
        judge.engine.check()


@contextmanager
def _cache_for(
    judge: Judge, wanted: bool | None, tell: Callable[[Notice], None]
) -> Iterator[SqliteCache | None]:
    """Yield the response cache; None where it is not wanted, or not worth its time."""
    if wanted if wanted is not None else judge.engine.info.keeps_answers:
        with SqliteCache(on_notice=tell) as cache:
            yield cache
    else:
        yield None
