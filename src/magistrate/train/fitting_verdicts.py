"""What turns a head's outputs into probabilities, fitted on labelled pairs by maximum likelihood.

* scores: temperature and tie band of Rao and Kupper's model (1967;
  :func:`magistrate.prompts.outcome.tie_band_probabilities`), with d the difference of the scores;
* classes: the temperature of the softmax (Guo et al. 2017, arXiv 1706.04599), over both orders.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from magistrate.judging.judge import Judge
from magistrate.judging.stream import judge_samples
from magistrate.metrics.gold import NO_MAJORITY, gold_label
from magistrate.prompts.outcome import tie_band_probabilities
from magistrate.records import Preference, Sample

FEWEST = 20
"""Labelled pairs below which nothing is fitted."""

_LEAST = 1e-9
_HOTTEST = 20.0


def fit_verdict(judge: Judge, samples: Sequence[Sample]) -> dict[str, float]:
    """Return the constants of section ``[verdict]``; none where there are too few labelled pairs.

    Args:
        judge: With temperature 1 and no tie band.
        samples: Labelled.
    """
    labels = {sample.text_id: gold_label(sample) for sample in samples}
    scores: list[tuple[float, Preference]] = []
    classes: list[tuple[tuple[float, float, float], Preference]] = []
    for chunk in judge_samples(judge, samples):
        for judgment in chunk:
            label = labels.get(judgment.sample_id)
            if judgment.status != "ok" or label is None or label == NO_MAJORITY:
                continue
            if judgment.scores is not None and len(judgment.scores) == 2:
                scores.append((judgment.scores[0] - judgment.scores[1], label))
            elif judgment.probabilities is not None:
                found = judgment.probabilities
                classes.append(((found.first, found.tie, found.second), label))
    if len(scores) >= FEWEST:
        return fit_tie_band(scores)
    if len(classes) >= FEWEST:
        return {"temperature": fit_temperature(classes)}
    return {}


def fit_tie_band(pairs: Sequence[tuple[float, Preference]]) -> dict[str, float]:
    """Return ``temperature`` and ``tie_band`` that make labels likeliest.

    Args:
        pairs: Difference of the scores (first minus second), and who is better.

    >>> fitted = fit_tie_band([(2.0, "first"), (-2.0, "second"), (0.1, "tie"), (1.0, "second")])
    >>> fitted["temperature"] > 0, fitted["tie_band"] > 0
    (True, True)
    """
    from scipy.optimize import minimize

    spread = math.sqrt(math.fsum(d * d for d, _ in pairs) / len(pairs)) or 1.0
    has_ties = any(label == "tie" for _, label in pairs)

    def loss(logs: Sequence[float]) -> float:
        temperature = spread * math.exp(logs[0])
        band = spread * math.exp(logs[1]) if has_ties else 0.0
        total = 0.0
        for difference, label in pairs:
            found = tie_band_probabilities(difference, temperature=temperature, tie_band=band)
            total -= math.log(max(getattr(found, label), _LEAST))
        return total / len(pairs)

    starts = [(0.0, -1.0), (1.0, 0.0), (-1.0, -2.0)]
    most = math.log(_HOTTEST)
    best = min(
        (
            minimize(loss, start, method="Nelder-Mead", bounds=[(-most, most), (-8.0, most)])
            for start in starts
        ),
        key=lambda found: float(found.fun),
    )
    temperature = round(spread * math.exp(float(best.x[0])), 6)
    band = round(spread * math.exp(float(best.x[1])), 6) if has_ties else 0.0
    return {"temperature": max(temperature, 1e-6), "tie_band": band}


def fit_temperature(
    readings: Sequence[tuple[tuple[float, float, float], Preference]],
) -> float:
    """Return the temperature that makes labels likeliest.

    Args:
        readings: Probabilities of first, tie and second at temperature 1, and who is better.
    """
    from scipy.optimize import minimize_scalar

    places = {"first": 0, "tie": 1, "second": 2}
    logs = [
        ([math.log(max(p, _LEAST)) for p in shares], places[label]) for shares, label in readings
    ]

    def loss(log_temperature: float) -> float:
        temperature = math.exp(log_temperature)
        total = 0.0
        for values, place in logs:
            top = max(values)
            whole = math.fsum(math.exp((value - top) / temperature) for value in values)
            total -= (values[place] - top) / temperature - math.log(whole)
        return total / len(logs)

    most = math.log(_HOTTEST)
    found = minimize_scalar(loss, bounds=(-most, most), method="bounded")
    return round(math.exp(float(found.x)), 6)
