"""The instrument measured: judges with a planted bias of known size, at the level of outcomes.

An audit of a simulated judge is made by the same functions that make a real one's effects; only
the readings are drawn instead of asked for. So a thousand audits take seconds, and it can be
counted how often the interval covers the planted effect, and how often a bias is found where there
is none. ``benchmarks/probes.py`` prints the table.

**The judges.** A pair has a quality difference, part of which its question gives to all its pairs.
A judge sees it with noise of its own in every reading, adds its bias, and calls a tie inside a
band. The bias varies between questions, so that the pairs of a question are alike in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from magistrate.metrics.columns import Named, PairColumns
from magistrate.probes import (
    knowledge,
    null,
    position,
    self_preference,
    style_matrix,
    swaying,
    template,
)
from magistrate.probes.bench import Arm
from magistrate.probes.making import AGREEMENT, paired_effect
from magistrate.probes.perturbations import padded
from magistrate.probes.records import Effect

Floats = NDArray[np.float64]
Outcomes = NDArray[np.int8]

TIE_BAND = 0.3
NOISE = 0.8
BIAS_SPREAD = 0.3
"""Standard deviation of the bias between questions."""
POPULATION = 400_000
"""Pairs on which the planted effect is computed: its own error is some tenths of a point."""
BIAS = 0.5
"""Planted bias, in standard deviations of quality."""
_CHANGE = swaying.Change("length", "padded", padded, "it is padded", "")


@dataclass(frozen=True, slots=True)
class Size:
    """How much an audit has to go by."""

    questions: int = 200
    pairs: int = 2
    """Pairs of each question."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """A kind of experiment: draws an audit and returns its effect."""

    name: str
    draw: Callable[[np.random.Generator, Size, float], Effect]
    """From a generator, a size and a bias; 0 is a judge without one."""
    readings: int = 1
    """Outcomes of a reading; a whole population has so many times fewer pairs."""


def truth(kind: Simulated, bias: float, size: Size, seed: int = 0) -> float:
    """Return the planted effect: that of one audit of a whole population.

    Args:
        kind: The experiment.
        bias: Of the judge.
        size: Whose number of pairs a question is taken over.
        seed: Of the population.
    """
    population = Size(POPULATION // size.pairs // kind.readings, size.pairs)
    value = kind.draw(np.random.default_rng([seed, 1]), population, bias).value
    assert value is not None
    return value


def audits(kind: Simulated, bias: float, size: Size, count: int, seed: int = 0) -> list[Effect]:
    """Return the effects of many independent audits."""
    rng = np.random.default_rng([seed, 2])
    return [kind.draw(rng, size, bias) for _ in range(count)]


def _question(size: Size) -> NDArray[np.uint64]:
    return np.repeat(np.arange(size.questions, dtype=np.uint64), size.pairs)


def _quality(rng: np.random.Generator, size: Size) -> Floats:
    """Return quality differences of variance 1, half of it shared by a question's pairs."""
    shared = rng.normal(0, np.sqrt(0.5), size.questions).repeat(size.pairs)
    return shared + rng.normal(0, np.sqrt(0.5), len(shared))


def _biases(rng: np.random.Generator, size: Size, bias: float) -> Floats:
    return rng.normal(bias, BIAS_SPREAD, size.questions).repeat(size.pairs)


def _said(rng: np.random.Generator, latent: Floats, tie_band: float = TIE_BAND) -> Outcomes:
    """Return outcomes of one reading."""
    seen = latent + rng.normal(0, NOISE, latent.shape)
    return (np.sign(seen) * (np.abs(seen) > tie_band)).astype(np.int8)


def columns_of(
    said: Outcomes,
    question: NDArray[np.uint64],
    *,
    as_given: Outcomes | None = None,
    swapped: Outcomes | None = None,
    gold: Outcomes | None = None,
    own_first: NDArray[np.bool_] | None = None,
) -> PairColumns:
    """Return outcomes as the columns of a run; what is not given says nothing.

    Args:
        said: Shape (n,), outcomes; the other columns likewise.
        question: Shape (n,).
        as_given: Outcomes with the answers as given.
        swapped: Outcomes with them swapped, in the sample's own frame.
        gold: Labels.
        own_first: Whether the first answer is by the model ``own``; else the second is.
    """
    n = len(said)
    nothing = np.full(n, 9, dtype=np.int8)
    unnamed = Named(np.zeros(n, dtype=np.int64), ("",))
    own = np.zeros(n, dtype=bool) if own_first is None else own_first
    models = ("other", "own")
    return PairColumns(
        row=np.arange(n, dtype=np.int64),
        question=question,
        status=np.zeros(n, dtype=np.int8),
        said=said,
        as_given=nothing if as_given is None else as_given,
        swapped=nothing if swapped is None else swapped,
        gold=nothing if gold is None else gold,
        votes=np.zeros((n, 0), dtype=np.int8),
        annotators=(),
        gold_second=np.full(n, np.nan),
        confidence=np.full(n, np.nan),
        probability=np.full((n, 3), np.nan),
        scores=np.full((n, 2), np.nan),
        lengths=np.ones((n, 2), dtype=np.int64),
        first_model=Named(own.astype(np.int64), models),
        second_model=Named((~own).astype(np.int64), models),
        category=unnamed,
        language=unnamed,
    )


