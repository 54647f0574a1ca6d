"""Knowledge: what does a reference do to the judge, a correct one, a wrong one, a fake one?

The *knowledge bias* of JudgeLM (arXiv 2310.17631): a judge that does not know the answer itself
guesses, and a reference mends that. Measured as the change of agreement with the annotators on
pairs of which they prefer one answer (a tie of the judge counts half):

* ``correct``: with the pair's reference, against none;
* ``wrong``: with the reference of another question, against none: a careful judge is not moved;
* ``fake``: with the answer that the annotators hold for the worse one given as the reference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from magistrate.judging.judge import Judge
from magistrate.metrics.columns import PairColumns
from magistrate.metrics.intervals import mean_of_points
from magistrate.probes.bench import Arm, Bench, points_of
from magistrate.probes.making import AGREEMENT, Words, not_measured, paired_effect, rises
from magistrate.probes.records import Effect
from magistrate.probes.references import Referenced, Ways, referenced, ways_of
from magistrate.records import Sample

PROBE = "knowledge"
NO_LABELS = "it takes labelled pairs of two questions or more, of which one answer is preferred"
NO_FAMILY = "the judge is shown no references: no family asks it with one and without"
_GIVE = "give the judge references where it has to know the answer"
_CHECK = (
    "check references before judging: this judge follows them; drop the reference of some training "
    "samples so that it learns to judge without"
)


def knowledge(bench: Bench) -> list[Effect]:
    """Return what references do to the agreement with the annotators."""
    ways = ways_of(bench)
    if ways is None:
        return [not_measured(PROBE, "references", NO_FAMILY, measure=AGREEMENT)]
    known = referenced(bench.pairs)
    if known is None:
        return [not_measured(PROBE, "references", NO_LABELS, measure=AGREEMENT)]
    return _effects(bench, ways, known)


def _effects(bench: Bench, ways: Ways, known: Referenced) -> list[Effect]:
    absent = _judged(bench, "absent", known.samples, known, ways.without)
    base = agreement_of(absent, known.better)
    ok = ~np.isnan(base)
    level = mean_of_points(base[ok], absent.question[ok])
    stand_in = (
        " (the preferred answer itself, for want of references)" if known.from_answers else ""
    )
    effects = [
        Effect(
            probe=PROBE,
            name="no reference",
            measure="agreement level",
            value=level.value,
            low=level.low,
            high=level.high,
            n=level.n,
            questions=len(set(absent.question[ok].tolist())),
            means="agreement with the annotators without a reference",
        )
    ]
    arms = (
        ("correct", known.correct, f"a correct reference{stand_in}", _GIVE),
        ("wrong", known.wrong(), "the reference of another question", _CHECK),
        ("fake", known.fake(), "the worse answer given as the reference", _CHECK),
    )
    for name, texts, what, fix in arms:
        after = _judged(bench, name, known.with_references(texts), known, ways.shown)
        effects.append(
            paired_effect(
                PROBE,
                name,
                agreement_of(after, known.better) - base,
                absent.question,
                _words(what),
                measure=AGREEMENT,
                fix=fix,
            )
        )
    return effects


def _words(what: str) -> Words:
    return lambda value: f"agreement with the annotators {rises(value)} with {what}"


def agreement_of(
    columns: PairColumns, better: Sequence[int]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return 1 where the judge prefers the better answer, 1/2 at a tie, 0 else, NaN if not ok."""
    return points_of(columns.said, better)


def _judged(
    bench: Bench, name: str, samples: Sequence[Sample], known: Referenced, judge: Judge
) -> PairColumns:
    return bench.columns(Arm(f"{PROBE}/{name}", tuple(samples), known.places), judge)
