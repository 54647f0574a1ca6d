"""Template: does the judge say the same when the same is asked in other words?

Paraphrases are families that ask for the same kind of verdict on the same scale. Every pair is read
once, as given, through the judge's own family, once more through it (the noise of repeating), and
through each paraphrase. Per pair: 1 if the paraphrase changes the verdict, minus 1 if repeating
changes it. A judge whose verdicts come from the answers has 0.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from magistrate.metrics.columns import NOTHING
from magistrate.metrics.compact import PREFERENCE_CODES, question_cluster
from magistrate.probes.bench import Arm, Bench
from magistrate.probes.making import not_measured, paired_effect, percent
from magistrate.probes.records import Effect
from magistrate.store.run import Run

PROBE = "template"
FLIPS = "flips"
_OWN = Path(__file__).parent / "templates"
_FIX = "average over several wordings (one run each), or report the spread between wordings"

EQUAL: tuple[tuple[str, ...], ...] = (
    ("pair", "judgelm", "pair-plain", "pair-brief"),
    ("pair-reference", "judgelm-reference"),
    ("pair-reasons-first", "judgelm-reasons-first"),
    ("mt-bench-pair", "auto-j-pair"),
    ("single", "single-plain"),
    ("mt-bench-single", "auto-j-single"),
)
"""Families that ask for the same kind of verdict on the same scale, in other words."""


def template(bench: Bench) -> list[Effect]:
    """Return how much more often a paraphrase changes the verdict than repeating does."""
    own = bench.judge.spec.family
    if bench.judge.engine.info.scores:
        why = "a scoring head is given no instruction that could be worded otherwise"
        return [not_measured(PROBE, "wording", why, measure=FLIPS, finding="by construction")]
    names = next((group for group in EQUAL if own in group), ())
    others = [name for name in names if name != own]
    if not others:
        why = f"there is no paraphrase of family '{own}'; there is of {_known()}"
        return [not_measured(PROBE, "wording", why, measure=FLIPS)]
    arm = Arm(f"{PROBE}/repeated", bench.pairs, tuple(range(len(bench.pairs))))
    first, again = outcomes(bench.run(arm, orders="given", repeats=2), repeats=2)
    effects = []
    for name in others:
        judge = bench.asked_as(_OWN / name if (_OWN / name).is_dir() else name)
        if judge is None:
            continue
        paraphrased = Arm(f"{PROBE}/{name}", arm.samples, arm.pair)
        (other,) = outcomes(bench.run(paraphrased, judge, orders="given"), repeats=1)
        effects.append(_effect(bench, name, first, again, other))
    return effects


Codes = np.ndarray[tuple[int], np.dtype[np.int8]]


def flips_beyond_noise(
    first: Codes, again: Codes, other: Codes
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return per pair [other differs from first] - [again differs from first]; NaN if not ok."""
    ok = (first != NOTHING) & (again != NOTHING) & (other != NOTHING)
    return np.where(ok, (other != first).astype(float) - (again != first), np.nan)


def outcomes(run: Run, *, repeats: int) -> tuple[Codes, ...]:
    """Return what was said as given, one array for each repeat."""
    rows = []
    for _, judgments, _ in run.readings():
        row = [NOTHING] * repeats
        for one in judgments:
            if one.status == "ok" and one.preference is not None and one.order == (0, 1):
                row[one.repeat] = PREFERENCE_CODES[one.preference]
        rows.append(row)
    table = np.array(rows, dtype=np.int8).reshape(-1, repeats)
    return tuple(table[:, place] for place in range(repeats))


def _effect(bench: Bench, name: str, first: Codes, again: Codes, other: Codes) -> Effect:
    differences = flips_beyond_noise(first, again, other)
    ok = ~np.isnan(differences)
    noise = float((again[ok] != first[ok]).mean()) if ok.any() else 0.0
    changed = float((other[ok] != first[ok]).mean()) if ok.any() else 0.0
    questions = np.array([question_cluster(sample) for sample in bench.pairs], dtype=np.uint64)
    return paired_effect(
        PROBE,
        name,
        differences,
        questions,
        lambda _: (
            f"asked as '{name}', {percent(changed)} of the verdicts change; asked again in the "
            f"same words, {percent(noise)}"
        ),
        measure=FLIPS,
        fix=_FIX,
    )


def _known() -> str:
    return ", ".join(name for group in EQUAL for name in group if not (_OWN / name).is_dir())
