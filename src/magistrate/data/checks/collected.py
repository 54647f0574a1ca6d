"""Samples as columns for the checks: different texts once, labels and places as arrays."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from magistrate.data.checks.findings import Example, excerpt
from magistrate.data.checks.texts import answer_text, question_text
from magistrate.data.hashing import DataHasher
from magistrate.data.merging import is_merged
from magistrate.formats.base import BadRow, Notice
from magistrate.metrics.columns import NOTHING, SPLIT, PairCollector, PairColumns
from magistrate.metrics.compact import PREFERENCE_CODES
from magistrate.metrics.gold import NO_MAJORITY, annotator_vote, gold_label
from magistrate.records import Gold, Sample

if TYPE_CHECKING:
    from magistrate.formats.reading import SampleReader

MOST_SCORES = 200
"""Different scores that are counted by value."""


class Texts:
    """Different texts, each once, with the first sample in which it stands."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.first_sample: array[int] = array("q")

    def add(self, text: str, sample: int) -> int:
        """Return the text's place."""
        place = self.places.setdefault(text, len(self.places))
        if place == len(self.first_sample):
            self.first_sample.append(sample)
        return place

    def list(self) -> list[str]:
        """Return all texts in their places."""
        return list(self.places)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.places)


@dataclass
class Collected:
    """What the checks read."""

    samples: int = 0
    questions: Texts = field(default_factory=Texts)
    question_of: array[int] = field(default_factory=lambda: array("q"))
    """Per sample, the place of its question."""
    answers: Texts = field(default_factory=Texts)
    answers_of: array[int] = field(default_factory=lambda: array("q"))
    """The places of all answers, one sample after the other."""
    answer_offsets: array[int] = field(default_factory=lambda: array("q", [0]))
    files: list[str] = field(default_factory=list)
    file_of: array[int] = field(default_factory=lambda: array("i"))
    row_of: array[int] = field(default_factory=lambda: array("q"))
    notes: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    """Samples by what is noticed of each alone (such as ``empty-answers``), with a text."""
    counts: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    scores: dict[str, Counter[float]] = field(default_factory=dict)
    """Of every annotator, how often each score was given."""
    label_of: array[int] = field(default_factory=lambda: array("b"))
    """Per sample its label: 1 first, 0 tie, -1 second; ``SPLIT`` or ``NOTHING`` as in columns."""
    bad: tuple[BadRow, ...] = ()
    bad_count: int = 0
    notices: tuple[Notice, ...] = ()
    data_hash: str = ""
    columns: PairColumns | None = None
    """The pairs with what annotators said (merged labels are none); ``columns.row`` is the place
    of the sample."""

    def answers_at(self, sample: int) -> tuple[int, ...]:
        """Return the places of a sample's answers."""
        begin, end = self.answer_offsets[sample : sample + 2]
        return tuple(self.answers_of[begin:end])

    def pair_columns(self) -> PairColumns:
        """Return the pairs.

        Raises:
            ValueError: Nothing was collected yet.
        """
        if self.columns is None:
            raise ValueError("collect first")
        return self.columns

    def where(self, sample: int) -> tuple[str, int]:
        """Return file and row of a sample."""
        return self.files[self.file_of[sample]], self.row_of[sample]

    def example(
        self,
        sample: int,
        text: str = "",
        other: tuple[Collected, int] | None = None,
        **more: str | float | None,
    ) -> Example:
        """Return an example at a sample, perhaps with another one (of these or other data)."""
        file, row = self.where(sample)
        other_file, other_row = (None, None) if other is None else other[0].where(other[1])
        return Example(
            file=file,
            row=row,
            text=excerpt(text),
            other_file=other_file,
            other_row=other_row,
            **more,
        )


def collect(reader: SampleReader) -> Collected:
    """Read samples to the end; they themselves are not kept.

    Raises:
        InputError: Not one row can be read.
    """
    collector = Collector()
    for sample in reader:
        place = reader.where
        collector.add(sample, *(("", 0) if place is None else (place.file, place.row)))
    collected = collector.result()
    collected.bad, collected.bad_count = tuple(reader.bad), reader.bad_count
    collected.notices = reader.notices
    return collected


