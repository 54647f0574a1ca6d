"""``mg.judge``: samples in, a run folder out; the same call again goes on where it stopped."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from magistrate.errors import RunError
from magistrate.formats.base import Notice
from magistrate.judging.judge import Judge
from magistrate.judging.orders import Orders
from magistrate.judging.plan import Plan
from magistrate.judging.stream import judge_samples
from magistrate.records import Sample, Status
from magistrate.store.asked import checked_settings, folder_path, loaded_judge, source_of
from magistrate.store.begin import begin_or_resume
from magistrate.store.claim import claimed_folder
from magistrate.store.decisions import write_decisions
from magistrate.store.disk import write_atomically
from magistrate.store.folder import RunFolder
from magistrate.store.index import FAILURES
from magistrate.store.intake import Intake
from magistrate.store.interrupt import Interruption, RunInterrupted
from magistrate.store.journal import Journal
from magistrate.store.lines import read_records, to_line
from magistrate.store.manifest import RunManifest, State, bring_up_to_date, write_manifest
from magistrate.store.progress import OnProgress, Progress
from magistrate.store.run import Run, open_run

OnNotice = Callable[[Notice], None]

SECONDS_BETWEEN_MANIFESTS = 5.0
SECONDS_BETWEEN_REPORTS = 0.1


def judge(
    samples: str | Path | Sequence[str | Path] | Iterable[Sample],
    judge: str | Path | Judge = "mini",
    out: str | Path | None = None,
    *,
    orders: Orders = "both",
    repeats: int = 1,
    limit: int | None = None,
    strict: bool = False,
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
        orders: ``both`` reads every sample in the given order and reversed; ``given`` only once.
        repeats: How often each order is read.
        limit: Judge only the first so many samples. A later call may raise it.
        strict: Stop at the first bad row of the input instead of listing bad rows.
        start_over: If the folder holds a run, move it to a folder beside it and begin anew.
        retry: Failures to judge again on a resume.
        on_progress: Called up to ten times a second and at the end.
        on_notice: Called with what the user should know at once.

    Raises:
        InputError: The input cannot be read, holds nothing to judge, or holds other things than
            samples.
        JudgeNotFoundError: The judge's name means nothing here.
        EngineError: The engine cannot go on; what was judged is kept.
        RunLockedError: Another process is writing to the folder.
        RunMismatchError: The folder holds a run of another input, judge or setting.
        RunDamagedError: The folder's files contradict each other.
        RunError: The folder cannot be written; what was judged is kept.
        RunInterrupted: Ctrl-C or SIGTERM; what was judged is kept.
        MagistrateError: A setting has no such value.
    """
    settings = checked_settings(orders, repeats, limit, strict, retry)
    with Interruption() as interruption, loaded_judge(judge) as loaded:
        plan = Plan.of(loaded, orders=settings.orders, repeats=settings.repeats)
        source = source_of(samples, strict=settings.strict)
        intake = Intake(source, plan, limit=settings.limit, strict=settings.strict)
        with claimed_folder(folder_path(out), loaded.spec.name) as folder:
            manifest = begin_or_resume(folder, intake, loaded, settings, start_over=start_over)
            with Journal(folder.judgments, retry=settings.retry) as journal:
                work = _Work(folder, journal, manifest, interruption, on_progress, on_notice)
                return work.run(loaded, (*intake.changes, *journal.notices))


class _Work:
    """One process's work on a run."""

    def __init__(
        self,
        folder: RunFolder,
        journal: Journal,
        manifest: RunManifest,
        interruption: Interruption,
        on_progress: OnProgress | None,
        on_notice: OnNotice | None,
    ) -> None:
        self._folder = folder
        self._journal = journal
        self._manifest = manifest
        self._interruption = interruption
        self._on_progress = on_progress
        self._on_notice = on_notice
        self._settled = journal.settled
        self._made = 0
        self._began = time.monotonic()
        self._reported_at = 0.0
        self._saved_at = self._began

    def run(self, judge: Judge, notices: Iterable[Notice]) -> Run:
        """Judge what is missing; whatever ends it, leave a folder that can be resumed."""
        for notice in notices:
            self._tell(notice)
        self._save("running")
        self._report()
        try:
            self._judge_missing(judge)
        except KeyboardInterrupt as stop:
            self._save_what_can_be("stopped")
            number = stop.number if isinstance(stop, RunInterrupted) else signal.SIGINT
            message = f"stopped by {signal.Signals(number).name}; {self._where_it_stands()}"
            raise RunInterrupted(message, number) from None
        except BaseException:
            self._save_what_can_be("stopped")
            self._tell(Notice(kind="stopped", message=self._where_it_stands()))
            raise
        self._report()
        self._save("complete")
        run = open_run(self._folder.path)
        write_decisions(run)
        return run

    def _judge_missing(self, judge: Judge) -> None:
        settings = self._manifest.settings
        batches = judge_samples(
            judge,
            read_records(Sample, self._folder.samples),
            orders=settings.orders,
            repeats=settings.repeats,
            done=self._journal,
        )
        for batch in batches:
            with self._interruption.shield():
                self._journal.append(batch)
                self._made += len(batch)
            now = time.monotonic()
            if now - self._saved_at > SECONDS_BETWEEN_MANIFESTS:
                self._save("running")
            if now - self._reported_at > SECONDS_BETWEEN_REPORTS:
                self._report()

    def _report(self) -> None:
        self._reported_at = time.monotonic()
        if self._on_progress is not None:
            self._on_progress(
                Progress(
                    done=self._settled + self._made,
                    total=self._manifest.readings,
                    resumed=self._settled,
                    counts=self._journal.index.counts(),
                    seconds=self._reported_at - self._began,
                )
            )

    def _save(self, state: State) -> None:
        """Bring ``run.json`` up to date with the journal."""
        now = time.monotonic()
        self._manifest = bring_up_to_date(
            self._manifest, self._journal.index, state, seconds=now - self._saved_at
        )
        self._saved_at = now
        with self._interruption.shield():
            write_manifest(self._folder.manifest, self._manifest)

    def _save_what_can_be(self, state: State) -> None:
        """Save when something is wrong already; that error is the one to show."""
        with suppress(RunError):
            self._save(state)

    def _tell(self, notice: Notice) -> None:
        """Tell the caller at once, and whoever opens the run later."""
        if self._on_notice is not None:
            self._on_notice(notice)
        with suppress(RunError):
            path = self._folder.notices
            known = path.read_bytes() if path.exists() else b""
            write_atomically(path, known + to_line(notice))

    def _where_it_stands(self) -> str:
        return (
            f"{len(self._journal.index)} of {self._manifest.readings} readings are judged and safe "
            f"in {self._folder.path}; the same command goes on from there"
        )
