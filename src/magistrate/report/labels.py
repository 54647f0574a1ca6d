"""Labels of one file for the judgments of another: found by content, by id, or by row.

A labels file is a test set (samples with labels), or stored judgments that are to be the truth,
such as a teacher's. What was said of a sample in one file is what is known of it in the other when
both have its text; where the judgments have no text, when their id is that of the label; and only
where they have nothing else, by their place in the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Literal

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Item, Notice
from magistrate.formats.reading import ItemReader
from magistrate.records import Answer, Gold, Judgment, Preference, Record, Sample
from magistrate.report.text import counted

How = Literal["content", "id", "row"]
"""What told that a label belongs to a judgment."""

ROW_ID = "row:"
"""Begins the id of a judgment that has neither text nor id: ``row:3`` is the third row."""

_OTHER: dict[Preference, Preference] = {"first": "second", "second": "first", "tie": "tie"}


@dataclass(frozen=True, slots=True)
class Found:
    """A labelled sample in the judgment's own answer order, and how it was found."""

    sample: Sample
    how: How
    place: int
    """Which label of the file it is, from 0."""


class Labels:
    """The labels of one file."""

    def __init__(self, path: str | PathLike[str]) -> None:
        """Read a file of labels.

        Raises:
            InputError: The file cannot be read, or holds no labels.
        """
        self.reader = ItemReader(path, join="off")
        self.samples: list[Sample] = []
        self._by_text: dict[str, list[int]] = {}
        self._by_id: dict[str, list[int]] = {}
        self._by_pair: dict[str, tuple[int, bool]] = {}
        self._by_row: dict[int, int] = {}
        self._asked: Counter[str] = Counter()
        for item in self.reader.items():
            for sample in _labelled(item):
                self._add(sample, item.where.row)
        if not any(sample.gold for sample in self.samples):
            raise InputError(
                f"{self.reader.paths[0]} ({self.reader.format}) holds no labels: none of its "
                f"{len(self.samples):,} samples says which answer is better; give the test set"
            )

    def __len__(self) -> int:
        """Return the number of labelled samples."""
        return len(self.samples)

    def find(self, sample: Sample | None, ident: str) -> Found | str:
        """Return the label of what was judged, or why there is none.

        Args:
            sample: What was judged, None where the file has no text of it.
            ident: The id that the judgments' file gives it, or ``row:N``.
        """
        if sample is not None:
            found = self._by_content(sample)
            if found is not None:
                return found
            ident = sample.source_id or ident
        elif ident in self._by_text:
            # Our own judgments name what was read by its content.
            return self._one(self._by_text[ident], "content")
        if ident in self._by_pair:
            place, swapped = self._by_pair[ident]
            labelled = self.samples[place]
            return Found(flipped(labelled) if swapped else labelled, "id", place)
        if sample is None and ident.startswith(ROW_ID):
            row = int(ident.removeprefix(ROW_ID))
            if row not in self._by_row:
                return "the labels have no such row"
            place = self._by_row[row]
            return Found(self.samples[place], "row", place)
        return self._by_source_id(sample, ident)

    def _by_content(self, sample: Sample) -> Found | None:
        """Look for the text, also with the answers in the other order."""
        for swapped in (False, True):
            if swapped and len(sample.answers) != 2:
                return None
            text_id = (flipped(sample) if swapped else sample).text_id
            places = self._by_text.get(text_id, [])
            if not places:
                continue
            same_id = [p for p in places if self.samples[p].source_id == sample.source_id]
            # One text may be labelled several times: the first time it was judged is the first.
            asked = self._asked[text_id]
            self._asked[text_id] += 1
            several = same_id or places
            place = several[min(asked, len(several) - 1)]
            labelled = self.samples[place]
            return Found(flipped(labelled) if swapped else labelled, "content", place)
        return None

    def _by_source_id(self, sample: Sample | None, ident: str) -> Found | str:
        places = self._by_id.get(ident, [])
        if not places:
            return "the labels have neither its text nor its id"
        if len(places) > 1:
            return "several labels have its id"
        labelled = self.samples[places[0]]
        if sample is not None and labelled.question_text and not _same_question(sample, labelled):
            return "the label with its id is of another question"
        return self._one(places, "id")

    def _one(self, places: list[int], how: How) -> Found:
        return Found(self.samples[places[0]], how, places[0])

    def _add(self, sample: Sample, row: int) -> None:
        """Add a label; votes on one battle of MT-bench are one sample with several annotators."""
        keys = list(_pair_keys(sample))
        if keys and keys[0][0] in self._by_pair:
            place, swapped = self._by_pair[keys[0][0]]
            first, gold = self.samples[place], (flipped(sample) if swapped else sample).gold
            self.samples[place] = first.model_copy(update={"gold": (*first.gold, *gold)})
            self._by_row[row] = place
            return
        place = len(self.samples)
        self.samples.append(sample)
        self._by_row[row] = place
        if sample.question_text:
            self._by_text.setdefault(sample.text_id, []).append(place)
        if sample.source_id is not None:
            self._by_id.setdefault(sample.source_id, []).append(place)
        for key, swapped in keys:
            self._by_pair.setdefault(key, (place, swapped))


class LabelJoin(Record):
    """How a file of labels was joined to the judgments."""

    file: str
    labels: int
    """Labelled samples in the file."""
    matched: dict[How, int]
    """Judged samples that got a label, by what told that it is theirs."""
    unmatched: dict[str, int]
    """Judged samples without one, by the reason."""
    unused: int
    """Labelled samples of which nothing was judged."""


