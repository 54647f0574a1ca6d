"""Corrections for asking several questions of the same data.

Twenty comparisons without any difference show one at p < 0.05 by chance. Each function turns
p-values into *adjusted* ones, to be compared with the same 0.05:

* :func:`holm` controls the chance of even one false finding (Holm 1979), whatever the dependence;
* :func:`benjamini_hochberg` controls the expected share of false ones among the findings
  (Benjamini & Hochberg 1995), for independent or positively dependent tests;
* :func:`benjamini_yekutieli` the same under any dependence (Benjamini & Yekutieli 2001), at a
  price.
"""

from __future__ import annotations

from collections.abc import Sequence

HOLM = "Holm"
BENJAMINI_HOCHBERG = "Benjamini-Hochberg"
BENJAMINI_YEKUTIELI = "Benjamini-Yekutieli"


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's step-down procedure.

    Args:
        p: Each in [0, 1].

    >>> [round(q, 3) for q in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p)
    largest = 0.0
    for rank, place in enumerate(sorted(range(len(p)), key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = largest
    return adjusted


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted to control the false discovery rate.

    Args:
        p: Each in [0, 1].

    >>> [round(q, 3) for q in benjamini_hochberg([0.01, 0.04, 0.03])]
    [0.03, 0.04, 0.04]
    """
    return _false_discovery(p, "bh")


def benjamini_yekutieli(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted to control the false discovery rate under any dependence."""
    return _false_discovery(p, "by")


def _false_discovery(p: Sequence[float], method: str) -> list[float]:
    if not p:
        return []
    from scipy.stats import false_discovery_control

    return [float(q) for q in false_discovery_control(p, method=method)]
