"""Orders in which a judge sees the answers, and the way back to the sample's own order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from magistrate.records import Preference, Probabilities

Orders = Literal["both", "given"]
"""``both``: as given and reversed. ``given``: as given only, at half the cost."""

ORDERS: tuple[Orders, ...] = ("both", "given")

T = TypeVar("T")


def orders_to_read(
    answers: int, orders: Orders, *, reads_alone: bool
) -> tuple[tuple[int, ...], ...]:
    """Return the orders of one sample, each a permutation of ``0..answers-1``.

    A judge that reads each answer alone cannot be swayed by order, so it is asked once.

    >>> orders_to_read(2, "both", reads_alone=False)
    ((0, 1), (1, 0))
    >>> orders_to_read(2, "both", reads_alone=True)
    ((0, 1),)
    """
    given = tuple(range(answers))
    if orders == "given" or reads_alone or answers < 2:
        return (given,)
    return (given, given[::-1])


def to_own_order(shown: Sequence[T], order: Sequence[int]) -> tuple[T, ...]:
    """Map one value per shown answer back to the sample's own answer order.

    >>> to_own_order(("best", "worst"), (1, 0))
    ('worst', 'best')
    """
    own: list[T] = list(shown)
    for place, answer in enumerate(order):
        own[answer] = shown[place]
    return tuple(own)


def preference_in_own_order(shown: Preference, order: Sequence[int]) -> Preference:
    """Map a preference between two shown answers back to the sample's own answer order.

    >>> preference_in_own_order("first", (1, 0))
    'second'
    """
    if shown == "tie" or tuple(order) == (0, 1):
        return shown
    return "second" if shown == "first" else "first"


def probabilities_in_own_order(shown: Probabilities, order: Sequence[int]) -> Probabilities:
    """Map a distribution over two shown answers back to the sample's own answer order."""
    if tuple(order) == (0, 1):
        return shown
    return Probabilities(first=shown.second, tie=shown.tie, second=shown.first)
