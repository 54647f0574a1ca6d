"""How good a judge is while it is trained, by the same path that ``magistrate judge`` takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from magistrate.judging.judge import Judge
from magistrate.judging.merge import decide
from magistrate.judging.plan import Plan
from magistrate.judging.stream import judge_samples
from magistrate.metrics.agreement import measure_agreement
from magistrate.metrics.consistency import measure_consistency
from magistrate.metrics.intervals import Rate
from magistrate.records import Judgment, Sample

RATES = (
    "agreement",
    "agreement_three_classes",
    "longer_wins",
    "consistency",
    "bias_first",
    "bias_second",
)
"""What an evaluation measures: each with its 95 % interval in ``NAME_low`` and ``NAME_high``."""

FIELDS = (
    *(f"{name}{suffix}" for name in RATES for suffix in ("", "_low", "_high")),
    "pairs",
    "not_ok",
    "samples",
)


def evaluate_judge(judge: Judge, samples: Sequence[Sample]) -> dict[str, float | int | None]:
    """Have samples judged in both orders and compare with their labels.

    Args:
        judge: As it is now; it is not closed.
        samples: Labelled, each with the one label that counts.

    Returns:
        Every key of :data:`FIELDS`: ``agreement`` is that on decisive pairs, where a predicted tie
        counts half; None where there was nothing to measure. What is not ``ok`` is counted in
        ``not_ok`` and scores nothing.
    """
    judgments: dict[str, Judgment] = {}
    for chunk in judge_samples(judge, samples):
        judgments |= {judgment.key: judgment for judgment in chunk}
    decisions = list(decide(Plan.of(judge), samples, judgments.get))
    agreement = measure_agreement(zip(samples, decisions, strict=True))
    consistency = measure_consistency(
        judgments.values(), decisions, reads_alone=judge.family.reads_alone
    )
    found: dict[str, float | int | None] = dict.fromkeys(FIELDS)
    if agreement is not None:
        _put(found, "agreement", agreement.decisive.judge)
        _put(found, "agreement_three_classes", agreement.three_class.judge)
        _put(found, "longer_wins", agreement.decisive.longer_wins)
        found["pairs"] = agreement.decisive.judge.n
    if consistency is not None:
        _put(found, "consistency", consistency.consistent)
        _put(found, "bias_first", consistency.toward_first)
        _put(found, "bias_second", consistency.toward_second)
    found["samples"] = len(samples)
    found["not_ok"] = sum(decision.status != "ok" for decision in decisions)
    return found


def _put(found: dict[str, float | int | None], name: str, rate: Rate) -> None:
    found |= {name: rate.value, f"{name}_low": rate.low, f"{name}_high": rate.high}


@contextmanager
def not_training(model: Any) -> Iterator[None]:
    """Switch a model's dropout off, and its chance back on afterwards exactly as it was."""
    import torch

    was_training = model.training
    state = torch.get_rng_state()
    model.eval()
    try:
        yield
    finally:
        torch.set_rng_state(state)
        model.train(was_training)
