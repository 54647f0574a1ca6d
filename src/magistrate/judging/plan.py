"""Which readings a sample needs from a judge, and the key of each."""

from __future__ import annotations

from dataclasses import dataclass

from magistrate.ids import content_id
from magistrate.judging.judge import Judge
from magistrate.judging.orders import Orders, orders_to_read
from magistrate.records import Sample


@dataclass(frozen=True, slots=True)
class Reading:
    """One sample to be read by one judge in one order, once."""

    key: str
    sample: Sample
    order: tuple[int, ...]
    repeat: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Which readings each sample gets, and their keys. A stored run knows it without the judge."""

    judge_id: str
    """:attr:`JudgeSpec.id`."""
    reads_alone: bool
    """:attr:`Family.reads_alone`."""
    orders: Orders = "both"
    repeats: int = 1

    @classmethod
    def of(cls, judge: Judge, *, orders: Orders = "both", repeats: int = 1) -> Plan:
        """Return the plan of a judge."""
        return cls(judge.spec.id, judge.family.reads_alone, orders, repeats)

    def count(self, answers: int) -> int:
        """Return how many readings a sample of so many answers gets."""
        orders = orders_to_read(answers, self.orders, reads_alone=self.reads_alone)
        return len(orders) * self.repeats

    def readings_of(self, sample: Sample) -> tuple[Reading, ...]:
        """Return the readings of one sample, repeats of an order side by side.

        Samples with equal text have equal keys, so they are read once.
        """
        return tuple(
            Reading(
                key=self.key_of(sample.text_id, order, repeat),
                sample=sample,
                order=order,
                repeat=repeat,
            )
            for order in orders_to_read(
                len(sample.answers), self.orders, reads_alone=self.reads_alone
            )
            for repeat in range(self.repeats)
        )

    def key_of(self, text_id: str, order: tuple[int, ...], repeat: int) -> str:
        """Return the key of one reading of the sample with this :attr:`Sample.text_id`."""
        return content_id([text_id, order, self.judge_id, repeat])

    def keys_of(self, sample: Sample) -> tuple[str, ...]:
        """Return the keys of :meth:`readings_of`."""
        return tuple(reading.key for reading in self.readings_of(sample))
