"""One answer of every pair is changed without saying anything else: what does that win it?

Which of the two is changed is drawn by the seed. The pair is judged as it is and changed, and per
pair the points of that answer after the change, minus its points before, are the difference. Where
the change adds words, it is compared with as many words that mean nothing, so that an effect is not
that of length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from magistrate.metrics.columns import PairColumns
from magistrate.probes.bench import Arm, Bench, expected_points, points_of
from magistrate.probes.making import gains, paired_effect
from magistrate.probes.perturbations import Perturbation, changed_answer, draw, with_answer
from magistrate.probes.records import Effect


@dataclass(frozen=True, slots=True)
class Change:
    """A change to one answer, and what is said of its effect."""

    probe: str
    name: str
    change: Perturbation
    when: str
    """In words, after ``an answer gains ... of win rate when``."""
    fix: str
    control: tuple[str, Perturbation] | None = None
    """Name of an arm and a change as long that means nothing, to be compared with; None compares
    with the answer as it is."""


def sway(bench: Bench, change: Change) -> Effect:
    """Return what a change of one answer wins it."""
    arm = changed_arm(bench, change)
    if not arm.samples:
        return effect_of_change(change, None, None, arm)
    if change.control is None:
        before = bench.original().take(np.array(arm.pair))
    else:
        before = bench.columns(control_arm(bench, change, arm))
    return effect_of_change(change, before, bench.columns(arm), arm)


def changed_arm(bench: Bench, change: Change) -> Arm:
    """Return the pairs with one answer changed; pairs of which neither can be are left out."""
    samples, pairs, sides = [], [], []
    for number, sample in enumerate(bench.pairs):
        drawn = draw(bench.seed, "side", sample.text_id) % 2
        for side in (drawn, 1 - drawn):
            changed = changed_answer(sample.answers[side], change.change, bench.seed)
            if changed is not None:
                samples.append(with_answer(sample, side, changed))
                pairs.append(number)
                sides.append(side)
                break
    return Arm(f"{change.probe}/{change.name}", tuple(samples), tuple(pairs), tuple(sides))


def control_arm(bench: Bench, change: Change, arm: Arm) -> Arm:
    """Return the same pairs with the same answer changed in the way that means nothing."""
    assert change.control is not None
    name, neutral = change.control
    samples = []
    for place, side in zip(arm.pair, arm.side, strict=True):
        sample = bench.pairs[place]
        answer = changed_answer(sample.answers[side], neutral, bench.seed)
        samples.append(sample if answer is None else with_answer(sample, side, answer))
    return Arm(f"{change.probe}/{name}", tuple(samples), arm.pair, arm.side)


def effect_of_change(
    change: Change, before: PairColumns | None, after: PairColumns | None, arm: Arm
) -> Effect:
    """Return the effect from the columns before and after, one entry per changed pair."""
    if before is None or after is None:
        differences = expected = np.zeros(0)
        questions = np.zeros(0, dtype=np.uint64)
    else:
        differences = points_of(after.said, arm.side) - points_of(before.said, arm.side)
        expected = expected_points(after, arm.side) - expected_points(before, arm.side)
        questions = before.question
    return paired_effect(
        change.probe,
        change.name,
        differences,
        questions,
        lambda value: f"an answer {gains(value)} of win rate when {change.when}",
        fix=change.fix,
        probabilities=expected,
    )