class Joiner:
    """Gives judged samples their labels, and counts how."""

    def __init__(self, labels: Labels) -> None:
        """Take the labels."""
        self._labels = labels
        self._matched: Counter[How] = Counter()
        self._unmatched: Counter[str] = Counter()
        self._used: set[int] = set()

    def label(
        self, sample: Sample | None, ident: str, answers: int, models: Sequence[str] = ()
    ) -> Sample:
        """Return a sample with its labels; without labels when none are found."""
        found = self._labels.find(sample, ident)
        if isinstance(found, Found) and len(found.sample.answers) != answers:
            found = "the label is of another number of answers"
        if not isinstance(found, Found):
            self._unmatched[found] += 1
            judged = sample or stand_in(ident, answers, models=models)
            return judged.model_copy(update={"gold": ()})
        self._matched[found.how] += 1
        self._used.add(found.place)
        return _with_label(sample, ident, found.sample, models)

    def result(self) -> LabelJoin:
        """Return how many were found, and how."""
        labelled = {k for k, sample in enumerate(self._labels.samples) if sample.gold}
        return LabelJoin(
            file=self._labels.reader.paths[0],
            labels=len(labelled),
            matched=dict(self._matched),
            unmatched=dict(self._unmatched.most_common()),
            unused=len(labelled - self._used),
        )

    @property
    def bad(self) -> list[BadRow]:
        """Rows of the labels' file that could not be used (the first 10,000)."""
        return self._labels.reader.bad

    @property
    def bad_rows(self) -> int:
        """How many rows that were."""
        return self._labels.reader.bad_count

    def notices(self) -> tuple[Notice, ...]:
        """Return what should be known of the labels; all samples must have been labelled."""
        noted = self._labels.reader.notices
        if self._matched:
            return noted
        join = self.result()
        message = (
            f"{join.file}: not one of its {counted(join.labels, 'labelled sample')} is of what was "
            f"judged, so nothing is measured against them"
        )
        return (Notice(kind="no-label-matched", message=message), *noted)


def _with_label(
    sample: Sample | None, ident: str, labelled: Sample, models: Sequence[str]
) -> Sample:
    """Return the judged sample with the labels, and what the labels' file says besides."""
    if sample is None:
        if labelled.question_text:
            return labelled
        return stand_in(ident, len(labelled.answers), labelled.gold, models)
    answers = tuple(
        own if own.model else own.model_copy(update={"model": other.model})
        for own, other in zip(sample.answers, labelled.answers, strict=True)
    )
    return sample.model_copy(
        update={
            "answers": answers,
            "gold": labelled.gold,
            "category": sample.category or labelled.category,
            "language": sample.language or labelled.language,
        }
    )


def flipped(sample: Sample) -> Sample:
    """Return a pair with its answers, and all that is said of them, in the other order."""
    return sample.model_copy(
        update={
            "answers": sample.answers[::-1],
            "gold": tuple(_flipped_gold(gold) for gold in sample.gold),
        }
    )


def stand_in(
    ident: str, answers: int, gold: tuple[Gold, ...] = (), models: Sequence[str] = ()
) -> Sample:
    """Return a sample without text, for a judgment whose sample is not at hand.

    Its id stands in ``source_id``, and tells the questions apart.
    """
    names = models or (None,) * answers
    return Sample(
        question=question_of(ident),
        answers=tuple(Answer(text="", model=name) for name in names),
        gold=gold,
        source_id=ident,
    )


def question_of(ident: str) -> str:
    """Return the part of an id such as ``81:model-a:model-b:1`` that names the question."""
    return ident if ident.startswith(ROW_ID) else ident.split(":", 1)[0]


def gold_of(judgment: Judgment) -> Gold | None:
    """Return what a judgment says as a label; None unless it is ``ok``."""
    if judgment.status != "ok":
        return None
    return Gold(
        annotator=judgment.judge,
        preference=judgment.preference,
        scores=judgment.scores,
        ranking=judgment.ranking,
    )


def _labelled(item: Item) -> Iterator[Sample]:
    """Yield the sample of a row; judgments without samples count as labels of their judge."""
    if item.sample is not None and (item.sample.gold or not item.judgments):
        yield item.sample
        return
    for judgment in item.judgments:
        gold = gold_of(judgment)
        labels = () if gold is None else (gold,)
        if item.sample is not None:
            yield item.sample.model_copy(update={"gold": labels})
        else:
            sample = stand_in(judgment.sample_id, len(judgment.order), labels)
            yield sample.model_copy(update={"question": ""})


def _pair_keys(sample: Sample) -> Iterator[tuple[str, bool]]:
    """Yield the ids that MT-bench's judgments give the battle, and whether they swap it."""
    question, turn = sample.meta.get("question_id"), sample.meta.get("turn")
    models = [answer.model for answer in sample.answers]
    if question is None or turn is None or len(models) != 2 or None in models:
        return
    yield f"{question}:{models[0]}:{models[1]}:{turn}", False
    yield f"{question}:{models[1]}:{models[0]}:{turn}", True


def _same_question(one: Sample, other: Sample) -> bool:
    return one.question_text.split() == other.question_text.split()


def _flipped_gold(gold: Gold) -> Gold:
    soft = gold.probability_second
    return gold.model_copy(
        update={
            "preference": _OTHER[gold.preference] if gold.preference else None,
            "probability_second": None if soft is None else 1 - soft,
            "scores": gold.scores[::-1] if gold.scores else None,
            "ranking": gold.ranking[::-1] if gold.ranking else None,
        }
    )
