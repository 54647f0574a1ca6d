"""What one training example costs beside its encoding: swap, reference drop, mentions renamed.

    python benchmarks/augmentation.py DATA_FOLDER

takes real samples from DATA_FOLDER: the Vicuna-bench pairs of ``fastchat/eval_table`` with GPT-4's
scores and reasons (the form of JudgeLM's data), and PandaLM's test set (three annotators, no
reasons). Neither has references; the Vicuna-bench pairs get a stand-in, so that there is one to
drop. Every round makes one example of each sample, in another epoch; given is the best and the
median round, in microseconds per sample, on one core.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from magistrate import read_samples
from magistrate.records import Answer, Gold, Sample
from magistrate.train.examples import Augmentation, make_example, sort_out

REVIEWS = (
    ("alpaca-13b", "review_alpaca-13b_vicuna-13b"),
    ("bard", "review_bard_vicuna-13b"),
    ("gpt35", "review_gpt35_vicuna-13b"),
    ("llama-13b", "review_llama-13b_vicuna-13b"),
)
SECOND = "vicuna-13b-20230322-new-hp-fp16"


def vicuna_samples(table: Path) -> list[Sample]:
    """Return the pairs that GPT-4 reviewed, with its scores and reasons."""
    questions = _by_question(table / "question.jsonl")
    samples = []
    for first, review in REVIEWS:
        folder = table / "review" / "vicuna-13b_20230322-clean-lang"
        answers = [_by_question(table / "answer" / f"answer_{n}.jsonl") for n in (first, SECOND)]
        for key, row in _by_question(folder / f"{review}.jsonl").items():
            reasons = str(row["text"]).partition("\n")[2].strip()
            samples.append(
                Sample(
                    question=questions[key]["text"],
                    answers=tuple(
                        Answer(text=found[key]["text"], model=name)
                        for found, name in zip(answers, (first, SECOND), strict=True)
                    ),
                    reference="A reference of some length. " * 8,
                    gold=(Gold(annotator="gpt-4", scores=tuple(row["score"]), reasons=reasons),),
                    source_id=f"{first}:{key}",
                )
            )
    return samples


def _by_question(path: Path) -> dict[str, dict[str, Any]]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return {str(row["question_id"]): row for row in rows}


def cost(samples: Sequence[Sample], augmentation: Augmentation, rounds: int) -> tuple[float, float]:
    """Return the best and the median of all rounds, in microseconds per sample."""
    found = []
    for epoch in range(rounds):
        started = time.perf_counter()
        for index, sample in enumerate(samples):
            make_example(sample, augmentation=augmentation, seed=0, epoch=epoch, index=index)
        found.append((time.perf_counter() - started) / len(samples) * 1e6)
    return min(found), statistics.median(found)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="folder with fastchat/ and pandalm/")
    parser.add_argument("--rounds", type=int, default=60)
    chosen = parser.parse_args()
    vicuna = vicuna_samples(chosen.data / "fastchat" / "eval_table")
    pandalm = list(read_samples(chosen.data / "pandalm" / "testset-v1.json"))
    print("| samples | n | letters of reasons | swap | drop | best µs | median µs |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, samples in (("Vicuna-bench, GPT-4", vicuna), ("PandaLM test set", pandalm)):
        kept, _ = sort_out(samples)
        usable = [samples[index] for index in kept]
        letters = sum(len(g.reasons or "") for s in usable for g in s.gold[:1]) / len(usable)
        for swap, drop in ((0.0, 0.0), (0.5, 0.5), (1.0, 0.5)):
            best, median = cost(usable, Augmentation(swap, drop), chosen.rounds)
            print(
                f"| {name} | {len(usable)} | {letters:.0f} | {swap:g} | {drop:g} "
                f"| {best:.1f} | {median:.1f} |"
            )


if __name__ == "__main__":
    main()
