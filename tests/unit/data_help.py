"""Small labelled data for the tests of checks, splits and cards."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from magistrate.data.checks.check import check_data
from magistrate.data.checks.findings import CheckReport, Finding
from magistrate.records import Answer, Gold, Sample, to_json_line

WORDS = (
    "harbour", "lantern", "meadow", "thunder", "copper", "violin", "glacier", "pepper",
    "orchard", "saddle", "marble", "canyon", "feather", "kettle", "pigeon", "ribbon",
    "tunnel", "velvet", "walnut", "zephyr", "anchor", "basket", "candle", "dragon",
)  # fmt: skip


def question(number: int) -> str:
    """Return a question that is like no other."""
    chosen = random.Random(number).sample(WORDS, 8)
    return f"{' '.join(chosen)} {number}?"


def pair(
    text: str = "Why?",
    first: str = "An answer.",
    second: str = "Another answer, longer.",
    *labels: str,
    models: tuple[str | None, str | None] = (None, None),
    **more: Any,
) -> Sample:
    """Return a pair, each label by an annotator of its own."""
    gold = tuple(
        Gold(annotator=f"a{k}", preference=label)  # type: ignore[arg-type]
        for k, label in enumerate(labels, 1)
    )
    answers = (Answer(text=first, model=models[0]), Answer(text=second, model=models[1]))
    return Sample(question=text, answers=answers, **{"gold": gold, **more})


def write(path: Path, samples: Iterable[Sample]) -> Path:
    """Write samples in our own format."""
    path.write_bytes(b"".join(to_json_line(sample) + b"\n" for sample in samples))
    return path


def checked(path: Path, samples: Iterable[Sample], **options: Any) -> CheckReport:
    """Write samples and check them."""
    return check_data(write(path / "data.jsonl", samples), **options)


def finding(report: CheckReport, check: str) -> Finding | None:
    """Return a finding by its word."""
    return next((each for each in report.findings if each.check == check), None)
