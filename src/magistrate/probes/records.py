"""What a probe found, as records."""

from __future__ import annotations

from typing import Literal

from magistrate.metrics.intervals import NO_RATE, Rate
from magistrate.records import Record

Finding = Literal[
    "bias", "none found", "too few to tell", "observed", "by construction", "not measured"
]
"""``bias``: there is an effect after correction for the number of effects tested. ``none found``:
none, although one of the size that matters would have been found. ``too few to tell``: none, and
one of that size could have been missed. ``observed``: a description, nothing was changed in the
answers. ``by construction``: the judge cannot have this bias. ``not measured``: the input or the
judge has not what the probe needs; the reason is given."""


class Effect(Record):
    """One effect that a probe measured."""

    probe: str
    name: str
    """What was changed or compared, within the probe."""
    measure: str
    """What ``value`` is: ``win points``, ``agreement``, ``win rate``, ``flips``, ``accuracy``,
    ``correlation``."""
    value: float | None = None
    """Shares and their differences from -1 to 1 (a win counts 1, a tie 1/2)."""
    low: float | None = None
    high: float | None = None
    n: int = 0
    """Pairs that the effect rests on."""
    questions: int = 0
    not_ok: Rate = NO_RATE
    """Share of pairs that were left out because a reading of them is not ``ok``."""
    p: float | None = None
    """Two-sided, of no effect; of the null answers one-sided, of no more than is tolerated."""
    q: float | None = None
    """``p`` corrected over all effects of the audit (Benjamini-Hochberg)."""
    detectable: float | None = None
    """The smallest effect found in 80 of 100 such audits, before correction."""
    finding: Finding = "observed"
    means: str
    """The effect in words; or why it was not measured."""
    fix: str | None = None
    """What helps, where there is an effect."""
    probability: Rate = NO_RATE
    """The same effect on the judge's expected points, where it gives probabilities."""


class ProbeReport(Record):
    """All effects of one audit of one judge."""

    judge: str
    family: str
    inputs: tuple[str, ...]
    folder: str
    """Where the runs of the audit are."""
    probes: tuple[str, ...]
    seed: int
    limit: int | None
    pairs: int
    """Pairs of the input that the probes worked on."""
    others: int = 0
    """Samples of more than two answers that were used, by ``style-matrix`` alone."""
    left_out: int
    """Samples of the input that no probe used: they have another number of answers."""
    matters: float
    """The smallest effect that is held to matter."""
    level: float
    """False discovery rate at which an effect is called a bias."""
    correction: str
    tests: int
    """Effects that were corrected together."""
    readings: int
    """Judgments that the audit rests on, in all its runs."""
    cost: float
    """In US dollars, all runs together."""
    effects: tuple[Effect, ...]

    def __str__(self) -> str:
        """Return the result as a plain table, 100 columns wide at most."""
        from magistrate.probes.table import probes_table
        from magistrate.report.table import plain_text

        return plain_text(probes_table(self), width=100)
