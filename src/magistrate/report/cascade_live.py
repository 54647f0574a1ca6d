"""A live cascade on the terminal: what each judge did, what it cost, and what all-strong would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from magistrate.report.table import NOTHING, facts_table, laid_table, percent
from magistrate.report.text import counted, dollars, duration, harmless, shortened
from magistrate.report.wrap import Wrapped

if TYPE_CHECKING:
    from magistrate.cascade.live_records import CascadeManifest, TierSummary

_LONGEST_REASON = 200


def cascade_table(manifest: CascadeManifest) -> RenderableType:
    """Return what a cascade did: a row for each judge, then totals and what waits."""
    rows = [_row(tier) for tier in manifest.tiers]
    headers = (
        "judge",
        "asked",
        "decided",
        "of all pairs",
        "passed on or waiting",
        "confidence where it decided",
        "threshold",
        "cost",
        "time",
    )
    return Group(
        _heading(manifest),
        Text(""),
        laid_table(headers, rows),
        Text(""),
        facts_table(_facts(manifest)),
    )


def policy_words(manifest: CascadeManifest) -> str:
    """Return how pairs are routed, in words."""
    policy = manifest.policy
    parts = []
    if policy.target is not None:
        sure = f"promised at risk {policy.risk:g}" if policy.risk is not None else "estimated"
        parts.append(
            f"agreement with people of at least {policy.target:.0%}, {sure}, on "
            f"{counted(manifest.labels, 'labelled pair')}"
        )
    elif policy.kind == "threshold":
        parts.append("fixed thresholds")
    if policy.budget is not None:
        parts.append(f"at most {policy.budget:.0%} of the pairs to the last judge")
    if policy.budget_calls is not None:
        parts.append(f"at most {counted(policy.budget_calls, 'reading')} by the last judge")
    if policy.stream is not None:
        parts.append(f"threshold estimated on the first {policy.stream:,} pairs")
    if policy.max_cost is not None:
        parts.append(f"at most {dollars(policy.max_cost)} in all")
    return "; ".join(parts)


def _heading(manifest: CascadeManifest) -> Wrapped:
    settled = manifest.pairs - manifest.pending
    return Wrapped(
        Text.assemble(
            ("cascade", "bold"),
            f" settled {settled:,} of {counted(manifest.pairs, 'pair')} ({policy_words(manifest)})",
        )
    )


def _row(tier: TierSummary) -> tuple[str, ...]:
    sure = tier.confidence
    return (
        harmless(tier.judge),
        f"{tier.asked:,}",
        f"{tier.decided:,}",
        percent(tier.share),
        f"{tier.failed:,} not ok",
        NOTHING if sure is None else f"{sure[0]:.3f} to {sure[1]:.3f}",
        NOTHING if tier.threshold is None else f"{tier.threshold:.3f}",
        dollars(tier.cost),
        duration(tier.seconds),
    )


def _facts(manifest: CascadeManifest) -> Iterator[tuple[str, str]]:
    if manifest.samples > manifest.pairs > 0:
        yield (
            "samples",
            f"{manifest.samples:,}: those of equal text are one pair, and counted once",
        )
    by_budget = sum(tier.by_budget for tier in manifest.tiers)
    if by_budget:
        yield "budget used up", f"{counted(by_budget, 'pair')} decided by a judge not sure enough"
    by_fallback = sum(tier.by_fallback for tier in manifest.tiers)
    if by_fallback:
        yield "fallback", f"{counted(by_fallback, 'pair')} decided in place of a judge that failed"
    if manifest.undecided:
        yield "not ok", f"{counted(manifest.undecided, 'pair')} without a verdict, budget used up"
    if manifest.policy.target is not None:
        share = manifest.abstained / manifest.pairs if manifest.pairs else None
        yield "abstained", f"{manifest.abstained:,} ({percent(share)})"
    if manifest.guarantee is not None:
        for judge in manifest.guarantee.judges:
            bound = NOTHING if judge.bound is None else percent(judge.bound)
            more = (
                "more labels would not help"
                if judge.labels_needed is None
                else f"about {judge.labels_needed:,} would do, if they look like these"
            )
            found = (
                f"keeps nothing: no threshold keeps the promise on {judge.n:,} labelled pairs; "
                f"{more}"
                if judge.threshold is None
                else f"kept {judge.kept:,} of {judge.n:,} labelled pairs, {judge.wrong:,} wrong; "
                f"at most {bound} wrong by the bound"
            )
            yield harmless(judge.judge), found
    if manifest.assumption is not None:
        yield "assumed", manifest.assumption
    yield "cost", _cost(manifest)
    yield "time", duration(manifest.seconds)
    if manifest.pending:
        yield "waiting", f"{counted(manifest.pending, 'pair')}: the same command goes on"
        for one in manifest.reasons:
            yield "", f"{one.n:,}: {shortened(harmless(one.reason), _LONGEST_REASON)}"
    silent = [tier.judge for tier in manifest.tiers[:-1] if not tier.gives_probabilities]
    if silent:
        taken = "no probabilities; taken is the share of readings that agree"
        yield "confidence", f"{harmless(', '.join(silent))}: {taken}"


def _cost(manifest: CascadeManifest) -> str:
    parts = [dollars(manifest.cost)]
    extra = []
    if manifest.calibration_cost:
        extra.append(f"{dollars(manifest.calibration_cost)} of it for labelled pairs")
    if manifest.lost:
        extra.append(
            f"{dollars(manifest.lost)} of it at most for requests that were broken off unanswered"
        )
    if manifest.all_strong:
        extra.append(
            f"all pairs by the last judge alone: about {dollars(manifest.all_strong)}, so this is "
            f"{manifest.cost / manifest.all_strong:.0%} of that"
        )
    return "; ".join([*parts, *extra])
