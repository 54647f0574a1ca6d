"""Batches: requests written to a file for somebody else to answer, and the answers read back.

Providers answer such files within a day at half the price, and ``vllm run-batch`` reads them too.
The keys are those of the run, so that the same run can be gone on with in either way.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magistrate.errors import EngineError, InputError
from magistrate.formats.base import Notice
from magistrate.judging.chunk import Manner
from magistrate.judging.judge import Judge, Mode
from magistrate.judging.judgments import was_cut_short
from magistrate.judging.orders import Orders
from magistrate.judging.spending import Spending
from magistrate.judging.stream import requests_for
from magistrate.judging.window import OnOverflow
from magistrate.messages import Completion, Request
from magistrate.records import Sample, Status
from magistrate.store.asked import checked_settings
from magistrate.store.demonstrating import wanted_demonstrations
from magistrate.store.index import FAILURES, JudgmentReader
from magistrate.store.progress import OnProgress
from magistrate.store.recorded import RecordedEngine, add_answer, status_of, without_known
from magistrate.store.run import Run
from magistrate.store.work import OnNotice, Work, work_on

if TYPE_CHECKING:
    from magistrate.engines.api.engine import ApiEngine


@dataclass(frozen=True, slots=True)
class EmittedBatch:
    """A file of requests, and the run that waits for the answers."""

    run: Run
    files: tuple[Path, ...]
    """More than one where a provider would not take all in one; none when nothing was missing."""
    requests: int


def emit_batch(
    samples: str | Path | Sequence[str | Path] | Iterable[Sample],
    judge: str | Path | Judge,
    file: str | Path,
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
    start_over: bool = False,
    retry: Collection[Status] = FAILURES,
    on_notice: OnNotice | None = None,
) -> EmittedBatch:
    """Write the requests that a run still lacks to a file in OpenAI's batch form.

    Args:
        samples: As :func:`magistrate.judge` takes them, and so are the other arguments.
        judge: One on the engine ``openai``. Nothing is asked of its server.
        file: The file to write; it must not exist. What does not go into one file goes into
            further ones beside it.
        out: The run folder, which the answers are collected into later.
        mode: ``reason`` or ``score``.
        engine_options: Settings of the judge's engine by name.
        orders: ``both`` or ``given``.
        repeats: How often each order is read.
        limit: Only the first so many samples.
        strict: Stop at the first bad row of the input.
        on_overflow: What becomes of prompts that are too long.
        demonstrations: Labelled samples that the judge is shown some of, solved.
        per_outcome: How many of each outcome.
        demonstrations_seed: Another seed draws others.
        start_over: If the folder holds a run, move it aside and begin anew.
        retry: Failures that are asked again.
        on_notice: Called with what the user should know at once.

    Raises:
        InputError: The file exists or cannot be written, or the input is no input.
        EngineError: The judge's engine has no batch form.
        MagistrateError: As :func:`magistrate.judge`.
    """
    path = Path(file)
    if path.exists():
        raise InputError(f"{path} exists already; give the name of a new file")
    settings = checked_settings(
        retry,
        engine_options,
        mode=mode,
        orders=orders,
        repeats=repeats,
        limit=limit,
        strict=strict,
        on_overflow=on_overflow,
    )
    with work_on(
        samples,
        judge,
        out,
        settings,
        demonstrations=wanted_demonstrations(demonstrations, per_outcome, demonstrations_seed),
        start_over=start_over,
        check=_check_engine,
        on_notice=on_notice,
    ) as work:
        from magistrate.engines.api.batch import write_batch  # brings the libraries of the network

        engine = _api_engine(work.judge)
        counted = _Counted(_missing(work))
        try:
            files = write_batch(counted, path, work.judge.spec.model, engine.options)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}") from error
        finally:
            run = work.leave()
        return EmittedBatch(run, tuple(files), counted.number)


def collect_batch(
    samples: str | Path | Sequence[str | Path] | Iterable[Sample],
    judge: str | Path | Judge,
    file: str | Path,
    out: str | Path,
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
    retry: Collection[Status] = FAILURES,
    on_progress: OnProgress | None = None,
    on_notice: OnNotice | None = None,
) -> Run:
    """Read the answers to an emitted batch into its run.

    Readings without an answer stay open: emit them again, or judge on without a batch.

    Args:
        samples: As they were when the batch was emitted, and so are the other arguments.
        judge: The judge of the run.
        file: What the provider gave back.
        out: The run folder.
        mode: As before.
        engine_options: As before.
        orders: As before.
        repeats: As before.
        limit: As before.
        strict: As before.
        on_overflow: As before.
        demonstrations: As before.
        per_outcome: As before.
        demonstrations_seed: As before.
        retry: Failures whose answers are taken.
        on_progress: Called up to ten times a second and at the end.
        on_notice: Called with what the user should know at once.

    Raises:
        InputError: The file cannot be read, or holds no answer that belongs to the run.
        EngineError: The judge's engine has no batch form.
        MagistrateError: As :func:`magistrate.judge`.
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
    )
    with work_on(
        samples,
        judge,
        out,
        settings,
        demonstrations=wanted_demonstrations(demonstrations, per_outcome, demonstrations_seed),
        check=_check_engine,
        on_progress=on_progress,
        on_notice=on_notice,
    ) as work:
        answers = _read_answers(Path(file), _api_engine(work.judge), work.tell)
        index = work.journal.index
        fresh = without_known(answers, JudgmentReader(work.folder.judgments, index), index)
        manner = Manner(
            on_overflow=settings.on_overflow, spending=Spending(work.spent), offline=True
        )
        run = work.run(manner, replace(work.judge, engine=RecordedEngine(work.judge.engine, fresh)))
        foreign = sum(status_of(index, key) is None for key in answers)
        if answers and foreign == len(answers):
            raise InputError(
                f"none of the {len(answers):,} answers in {file} belongs to {run.path}; give the "
                f"run folder, the judge and the settings with which the batch was emitted"
            )
        if foreign:
            message = f"{foreign:,} answers in {file} belong to no reading of this run"
            work.tell(Notice(kind="foreign-answers", message=message))
        return run


