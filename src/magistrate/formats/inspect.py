"""What a reader understood of a file, in one pass and bounded memory."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from statistics import median
from typing import Any, Literal

from magistrate.formats.base import BadRow, Notice
from magistrate.formats.join import JoinMode
from magistrate.formats.reading import ItemReader, Path
from magistrate.formats.seen import SeenIds
from magistrate.records import Gold, Record, Sample

MAX_NAMES = 1000
"""Different models, categories and so on that are counted by name; the rest is one number."""

OTHERS = "(others)"
NO_LABEL = "none"
SPLIT = "split"
"""Label of a pair whose annotators have no most frequent label."""

_RESERVOIR = 10_000


class Lengths(Record):
    """Lengths in characters."""

    n: int
    min: int
    median: float
    mean: float
    max: int
    median_is_exact: bool
    """False when the median is that of a random draw of 10,000 (fixed seed)."""


class Inspection(Record):
    """What a file, or several read together, holds."""

    files: tuple[str, ...]
    format: str
    containers: dict[str, str]
    """How each file arranges its rows: ``json array``, ``json lines``, ``csv``, ..."""
    joined: JoinMode | None = None
    """How files of single answers were joined."""
    rows: int
    """All rows, good and bad."""
    samples: int
    judgments: int
    """Stored verdicts of other tools."""
    bad_count: int
    bad: tuple[BadRow, ...]
    """The bad rows with file, row and reason (the first 10,000)."""
    notices: tuple[Notice, ...]
    labels: dict[str, int]
    """Samples of two answers by label: ``first``, ``second``, ``tie``, ``none``; with several
    annotators the most frequent label counts, ``split`` if there is none."""
    annotators: dict[str, dict[str, int]]
    """Labels of each annotator, where several are named."""
    classes: dict[str, int]
    """Named labels of whole samples, such as ``yes`` and ``no``."""
    with_scores: int
    """Samples with gold scores."""
    models: dict[str, int]
    """Answers by model."""
    categories: dict[str, int]
    languages: dict[str, int]
    judges: dict[str, int]
    """Stored verdicts by judge."""
    statuses: dict[str, int]
    """Stored verdicts by status."""
    verdicts: dict[str, int]
    """Stored verdicts on pairs by what they say, in the sample's own answer order."""
    answers_per_sample: dict[int, int]
    question_characters: Lengths | None
    answer_characters: Lengths | None
    empty_answers: int
    duplicate_ids: int
    """Samples with the id and models of an earlier one."""
    duplicate_texts: int
    """Samples with the question and answers of an earlier one."""
    fields: dict[str, int]
    """Samples that have each optional field."""


class _LengthCounter:
    """Exact extremes and mean, and a median from at most 10,000 lengths."""

    def __init__(self) -> None:
        self.n = 0
        self.total = 0
        self.low = 0
        self.high = 0
        self.kept: list[int] = []
        self._random = random.Random(0)  # noqa: S311 (a draw for a median, no secret)

    def add(self, length: int) -> None:
        self.low = min(self.low, length) if self.n else length
        self.high = max(self.high, length)
        self.n += 1
        self.total += length
        if len(self.kept) < _RESERVOIR:
            self.kept.append(length)
        elif (place := self._random.randrange(self.n)) < _RESERVOIR:
            self.kept[place] = length

    def result(self) -> Lengths | None:
        if not self.n:
            return None
        return Lengths(
            n=self.n,
            min=self.low,
            median=float(median(self.kept)),
            mean=self.total / self.n,
            max=self.high,
            median_is_exact=self.n <= _RESERVOIR,
        )


