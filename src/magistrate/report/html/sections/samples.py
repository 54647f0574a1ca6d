"""The samples themselves: where judge and people differ most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from magistrate.metrics.columns import NOTHING
from magistrate.report.html.blocks import Section
from magistrate.report.html.cards import cards_of

if TYPE_CHECKING:
    from magistrate.report.html.sources import Source


def samples(sources: Sequence[Source], most: int) -> Section:
    """Return the section of samples to look at.

    Args:
        sources: The runs.
        most: How many were asked for.
    """
    cards = tuple(card for run, source in enumerate(sources) for card in cards_of(source, run))
    labelled = any((source.judged.pairs.gold != NOTHING).any() for source in sources)
    explains = (
        "Pairs where judge and people differ: first those where each prefers another answer, then "
        "those where one of them says tie; within each the surest verdicts come first."
        if labelled
        else "These pairs have no labels, so here stand pairs on which the judge contradicts "
        "itself when the answers swap places."
    )
    return Section(
        "samples",
        "Where judge and people differ most" if labelled else "Where the judge contradicts itself",
        explains,
        cards=cards,
        absent=() if cards else (_why_none(sources, most, labelled),),
    )


def _why_none(sources: Sequence[Source], most: int, labelled: bool) -> str:
    if most <= 0:
        return "Samples were left out of this report on demand."
    if not any(len(source.judged.pairs) for source in sources):
        return "There are no pairs of answers to show."
    if not any(source.judged.pairs.ok.any() for source in sources):
        return "No pair has a verdict."
    if labelled:
        return "Judge and people agree on every labelled pair."
    return "No pair is labelled, and none has contradicting verdicts in its two orders."