class _Counted:
    """An iterator that knows how many it has let through."""

    def __init__(self, requests: Iterator[Request]) -> None:
        self._requests = requests
        self.number = 0

    def __iter__(self) -> Iterator[Request]:
        return self

    def __next__(self) -> Request:
        request = next(self._requests)
        self.number += 1
        return request


def _missing(work: Work) -> Iterator[Request]:
    """Yield the requests that the run still lacks."""
    settings = work.manifest.settings
    with _cut_short(work) as short:
        yield from requests_for(
            work.judge,
            work.samples(),
            orders=settings.orders,
            repeats=settings.repeats,
            done=work.journal,
            on_overflow=settings.on_overflow,
            short=short,
        )


@contextmanager
def _cut_short(work: Work) -> Iterator[Any]:
    """Yield the readings whose last verdict was cut short by the limit of its length."""
    with closing(JudgmentReader(work.folder.judgments, work.journal.index)) as reader:

        class CutShort:
            def __contains__(self, key: object) -> bool:
                if not isinstance(key, str):
                    return False
                if work.journal.index.status_of(bytes.fromhex(key)) != "truncated":
                    return False
                judgment = reader.get(key)
                return judgment is not None and was_cut_short(judgment)

        yield CutShort()


def _read_answers(path: Path, engine: ApiEngine, tell: OnNotice) -> dict[str, Completion]:
    """Return the answers by the request's key."""
    from magistrate.engines.api.batch import read_batch

    def odd(problem: str) -> None:
        problems.append(problem)

    problems: list[str] = []
    answers: dict[str, Completion] = {}
    for completion in read_batch(path, price=engine.served.price, on_problem=odd):
        add_answer(answers, completion)
    if problems:
        more = f"; and {len(problems) - 1:,} more such lines" if len(problems) > 1 else ""
        tell(Notice(kind="batch-line", message=f"{problems[0]}{more}"))
    return answers


def _check_engine(judge: Judge) -> None:
    _api_engine(judge)


def _api_engine(judge: Judge) -> ApiEngine:
    """Return the judge's engine.

    Raises:
        EngineError: It has no batch form.
    """
    from magistrate.engines.api.engine import ApiEngine  # brings the libraries of the network

    if not isinstance(judge.engine, ApiEngine):
        raise EngineError(
            f"engine '{judge.spec.engine}' has no batch form; batches are for judges that a server "
            f"answers: openai:MODEL"
        )
    return judge.engine