def position_readings(
    rng: np.random.Generator, size: Size, bias: float, tie_band: float = TIE_BAND
) -> tuple[Outcomes, Outcomes]:
    """Return what a judge says as given and swapped, both in the pairs' own frame.

    Args:
        rng: The generator.
        size: Of the audit.
        bias: Toward the answer shown first.
        tie_band: Of the judge; below 0 a judge that is seldom moved and never ties.
    """
    quality, drift = _quality(rng, size), _biases(rng, size, bias)
    if tie_band < 0:
        seen = 3 * (quality + rng.normal(0, NOISE, len(quality)))
        sides = np.sign(seen + drift / 2), np.sign(seen - drift / 2)
        return sides[0].astype(np.int8), sides[1].astype(np.int8)
    return (
        _said(rng, quality + drift / 2, tie_band),
        _said(rng, quality - drift / 2, tie_band),
    )


def _position(rng: np.random.Generator, size: Size, bias: float) -> Effect:
    given, swapped = position_readings(rng, size, bias)
    columns = columns_of(given, _question(size), as_given=given, swapped=swapped)
    return position.effects_of(columns)[0]


def _sway(rng: np.random.Generator, size: Size, bias: float) -> Effect:
    quality, question = _quality(rng, size), _question(size)
    side = rng.integers(0, 2, len(quality))
    drift = _biases(rng, size, bias) * (1 - 2 * side)
    before = columns_of(_said(rng, quality), question)
    after = columns_of(_said(rng, quality + drift), question)
    arm = Arm("simulated", (), tuple(range(len(side))), tuple(side.tolist()))
    return swaying.effect_of_change(_CHANGE, before, after, arm)


def _rare(rng: np.random.Generator, size: Size, bias: float) -> Effect:
    """A judge that is seldom moved: most pairs are clear, and most differences are 0."""
    quality, question = 3 * _quality(rng, size), _question(size)
    drift = np.full(len(quality), bias)
    noise = rng.normal(0, NOISE, len(quality))  # the same in both readings, as at temperature 0
    outcomes = [
        (np.sign(seen) * (np.abs(seen) > TIE_BAND)).astype(np.int8)
        for seen in (quality + noise, quality + noise + drift)
    ]
    arm = Arm("simulated", (), tuple(range(len(quality))), (0,) * len(quality))
    before, after = (columns_of(one, question) for one in outcomes)
    return swaying.effect_of_change(_CHANGE, before, after, arm)


def _knowledge(rng: np.random.Generator, size: Size, bias: float) -> Effect:
    """A judge that sees the quality more clearly with a reference, by the bias."""
    quality, question = _quality(rng, size), _question(size)
    better = np.where(quality + rng.normal(0, NOISE, len(quality)) > 0, 0, 1).tolist()
    clearer = 1 + _biases(rng, size, bias) * (bias > 0)
    absent = columns_of(_said(rng, quality), question)
    correct = columns_of(_said(rng, clearer * quality), question)
    difference = knowledge.agreement_of(correct, better) - knowledge.agreement_of(absent, better)
    return paired_effect(
        knowledge.PROBE, "correct", difference, question, lambda _: "", measure=AGREEMENT
    )


def _self(rng: np.random.Generator, size: Size, bias: float) -> Effect:
    quality, question = _quality(rng, size), _question(size)
    own_first = rng.random(len(quality)) < 0.5
    drift = np.where(own_first, 1, -1) * _biases(rng, size, bias)
    gold = np.where(quality + rng.normal(0, NOISE, len(quality)) > 0, 1, -1).astype(np.int8)
    said = _said(rng, quality + drift)
    columns = columns_of(said, question, gold=gold, own_first=own_first)
    return self_preference.effects_of(columns, ["own"])[0]


def _null(rng: np.random.Generator, size: Size, bias: float) -> Effect:
    """A judge that a null answer deceives: hardly ever without a bias."""
    wins = 0.02 + bias / 2
    drawn = rng.random(size.questions * size.pairs)
    said = np.where(drawn < wins, 1, np.where(drawn < wins + 0.02, 0, -1)).astype(np.int8)
    columns = columns_of(said, _question(size))
    return null.effect_of_attack("dot", columns, (0,) * len(said))


def _template(rng: np.random.Generator, size: Size, bias: float) -> Effect:
    quality, question = _quality(rng, size), _question(size)
    moved = rng.normal(0, 1, len(quality)) * _biases(rng, size, 2 * bias) * (bias > 0)
    first, again = _said(rng, quality), _said(rng, quality)
    other = _said(rng, quality + moved)
    differences = template.flips_beyond_noise(first, again, other)
    return paired_effect(
        template.PROBE, "wording", differences, question, lambda _: "", measure=template.FLIPS
    )


def _style(rng: np.random.Generator, size: Size, bias: float) -> Effect:
    """Nine pairs a question; ``size.pairs`` questions share their material."""
    count = size.questions * size.pairs
    quality = np.abs(_quality(rng, size))[:, None, None]
    row, column = np.indices((3, 3))
    drift = _biases(rng, size, bias)[:, None, None] * (row - column) / 2
    said = _said(rng, np.broadcast_to(quality + drift, (count, 3, 3))).reshape(-1)
    columns = columns_of(said, np.repeat(_question(size), 9))
    return style_matrix.effects_of(columns, 3, _question(size).tolist())[0]


KINDS = (
    Simulated("position", _position),
    Simulated("length, format, authority", _sway),
    Simulated("the same, judge seldom moved", _rare),
    Simulated("knowledge, other format", _knowledge),
    Simulated("self", _self),
    Simulated("null", _null),
    Simulated("template", _template),
    Simulated("style matrix", _style, readings=9),
)
"""All kinds of tested effects."""
