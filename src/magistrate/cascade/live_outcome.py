"""What became of every pair: decisions with reasons, the merged run, what each judge did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

from magistrate.cascade.live_folder import CascadeFolder, Pairs
from magistrate.cascade.live_records import (
    AskedJudge,
    CascadeDecision,
    Policy,
    TierSummary,
    Waiting,
    Why,
)
from magistrate.cascade.live_routing import Route, Router
from magistrate.cascade.live_tiers import sureness
from magistrate.judging.plan import Plan
from magistrate.records import Decision, Judgment, Sample, Usage
from magistrate.store.decisions import write_decisions
from magistrate.store.disk import NewFile
from magistrate.store.growing import GrowingRun
from magistrate.store.index import JournalIndex, JudgmentReader
from magistrate.store.lines import read_records, to_line
from magistrate.store.manifest import RunManifest, bring_up_to_date, write_manifest
from magistrate.store.run import open_run

_REASONS = 5


@dataclass(slots=True)
class _Count:
    """What one judge did."""

    asked: int = 0
    ok: int = 0
    decided: int = 0
    by_budget: int = 0
    by_fallback: int = 0
    failed: int = 0
    pending: int = 0
    confidences: list[float] = field(default_factory=list)
    without_probabilities: bool = False


@dataclass(frozen=True, slots=True)
class _Read:
    """What one judge made of a pair."""

    tier: int
    decision: Decision
    judgments: tuple[Judgment, ...]
    sure: float | None


@dataclass(slots=True)
class Totals:
    """What a cascade did, pairs of equal text counted once."""

    tiers: tuple[TierSummary, ...] = ()
    abstained: int = 0
    pending: int = 0
    undecided: int = 0
    reasons: dict[str, int] = field(default_factory=dict)
    """Why pairs wait, and how many do."""

    def top_reasons(self) -> tuple[Waiting, ...]:
        """Return the most frequent reasons."""
        ranked = sorted(self.reasons.items(), key=lambda item: (-item[1], item[0]))
        return tuple(Waiting(reason=reason, n=n) for reason, n in ranked[:_REASONS])


class Outcome:
    """Writes down what the router settled."""

    def __init__(
        self,
        folder: CascadeFolder,
        pairs: Pairs,
        runs: Sequence[GrowingRun],
        router: Router,
        policy: Policy,
        manifest: RunManifest,
    ) -> None:
        """Take all that is known; :meth:`Router.settle` was called."""
        self._folder, self._pairs, self._runs = folder, pairs, runs
        self._router, self._policy, self._manifest = router, policy, manifest
        settings = manifest.settings
        self._plan = Plan(
            manifest.judge_id, manifest.reads_alone, settings.orders, settings.repeats
        )
        self._scales_differ = len({run.judge.spec.family for run in runs}) > 1
        self._counts = [_Count() for _ in runs]
        self._totals = Totals()

    def write(self, *, seconds: float) -> Totals:
        """Write ``decisions.jsonl`` and the merged run; return the counts.

        Args:
            seconds: Wall time of this process, for the merged run.

        Raises:
            RunError: The disk is full or the folder cannot be written.
        """
        run = self._folder.run
        index = JournalIndex()
        seen: set[int] = set()
        with ExitStack() as stack:
            readers = [stack.enter_context(closing(one.reader())) for one in self._runs]
            lines = stack.enter_context(NewFile(self._folder.decisions))
            journal = stack.enter_context(NewFile(run.judgments))
            for row, sample in enumerate(read_records(Sample, run.samples)):
                pair = self._pairs.of_row[row]
                decision, judgments = self._decide(row, sample, pair, readers, pair in seen)
                lines.write(to_line(decision))
                if pair not in seen:
                    for judgment in judgments:
                        line = to_line(judgment)
                        index.add(judgment, line)
                        journal.write(line)
                seen.add(pair)
            lines.put_in_place()
            journal.put_in_place()
        whole = len(index) >= self._manifest.readings
        write_manifest(
            run.manifest,
            bring_up_to_date(
                self._manifest, index, "complete" if whole else "stopped", seconds=seconds
            ),
        )
        write_decisions(open_run(run.path))
        self._totals.tiers = tuple(self._summaries())
        return self._totals

    def _decide(
        self,
        row: int,
        sample: Sample,
        pair: int,
        readers: Sequence[JudgmentReader],
        is_repeated: bool,
    ) -> tuple[CascadeDecision, list[Judgment]]:
        route = self._router.route(pair)
        reads = list(self._reads(row, sample, route.tier, readers))
        by, why, reason = self._decider(route, reads)
        if not is_repeated:
            self._count(route, reads, by, why, reason)
        decided = by.decision if by is not None else None
        decision = CascadeDecision(
            row=row,
            sample_id=sample.id,
            why=why,
            tier=None if by is None else by.tier + 1,
            judge=None if by is None else self._name(by.tier),
            status=None if decided is None else decided.status,
            preference=None if decided is None else decided.preference,
            scores=None if decided is None else decided.scores,
            confidence=None if by is None else by.sure,
            threshold=_finite(route.threshold),
            asked=tuple(
                AskedJudge(
                    judge=self._name(one.tier),
                    status=one.decision.status,
                    confidence=one.sure,
                    preference=one.decision.preference,
                    cost=sum(judgment.cost for judgment in one.judgments),
                )
                for one in reads
            ),
            cost=0.0
            if is_repeated
            else sum(judgment.cost for one in reads for judgment in one.judgments),
            reason=reason,
        )
        return decision, self._merged(sample, by, why, reason, reads)

    def _reads(
        self, row: int, sample: Sample, last: int, readers: Sequence[JudgmentReader]
    ) -> Iterator[_Read]:
        """Yield what the judges on a pair's way made of it, up to the one that it is at."""
        for tier in range(last + 1):
            run = self._runs[tier]
            keys = run.plan.keys_of(sample)
            found = tuple(one for key in keys if (one := readers[tier].get(key)) is not None)
            if len(found) == len(keys) and self._router.was_asked(
                self._pairs.number[sample.text_id], tier
            ):
                decision = run.merged(row, sample, found)
                yield _Read(tier, decision, found, sureness(decision, found))

    def _decider(self, route: Route, reads: list[_Read]) -> tuple[_Read | None, Why, str | None]:
        """Return who decides a pair, why, and where nobody does the reason in words."""
        at = next((one for one in reads if one.tier == route.tier), None)
        known = [one for one in reads if one.decision.status == "ok"]
        name = self._name(route.tier)
        if route.state == "settled" and at is not None:
            is_last = route.tier == len(self._runs) - 1 and route.threshold is None
            return at, "last" if is_last else "confidence", None
        if route.state == "abstained" and at is not None:
            return None, "abstained", _unsure(name, at, route.threshold)
        if route.state == "budget":
            if self._policy.kind == "target":
                return None, "abstained", "the budget was used up before a judge was sure enough"
            best = known[-1] if known else (reads[-1] if reads else None)
            if best is not None:
                return best, "budget", None
        if route.state == "open" or at is None:
            reason = f"{name} did not answer yet"
        else:
            failed = next((one for one in at.judgments if one.status != "ok"), None)
            told = (failed.error if failed else None) or "no reason given"
            reason = f"{name}: {at.decision.status}: {told}"
        if self._policy.fallback == "cheap" and known and route.state == "stopped":
            return known[-1], "fallback", reason
        return None, "pending", reason

    def _merged(
        self,
        sample: Sample,
        by: _Read | None,
        why: Why,
        reason: str | None,
        reads: Sequence[_Read],
    ) -> list[Judgment]:
        """Return the judgments that stand in the merged run.

        The first of them bears what all judges on the way took.
        """
        if by is None and why != "abstained":
            return []
        paid = [judgment for one in reads for judgment in one.judgments]
        bill = {
            "usage": sum((one.usage for one in paid), Usage()),
            "cost": sum(one.cost for one in paid),
            "seconds": sum(one.seconds for one in paid),
        }
        merged = []
        for reading in self._plan.readings_of(sample):
            if by is None:
                one = Judgment(
                    key=reading.key,
                    sample_id=sample.text_id,
                    judge=self._manifest.judge.name,
                    order=reading.order,
                    repeat=reading.repeat,
                    status="refused",
                    error=f"abstained: {reason}",
                )
            else:
                known = [j for j in by.judgments if j.repeat == reading.repeat]
                # A judge that reads each answer alone has one reading for all orders.
                own = next((j for j in known if j.order == reading.order), known[0])
                update: dict[str, Any] = {"key": reading.key, "order": reading.order}
                if own.order != reading.order:
                    update["order_read"] = False
                # Scores of judges of different families are on scales that do not compare; a
                # pair is decided without them.
                if self._scales_differ and own.preference is not None:
                    update["scores"] = None
                one = own.model_copy(update=update)
            merged.append(one.model_copy(update=bill))
            bill = {"usage": Usage(), "cost": 0.0, "seconds": 0.0}
        return merged

    def _count(
        self, route: Route, reads: list[_Read], by: _Read | None, why: Why, reason: str | None
    ) -> None:
        for one in reads:
            count = self._counts[one.tier]
            count.asked += 1
            count.ok += one.decision.status == "ok"
            count.failed += one.decision.status != "ok"
            count.without_probabilities |= (
                one.decision.status == "ok" and one.decision.confidence is None
            )
        if why == "abstained":
            self._totals.abstained += 1
        elif by is None:
            self._totals.pending += 1
            self._counts[route.tier].pending += 1
            words = reason or ""
            known = self._totals.reasons
            if words in known or len(known) < 100:
                known[words] = known.get(words, 0) + 1
        elif by.decision.status != "ok":
            self._totals.undecided += 1
        else:
            count = self._counts[by.tier]
            count.decided += 1
            count.by_budget += why == "budget"
            count.by_fallback += why == "fallback"
            if by.sure is not None:
                count.confidences.append(by.sure)

    def _summaries(self) -> Iterator[TierSummary]:
        for tier, (count, run) in enumerate(zip(self._counts, self._runs, strict=True)):
            sure = count.confidences
            yield TierSummary(
                judge=self._name(tier),
                folder=run.folder.path.relative_to(self._folder.path).as_posix(),
                judge_id=run.judge.spec.id,
                threshold=_finite(self._router.threshold_of(tier)),
                asked=count.asked,
                ok=count.ok,
                decided=count.decided,
                by_budget=count.by_budget,
                by_fallback=count.by_fallback,
                failed=count.failed,
                pending=count.pending,
                share=count.decided / len(self._pairs) if len(self._pairs) else 0.0,
                cost=run.cost,
                seconds=run.seconds,
                confidence=(min(sure), max(sure)) if sure else None,
                gives_probabilities=not count.without_probabilities,
            )

    def _name(self, tier: int) -> str:
        return self._runs[tier].judge.spec.name


def _finite(value: float | None) -> float | None:
    return value if value is not None and abs(value) != float("inf") else None


def _unsure(name: str, read: _Read, threshold: float | None) -> str:
    sure = "cannot say how sure it is" if read.sure is None else f"is {read.sure:.3f} sure"
    return (
        f"{name} {sure}, and needs {threshold:.3f}" if threshold is not None else f"{name} {sure}"
    )
