"""What a live cascade writes down: its policy, its decisions with reasons, what each judge did."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from magistrate.cascade.guarantee import Guarantee
from magistrate.records import Preference, Record, Status
from magistrate.store.manifest import InputFile
from magistrate.store.manifest import State as State

Fallback = Literal["none", "cheap"]

Why = Literal["confidence", "last", "budget", "fallback", "abstained", "pending"]
"""Why a judge decided, or none did:

* ``confidence``: it is at least as sure as its threshold asks for;
* ``last``: it is the last judge, and decides whatever reaches it;
* ``budget``: a dearer one should have been asked, and the budget was used up;
* ``fallback``: a dearer one failed, and ``--fallback cheap`` was given;
* ``abstained``: not even the last judge is sure enough for what was promised; nobody decides;
* ``pending``: a judge failed or was not asked yet; the same command goes on.
"""

PolicyKind = Literal["threshold", "budget", "money", "target"]


class Policy(Record):
    """How pairs are routed: as it was asked for, and what was made of it."""

    kind: PolicyKind
    """``threshold``: fixed ones. ``budget``: a share or number. ``money``: as far as it goes.
    ``target``: an agreement with people, kept by abstaining."""
    thresholds: tuple[float | None, ...] = ()
    """For each judge the confidence from which it settles a pair. None where it settles all that
    reaches it, or (``keeps_nothing``) nothing. Of a budget it is known at the end."""
    keeps_nothing: tuple[bool, ...] = ()
    """For each judge whether no threshold lets it keep the promise, so that it is not asked."""
    budget: float | None = None
    """Largest share of the pairs that goes to the last judge."""
    budget_calls: int | None = None
    """Most readings that the last judge makes, each counted once however often it fails."""
    quota: int | None = None
    """Pairs of different text that may go to the last judge; None where nothing limits them."""
    stream: int | None = None
    """So many first pairs the threshold of a budget was estimated on, to ask judges at once."""
    max_cost: float | None = None
    """US dollars, all judges and all calls together."""
    target: float | None = None
    """Agreement with people that decisions must have."""
    risk: float | None = None
    """Probability that the promise may not hold; None for a mere estimate."""
    fallback: Fallback = "none"


class AskedJudge(Record):
    """What one judge said of a pair."""

    judge: str
    status: Status
    confidence: float | None = None
    preference: Preference | None = None
    cost: float = 0.0


class CascadeDecision(Record):
    """What a cascade made of one sample."""

    row: int
    """Place of the sample in ``samples.jsonl``, from 0."""
    sample_id: str
    why: Why
    tier: int | None = None
    """Place of the judge that decided, from 1; None where none did."""
    judge: str | None = None
    status: Status | None = None
    """Of the decision; None where nobody decided."""
    preference: Preference | None = None
    scores: tuple[float, ...] | None = None
    confidence: float | None = None
    threshold: float | None = None
    """What the confidence was held against; None for a judge that settles whatever reaches it."""
    asked: tuple[AskedJudge, ...] = ()
    """All judges that it went through."""
    cost: float = 0.0
    """US dollars, all of them together; 0 for a sample whose text an earlier row has."""
    reason: str | None = None
    """Of what is not decided: which judge, and what happened to it."""


class TierSummary(Record):
    """What one judge did in a cascade. Pairs of equal text count once."""

    judge: str
    folder: str
    """Its run, from the cascade's folder."""
    judge_id: str
    threshold: float | None = None
    asked: int = 0
    """Pairs that the policy brought to it."""
    ok: int = 0
    decided: int = 0
    """Pairs on which it has the last word."""
    by_budget: int = 0
    """Of these, those that should have gone on."""
    by_fallback: int = 0
    """Of these, those whose dearer judge failed."""
    failed: int = 0
    """Pairs whose reading is not ``ok``, passed on or waiting."""
    pending: int = 0
    """Pairs that wait for it."""
    share: float = Field(default=0.0, ge=0, le=1)
    """Share of all pairs that it decided."""
    cost: float = 0.0
    """US dollars, all that was ever asked of it here."""
    seconds: float = 0.0
    """Time in which it was at work; the judges work at once."""
    confidence: tuple[float, float] | None = None
    """Lowest and highest among those that it decided."""
    gives_probabilities: bool = True
    """False where its confidence is the share of its readings that agree."""


class Waiting(Record):
    """Why pairs wait."""

    reason: str
    n: int
    """Pairs that wait for it."""


class CascadeManifest(Record):
    """The contents of ``cascade.json``."""

    format_version: Literal[1] = 1
    tool_version: str
    state: State = "running"
    """``complete``: nothing waits."""
    policy: Policy
    tiers: tuple[TierSummary, ...]
    samples: int = 0
    pairs: int = 0
    """Samples of different text."""
    abstained: int = 0
    pending: int = 0
    undecided: int = 0
    """Pairs whose only readings are not ``ok``, and for which the budget was used up."""
    reasons: tuple[Waiting, ...] = ()
    """Why pairs wait, and how many do: the most frequent ones."""
    cost: float = 0.0
    """US dollars, calibration included."""
    lost: float = 0.0
    """The part of it that requests may have cost that were under way in killed processes."""
    calibration_cost: float = 0.0
    all_strong: float | None = None
    """What all pairs would cost if the last judge alone were asked, from what it cost so far; None
    where it was not asked."""
    calibrated_on: tuple[InputFile, ...] = ()
    labels: int = 0
    """Labelled pairs that thresholds were chosen on."""
    guarantee: Guarantee | None = None
    assumption: str | None = None
    """What must hold for the promise to hold."""
    started: datetime
    updated: datetime
    seconds: float = 0.0
    """Wall time, all commands together."""
