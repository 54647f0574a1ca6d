"""What is not learned from, by reason: a count and one example of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from magistrate.records import Sample

_NUMBER = re.compile(r"\d[\d,.]*\b")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Samples that are left out for one reason.

    Attributes:
        reason: In words; where reasons differ in numbers alone, that of the first sample.
        count: How many samples.
        example: What a person would know the first of them by.
    """

    reason: str
    count: int
    example: str

    def __str__(self) -> str:
        """Return all three as a line."""
        samples = "1 sample" if self.count == 1 else f"{self.count:,} samples"
        return f"{samples}: {self.reason} (e.g. sample {self.example})"


def by_reason(found: Iterable[tuple[str, str]]) -> tuple[LeftOut, ...]:
    """Group reasons, the commonest first; reasons that differ in numbers alone are one.

    Args:
        found: Reason and name of each sample.

    >>> print(*by_reason([("5 tokens", "a"), ("no label", "b"), ("7 tokens", "c")]), sep=chr(10))
    2 samples: 5 tokens (e.g. sample a)
    1 sample: no label (e.g. sample b)
    """
    groups: dict[str, LeftOut] = {}
    for reason, name in found:
        key = _NUMBER.sub("#", reason)
        first = groups.get(key, LeftOut(reason, 0, name))
        groups[key] = LeftOut(first.reason, first.count + 1, first.example)
    return tuple(sorted(groups.values(), key=lambda one: -one.count))


def name_of(sample: Sample) -> str:
    """Return what a person would know a sample by: the file's id, else its own."""
    return sample.source_id or sample.id
