"""Labelled samples to training examples: a pure function of (sample, seed, epoch, index).

After JudgeLM (arXiv 2310.17631): *swap augmentation* shows the answers in another order, and
*reference support and drop* shows a sample's reference to some and not to others. Its published
code changed the stored records in place, so that from the second epoch on labels stood beside
answers in another order. Here nothing is ever changed: an example is made anew from the sample, and
all chance comes from (seed, epoch, index), whatever the number of processes or the sequence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, TypeVar

from magistrate.errors import InputError
from magistrate.metrics.gold import NO_MAJORITY, annotator_vote, majority
from magistrate.prompts.mentions import swap_mentions
from magistrate.prompts.outcome import ranking_of
from magistrate.records import Gold, Preference, Probabilities, Sample

MERGED = "merged:"
"""How the names of annotators begin that are several in one, merged by a rule."""

_OTHER: dict[Preference, Preference] = {"first": "second", "second": "first", "tie": "tie"}
_DRAW_BYTES = 8
_DRAWS_OF_A_BLOCK = 8

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Augmentation:
    """How often an example differs from its sample.

    Attributes:
        swap: Probability that the answers stand in another order than the sample's; of three
            answers and more, every other order is equally likely.
        drop_reference: Probability that a sample which has a reference is shown *without* it.
    """

    swap: float = 0.5
    drop_reference: float = 0.5

    def __post_init__(self) -> None:
        """Check the probabilities.

        Raises:
            InputError: One is not from 0 to 1.
        """
        for name, value in (("swap", self.swap), ("drop_reference", self.drop_reference)):
            if not 0 <= value <= 1:
                raise InputError(f"{name} is {value:g}; a probability from 0 to 1 is needed")


@dataclass(frozen=True, slots=True)
class Example:
    """A sample as it is shown to a judge in training, with the label that belongs to it.

    Attributes:
        sample: Answers, scores, ranking, preference, soft label and reasons stand in the order
            shown; the reference is None where it was dropped; ``sample.gold`` is ``(gold,)``.
        order: ``order[k]`` is the answer of the given sample that stands at place ``k``.
        with_reference: Whether a reference is shown.
        gold: The label of what is shown, in the order shown.
        label_fits: False where the only labels were made the other way: with a reference that is
            not shown, or without the one that is.
    """

    sample: Sample
    order: tuple[int, ...]
    with_reference: bool
    gold: Gold
    label_fits: bool = True

    @property
    def preference(self) -> Preference | None:
        """Which of two shown answers is better; None for any other number."""
        return annotator_vote(self.gold) if len(self.sample.answers) == 2 else None

    @property
    def probabilities(self) -> Probabilities | None:
        """The label of a pair as a distribution: the annotator's own, or a point for a hard label.

        None where the sample is no pair.
        """
        preference = self.preference
        if preference is None:
            return None
        second = self.gold.probability_second
        if second is not None and self.gold.preference != "tie":
            return Probabilities(first=1 - second, tie=0, second=second)
        return Probabilities(
            first=float(preference == "first"),
            tie=float(preference == "tie"),
            second=float(preference == "second"),
        )


@dataclass(frozen=True, slots=True)
class Unusable:
    """A sample that nothing can be learned from.

    Attributes:
        index: Its place among the samples, from 0.
        name: What a person would know it by: the file's id, else its own.
        reason: Why, in words.
    """

    index: int
    name: str
    reason: str


def make_example(
    sample: Sample,
    *,
    augmentation: Augmentation,
    seed: int,
    epoch: int,
    index: int,
    annotator: str | None = None,
) -> Example:
    """Return one example of a sample; equal arguments give equal examples, and nothing changes.

    Args:
        sample: A labelled sample.
        augmentation: How often answers are swapped and references dropped.
        seed: Another seed draws others.
        epoch: From 0; every epoch draws anew.
        index: The sample's place in the whole data, the same in every process.
        annotator: Whose label counts; see :func:`choose_gold`.

    Raises:
        InputError: The sample has no usable label; :func:`sort_out` finds these beforehand.
    """
    draws = _draws(seed, epoch, index)
    # Both are always drawn, so that an order does not depend on whether there is a reference.
    swaps, drops = next(draws) < augmentation.swap, next(draws) < augmentation.drop_reference
    with_reference = _has_reference(sample) and not drops
    gold = choose_gold(sample, with_reference=with_reference, annotator=annotator)
    if isinstance(gold, str):
        raise InputError(f"sample {sample.source_id or sample.id} cannot be learned from: {gold}")
    order = tuple(range(len(sample.answers)))
    if swaps:
        order = _another_order(len(order), draws)
    shown = reordered_gold(gold, order)
    changes: dict[str, Any] = {"gold": (shown,)}
    if swaps:
        changes["answers"] = tuple(sample.answers[place] for place in order)
    if not with_reference:
        changes["reference"] = None
    return Example(
        sample=sample.model_copy(update=changes),
        order=order,
        with_reference=with_reference,
        gold=shown,
        label_fits=gold.with_reference is None or gold.with_reference == with_reference,
    )


def choose_gold(
    sample: Sample, *, with_reference: bool, annotator: str | None = None
) -> Gold | str:
    """Return the label that belongs to what is shown, or in words why there is none.

    Of the labels that say an outcome, those count first that the named annotator gave; without a
    name the merged ones (``merged:RULE``); without these all. Among them those are taken that were
    made as the sample is shown (with or without the reference), else those of which that is not
    known, else the others. Of several that are left the majority counts: the outcome that more
    gave than any other, in the words of the first that gave it. Of single answers it is the
    middle score, of two middle ones the lower. Where two outcomes lead with equally many votes
    there is no label.

    Args:
        sample: Where the labels come from.
        with_reference: Whether the reference is shown.
        annotator: Name of the annotator whose labels alone count.
    """
    count = len(sample.answers)
    labels = [gold for gold in sample.gold if _outcome(gold, count) is not None]
    if not labels:
        return "no annotator gave a preference, scores or a ranking of its answers"
    if annotator is not None:
        named = [gold for gold in labels if gold.annotator == annotator]
        if not named:
            found = ", ".join(dict.fromkeys(gold.annotator or "no name" for gold in labels))
            return f"no label is by annotator '{annotator}' (found: {found})"
    else:
        named = [g for g in labels if g.annotator and g.annotator.startswith(MERGED)] or labels
    for made in (with_reference, None, not with_reference):
        if fitting := [gold for gold in named if gold.with_reference is made]:
            return _majority_of(fitting, count)
    raise AssertionError("a label was made with, without, or nobody knows")


def sort_out(
    samples: Iterable[Sample], *, annotator: str | None = None
) -> tuple[list[int], list[Unusable]]:
    """Return the indices of samples to learn from, and the others with their reasons.

    A sample is of use if it has a label both for being shown with its reference and without.
    """
    indices: list[int] = []
    unusable: list[Unusable] = []
    for index, sample in enumerate(samples):
        ways = (True, False) if _has_reference(sample) else (False,)
        found = [choose_gold(sample, with_reference=way, annotator=annotator) for way in ways]
        reason = next((one for one in found if isinstance(one, str)), None)
        if reason is None:
            indices.append(index)
        else:
            unusable.append(Unusable(index, sample.source_id or sample.id, reason))
    return indices, unusable


def reordered_gold(gold: Gold, order: Sequence[int]) -> Gold:
    """Return a label as it reads for answers in another order, mentions in its reasons included.

    Args:
        gold: In the sample's own order.
        order: ``order[k]`` is the sample's answer that now stands at place ``k``.

    >>> swapped = reordered_gold(Gold(preference="first", scores=(8, 7)), (1, 0))
    >>> swapped.preference, swapped.scores
    ('second', (7.0, 8.0))
    """
    if all(place == answer for place, answer in enumerate(order)):
        return gold
    changes: dict[str, Any] = {}
    if gold.preference is not None:
        changes["preference"] = _OTHER[gold.preference]
    if gold.probability_second is not None:
        changes["probability_second"] = 1 - gold.probability_second
    if gold.scores is not None:
        changes["scores"] = _permuted(gold.scores, order)
    if gold.ranking is not None:
        changes["ranking"] = _permuted(gold.ranking, order)
    if gold.reasons:
        changes["reasons"] = swap_mentions(gold.reasons, order)
    return gold.model_copy(update=changes)


def _permuted(values: Sequence[T], order: Sequence[int]) -> tuple[T, ...]:
    return tuple(values[answer] for answer in order)


def _has_reference(sample: Sample) -> bool:
    return sample.reference is not None and bool(sample.reference.strip())


def _outcome(gold: Gold, count: int) -> Any:
    """Return what a label says of so many answers, to be compared; None where it says nothing."""
    if count == 2:
        return annotator_vote(gold)
    if gold.scores is not None and len(gold.scores) == count:
        return gold.scores[0] if count == 1 else ranking_of(gold.scores)
    if count > 2 and gold.ranking is not None and len(gold.ranking) == count:
        return gold.ranking
    return None


def _majority_of(labels: Sequence[Gold], count: int) -> Gold | str:
    if len(labels) == 1:
        return labels[0]
    outcomes = [_outcome(gold, count) for gold in labels]
    if count == 1:
        by_score = sorted(range(len(labels)), key=lambda place: outcomes[place])
        return labels[by_score[(len(by_score) - 1) // 2]]
    leading = majority(outcomes)
    if leading == NO_MAJORITY:
        votes = ", ".join(f"{outcome} {n}" for outcome, n in Counter(outcomes).most_common())
        return f"its annotators disagree without a majority ({votes})"
    return labels[outcomes.index(leading)]


def _draws(seed: int, epoch: int, index: int) -> Iterator[float]:
    """Yield numbers from 0 up to 1 that depend on the three alone, as many as are asked for."""
    block = 0
    while True:
        digest = blake2b(b"%d %d %d %d" % (seed, epoch, index, block)).digest()
        for start in range(0, _DRAWS_OF_A_BLOCK * _DRAW_BYTES, _DRAW_BYTES):
            yield (int.from_bytes(digest[start : start + _DRAW_BYTES], "little") >> 11) * 2.0**-53
        block += 1


def _another_order(count: int, draws: Iterator[float]) -> tuple[int, ...]:
    """Return any order but the given one, all equally likely (Fisher and Yates)."""
    given = list(range(count))
    order = given[::-1] if count < 3 else list(given)
    while order == given and count > 1:
        for last in range(count - 1, 0, -1):
            other = int(next(draws) * (last + 1))
            order[last], order[other] = order[other], order[last]
    return tuple(order)
