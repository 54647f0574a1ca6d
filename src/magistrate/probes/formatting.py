"""Format: does decoration win, and does the judge judge alike when asked in another format?

* ``markdown``, ``emoji``: one answer is set with a heading, bold text and bullets, or with emoji;
  its words stay. Where the model can also be asked with a reference (or without, if it is shown one
  now), the same again asked so.
* ``other format``: the *format bias* of JudgeLM (arXiv 2310.17631): a judge made for one format is
  asked in the other. Only the format changes, not what the judge knows: asked with the place for
  a reference, that place says that there is none.
"""

from __future__ import annotations

import numpy as np

from magistrate.metrics.columns import NOTHING
from magistrate.metrics.intervals import proportion
from magistrate.probes import perturbations
from magistrate.probes.bench import Arm, Bench
from magistrate.probes.knowledge import NO_FAMILY, agreement_of
from magistrate.probes.making import AGREEMENT, not_measured, paired_effect, rises
from magistrate.probes.perturbations import with_fields
from magistrate.probes.records import Effect
from magistrate.probes.references import Referenced, Ways, referenced, ways_of
from magistrate.probes.swaying import Change, sway

PROBE = "format"
NO_REFERENCE = "There is no reference for this question."
_STRIP = "strip Markdown and emoji from the answers before judging (`pandoc -t plain`, or a rule)"
_SAME = (
    "ask a judge in the format it was made for; or train it on both (drop the reference of some "
    "training samples)"
)
CHANGES = (
    Change(PROBE, "markdown", perturbations.as_markdown, "it is set in Markdown", _STRIP),
    Change(PROBE, "emoji", perturbations.with_emoji, "emoji are put between its sentences", _STRIP),
)


def formatting(bench: Bench) -> list[Effect]:
    """Return the effects of decoration, and of the judge's own format."""
    effects = [sway(bench, change) for change in CHANGES]
    ways = ways_of(bench)
    if ways is None:
        return [*effects, not_measured(PROBE, "other format", NO_FAMILY, measure=AGREEMENT)]
    known = referenced(bench.pairs)
    if known is not None and not known.from_answers:
        effects.append(_markdown_elsewhere(bench, ways, known))
    return [*effects, *_other_format(bench, ways)]


def _markdown_elsewhere(bench: Bench, ways: Ways, known: Referenced) -> Effect:
    """Return the effect of Markdown when the model is asked the other way."""
    if ways.own_is_shown:
        name, judge, pairs = "without-reference", ways.without, known.samples
    else:
        name, judge = "with-reference", ways.shown
        pairs = known.with_references(known.correct)
    other = bench.over(pairs, judge, f"{PROBE}/{name}/")
    effect = sway(other, CHANGES[0])
    return effect.model_copy(
        update={
            "name": f"markdown, {name.replace('-', ' ')}",
            "means": f"{effect.means}, asked {name.replace('-', ' a ')}",
        }
    )


def _other_format(bench: Bench, ways: Ways) -> list[Effect]:
    """Return how the verdicts change when the format of the prompt does."""
    if ways.own_is_shown:
        judge, samples = ways.without, bench.pairs
    else:
        judge = ways.shown
        samples = tuple(with_fields(sample, reference=NO_REFERENCE) for sample in bench.pairs)
    places = tuple(range(len(samples)))
    before = bench.original()
    after = bench.columns(Arm(f"{PROBE}/other-format", samples, places), judge)
    ok = (before.said != NOTHING) & (after.said != NOTHING)
    moved = proportion(int((before.said[ok] != after.said[ok]).sum()), int(ok.sum()))
    changed = Effect(
        probe=PROBE,
        name="verdicts changed by it",
        measure="flips",
        value=moved.value,
        low=moved.low,
        high=moved.high,
        n=moved.n,
        questions=len(set(before.question[ok].tolist())),
        not_ok=proportion(int((~ok).sum()), len(ok)),
        means=f"share of verdicts that differ when asked as '{judge.spec.family}'",
    )
    labelled = np.flatnonzero(np.abs(before.gold) == 1)
    better = np.where(before.gold[labelled] == 1, 0, 1).tolist()
    own, other = (agreement_of(one.take(labelled), better) for one in (before, after))
    if not len(labelled):
        why = "no pair has a preferred answer: only how many verdicts change is known"
        return [not_measured(PROBE, "other format", why, measure=AGREEMENT), changed]
    effect = paired_effect(
        PROBE,
        "other format",
        other - own,
        before.question[labelled],
        lambda value: f"agreement {rises(value)} when asked as '{judge.spec.family}'",
        measure=AGREEMENT,
        fix=_SAME,
    )
    return [effect, changed]
