"""Metrics on real data against figures that were published, or computed apart from this package."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import magistrate as mg
from magistrate.metrics.agreement import measure_agreement
from magistrate.metrics.gold import NO_MAJORITY, gold_label
from magistrate.metrics.wins import count_wins
from magistrate.records import Decision, Sample

pytestmark = pytest.mark.data

LONGER_WINS = {
    "pandalm/testset-v1.json": 67.4,
    "auto-j/test/testdata_pairwise.jsonl": 71.6,
    "llmbar/LLMBar/Natural/dataset.json": 56.5,
    "llmbar/LLMBar/Adversarial/Neighbor/dataset.json": 11.9,
    "llmbar/LLMBar/Adversarial/GPTInst/dataset.json": 13.0,
    "llmbar/LLMBar/Adversarial/GPTOut/dataset.json": 44.7,
    "llmbar/LLMBar/Adversarial/Manual/dataset.json": 18.5,
}
"""Share right of 'longer wins' on decisive pairs, equal lengths counting half."""

ALPACA_EVAL = {
    "alpaca-7b": 26.459627,
    "text_davinci_001": 15.174129,
    "vicuna-13b": 70.434783,
    "gpt4": 95.279503,
}
"""Published win rates against text_davinci_003 (leaderboard of AlpacaEval 1)."""


def decided_by_gold(samples: list[Sample]) -> Iterator[tuple[Sample, Decision]]:
    """Yield the samples with their annotators' majority as if a judge had said it."""
    for row, sample in enumerate(samples):
        label = gold_label(sample)
        if label is not None and label != NO_MAJORITY:
            yield (
                sample,
                Decision(row=row, sample_id=sample.id, status="ok", preference=label, rule="gold"),
            )


@pytest.mark.parametrize(("file", "published"), LONGER_WINS.items())
def test_longer_wins(data_folder: Path, file: str, published: float) -> None:
    path = data_folder / file
    if not path.exists():
        path = path.with_name(path.name + ".gz")
    samples = list(mg.read_samples(path))
    agreement = measure_agreement(decided_by_gold(samples))
    assert agreement is not None
    value = agreement.decisive.longer_wins.value
    assert value is not None
    assert round(100 * value, 1) == published


@pytest.mark.parametrize(("model", "published"), ALPACA_EVAL.items())
def test_alpaca_eval_win_rates(data_folder: Path, model: str, published: float) -> None:
    path = data_folder / f"alpaca_eval/results/{model}/alpaca_eval_gpt4/annotations.json"
    results = count_wins(decided_by_gold(list(mg.read_samples(path))))
    baseline = next(r for r in results if r.model == "text_davinci_003")
    (other,) = (r for r in results if r is not baseline)
    assert round(100 * (other.win_rate.value or 0), 6) == published
    assert (other.wins, other.ties, other.losses) == (
        baseline.losses,
        baseline.ties,
        baseline.wins,
    )


def test_pandalm_wins_of_one_pair_of_models(data_folder: Path) -> None:
    """LLaMA-7B against Bloom-7B by its annotators: 72 wins, 28 losses, 11 ties, as published."""
    pair = {"llama-7b", "bloom-7b"}
    samples = [
        sample
        for sample in mg.read_samples(data_folder / "pandalm/testset-v1.json")
        if {answer.model for answer in sample.answers} == pair
    ]
    results = {r.model: r for r in count_wins(decided_by_gold(samples))}
    llama = results["llama-7b"]
    assert (llama.wins, llama.losses, llama.ties) == (72, 28, 11)


def test_pandalm_majorities(data_folder: Path) -> None:
    labels = [gold_label(s) for s in mg.read_samples(data_folder / "pandalm/testset-v1.json")]
    counts = {label: labels.count(label) for label in ("first", "second", "tie", NO_MAJORITY)}
    assert counts == {"first": 422, "second": 472, "tie": 105, NO_MAJORITY: 0}
