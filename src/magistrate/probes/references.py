"""Which family shows a reference, and which reference a pair is judged with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from magistrate.judging.judge import Judge
from magistrate.metrics.gold import gold_label
from magistrate.probes.bench import Bench
from magistrate.probes.perturbations import with_fields
from magistrate.records import Sample

SUFFIX = "-reference"
"""What the name of a family that shows a reference ends in."""
SIDES = {"first": 0, "second": 1}


@dataclass(frozen=True, slots=True)
class Ways:
    """One model asked without and with a reference."""

    without: Judge
    shown: Judge
    own_is_shown: bool
    """Whether the judge itself is the one that is shown references."""


@dataclass(frozen=True, slots=True)
class Referenced:
    """Labelled pairs and a correct reference for each."""

    places: tuple[int, ...]
    """Where they stand among the pairs of the input."""
    samples: tuple[Sample, ...]
    """As they are judged without a reference."""
    correct: tuple[str, ...]
    better: tuple[int, ...]
    """Place (0 or 1) of the answer that the annotators prefer."""
    from_answers: bool
    """Whether the preferred answers stand in for references, because there are none."""

    def with_references(self, texts: Sequence[str]) -> tuple[Sample, ...]:
        """Return the pairs with these references."""
        return tuple(
            with_fields(sample, reference=text)
            for sample, text in zip(self.samples, texts, strict=True)
        )

    def wrong(self) -> tuple[str, ...]:
        """Return for each pair the reference of another question: the one before, if it differs."""
        return tuple(_other(self.samples, self.correct, place) for place in range(len(self.places)))

    def fake(self) -> tuple[str, ...]:
        """Return for each pair the answer that the annotators hold for the worse one."""
        return tuple(
            sample.answers[1 - better].text
            for sample, better in zip(self.samples, self.better, strict=True)
        )


def ways_of(bench: Bench) -> Ways | None:
    """Return the judge's model asked both ways; None where no family asks it so."""
    judge = bench.judge
    name = judge.spec.family
    if name.endswith(SUFFIX):
        without = bench.asked_as(name.removesuffix(SUFFIX))
        return None if without is None else Ways(without, judge, own_is_shown=True)
    shown = bench.asked_as(name + SUFFIX)
    return None if shown is None else Ways(judge, shown, own_is_shown=False)


def referenced(pairs: Sequence[Sample]) -> Referenced | None:
    """Return the pairs with one preferred answer and a reference; None below two questions.

    Where no labelled pair of the input has a reference, the preferred answers are taken for it.
    """
    labelled = [
        (place, sample, SIDES[label])
        for place, sample in enumerate(pairs)
        if (label := gold_label(sample)) in SIDES
        and all(answer.text.strip() for answer in sample.answers)  # each may be the reference
    ]
    with_one = [row for row in labelled if (row[1].reference or "").strip()]
    rows = with_one or labelled
    if len({row[1].question_text for row in rows}) < 2:
        return None
    return Referenced(
        places=tuple(place for place, _, _ in rows),
        samples=tuple(with_fields(sample, reference=None) for _, sample, _ in rows),
        correct=tuple(
            (sample.reference or "") if with_one else sample.answers[better].text
            for _, sample, better in rows
        ),
        better=tuple(better for _, _, better in rows),
        from_answers=not with_one,
    )


def _other(samples: Sequence[Sample], texts: Sequence[str], place: int) -> str:
    own = samples[place].question_text
    # Those before come first, so that more pairs behind change nothing. There are two questions.
    others = (*range(place - 1, -1, -1), *range(place + 1, len(samples)))
    found: int = next(other for other in others if samples[other].question_text != own)
    return texts[found]
