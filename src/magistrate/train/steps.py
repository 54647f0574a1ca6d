"""The samples of each step as tensors: encoded anew for its epoch, packed into passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from magistrate.errors import InputError
from magistrate.records import Sample
from magistrate.train.head import Batch, Head, Item, Unfit
from magistrate.train.left_out import LeftOut, by_reason, name_of
from magistrate.train.schedule import Place, Schedule, share_of

_REASONS_TOLD = 5


@dataclass(frozen=True, slots=True)
class Step:
    """One process's share of one step.

    Attributes:
        number: From 0.
        passes: What is computed, pass by pass.
        samples: How many samples that are.
        tokens: How many tokens the model reads, without padding.
        idle: Whether there is nothing for this process: then a pass is computed, so that processes
            keep pace, and counts for nothing.
    """

    number: int
    passes: tuple[Batch, ...]
    samples: int
    tokens: int
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Passing:
    """How a step is cut into passes.

    Attributes:
        packed: Samples behind one another in one row, instead of padded rows.
        tokens: Most tokens of a pass, padding included; one sample is always taken.
        rank: Number of this process.
        world: How many processes there are.
    """

    packed: bool
    tokens: int
    rank: int = 0
    world: int = 1


@dataclass(frozen=True, slots=True)
class Scan:
    """What there is to learn from.

    Attributes:
        indices: Samples that can be learned from, by their place in the data.
        lengths: Their tokens in the first epoch.
        unfit: The others, by reason.
        cut: How many samples lost tokens, by the part that lost them.
        with_reference: How many are shown with their reference, in this epoch.
        label_misfits: How many have the label of something else: made with a reference where none
            is shown, or without the one that is, since they have no other.
    """

    indices: tuple[int, ...]
    lengths: tuple[int, ...]
    unfit: tuple[LeftOut, ...]
    cut: Mapping[str, int]
    with_reference: int = 0
    label_misfits: int = 0

    @property
    def unfit_count(self) -> int:
        """How many samples cannot be learned from."""
        return sum(one.count for one in self.unfit)


def nothing_to_learn(found: Scan) -> InputError:
    """Return the error of data of which not one sample can be learned from."""
    reasons = "; ".join(map(str, found.unfit[:_REASONS_TOLD]))
    return InputError(
        f"none of the {found.unfit_count:,} training samples can be learned from: {reasons}. "
        f"'--dry-run' shows what a change of the labels or of the recipe makes of this"
    )


def scan(
    head: Head,
    samples: Sequence[Sample],
    *,
    epoch: int = 0,
    on_item: Callable[[int, Item], None] | None = None,
) -> Scan:
    """Encode all samples once and say what there is.

    Args:
        head: Encodes them.
        samples: The data.
        epoch: As which epoch; -1 for evaluation.
        on_item: Gets each item that can be learned from, with its place in the data.
    """
    indices: list[int] = []
    lengths: list[int] = []
    unfit: list[tuple[str, str]] = []
    cut: Counter[str] = Counter()
    shown = misfits = 0
    for index, sample in enumerate(samples):
        item = head.encode(sample, epoch, index)
        if isinstance(item, Unfit):
            unfit.append((item.reason, name_of(sample)))
            continue
        indices.append(index)
        lengths.append(item.tokens)
        cut.update(item.cut.keys())
        shown += item.with_reference
        misfits += not item.label_fits
        if on_item is not None:
            on_item(index, item)
    return Scan(tuple(indices), tuple(lengths), by_reason(unfit), dict(cut), shown, misfits)


class StepData:
    """A data set of torch: step ``k`` is what this process computes in step ``k``."""

    def __init__(
        self, head: Head, samples: Sequence[Sample], found: Scan, schedule: Schedule, how: Passing
    ) -> None:
        """Take the head that encodes, the data, and how steps are made."""
        self._head = head
        self._samples = samples
        self._schedule = schedule
        self._how = how
        self._length_of = dict(zip(found.indices, found.lengths, strict=True))
        self.unfit: Counter[str] = Counter()
        """Samples that could be learned from in the first epoch, but not as a later one showed
        them, by reason."""

    def __len__(self) -> int:
        """Return the number of steps."""
        return self._schedule.steps

    def __getitem__(self, number: int) -> Step:
        """Return a step."""
        places = self._schedule.places(number)
        lengths = [self._length_of[place.index] for place in places]
        share = share_of(places, lengths, self._how.rank, self._how.world)
        items = self._items(share)
        idle = not items
        if idle:
            items = self._any_item(places)
        passes = [
            self._head.collate(group, packed=self._how.packed)
            for group in passes_of(items, self._how.tokens, packed=self._how.packed)
        ]
        return Step(
            number,
            tuple(passes),
            samples=0 if idle else len(items),
            tokens=0 if idle else sum(item.tokens for item in items),
            idle=idle,
        )

    def _items(self, places: Sequence[Place]) -> list[Item]:
        items: list[Item] = []
        for place in places:
            item = self._head.encode(self._samples[place.index], place.epoch, place.index)
            if isinstance(item, Unfit):
                self.unfit[item.reason] += 1
            else:
                items.append(item)
        return items

    def _any_item(self, places: Sequence[Place]) -> list[Item]:
        """Return one item that fits, for a pass that counts for nothing."""
        for index in (*(place.index for place in places), *self._length_of):
            item = self._head.encode(self._samples[index], 0, index)
            if not isinstance(item, Unfit):
                return [item]
        raise InputError("no sample can be learned from")


def passes_of(items: Sequence[Item], tokens: int, *, packed: bool) -> list[list[Item]]:
    """Divide items among passes.

    Packed, each goes into the first pass that has room, the longest first (first fit decreasing);
    padded, neighbours in length stand together.

    Args:
        items: Of one step.
        tokens: Most tokens of a pass; a longer item has one of its own.
        packed: Whether a pass takes the sum of its items' tokens, or their number times the most.
    """
    ordered = sorted(items, key=lambda item: -item.tokens)
    groups: list[list[Item]] = []
    used: list[int] = []
    for item in ordered:
        place = None
        if packed:
            place = next((i for i, n in enumerate(used) if n + item.tokens <= tokens), None)
        elif groups and groups[-1][0].tokens * (len(groups[-1]) + 1) <= tokens:
            place = len(groups) - 1
        if place is None:
            groups.append([item])
            used.append(item.tokens)
        else:
            groups[place].append(item)
            used[place] += item.tokens
    return groups
