"""A toy task, a toy family and a tiny base for tests of training; made here, nothing fetched."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from hf_help import byte_tokenizer, tiny_model

from magistrate.records import Answer, Gold, Sample, to_json_line
from magistrate.train.recipe import Recipe, read_recipe

FAMILY = """
name = "toy"
version = "1"
description = "A short prompt; the reply is the letter of the better answer."
min_answers = 2
max_answers = 2
empty_answer = "(empty)"
markers = ["<q>", "</q>", "<1>", "</1>", "<2>", "</2>"]

[[messages]]
role = "text"
text = '''
<q>{{ question }}</q>
<1>{{ answer_1 }}</1>
<2>{{ answer_2 }}</2>
Better:'''

[verdict]
kind = "choice"
place = "first"
labels = { first = ["A"], second = ["B"] }

[sampling]
max_tokens = 64

[score_mode]
max_tokens = 8
stop = ["\\n"]
"""
WORDS = ("red", "blue", "green", "one", "two")


def toy_samples(count: int, seed: int = 0, *, reasons: bool = False) -> list[Sample]:
    """Return pairs whose longer answer is the better one."""
    draw = random.Random(seed)
    samples = []
    for number in range(count):
        short = draw.choice(WORDS)
        long = " ".join(draw.choice(WORDS) for _ in range(8))
        first = draw.random() < 0.5
        samples.append(
            Sample(
                question=f"Say {draw.choice(WORDS)} {seed}-{number}",
                answers=(
                    Answer(text=long if first else short),
                    Answer(text=short if first else long),
                ),
                gold=(
                    Gold(
                        annotator="rule",
                        preference="first" if first else "second",
                        reasons=f"Answer {1 if first else 2} says more." if reasons else None,
                    ),
                ),
                source_id=str(number),
            )
        )
    return samples


def write_samples(samples: list[Sample], path: Path) -> None:
    """Write samples in the package's own format."""
    path.write_bytes(b"".join(to_json_line(sample) + b"\n" for sample in samples))


def write_family(folder: Path) -> Path:
    """Write the toy family and return its folder."""
    target = folder / "toy"
    target.mkdir(parents=True, exist_ok=True)
    (target / "family.toml").write_text(FAMILY, "utf-8")
    return target


def write_base(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """Write a tiny base with random weights and return its folder."""
    tokenizer = byte_tokenizer(template=None)
    target = folder / "base"
    model = tiny_model(
        vocab=len(tokenizer),
        seed=seed,
        **{"eos_token_id": tokenizer.eos_token_id, "initializer_range": 0.05, **changes},
    )
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
    return target


def toy_recipe(folder: Path, *, count: int = 64, dev: int = 32, **settings: Any) -> Recipe:
    """Write data, family and base, and return a recipe over them; keys with ``__`` for dots."""
    reasons = settings.get("judge__mode") == "reason"
    write_samples(toy_samples(count, reasons=reasons), folder / "train.jsonl")
    write_samples(toy_samples(dev, seed=1, reasons=reasons), folder / "dev.jsonl")
    values: dict[str, Any] = {
        "data.train": str(folder / "train.jsonl"),
        "judge.base": str(write_base(folder)),
        "judge.family": f"{write_family(folder)}/",
        "judge.mode": "score",
        "adapter.kind": "full",
        "optim.epochs": 2,
        "optim.batch": 8,
        "optim.lr": 3e-3,
        "optim.max_length": 256,
        "run.device": "cpu",
        "run.precision": "fp32",
        "run.pass_tokens": 512,
        "run.log_each": 2,
    }
    if dev:
        values["data.dev"] = str(folder / "dev.jsonl")
    values |= {key.replace("__", "."): value for key, value in settings.items()}
    return read_recipe(None, values)
