"""What splitting keeps of samples while it reads them."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from magistrate.data.checks.collected import Texts, label_code
from magistrate.data.checks.texts import answer_text, question_text
from magistrate.data.grouping import field_of
from magistrate.data.hashing import sample_digest
from magistrate.records import Sample, to_json_line

if TYPE_CHECKING:
    from magistrate.formats.reading import SampleReader


@dataclass
class Intake:
    """Samples as lines, and what decides where they go."""

    lines: list[bytes] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    questions: Texts = field(default_factory=Texts)
    question_of: array[int] = field(default_factory=lambda: array("q"))
    answers: Texts = field(default_factory=Texts)
    """Empty unless asked for."""
    answers_of: list[tuple[int, ...]] = field(default_factory=list)
    label_of: array[int] = field(default_factory=lambda: array("b"))
    values: dict[str, int] = field(default_factory=dict)
    """Values of the field by which is split, with their numbers."""
    value_of: array[int] = field(default_factory=lambda: array("q"))
    without_value: list[int] = field(default_factory=list)
    models_of: list[tuple[str | None, ...]] = field(default_factory=list)
    """Empty unless split by model."""
    places: list[tuple[str, int]] = field(default_factory=list)
    """File and row of every sample."""

    def __len__(self) -> int:
        """Return how many samples there are."""
        return len(self.lines)


def take_in(reader: SampleReader, by: str, *, answers: bool) -> Intake:
    """Read samples to the end.

    Args:
        reader: What to read.
        by: ``question``, ``model`` or the field by which is split.
        answers: Whether the texts of answers are needed.
    """
    into = Intake()
    value: Callable[[Sample], str | None] | None = None
    if by not in ("question", "model"):
        value = field_of(by)
    for number, sample in enumerate(reader):
        where = reader.where
        into.places.append(("", 0) if where is None else (where.file, where.row))
        into.lines.append(to_json_line(sample))
        into.digests.append(sample_digest(sample))
        into.question_of.append(into.questions.add(question_text(sample), number))
        into.label_of.append(label_code(sample))
        if answers:
            texts = (answer_text(answer) for answer in sample.answers)
            into.answers_of.append(tuple(into.answers.add(text, number) for text in texts))
        if by == "model":
            into.models_of.append(tuple(answer.model for answer in sample.answers))
        elif value is not None:
            _add_value(into, number, value(sample))
    return into


def _add_value(into: Intake, number: int, value: str | None) -> None:
    """Note a sample's value; one without any is a group by its question alone."""
    if value is None:
        into.without_value.append(number)
        value = f"\x00none {number}"
    into.value_of.append(into.values.setdefault(value, len(into.values)))