class Collector:
    """Collects samples one by one."""

    def __init__(self) -> None:
        self._into = Collected()
        self._pairs = PairCollector()
        self._hasher = DataHasher()
        self._files: dict[str, int] = {}

    def add(self, sample: Sample, file: str, row: int) -> None:
        """Add one."""
        into = self._into
        place = into.samples
        into.samples += 1
        into.file_of.append(self._files.setdefault(file, len(self._files)))
        into.row_of.append(row)
        into.question_of.append(into.questions.add(question_text(sample), place))
        into.answers_of.extend(
            into.answers.add(answer_text(answer), place) for answer in sample.answers
        )
        into.answer_offsets.append(len(into.answers_of))
        if sample.language is not None:
            into.languages[sample.language] += 1
        into.label_of.append(label_code(sample))
        self._pairs.add(place, without_merged(sample), (), None)
        self._hasher.add(sample)
        for gold in sample.gold:
            _count_scores(into, gold)
        for kind, text in noticed(sample):
            into.counts[kind] += 1
            into.notes.setdefault(kind, []).append((place, text))

    def result(self) -> Collected:
        """Return what was collected."""
        self._into.files = list(self._files)
        self._into.columns = self._pairs.result()
        self._into.data_hash = self._hasher.result()
        return self._into


def label_code(sample: Sample) -> int:
    """Return the label that a pair is trained or measured with: the merged one, or the majority."""
    if len(sample.answers) != 2:
        return NOTHING
    merged = (gold for gold in sample.gold if is_merged(gold))
    vote = next((vote for gold in merged if (vote := annotator_vote(gold)) is not None), None)
    label = vote or gold_label(sample)
    if label is None:
        return NOTHING
    return SPLIT if label == NO_MAJORITY else PREFERENCE_CODES[label]


def without_merged(sample: Sample) -> Sample:
    """Return a sample with what annotators said alone."""
    kept = tuple(gold for gold in sample.gold if not is_merged(gold))
    return sample if len(kept) == len(sample.gold) else sample.model_copy(update={"gold": kept})


def noticed(sample: Sample) -> Iterator[tuple[str, str]]:
    """Yield what is to be noticed of a sample by itself: a stable word and a text."""
    if not sample.question_text.strip():
        yield "empty-questions", ""
    empty = [place for place, answer in enumerate(sample.answers, 1) if not _says(answer.text)]
    if empty:
        yield "empty-answers", f"answer {', '.join(map(str, empty))}"
    yield from _of_reference(sample)
    if not sample.gold:
        yield "unlabelled", ""
    for gold in sample.gold:
        if not is_label(gold):
            yield "unread-verdicts", f"{gold.annotator or 'annotator'}: {gold.reasons or ''}"
    given = [gold for gold in sample.gold if not is_merged(gold)]
    votes = {vote for gold in given if (vote := annotator_vote(gold)) is not None}
    if {"first", "second"} <= votes and len(sample.answers) == 2:
        yield (
            "contradicting-annotators",
            ", ".join(f"{gold.annotator or 'annotator'} {annotator_vote(gold)}" for gold in given),
        )


def _of_reference(sample: Sample) -> Iterator[tuple[str, str]]:
    if sample.reference is None or not sample.reference.strip():
        yield "without-reference", ""
        if any(gold.with_reference for gold in sample.gold):
            yield "reference-lost", ""
        return
    if any(sample.reference.strip() == answer.text.strip() for answer in sample.answers):
        yield "reference-is-answer", sample.reference


def is_label(gold: Gold) -> bool:
    """Whether an annotator's entry says anything about the answers."""
    return any(
        said is not None
        for said in (
            gold.preference,
            gold.probability_second,
            gold.scores,
            gold.ranking,
            gold.label,
        )
    )


def _count_scores(into: Collected, gold: Gold) -> None:
    if gold.scores is None:
        return
    counts = into.scores.setdefault(gold.annotator or "", Counter())
    for score in gold.scores:
        if score in counts or len(counts) < MOST_SCORES:
            counts[score] += 1
        else:
            into.counts["scores-not-counted"] += 1


def _says(text: str) -> bool:
    return bool(text.strip())