class _Names:
    """Counts names, a bounded number of them each."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, name: str | None) -> None:
        if name is None:
            return
        if name not in self.counts and len(self.counts) >= MAX_NAMES:
            name = OTHERS
        self.counts[name] += 1

    def result(self) -> dict[str, int]:
        """Return the counts, the most frequent name first and equals by name."""
        return dict(sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0])))


class _Counts:
    """All that is counted over one pass."""

    def __init__(self) -> None:
        self.samples = self.judgments = self.with_scores = self.empty_answers = 0
        self.duplicate_texts = 0
        self.labels: Counter[str] = Counter()
        self.annotators: dict[str, Counter[str]] = {}
        self.classes, self.models, self.categories = _Names(), _Names(), _Names()
        self.languages, self.judges, self.statuses = _Names(), _Names(), _Names()
        self.verdicts: Counter[str] = Counter()
        self.answers: Counter[int] = Counter()
        self.question_lengths, self.answer_lengths = _LengthCounter(), _LengthCounter()
        self.fields: Counter[str] = Counter()
        self._texts = SeenIds()

    def add_sample(self, sample: Sample) -> None:
        self.samples += 1
        self.answers[len(sample.answers)] += 1
        self.question_lengths.add(len(sample.question_text))
        for answer in sample.answers:
            self.answer_lengths.add(len(answer.text))
            self.empty_answers += not answer.text.strip()
            self.models.add(answer.model)
        self.categories.add(sample.category)
        self.languages.add(sample.language)
        self.fields.update(present_fields(sample))
        self.duplicate_texts += self._texts.first_row(_text_key(sample), 1) is not None
        self._add_gold(sample)

    def _add_gold(self, sample: Sample) -> None:
        if len(sample.answers) == 2:
            self.labels[agreed_label(sample.gold)] += 1
        self.with_scores += any(gold.scores is not None for gold in sample.gold)
        for gold in sample.gold:
            self.classes.add(gold.label)
            if gold.annotator is not None and len(sample.answers) == 2:
                if gold.annotator not in self.annotators and len(self.annotators) >= MAX_NAMES:
                    continue
                counts = self.annotators.setdefault(gold.annotator, Counter())
                counts[gold.preference or NO_LABEL] += 1


def inspect_files(
    *paths: Path,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    questions: Path | None = None,
    strict: bool = False,
    limit: int | None = None,
    join: JoinMode | Literal["off"] | None = None,
) -> Inspection:
    """Read files once and say what is in them; arguments and errors as ``read_samples``.

    Unlike there, files that hold only verdicts, only questions or only bad rows are no error.
    """
    reader = ItemReader(
        *paths,
        format=format,
        columns=columns,
        questions=questions,
        strict=strict,
        limit=limit,
        join=join,
    )
    counts = _Counts()
    for item in reader.items(need_good=False):
        if item.sample is not None:
            counts.add_sample(item.sample)
        for judgment in item.judgments:
            counts.judgments += 1
            counts.judges.add(judgment.judge)
            counts.statuses.add(judgment.status)
            if judgment.preference is not None:
                counts.verdicts[judgment.preference] += 1
    return _result(reader, counts)


def _result(reader: ItemReader, counts: _Counts) -> Inspection:
    order = ("first", "second", "tie", SPLIT, NO_LABEL)
    labels = {name: counts.labels[name] for name in order if name != SPLIT or counts.labels[name]}
    several = counts.annotators if len(counts.annotators) > 1 else {}
    return Inspection(
        files=reader.paths,
        format=reader.format,
        containers=reader.containers,
        joined=reader.joined,
        rows=reader.rows,
        samples=counts.samples,
        judgments=counts.judgments,
        bad_count=reader.bad_count,
        bad=tuple(reader.bad),
        notices=(*reader.notices, *_questions_alone(reader, counts)),
        labels=labels if any(counts.labels.values()) else {},
        annotators={
            name: {label: found[label] for label in order if found[label]}
            for name, found in sorted(several.items())
        },
        classes=counts.classes.result(),
        with_scores=counts.with_scores,
        models=counts.models.result(),
        categories=counts.categories.result(),
        languages=counts.languages.result(),
        judges=counts.judges.result(),
        statuses=counts.statuses.result(),
        verdicts={name: counts.verdicts[name] for name in order if counts.verdicts[name]},
        answers_per_sample=dict(sorted(counts.answers.items())),
        question_characters=counts.question_lengths.result(),
        answer_characters=counts.answer_lengths.result(),
        empty_answers=counts.empty_answers,
        duplicate_ids=reader.duplicate_ids,
        duplicate_texts=counts.duplicate_texts,
        fields=dict(sorted(counts.fields.items())),
    )


def _questions_alone(reader: ItemReader, counts: _Counts) -> Iterator[Notice]:
    """Say what a file of questions is good for; nothing of other files."""
    if counts.samples or counts.judgments or reader.rows == reader.bad_count:
        return
    if any(notice.kind == "no-question" for notice in reader.notices):
        return  # answers that name their questions by id, which was told
    files = " ".join(reader.paths)
    yield Notice(
        kind="questions-alone",
        message=(
            f"{files} holds questions without answers, so there is nothing to judge yet; give the "
            f"files of the answers, and this one as --questions: "
            f"magistrate inspect ANSWERS --questions {files}"
        ),
    )


def agreed_label(gold: tuple[Gold, ...]) -> str:
    """Return the most frequent preference; ``split`` for none, ``none`` without preferences.

    >>> agreed_label((Gold(preference="tie"), Gold(preference="first"), Gold(preference="tie")))
    'tie'
    """
    votes = Counter(g.preference for g in gold if g.preference is not None).most_common(2)
    if not votes:
        return NO_LABEL
    if len(votes) == 2 and votes[0][1] == votes[1][1]:
        return SPLIT
    return str(votes[0][0])


_OPTIONAL: tuple[tuple[str, str], ...] = (
    ("reference", "reference"),
    ("rubric", "rubric"),
    ("context", "context"),
    ("images", "images"),
    ("category", "category"),
    ("language", "language"),
    ("source_id", "id"),
    ("gold", "gold"),
)


def present_fields(sample: Sample) -> list[str]:
    """Return the names of the optional fields that a sample has."""
    names = [name for attribute, name in _OPTIONAL if getattr(sample, attribute)]
    if not isinstance(sample.question, str):
        names.append("dialogue")
    if any(answer.turns for answer in sample.answers):
        names.append("answer over several turns")
    if any(gold.probability_second is not None for gold in sample.gold):
        names.append("soft label")
    if len(sample.gold) > 1:
        names.append("several annotators")
    return names


def _text_key(sample: Sample) -> Hashable:
    question: Any = sample.question
    if not isinstance(question, str):
        question = tuple((turn.role, turn.text) for turn in question)
    return (question, *(answer.text for answer in sample.answers))
