r"""From the probabilities of all verdicts to one verdict. Pure; nothing is sampled.

An engine returns the log-probability of every verdict that a reply can begin with. Let w be their
exponentials. The **mass** is their sum: the probability that the reply is a verdict at all. All
that follows is conditional on that, so q = w / mass adds up to 1:

- two scores in one reply, q[i, j] for scores s[i] and s[j], tie gap g::

    P(first)  = sum of q[i, j] where s[i] - s[j] >  g
    P(second) = sum of q[i, j] where s[j] - s[i] >  g
    P(tie)    = the rest
    E(first)  = sum of q[i, j] * s[i],   E(second) = sum of q[i, j] * s[j]

- answers read alone: a distribution each, independent of the others, so
  q[i, j] = q1[i] * q2[j] for a pair;
- more than two answers: expected scores, and the ranking of these;
- labels: the q of all labels with one meaning, added up.

The **entropy** is minus the sum of q ln q, over all verdicts (of answers read alone: the sum of
their entropies, since they are independent). The **log-probability of the verdict** is ln w of the
likeliest verdict that says the preference, divided by how many scores it has; nothing is written
that would say it otherwise.

The preference is the likeliest outcome. Below a mass of :data:`LEAST_MASS` there is no verdict: a
judge that would rather write something else has no opinion.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from magistrate.prompts.base import Verdict
from magistrate.prompts.outcome import ranking_of
from magistrate.records import Preference, Probabilities

LEAST_MASS = 0.01
"""Fewest probability of all verdicts together for a reading to be one."""

_ROUNDING = 1e-3
"""By how much a sum of probabilities may be above 1, in the precision of small floats."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """Probabilities of all verdicts, given that the reply is one."""

    shares: tuple[float, ...]
    """They add up to 1; the last place varies fastest."""
    mass: float
    """Probability that the reply is a verdict, from 0 to 1."""

    @property
    def entropy(self) -> float:
        """Entropy of the shares, in nats.

        >>> round(Distribution((0.5, 0.5), 1.0).entropy, 6), Distribution((1.0, 0.0), 1.0).entropy
        (0.693147, 0.0)
        """
        return max(0.0, -math.fsum(share * math.log(share) for share in self.shares if share > 0))


def distribution_of(logprobs: Sequence[float], total: int) -> Distribution | Verdict:
    """Return the distribution, or the verdict that says why there is none.

    Args:
        logprobs: Natural logarithms; minus infinity is allowed.
        total: How many are due.

    >>> distribution_of([math.log(0.4), math.log(0.4)], 2)
    Distribution(shares=(0.5, 0.5), mass=0.8)
    >>> distribution_of([-9.0, -8.0], 2).status
    'unparsed'
    """
    if len(logprobs) != total:
        return _fault(f"the engine returned {len(logprobs)} probabilities, {total} are due")
    if any(math.isnan(value) or value > _ROUNDING for value in logprobs):
        return _fault("the engine returned a probability that is none")
    top = max(logprobs)
    # The largest is taken out first, so that very small probabilities keep their shares.
    weights = [math.exp(value - top) for value in logprobs] if top > -math.inf else []
    mass = math.fsum(weights) * math.exp(top) if weights else 0.0
    if mass > 1 + _ROUNDING:
        return _fault(f"the engine's probabilities add up to {mass:.4g}")
    if mass < LEAST_MASS:
        return Verdict(
            status="unparsed",
            mass=mass,
            # Without the mass itself, which the verdict holds: equal reasons are counted together.
            error=f"no_mass: the model hardly ever begins its reply with a verdict of this family "
            f"(a probability below {LEAST_MASS:g}); try reason mode, or another family",
        )
    whole = math.fsum(weights)
    return Distribution(tuple(weight / whole for weight in weights), round(min(mass, 1.0), 12))


def verdict_from_joint(
    distribution: Distribution, scale: Sequence[float], count: int, *, tie_gap: float = 0.0
) -> Verdict:
    """Return the verdict of scores that stand in one reply.

    Args:
        distribution: ``len(scale) ** count`` shares.
        scale: All scores.
        count: How many scores a reply holds; for one there is no outcome.
        tie_gap: Scores at most this far apart are a tie.

    >>> joint = Distribution((0.1, 0.2, 0.6, 0.1), mass=1.0)
    >>> verdict = verdict_from_joint(joint, (1.0, 2.0), 2)
    >>> verdict.probabilities.first, round(verdict.probabilities.tie, 9), verdict.scores
    (0.6, 0.2, (1.7, 1.3))
    """
    size = len(scale)
    marginals: list[list[float]] = []
    for place in range(count):
        step = size ** (count - 1 - place)
        sums = [0.0] * size
        for index, share in enumerate(distribution.shares):
            sums[index // step % size] += share
        marginals.append(sums)
    probabilities, best = None, max(distribution.shares)
    if count == 2:
        triples = [
            (scale[i], scale[j], distribution.shares[i * size + j])
            for i in range(size)
            for j in range(size)
        ]
        probabilities = _outcome(triples, tie_gap)
        best = _likeliest(triples, probabilities.preference, tie_gap)
    expected = [_mean(scale, marginal) for marginal in marginals]
    return replace(
        _score_verdict(expected, probabilities, distribution.mass, tie_gap),
        entropy=distribution.entropy,
        verdict_logprob=_mean_log(best * distribution.mass, count),
    )


def verdict_from_alone(
    distributions: Sequence[Distribution], scale: Sequence[float], *, tie_gap: float = 0.0
) -> Verdict:
    """Return the verdict of answers that were read alone, one distribution each.

    >>> sure, unsure = Distribution((0.0, 1.0), 1.0), Distribution((0.5, 0.5), 0.9)
    >>> verdict = verdict_from_alone([sure, unsure], (1.0, 2.0))
    >>> verdict.scores, verdict.probabilities.first, verdict.probabilities.tie, verdict.mass
    ((2.0, 1.5), 0.5, 0.5, 0.9)
    """
    probabilities = None
    best = math.prod(max(distribution.shares) for distribution in distributions)
    if len(distributions) == 2:
        one, two = (distribution.shares for distribution in distributions)
        triples = [
            (first, second, p * q)
            for first, p in zip(scale, one, strict=True)
            for second, q in zip(scale, two, strict=True)
        ]
        probabilities = _outcome(triples, tie_gap)
        best = _likeliest(triples, probabilities.preference, tie_gap)
    expected = [_mean(scale, distribution.shares) for distribution in distributions]
    masses = [distribution.mass for distribution in distributions]
    return replace(
        _score_verdict(expected, probabilities, min(masses), tie_gap),
        entropy=math.fsum(distribution.entropy for distribution in distributions),
        verdict_logprob=_mean_log(best * math.prod(masses), len(distributions)),
    )


def verdict_from_labels(distribution: Distribution, meanings: Sequence[Preference]) -> Verdict:
    """Return the verdict of labels, each with its meaning.

    >>> verdict_from_labels(Distribution((0.1, 0.6, 0.3), 1.0), ("first", "second", "tie"))
    ... # doctest: +ELLIPSIS
    Verdict(status='ok', preference='second', ...)
    """
    sums: dict[Preference, float] = {"first": 0.0, "second": 0.0, "tie": 0.0}
    for share, meaning in zip(distribution.shares, meanings, strict=True):
        sums[meaning] += share
    probabilities = _probabilities(sums["first"], sums["second"], can_tie="tie" in meanings)
    said = zip(distribution.shares, meanings, strict=True)
    best = max((share for share, meaning in said if meaning == probabilities.preference), default=0)
    return Verdict(
        status="ok",
        preference=probabilities.preference,
        probabilities=probabilities,
        mass=distribution.mass,
        entropy=distribution.entropy,
        verdict_logprob=_mean_log(best * distribution.mass, 1),
    )


def _likeliest(
    triples: Iterable[tuple[float, float, float]], outcome: Preference, tie_gap: float
) -> float:
    """Return the largest share of (first score, second score, share) that says an outcome."""
    return max(
        (share for one, two, share in triples if _says(one - two, tie_gap) == outcome), default=0.0
    )


def _says(gap: float, tie_gap: float) -> Preference:
    if abs(gap) <= tie_gap:
        return "tie"
    return "first" if gap > 0 else "second"


def _mean_log(share: float, places: int) -> float | None:
    """Return the log-probability of a verdict for each of its places."""
    return min(0.0, math.log(share)) / places if share > 0 else None


def _outcome(triples: Iterable[tuple[float, float, float]], tie_gap: float) -> Probabilities:
    """Return the outcome's distribution from (first score, second score, share)."""
    first = second = 0.0
    can_tie = False
    for one, two, share in triples:
        if one - two > tie_gap:
            first += share
        elif two - one > tie_gap:
            second += share
        else:
            can_tie = True
    return _probabilities(first, second, can_tie=can_tie)


def _probabilities(first: float, second: float, *, can_tie: bool) -> Probabilities:
    first, second = min(first, 1.0), min(second, 1.0)
    tie = max(0.0, 1.0 - first - second) if can_tie else 0.0
    return Probabilities(first=first, tie=tie, second=second)


def _score_verdict(
    expected: Sequence[float],
    probabilities: Probabilities | None,
    mass: float,
    tie_gap: float,
) -> Verdict:
    scores = tuple(expected)
    return Verdict(
        status="ok",
        preference=probabilities.preference if probabilities else None,
        scores=scores,
        ranking=ranking_of(scores, tie_gap=tie_gap) if len(scores) > 2 else None,
        probabilities=probabilities,
        mass=mass,
    )


def _mean(scale: Sequence[float], shares: Sequence[float]) -> float:
    """Return the expected score, within the scale whatever rounding does."""
    mean = math.fsum(value * share for value, share in zip(scale, shares, strict=True))
    return min(max(mean, min(scale)), max(scale))


def _fault(words: str) -> Verdict:
    return Verdict(status="error", error=f"bad_choices: {words}")
