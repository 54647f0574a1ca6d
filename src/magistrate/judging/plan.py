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


def plan_readings(
    judge: Judge, sample: Sample, *, orders: Orders = "both", repeats: int = 1
) -> tuple[Reading, ...]:
    """Return the readings of one sample, repeats of an order side by side.

    Samples with equal text have equal keys, so they are read once.
    """
    return tuple(
        Reading(
            key=content_id([sample.text_id, order, judge.spec.id, repeat]),
            sample=sample,
            order=order,
            repeat=repeat,
        )
        for order in orders_to_read(
            len(sample.answers), orders, reads_alone=judge.family.reads_alone
        )
        for repeat in range(repeats)
    )


def planned_keys(
    judge: Judge, sample: Sample, *, orders: Orders = "both", repeats: int = 1
) -> tuple[str, ...]:
    """Return the keys of :func:`plan_readings`."""
    return tuple(
        reading.key for reading in plan_readings(judge, sample, orders=orders, repeats=repeats)
    )
