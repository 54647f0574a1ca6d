"""Whether an exported judge gives the verdicts of the judge that it was made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from magistrate.errors import InputError
from magistrate.judging.judge import Judge
from magistrate.judging.stream import judge_samples
from magistrate.records import Answer, Judgment, Sample

MOST = 200
"""Pairs that are compared at most."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two judges on the same pairs, in both orders.

    Attributes:
        pairs: Compared.
        readings: Compared: one or two for each pair.
        equal: Share of readings with the same preference.
        largest: Largest difference of a probability of first, tie or second; None where the judge
            gives none.
        not_ok: Readings of either judge that are not ``ok``; they are not compared.
    """

    pairs: int
    readings: int
    equal: float
    largest: float | None
    not_ok: int

    @property
    def words(self) -> str:
        """The comparison in a line, for people."""
        apart = "none given" if self.largest is None else f"{self.largest:.2g}"
        failed = f"; {self.not_ok:,} readings were not ok" if self.not_ok else ""
        return (
            f"{self.pairs:,} pairs, {self.readings:,} readings: {self.equal:.1%} equal verdicts, "
            f"largest difference of a probability {apart}{failed}"
        )


def compare_judges(before: Judge, after: Judge, samples: Sequence[Sample]) -> Comparison:
    """Have both judge the same pairs."""
    one, other = list(_judged(before, samples)), list(_judged(after, samples))
    both = [
        (mine, theirs)
        for mine, theirs in zip(one, other, strict=True)
        if mine.status == "ok" and theirs.status == "ok"
    ]
    if not both:
        first = next(j for j in (*one, *other) if j.status != "ok")
        raise InputError(f"nothing could be compared: no pair was judged ({first.error})")
    apart = [
        abs(getattr(mine.probabilities, name) - getattr(theirs.probabilities, name))
        for mine, theirs in both
        if mine.probabilities and theirs.probabilities
        for name in ("first", "tie", "second")
    ]
    return Comparison(
        pairs=len(samples),
        readings=len(both),
        equal=sum(mine.preference == theirs.preference for mine, theirs in both) / len(both),
        largest=max(apart, default=None),
        not_ok=len(one) - len(both),
    )


def pairs_to_compare(on: Path | None) -> list[Sample]:
    """Return pairs of a file (the first :data:`MOST`), or a few of our own.

    Raises:
        InputError: The file cannot be read, or holds no pair.
    """
    if on is None:
        return [_pair(question, *answers) for question, *answers in _OWN]
    from magistrate.formats.reading import read_samples

    found: list[Sample] = []
    for sample in read_samples(on):
        if len(sample.answers) == 2:
            found.append(sample)
        if len(found) == MOST:
            break
    if not found:
        raise InputError(f"{on} holds no pair of answers to compare verdicts on")
    return found


def _judged(judge: Judge, samples: Sequence[Sample]) -> Iterator[Judgment]:
    found = {j.key: j for chunk in judge_samples(judge, samples) for j in chunk}
    # Keys of two judges differ; sample and order do not.
    yield from sorted(found.values(), key=lambda j: (j.sample_id, j.order))


def _pair(question: str, first: str, second: str) -> Sample:
    return Sample(question=question, answers=(Answer(text=first), Answer(text=second)))


_LONG = "Water boils when its vapour pressure equals that of the air above it. " * 12

_OWN = (
    ("What is the capital of France?", "Paris.", "The capital of France is Lyon."),
    ("Name two primes.", "2 and 3 are primes.", "4 and 6, since both are even numbers."),
    ("Why does water boil sooner on mountains?", "The air is thinner.", _LONG),
    ("Say hello in German.", "Hallo!", ""),
    ("What is 12 times 12?", "144", "It is 124."),
    ("Write a line of Python that prints 1.", "print(1)", "echo 1"),
    ("Wie heißt der höchste Berg Europas?", "Der Elbrus, 5642 m.", "Das weiß ich nicht."),
    ("Is the earth flat?", "No; it is nearly a sphere.", "Yes, look out of the window."),
)
