"""Judgement-bias: answers that were given a factual error or a fake reference beforehand.

The files of *Humans or LLMs as the Judge?* (arXiv 2402.10669) hold pairs of which one answer was
perturbed: a factual error was put in, or a reference that looks right. With the file of the same
pairs as they were (``raw``), the effect is the points of that answer perturbed minus its points
raw. Without it, its win rate, which mixes the perturbation with the answers' quality: an
observation only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from magistrate.metrics.intervals import mean_of_points, proportion
from magistrate.probes.bench import Bench, points_of
from magistrate.probes.making import gains, not_measured, paired_effect
from magistrate.probes.records import Effect
from magistrate.records import Sample

PROBE = "perturbed"
_FIX = {
    "factual_error": "give the judge references, or a stronger judge: it does not see the errors",
    "reference": "have sources checked, or strip them before judging",
}
_GOOD = {"factual_error": "should lose", "reference": "should neither gain nor lose"}


def perturbed(bench: Bench) -> list[Effect]:
    """Return what each kind of perturbation of the input wins an answer."""
    kinds = sorted({kind for sample in bench.pairs for kind in _kinds(sample) if kind})
    if not kinds:
        why = "no pair of the input has a perturbed answer, as judgement-bias files have"
        return [not_measured(PROBE, "perturbed", why)]
    return [_of_kind(bench, kind) for kind in kinds]


def side_of(sample: Sample, kind: str) -> int | None:
    """Return the place of the one answer that was perturbed so; None where it is not one."""
    sides = [place for place, own in enumerate(_kinds(sample)) if own == kind]
    return (
        sides[0] if len(sides) == 1 and len([own for own in _kinds(sample) if own]) == 1 else None
    )


def matched(pairs: Sequence[Sample], kind: str) -> list[tuple[int, int, int]]:
    """Return (perturbed pair, raw pair, side) for pairs that differ by the perturbation alone."""
    raw = {_rest(sample, side): place for place, sample, side in _raw(pairs)}
    found = []
    for place, sample in enumerate(pairs):
        side = side_of(sample, kind)
        if side is not None and (rest := raw.get(_rest(sample, side))) is not None:
            found.append((place, rest, side))
    return found


def _of_kind(bench: Bench, kind: str) -> Effect:
    columns = bench.original()
    rows = matched(bench.pairs, kind)
    if rows:
        after, before, side = (np.array(column) for column in zip(*rows, strict=True))
        differences = points_of(columns.said[after], side) - points_of(columns.said[before], side)
        return paired_effect(
            PROBE,
            kind,
            differences,
            columns.question[after],
            lambda value: (
                f"an answer {gains(value)} of win rate by a {kind.replace('_', ' ')} put into it; "
                f"it {_GOOD.get(kind, 'should not gain')}"
            ),
            fix=_FIX.get(kind),
        )
    return _alone(bench, kind)


def _alone(bench: Bench, kind: str) -> Effect:
    """Return the win rate of the perturbed answers, for want of the raw pairs."""
    rows = [
        (place, side)
        for place, sample in enumerate(bench.pairs)
        if (side := side_of(sample, kind)) is not None
    ]
    if not rows:
        return not_measured(PROBE, kind, "no pair has exactly one answer perturbed so")
    place, sides = (np.array(column) for column in zip(*rows, strict=True))
    columns = bench.original().take(place)
    points = points_of(columns.said, sides)
    ok = ~np.isnan(points)
    raw = len(_raw(bench.pairs)) // 2
    lacks = (
        f"none of the {raw:,} raw pairs of the input has the same question and other answer, so"
        if raw
        else "give the file of raw pairs too, for without it"
    )
    rate = mean_of_points(points[ok], columns.question[ok])
    return Effect(
        probe=PROBE,
        name=kind,
        measure="win rate",
        value=rate.value,
        low=rate.low,
        high=rate.high,
        n=rate.n,
        questions=len(np.unique(columns.question[ok])),
        not_ok=proportion(int((~ok).sum()), len(ok)),
        means=(
            f"win rate of answers with a {kind.replace('_', ' ')}; {lacks} it is not known what "
            f"the perturbation did"
        ),
    )


def _kinds(sample: Sample) -> tuple[str, ...]:
    kinds = sample.meta.get("perturb")
    return tuple(map(str, kinds)) if isinstance(kinds, list) else ()


def _raw(pairs: Sequence[Sample]) -> list[tuple[int, Sample, int]]:
    """Return pairs without a perturbation, once for either side."""
    return [
        (place, sample, side)
        for place, sample in enumerate(pairs)
        if not any(_kinds(sample))
        for side in (0, 1)
    ]


def _rest(sample: Sample, side: int) -> tuple[str, int, str]:
    """Return all of a pair but one answer."""
    return (sample.question_text, side, sample.answers[1 - side].text)
