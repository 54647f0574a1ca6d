"""From differences to an effect with its words, and from all effects of an audit to findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from magistrate.metrics.intervals import NO_RATE, Rate, proportion
from magistrate.metrics.multiplicity import BENJAMINI_HOCHBERG, benjamini_hochberg
from magistrate.probes.effects import Estimate, mean_difference
from magistrate.probes.records import Effect, Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CORRECTION = BENJAMINI_HOCHBERG
FALSE_DISCOVERY_RATE = 0.05
MATTERS = 0.10
"""Ten points of win rate: what is held to matter unless the user says otherwise."""

WIN_POINTS = "win points"
AGREEMENT = "agreement"

Words = Callable[[float], str]
"""From the value of an effect to what it means."""


def paired_effect(
    probe: str,
    name: str,
    differences: Floats,
    questions: NDArray[Any],
    means: Words,
    *,
    measure: str = WIN_POINTS,
    fix: str | None = None,
    probabilities: Floats | None = None,
) -> Effect:
    """Return the mean of paired differences as an effect.

    Args:
        probe: The probe.
        name: What was changed.
        differences: Shape (n,), NaN where a reading of the pair is not ``ok``.
        questions: Shape (n,).
        means: What the effect means.
        measure: What is measured.
        fix: What helps.
        probabilities: Shape (n,), the same differences of expected points; NaN where unknown.
    """
    import numpy as np

    known = ~np.isnan(differences)
    missing = proportion(int((~known).sum()), len(differences))
    estimate = mean_difference(differences[known], questions[known])
    if estimate is None:
        why = (
            "no pair can be changed in this way"
            if not len(differences)
            else "no pair has ok readings both before and after the change"
        )
        return not_measured(probe, name, why, measure=measure, not_ok=missing)
    expected = NO_RATE
    if probabilities is not None:
        rows = known & ~np.isnan(probabilities)
        if rows.sum() == known.sum():
            expected = rate_of(mean_difference(probabilities[rows], questions[rows]))
    return effect_of(
        probe, name, estimate, means, measure=measure, not_ok=missing, fix=fix, expected=expected
    )


def effect_of(
    probe: str,
    name: str,
    estimate: Estimate,
    means: Words,
    *,
    measure: str,
    not_ok: Rate,
    fix: str | None,
    expected: Rate = NO_RATE,
) -> Effect:
    """Return an estimate as an effect that is still to be corrected and judged."""
    return Effect(
        probe=probe,
        name=name,
        measure=measure,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        n=estimate.n,
        questions=estimate.questions,
        not_ok=not_ok,
        p=estimate.p,
        detectable=estimate.detectable,
        means=means(estimate.value),
        fix=fix,
        probability=expected,
    )


def rate_of(estimate: Estimate | None) -> Rate:
    """Return an estimate as a rate."""
    if estimate is None:
        return NO_RATE
    return Rate(value=estimate.value, n=estimate.n, low=estimate.low, high=estimate.high)


def not_measured(
    probe: str,
    name: str,
    why: str,
    *,
    measure: str = WIN_POINTS,
    not_ok: Rate = NO_RATE,
    finding: Finding = "not measured",
) -> Effect:
    """Return what stands in the place of an effect that there is not, with the reason."""
    return Effect(
        probe=probe, name=name, measure=measure, not_ok=not_ok, finding=finding, means=why
    )


def settled(effects: Sequence[Effect], matters: float = MATTERS) -> tuple[Effect, ...]:
    """Return the effects with their p values corrected together, and what is to be held of each.

    Args:
        effects: All of an audit. Those without a p value are left as they are.
        matters: The smallest effect that is held to matter.
    """
    tested = [place for place, effect in enumerate(effects) if effect.p is not None]
    q = benjamini_hochberg([p for effect in effects if (p := effect.p) is not None])
    done = list(effects)
    for place, corrected in zip(tested, q, strict=True):
        effect = effects[place]
        done[place] = effect.model_copy(
            update={"q": corrected, "finding": _finding(effect, corrected, matters)}
        )
    return tuple(done)


def _finding(effect: Effect, q: float, matters: float) -> Finding:
    if q < FALSE_DISCOVERY_RATE:
        return "bias"
    # Without the correction it would be a bias: that is no sign that there is none.
    hint = effect.p is not None and effect.p < FALSE_DISCOVERY_RATE
    seen = effect.detectable is not None and effect.detectable <= matters
    return "none found" if seen and not hint else "too few to tell"


def points(value: float) -> str:
    """Return a share as points without a sign.

    >>> points(-0.123)
    '12.3 points'
    """
    return f"{abs(100 * value):.1f} points"


def gains(value: float) -> str:
    """Return ``gains 12.3 points`` or ``loses 12.3 points``."""
    return f"{'gains' if value >= 0 else 'loses'} {points(value)}"


def rises(value: float) -> str:
    """Return ``rises by 12.3 points`` or ``falls by 12.3 points``."""
    return f"{'rises' if value >= 0 else 'falls'} by {points(value)}"


def percent(value: float) -> str:
    """Return a share as a percentage.

    >>> percent(0.5)
    '50.0 %'
    """
    return f"{100 * value:.1f} %"
