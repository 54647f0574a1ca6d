"""One process's work on a run: the folder taken up, judgments written, the state kept honest."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from magistrate.errors import EngineError, RunError
from magistrate.formats.base import Notice
from magistrate.judging.asking import Asker
from magistrate.judging.chunk import Manner
from magistrate.judging.judge import Judge
from magistrate.judging.plan import Plan
from magistrate.judging.stream import judge_samples
from magistrate.records import Sample
from magistrate.store.asked import folder_path, loaded_judge, remarks, source_of
from magistrate.store.begin import begin_or_resume
from magistrate.store.claim import claimed_folder
from magistrate.store.conversations import asked_of
from magistrate.store.decisions import write_decisions
from magistrate.store.demonstrating import Shown, Wanted, drawn_for, keep_demonstrations
from magistrate.store.disk import write_atomically
from magistrate.store.folder import RunFolder
from magistrate.store.intake import Intake
from magistrate.store.interrupt import Interruption, RunInterrupted
from magistrate.store.journal import Journal
from magistrate.store.lines import read_records, to_line
from magistrate.store.manifest import (
    RunManifest,
    RunSettings,
    State,
    bring_up_to_date,
    write_manifest,
)
from magistrate.store.progress import OnProgress, Progress
from magistrate.store.run import Run, open_run
from magistrate.store.seal import checked

OnNotice = Callable[[Notice], None]

SECONDS_BETWEEN_MANIFESTS = 5.0
SECONDS_BETWEEN_REPORTS = 0.1


@contextmanager
def work_on(
    samples: Any,
    judge: Any,
    out: Any,
    settings: RunSettings,
    *,
    demonstrations: Wanted | None = None,
    start_over: bool = False,
    check: Callable[[Judge], None] = lambda _: None,
    on_progress: OnProgress | None = None,
    on_notice: OnNotice | None = None,
) -> Iterator[Work]:
    """Load the judge, begin or take up the run, and yield the work on it.

    Args:
        samples: As :func:`magistrate.judge` takes them, and so are ``judge`` and ``out``.
        judge: Who judges.
        out: The run folder.
        settings: What was asked for.
        demonstrations: What the judge is to be shown solved.
        start_over: Whether a run that is there is moved aside.
        check: Raises what speaks against the judge, before anything is written.
        on_progress: Told how far the work is.
        on_notice: Told what the user should know.

    Raises:
        MagistrateError: As :func:`magistrate.judge` says.
    """
    with ExitStack() as held:
        interruption = held.enter_context(Interruption())
        source, shown = samples, Shown()
        if demonstrations is not None:
            given = source_of(samples, strict=settings.strict)
            source, shown = drawn_for(given, demonstrations, limit=settings.limit)
            settings = settings.model_copy(update={"demonstrations": shown.settings})
        loaded = held.enter_context(
            loaded_judge(judge, settings.mode, settings.engine_options, shown.samples)
        )
        check(loaded)
        _check_price(loaded, settings)
        plan = Plan.of(loaded, orders=settings.orders, repeats=settings.repeats)
        intake = Intake(
            source_of(source, strict=settings.strict),
            plan,
            limit=settings.limit,
            strict=settings.strict,
            refuse=_refusal(loaded, plan, settings),
        )
        with claimed_folder(folder_path(out), loaded.spec.name) as folder:
            manifest = begin_or_resume(folder, intake, loaded, settings, start_over=start_over)
            keep_demonstrations(folder, shown)
            with Journal(folder.judgments, retry=settings.retry) as journal:
                manifest, changes = checked(manifest, journal.index, folder)
                work = Work(loaded, folder, journal, manifest, interruption, on_progress, on_notice)
                known = (
                    *remarks(loaded, settings, intake.with_images),
                    *shown.notices,
                    *intake.changes,
                    *changes,
                )
                for notice in (*known, *journal.notices):
                    work.tell(notice)
                yield work


class Work:
    """Makes the missing judgments of a run; whatever ends it, the folder can be resumed."""

    def __init__(
        self,
        judge: Judge,
        folder: RunFolder,
        journal: Journal,
        manifest: RunManifest,
        interruption: Interruption,
        on_progress: OnProgress | None,
        on_notice: OnNotice | None,
    ) -> None:
        """Take what :func:`work_on` made ready."""
        self.judge = judge
        self.folder = folder
        self.journal = journal
        self.manifest = manifest
        self._interruption = interruption
        self._on_progress = on_progress
        self._on_notice = on_notice
        self._asked = asked_of(folder.conversations)
        self._settled = journal.settled
        self._made = 0
        self._from_cache: Callable[[], int] = lambda: 0
        self._began = time.monotonic()
        self._reported_at = 0.0
        self._saved_at = self._began

    @property
    def spent(self) -> float:
        """US dollars that the run took so far, questions to its judge included."""
        return self.journal.index.totals.cost + self._asked.cost

    def samples(self) -> Iterator[Sample]:
        """Yield the run's samples."""
        return read_records(Sample, self.folder.samples)

    def run(self, manner: Manner, judge: Judge | None = None) -> Run:
        """Judge what is missing, and return the run.

        Args:
            manner: How readings are made.
            judge: Who judges, where it is not the run's judge itself but its recorded answers.
        """
        cache = manner.cache
        if cache is not None:
            self._from_cache = lambda: cache.hits
        self._save("running")
        self._report()
        with self._honest_end():
            self._judge_missing(judge or self.judge, manner)
        self._report()
        # Answers that were collected may be fewer than the readings.
        whole = len(self.journal.index) >= self.manifest.readings
        self._save("complete" if whole else "stopped")
        run = open_run(self.folder.path)
        write_decisions(run)
        return run

    def leave(self) -> Run:
        """Leave the run as it is, to be gone on with, and return it."""
        self._save("stopped")
        return open_run(self.folder.path)

    def tell(self, notice: Notice) -> None:
        """Tell the caller at once, and whoever opens the run later."""
        if self._on_notice is not None:
            self._on_notice(notice)
        with suppress(RunError):
            path = self.folder.notices
            known = path.read_bytes() if path.exists() else b""
            write_atomically(path, known + to_line(notice))

    @contextmanager
    def _honest_end(self) -> Iterator[None]:
        """Whatever ends the work, say so in the folder."""
        try:
            yield
        except KeyboardInterrupt as stop:
            self._save_what_can_be("stopped")
            number = stop.number if isinstance(stop, RunInterrupted) else signal.SIGINT
            message = f"stopped by {signal.Signals(number).name}; {self._where_it_stands()}"
            raise RunInterrupted(message, number) from None
        except BaseException:
            self._save_what_can_be("stopped")
            self.tell(Notice(kind="stopped", message=self._where_it_stands()))
            raise

    def _judge_missing(self, judge: Judge, manner: Manner) -> None:
        settings = self.manifest.settings
        batches = judge_samples(
            judge,
            self.samples(),
            orders=settings.orders,
            repeats=settings.repeats,
            done=self.journal,
            manner=manner,
        )
        for batch in batches:
            with self._interruption.shield():
                self.journal.append(batch)
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
                    total=self.manifest.readings,
                    resumed=self._settled,
                    counts=self.journal.index.counts(),
                    seconds=self._reported_at - self._began,
                    cost=self.spent,
                    from_cache=self._from_cache(),
                )
            )

    def _save(self, state: State) -> None:
        """Bring ``run.json`` up to date with the journal."""
        now = time.monotonic()
        if state != "running":
            self.journal.flush()  # before its hash is on the disk, what was hashed is
        self.manifest = bring_up_to_date(
            self.manifest, self.journal.index, state, seconds=now - self._saved_at
        )
        self._saved_at = now
        with self._interruption.shield():
            write_manifest(self.folder.manifest, self.manifest)

    def _save_what_can_be(self, state: State) -> None:
        """Save when something is wrong already; that error is the one to show."""
        with suppress(RunError):
            self._save(state)

    def _where_it_stands(self) -> str:
        return (
            f"{len(self.journal.index)} of {self.manifest.readings} readings are judged and safe "
            f"in {self.folder.path}; the same command goes on from there"
        )


def _refusal(judge: Judge, plan: Plan, settings: RunSettings) -> Callable[[Sample], str | None]:
    """Return what says why a sample stops the run before it begins."""
    if settings.on_overflow != "error":
        return lambda _: None
    asker = Asker(judge, "error")

    def refuse(sample: Sample) -> str | None:
        for reading in plan.readings_of(sample):
            if reading.repeat == 0 and (reason := asker.overflow(reading)) is not None:
                return (
                    f"{reason}; shorten it, or give --on-overflow truncate (cut the answers) or "
                    f"skip (leave the sample out)"
                )
        return None

    return refuse


def _check_price(judge: Judge, settings: RunSettings) -> None:
    if settings.max_cost is not None and judge.engine.info.price_unknown:
        raise EngineError(
            f"a cost limit cannot be kept: the price of '{judge.engine.info.model}' is not known; "
            f"give it as an engine option, or judge without --max-cost"
        )
