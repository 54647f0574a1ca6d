"""What a check says: findings with their severity, their size, examples, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from magistrate.formats.base import BadRow, Notice
from magistrate.records import Record

Severity = Literal["error", "warning", "note"]
"""``error``: training or measuring with these data gives wrong numbers. ``warning``: look at it.
``note``: worth knowing."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")

EXAMPLES_KEPT = 1_000
"""Examples of one finding that are kept; all are counted."""

EXCERPT = 160
"""Characters of a text that an example shows."""


class Example(Record):
    """One place where a finding holds."""

    file: str
    row: int
    text: str = ""
    """The beginning of the text that it is about."""
    other_file: str | None = None
    other_row: int | None = None
    other_text: str | None = None
    similarity: float | None = None
    """True Jaccard similarity, of near-duplicates."""
    note: str = ""


class Finding(Record):
    """One thing that was found."""

    check: str
    """A stable word: ``duplicate-pairs``, ``leaked-questions``, ``length-label``, ..."""
    severity: Severity
    count: int
    """How many samples (or models, annotators, ...) it is about."""
    says: str
    """What was found, in a sentence."""
    do: str = ""
    """What to do about it."""
    examples: tuple[Example, ...] = ()
    """The first 1,000."""
    values: dict[str, Any] = Field(default_factory=dict)
    """The numbers behind it."""


class CheckReport(Record):
    """All that was found in some files."""

    files: tuple[str, ...]
    against: tuple[str, ...]
    """Test sets that leaks were looked for in."""
    samples: int
    pairs: int
    """Samples of two answers."""
    labelled: int
    """Pairs that somebody labelled."""
    questions: int
    """Different questions, after normalisation."""
    answers: int
    """Different answers."""
    data_hash: str
    """See :func:`magistrate.data.hashing.data_hash`."""
    bad_count: int
    bad: tuple[BadRow, ...]
    notices: tuple[Notice, ...]
    findings: tuple[Finding, ...]
    """Errors first, then warnings, then notes."""
    settings: dict[str, Any]
    """Thresholds, shingles, bands and limits."""

    def count(self, severity: Severity) -> int:
        """Return how many findings have a severity."""
        return sum(finding.severity == severity for finding in self.findings)


def in_sequence(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings with the severest first, otherwise in the sequence given."""
    return tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))


def excerpt(text: str) -> str:
    """Return the beginning of a text."""
    return text if len(text) <= EXCERPT else text[: EXCERPT - 1] + "…"
