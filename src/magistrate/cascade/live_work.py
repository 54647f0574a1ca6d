"""One process's work on a cascade: judges opened, thresholds chosen, the outcome written."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING

from magistrate._version import __version__
from magistrate.cascade.live_folder import (
    CascadeFolder,
    CascadeRun,
    Pairs,
    now,
    read_cascade,
    write_cascade,
)
from magistrate.cascade.live_loop import Loop
from magistrate.cascade.live_money import Purse
from magistrate.cascade.live_outcome import Outcome, Totals
from magistrate.cascade.live_policy import quota_of
from magistrate.cascade.live_records import CascadeManifest, Policy, State, TierSummary
from magistrate.cascade.live_routing import Router
from magistrate.cascade.live_targets import Chosen, apart_from, choose, drift_notice, judge_all
from magistrate.cascade.live_tiers import Event, Tier, sureness
from magistrate.errors import EngineError, InputError, RunError
from magistrate.formats.base import Notice
from magistrate.judging.judge import Judge
from magistrate.judging.plan import Plan
from magistrate.records import Sample, Status
from magistrate.store.cache import SqliteCache
from magistrate.store.disk import write_atomically
from magistrate.store.growing import GrowingRun, growing_run
from magistrate.store.index import FAILURES
from magistrate.store.interrupt import Interruption, RunInterrupted
from magistrate.store.lines import read_records, to_line
from magistrate.store.manifest import InputFile, RunManifest, RunSettings
from magistrate.store.progress import OnProgress
from magistrate.store.work import OnNotice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Work:
    """One process's work on a cascade whose folder is held."""

    def __init__(
        self,
        folder: CascadeFolder,
        judges: Sequence[Judge],
        manifest: RunManifest,
        policy: Policy,
        cache: bool | None,
        interruption: Interruption,
        held: ExitStack,
        on_progress: OnProgress | None,
        on_notice: OnNotice | None,
    ) -> None:
        """Take what :func:`magistrate.cascade.live.run_cascade` made ready."""
        self.labelled: list[Sample] | None = None
        """Pairs that thresholds are to be chosen on."""
        self.label_files: tuple[InputFile, ...] = ()
        self._folder, self._judges, self._manifest = folder, judges, manifest
        self._policy, self._cache = policy, cache
        self._interruption = interruption
        self._held = held
        self._on_progress, self._on_notice = on_progress, on_notice
        self._began = time.monotonic()
        known = read_cascade(folder.path) if folder.manifest.exists() else None
        self._known = known
        self._started = known.started if known else now()

    def run(self) -> CascadeRun:
        """Judge what is missing, and return the cascade."""
        self._save("running", Totals(tiers=tuple(self._planned())))
        self._tell_of_changes()
        caveat = ""
        if self.labelled is not None:
            apart = apart_from(self.labelled, read_records(Sample, self._folder.run.samples))
            self.labelled, caveat = apart.samples, apart.caveat
            for notice in apart.notices:
                self.tell(notice)
        calibrating = (
            [self._open(n, judge, calibrates=True) for n, judge in enumerate(self._judges)]
            if self.labelled is not None
            else []
        )
        runs = [self._open(number, judge) for number, judge in enumerate(self._judges)]
        booked = {_purse_name(run, self._folder): run.cost for run in (*runs, *calibrating)}
        purse = self._purse = Purse(self._folder.spending, self._policy.max_cost, booked)
        chosen = None
        if self.labelled is not None:
            chosen = self._choose(self.labelled, calibrating, purse)
            if caveat:
                chosen = replace(chosen, assumption=f"{chosen.assumption} ({caveat})")
        pairs = Pairs(self._folder.run)
        router = self._router(pairs, chosen)
        events: SimpleQueue[Event] = SimpleQueue()
        tiers = [self._tier(number, run, pairs.sample, events) for number, run in enumerate(runs)]
        loop = Loop(
            pairs,
            tiers,
            router,
            events,
            purse,
            waits_for_all=self._policy.kind == "money",
            on_progress=self._on_progress,
            tell=self.tell,
        )
        with self._honest_end(pairs, runs, router, chosen):
            loop.run()
        done = self._finish(pairs, runs, router, chosen)
        start = router.start
        self._tell_of_drift(runs[start], chosen.confidences[start] if chosen else None)
        self._end(loop, done)
        return CascadeRun(self._folder.path)

    def tell(self, notice: Notice) -> None:
        """Tell the caller at once, and whoever opens the cascade later."""
        if self._on_notice is not None:
            self._on_notice(notice)
        with suppress(RunError):
            path = self._folder.run.notices
            known = path.read_bytes() if path.exists() else b""
            line = to_line(notice)
            if line not in known.splitlines(keepends=True):
                write_atomically(path, known + line)

    # What stands before judging.

    def _open(self, number: int, judge: Judge, *, calibrates: bool = False) -> GrowingRun:
        is_last = number == len(self._judges) - 1
        retry: tuple[Status, ...] = tuple(sorted(FAILURES)) if is_last else ("error",)
        settings = self._manifest.settings
        own = RunSettings(
            orders=settings.orders,
            repeats=settings.repeats,
            retry=retry,
            mode=settings.mode,
            on_overflow=settings.on_overflow,
        )
        path = self._folder.tier(number, judge.spec.name, calibrates=calibrates)
        run = self._held.enter_context(growing_run(path, judge, own))
        for notice in run.notices:
            self.tell(notice)
        return run

    def _tier(
        self,
        number: int,
        run: GrowingRun,
        sample_of: Callable[[int], Sample],
        events: SimpleQueue[Event],
        *,
        calibrates: bool = False,
    ) -> Tier:
        wanted = self._cache
        keeps = wanted if wanted is not None else run.judge.engine.info.keeps_answers
        return Tier(
            number,
            run,
            sample_of,
            events,
            name=_purse_name(run, self._folder),
            is_last=not calibrates and number == len(self._judges) - 1,
            purse=self._purse,
            on_overflow=self._manifest.settings.on_overflow,
            open_cache=(lambda: SqliteCache(on_notice=self.tell)) if keeps else nullcontext,
        )

    def _choose(self, labelled: list[Sample], runs: Sequence[GrowingRun], purse: Purse) -> Chosen:
        assert self._policy.target is not None  # what labelled pairs are read for
        try:
            judge_all(
                labelled,
                runs,
                purse,
                lambda number, run, events: self._tier(
                    number, run, lambda pair: labelled[pair], events, calibrates=True
                ),
            )
        except BaseException:
            self._save("stopped", Totals(tiers=tuple(self._planned())))
            raise
        finally:
            for run in runs:
                run.close()
        try:
            chosen = choose(labelled, runs, self._policy.target, self._policy.risk)
        except InputError:
            self._save("stopped", Totals(tiers=tuple(self._planned())))
            raise
        self._policy = self._policy.model_copy(
            update={
                "thresholds": tuple(None if math.isinf(t) else t for t in chosen.thresholds),
                "keeps_nothing": tuple(math.isinf(t) for t in chosen.thresholds),
            }
        )
        return chosen

    def _router(self, pairs: Pairs, chosen: Chosen | None) -> Router:
        policy = self._policy
        readings = self._judges[-1]
        settings = self._manifest.settings
        plan = Plan.of(readings, orders=settings.orders, repeats=settings.repeats)
        quota = quota_of(policy, len(pairs), plan.count(2))
        self._policy = policy.model_copy(update={"quota": quota})
        thresholds: tuple[float, ...] | None = None
        if chosen is not None:
            thresholds = chosen.thresholds
        elif policy.kind == "threshold":
            thresholds = tuple(one for one in policy.thresholds if one is not None)
        first = None
        if policy.stream is not None and quota is not None:
            share = quota / len(pairs) if len(pairs) else 0.0
            first = (policy.stream, min(1.0, share))
        return Router(
            len(pairs),
            len(self._judges),
            thresholds=thresholds,
            quota=quota,
            share_of_first=first,
            draws=pairs.draws(),
        )

    def _tell_of_changes(self) -> None:
        """Say that another policy than before routes what was judged before."""
        if self._known is None or not any(tier.asked for tier in self._known.tiers):
            return
        before, wanted = _asked(self._known.policy), _asked(self._policy)
        changed = [
            f"{name} {before.get(name)!r} -> {wanted.get(name)!r}"
            for name in {**before, **wanted}
            if before.get(name) != wanted.get(name)
        ]
        if changed:
            self.tell(
                Notice(
                    kind="policy-changed",
                    message=f"the policy is another one than before ({', '.join(changed)}): who "
                    f"decides is worked out anew, and nothing that was asked is asked again",
                )
            )

    # What comes after it.

    @contextmanager
    def _honest_end(
        self, pairs: Pairs, runs: Sequence[GrowingRun], router: Router, chosen: Chosen | None
    ) -> Iterator[None]:
        """Whatever ends the work early, say in the folder how far it came."""
        try:
            yield
        except KeyboardInterrupt as stop:
            number = stop.number if isinstance(stop, RunInterrupted) else signal.SIGINT
            with self._interruption.shield():
                done = self._finish(pairs, runs, router, chosen)
            message = (
                f"stopped by {signal.Signals(number).name}; "
                f"{len(pairs) - done.pending:,} of {len(pairs):,} pairs are settled, all that was "
                f"judged is safe in {self._folder.path}, and the same command goes on from there"
            )
            raise RunInterrupted(message, number) from None
        except BaseException:
            with suppress(RunError):
                self._finish(pairs, runs, router, chosen)
            raise

    def _finish(
        self, pairs: Pairs, runs: Sequence[GrowingRun], router: Router, chosen: Chosen | None
    ) -> Totals:
        for run in runs:
            run.close()
        router.settle()
        outcome = Outcome(self._folder, pairs, runs, router, self._policy, self._manifest)
        totals = outcome.write(seconds=time.monotonic() - self._began)
        if self._policy.kind == "budget":
            self._policy = self._policy.model_copy(
                update={"thresholds": tuple(tier.threshold for tier in totals.tiers)}
            )
        self._save("stopped" if totals.pending else "complete", totals, pairs, chosen)
        return totals

    def _save(
        self,
        state: State,
        totals: Totals,
        pairs: Pairs | None = None,
        chosen: Chosen | None = None,
    ) -> None:
        known = self._known
        purse = getattr(self, "_purse", None)
        last = totals.tiers[-1]
        manifest = CascadeManifest(
            tool_version=__version__,
            state=state,
            policy=self._policy,
            tiers=totals.tiers,
            samples=self._manifest.samples,
            pairs=len(pairs) if pairs is not None else 0,
            abstained=totals.abstained,
            pending=totals.pending,
            undecided=totals.undecided,
            reasons=totals.top_reasons(),
            cost=purse.spent if purse else (known.cost if known else 0.0),
            lost=purse.lost if purse else (known.lost if known else 0.0),
            calibration_cost=purse.cost_of("calibration/") if purse else 0.0,
            all_strong=last.cost / last.asked * len(pairs)
            if pairs is not None and last.asked
            else None,
            calibrated_on=self.label_files,
            labels=chosen.labels if chosen else 0,
            guarantee=chosen.guarantee if chosen else None,
            assumption=chosen.assumption if chosen else None,
            started=self._started,
            updated=now(),
            seconds=(known.seconds if known else 0.0) + time.monotonic() - self._began,
        )
        write_cascade(self._folder.manifest, manifest)

    def _planned(self) -> Iterator[TierSummary]:
        if self._known is not None:
            yield from self._known.tiers
            return
        for number, judge in enumerate(self._judges):
            path = self._folder.tier(number, judge.spec.name)
            yield TierSummary(
                judge=judge.spec.name,
                folder=path.relative_to(self._folder.path).as_posix(),
                judge_id=judge.spec.id,
            )

    def _tell_of_drift(self, run: GrowingRun, on: Floats | None) -> None:
        """Warn where confidences have left those that thresholds or a calibration rest on.

        Of the judge that reads all pairs; others see what it was unsure of, which is other data.
        """
        import numpy as np

        sure, raw = [], []
        for _, judgments, decision in run.known():
            if (value := sureness(decision, judgments)) is not None:
                sure.append(value)
            if decision.probabilities is not None:
                raw.append(decision.probabilities.confidence)
        notice = drift_notice(run.judge, np.array(sure), on, np.array(raw))
        if notice is not None:
            self.tell(notice)

    def _end(self, loop: Loop, totals: Totals) -> None:
        """Raise what broke a judge down, unless nothing waits for it."""
        if loop.broken and totals.pending:
            number, error = next(iter(loop.broken.items()))
            name = self._judges[number].spec.name
            raise EngineError(
                f"{name} broke down: {error}. {totals.pending:,} pairs wait for it; all that was "
                f"judged is safe in {self._folder.path}, and the same command goes on (or add "
                f"--fallback cheap to let cheaper judges decide)"
            )


def _purse_name(run: GrowingRun, folder: CascadeFolder) -> str:
    return run.folder.path.relative_to(folder.path).as_posix()


def _asked(policy: Policy) -> dict[str, object]:
    """Return what was asked for, without what was made of it."""
    values = policy.model_dump(exclude={"quota", "keeps_nothing"})
    if policy.kind != "threshold":
        del values["thresholds"]
    return values
