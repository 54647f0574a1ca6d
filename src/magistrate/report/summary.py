"""One run as one record: who wins, and how far that can be trusted.

    import magistrate as mg

    summary = mg.summarise(mg.open_run("runs/first"))
    print(summary)

The run is read as a stream; what is kept is a few bytes a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

from magistrate.metrics.agreement import Agreement, AgreementCounter
from magistrate.metrics.consistency import Consistency, ConsistencyCounter
from magistrate.metrics.flips import FlipCounter
from magistrate.metrics.intervals import Rate, proportion
from magistrate.metrics.wins import ModelResult, WinCounter
from magistrate.records import STATUSES, Decision, Judgment, Record, Sample, Status, Usage
from magistrate.store.manifest import RunManifest
from magistrate.store.run import plan_of

_MOST_REASONS = 1_000
"""Distinct failure reasons that are counted apart; the rest are counted as 'other reasons'."""
_REASONS_KEPT = 5


class EvaluatedRun(Protocol):
    """What :func:`summarise` needs of a run."""

    @property
    def path(self) -> object:
        """The run's folder."""
        ...

    @property
    def manifest(self) -> RunManifest:
        """What the run is."""
        ...

    def samples(self) -> Iterable[Sample]:
        """All samples, by row."""
        ...

    def judgments(self) -> Iterable[Judgment]:
        """The last judgment of every key."""
        ...

    def decisions(self) -> Iterable[Decision]:
        """Decisions of all samples whose judgments are there, by row."""
        ...


class Failure(Record):
    """A reason why readings are not ``ok``, and how many give it."""

    status: Status
    reason: str
    n: int


class RunSummary(Record):
    """What a run found and what it took. ``str()`` gives the table as plain text."""

    run: str
    """The run's folder."""
    judge: str
    family: str
    state: str
    """``complete``, ``stopped`` or ``running``, as in the run's manifest."""
    inputs: tuple[str, ...]
    """Files that the samples came from."""
    samples: int
    readings: int
    """Judgments that the run makes: samples of equal text share theirs."""
    repeated: int
    """Samples with the text of an earlier one."""
    bad_rows: int
    """Rows of the input that could not be used."""
    decisions: dict[Status, int]
    """Samples by the status of their decision."""
    pending: int
    """Samples without a decision, because a judgment of theirs is still missing."""
    not_ok: Rate
    """Share of decisions that are not ``ok``."""
    judgments: dict[Status, int]
    """Readings by status."""
    failures: tuple[Failure, ...]
    """The most frequent reasons of readings that are not ``ok``."""
    truncated: int
    """Samples of which the judge read a shortened question or answer."""
    models: tuple[ModelResult, ...]
    """Best first."""
    consistency: Consistency
    flips: Rate | None
    """Share of readings whose repeats do not all agree; None when each was read once."""
    agreement: Agreement | None
    """None when the input has no labels of pairs."""
    seconds: float
    """Time spent judging."""
    samples_per_second: float | None
    usage: Usage
    cost: float
    """In US dollars."""

    def __str__(self) -> str:
        """Return the result as a plain table, 100 columns wide at most."""
        from magistrate.report.table import plain_text, summary_table

        return plain_text(summary_table(self), width=100)


def summarise(run: EvaluatedRun) -> RunSummary:
    """Measure a run: wins per model, consistency, agreement with labels, failures and speed.

    Args:
        run: A run, finished or not; what is not judged yet counts as pending.
    """
    manifest = run.manifest
    consistency, failures = ConsistencyCounter(), _FailureCounter()
    flips = FlipCounter() if manifest.settings.repeats > 1 else None
    if not manifest.reads_alone or set(manifest.judgments) - {"ok"} or flips:
        for judgment in run.judgments():
            consistency.add_judgment(judgment)
            failures.add(judgment)
            if flips:
                flips.add(judgment)

    wins, agreement = WinCounter(), AgreementCounter()
    statuses: Counter[Status] = Counter()
    plan = plan_of(manifest)
    pending = truncated = read_alone = 0
    for sample, decision in with_decisions(run.samples(), run.decisions()):
        read_alone += plan.count(len(sample.answers))
        agreement.add(sample, decision)
        if decision is None:
            pending += 1
            continue
        statuses[decision.status] += 1
        truncated += decision.truncated
        wins.add(sample, decision)
        consistency.add_decision(decision)

    decided = statuses.total()
    return RunSummary(
        run=str(run.path),
        judge=manifest.judge.name,
        family=manifest.judge.family,
        state=manifest.state,
        inputs=tuple(file.name for file in manifest.inputs),
        samples=decided + pending,
        readings=manifest.readings,
        # Hashing all texts takes time; only a plan that is short of readings calls for it.
        repeated=_repeated(run.samples()) if read_alone > manifest.readings else 0,
        bad_rows=manifest.bad_rows,
        decisions={status: statuses[status] for status in STATUSES},
        pending=pending,
        not_ok=proportion(decided - statuses["ok"], decided),
        judgments={status: manifest.judgments.get(status, 0) for status in STATUSES},
        failures=failures.result(),
        truncated=truncated,
        models=wins.result(),
        consistency=consistency.result(reads_alone=manifest.reads_alone),
        flips=flips.result() if flips else None,
        agreement=agreement.result(),
        seconds=manifest.seconds,
        samples_per_second=decided / manifest.seconds if manifest.seconds > 0 and decided else None,
        usage=manifest.usage,
        cost=manifest.cost,
    )


def with_decisions(
    samples: Iterable[Sample], decisions: Iterable[Decision]
) -> Iterator[tuple[Sample, Decision | None]]:
    """Yield every sample with its decision, None where it has none.

    Args:
        samples: By row, from 0.
        decisions: By row; rows may be missing.

    Raises:
        ValueError: The decisions are not sorted by row, or name rows that are not there.
    """
    waiting = iter(decisions)
    decision = next(waiting, None)
    row = -1
    for row, sample in enumerate(samples):
        if decision is None or decision.row != row:
            yield sample, None
            continue
        yield sample, decision
        decision = next(waiting, None)
    if decision is not None:
        raise ValueError(f"a decision names row {decision.row}, out of sequence of {row + 1} rows")


def _repeated(samples: Iterable[Sample]) -> int:
    """Return how many samples have the text of an earlier one."""
    seen: set[bytes] = set()
    count = 0
    for count, sample in enumerate(samples, 1):  # noqa: B007 (the last number is the count)
        seen.add(bytes.fromhex(sample.text_id))
    return count - len(seen)


class _FailureCounter:
    """Counts why readings are not ``ok``, over a bounded number of distinct reasons."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[Status, str]] = Counter()

    def add(self, judgment: Judgment) -> None:
        if judgment.status == "ok":
            return
        key = (judgment.status, judgment.error or "no reason given")
        if key not in self._counts and len(self._counts) >= _MOST_REASONS:
            key = (judgment.status, "other reasons")
        self._counts[key] += 1

    def result(self) -> tuple[Failure, ...]:
        ranked = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return tuple(
            Failure(status=status, reason=reason, n=n)
            for (status, reason), n in ranked[:_REASONS_KEPT]
        )
