"""From scores to an outcome: who is better, who ties."""

from __future__ import annotations

import math
from collections.abc import Sequence

from magistrate.prompts.base import Verdict
from magistrate.records import Preference, Probabilities


def preference_of(first: float, second: float, *, tie_gap: float = 0.0) -> Preference:
    """Return the better of two scored answers; a gap of at most ``tie_gap`` is a tie.

    >>> preference_of(8, 7), preference_of(8, 7, tie_gap=1)
    ('first', 'tie')
    """
    if abs(first - second) <= tie_gap:
        return "tie"
    return "first" if first > second else "second"


def ranking_of(scores: Sequence[float], *, tie_gap: float = 0.0) -> tuple[int, ...]:
    """Return a rank per answer: 1 plus how many answers stand above its group.

    Answers are taken from the best down. The best opens a group; every answer within ``tie_gap``
    of the group's best shares its rank; the next one opens a group of its own.

    >>> ranking_of([3, 9, 9, 1])
    (3, 1, 1, 4)
    >>> ranking_of([1.0, 0.9, 0.5], tie_gap=0.2)
    (1, 1, 3)
    """
    ranks = [0] * len(scores)
    group_best, group_rank = math.inf, 0
    for above, answer in enumerate(sorted(range(len(scores)), key=lambda i: -scores[i])):
        if not group_rank or group_best - scores[answer] > tie_gap:
            group_best, group_rank = scores[answer], above + 1
        ranks[answer] = group_rank
    return tuple(ranks)


def verdict_from_scores(
    scores: Sequence[float], *, tie_gap: float = 0.0, reasons: str | None = None
) -> Verdict:
    """Return the verdict that scores express: for two a preference, for more a ranking."""
    kept = tuple(float(score) for score in scores)
    return Verdict(
        status="ok",
        preference=preference_of(*kept, tie_gap=tie_gap) if len(kept) == 2 else None,
        scores=kept,
        ranking=ranking_of(kept, tie_gap=tie_gap) if len(kept) > 2 else None,
        reasons=reasons,
    )


def verdict_from_ranks(ranks: Sequence[int], *, reasons: str | None = None) -> Verdict:
    """Return the verdict that ranks express: for two answers a preference, for more the ranks.

    >>> verdict_from_ranks((2, 1)).preference, verdict_from_ranks((2, 1, 2)).ranking
    ('second', (2, 1, 2))
    """
    kept = tuple(ranks)
    if len(kept) == 2:
        return Verdict(status="ok", preference=preference_of(-kept[0], -kept[1]), reasons=reasons)
    return Verdict(status="ok", ranking=kept, reasons=reasons)


def tie_band_probabilities(
    difference: float, *, temperature: float, tie_band: float
) -> Probabilities:
    """Return the outcome's distribution for two scored answers.

    With d the difference of the scores (first minus second), b the band and t the temperature::

        P(first)  = sigmoid(( d - b) / t)
        P(second) = sigmoid((-d - b) / t)
        P(tie)    = 1 - P(first) - P(second)

    This is the model of Rao and Kupper (1967, "Ties in paired-comparison experiments") written
    with logistic strengths.

    Args:
        difference: Score of the first answer minus score of the second; finite.
        temperature: Above 0.
        tie_band: At least 0, so that the three add up to 1.

    >>> tie_band_probabilities(0.0, temperature=1.0, tie_band=0.0)
    Probabilities(first=0.5, tie=0.0, second=0.5)
    """
    first = _sigmoid((difference - tie_band) / temperature)
    second = _sigmoid((-difference - tie_band) / temperature)
    return Probabilities(first=first, tie=max(0.0, 1.0 - (first + second)), second=second)


def _sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(-x)) without overflow."""
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    return math.exp(x) / (1.0 + math.exp(x))
