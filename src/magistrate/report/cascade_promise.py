"""What a cascade can promise: thresholds chosen on calibration pairs, and what they keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from magistrate.cascade.guarantee import Guarantee, Promise, guarantee
from magistrate.cascade.tiers import NOBODY, Tiers, route
from magistrate.formats.base import Notice
from magistrate.metrics.intervals import NO_RATE, Rate, mean_of_points
from magistrate.records import Record
from magistrate.report.text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

ENOUGH_JUDGED = 50
"""Pairs to be judged whose confidences give the thresholds to test; with fewer, calibration pairs
are set aside for that."""


class Kept(Record):
    """What the thresholds keep of the pairs to be judged."""

    n: int
    coverage: Rate
    """Share of the pairs that a judge decides; the rest is left open."""
    agreement: Rate
    """Share right of the labelled ones that are decided; no value where none is labelled."""
    by_judge: tuple[float, ...]
    """Share of the pairs that each judge decides."""
    asked: tuple[float, ...]
    """Share of the pairs that each judge is asked; nobody asks one that can keep nothing."""
    cost: float
    """US dollars for each pair."""


class Promised(Record):
    """Thresholds that keep a promise, what they were chosen on, and what they keep."""

    guarantee: Guarantee
    calibrated_on: str
    questions: int
    """Questions of the calibration pairs; fewer than pairs means that pairs share questions."""
    shared: int
    """Pairs to be judged that are on a question of a calibration pair."""
    left_out: int
    """Calibration pairs that were left out, since they are among the pairs to be judged."""
    kept: Kept | None
    """Of the pairs to be judged; None where all pairs were used to calibrate."""
    refusal: str
    """Why nothing is promised; empty where something is."""


def make_promise(
    calibration: Tiers,
    judged: Tiers | None,
    target: float,
    risk: float,
    *,
    calibrated_on: str,
    left_out: int = 0,
    one_per_question: bool = False,
    seed: int = 0,
) -> Promised:
    """Choose thresholds on labelled pairs, and apply them to others.

    Args:
        calibration: Labelled pairs.
        judged: The pairs to be judged, with or without labels; None where there are no others.
        target: Agreement to promise.
        risk: Probability that the promise does not hold.
        calibrated_on: Where the calibration pairs are from, in words.
        left_out: Labelled pairs that were left out since they are to be judged.
        one_per_question: Use one calibration pair of each question.
        seed: Which pair of a question, and how pairs are divided among judges.

    Raises:
        InputError: There is no calibration pair.
    """
    import numpy as np

    pairs = _all_sure_of_something(calibration)
    if one_per_question:
        pairs = pairs.take(pairs.one_per_question(seed))
    others = None if judged is None else _all_sure_of_something(judged)
    grid_of = others.sure if others is not None and len(others) >= ENOUGH_JUDGED else None
    made = guarantee(pairs, Promise(alpha=1 - target, delta=risk), grid_of, seed=seed)
    return Promised(
        guarantee=made,
        calibrated_on=calibrated_on,
        left_out=left_out,
        questions=len(np.unique(pairs.question)),
        shared=0 if others is None else int(np.isin(others.question, pairs.question).sum()),
        kept=None if others is None else what_is_kept(others, made),
        refusal=_refusal(made, target) if made.holds_nothing else "",
    )


def what_is_kept(judged: Tiers, made: Guarantee) -> Kept:
    """Return what thresholds keep of pairs, and at what cost."""
    import numpy as np

    found = route(judged, made.thresholds)
    decided = found != NOBODY
    asked = [
        (found == NOBODY) | (found >= tier) if one.threshold is not None else np.zeros(len(found))
        for tier, one in enumerate(made.judges)
    ]
    labelled = np.flatnonzero(decided & judged.labelled)
    cost = sum(float((judged.cost[:, t] * one).sum()) for t, one in enumerate(asked))
    return Kept(
        n=len(judged),
        coverage=mean_of_points(decided, judged.question),
        agreement=mean_of_points(judged.right[labelled, found[labelled]], judged.question[labelled])
        if len(labelled)
        else NO_RATE,
        by_judge=tuple(float((found == tier).mean()) for tier in range(len(judged.names))),
        asked=tuple(float(one.mean()) for one in asked),
        cost=cost / max(1, len(judged)),
    )


def promise_notices(promised: Promised | None) -> tuple[Notice, ...]:
    """Say what the promise's assumption may miss."""
    if promised is None:
        return ()
    found = []
    n = promised.guarantee.n
    if promised.questions < n:
        message = (
            f"the {counted(n, 'calibration pair')} are on {counted(promised.questions, 'question')}"
            f", and the test takes them as independent: the promise may be broken more often than "
            f"its risk says; --one-per-question uses one pair of each"
        )
        found.append(Notice(kind="shared-questions", message=message))
    if promised.left_out:
        message = (
            f"{counted(promised.left_out, 'calibration pair')} are among the pairs to be judged "
            f"(in either order of the answers) and were left out of the calibration"
        )
        found.append(Notice(kind="calibration-pairs-judged", message=message))
    if promised.shared:
        message = (
            f"{counted(promised.shared, 'pair')} to be judged are on questions of calibration "
            f"pairs: what is promised of them does not hold for pairs on new questions"
        )
        found.append(Notice(kind="judged-questions-known", message=message))
    return tuple(found)


def _all_sure_of_something(tiers: Tiers) -> Tiers:
    """Return tiers in which a judge without any confidence keeps all of its decisions or none."""
    import numpy as np

    blank = np.isneginf(tiers.sure).all(axis=0)
    return replace(tiers, confidence=np.where(blank, 0.0, tiers.confidence))


def _refusal(made: Guarantee, target: float) -> str:
    n, risk = made.n, made.promise.delta
    promise = f"agreement of {target:.1%} at a risk of {risk:.0%}"
    needed = made.labels_needed
    if needed is not None and needed > n:
        return (
            f"{promise} cannot be promised: {counted(n, 'calibration pair')} are too few. About "
            f"{needed:,} would do, if the others are like these"
        )
    if needed is not None:
        return (
            f"{promise} cannot be promised on {counted(n, 'calibration pair')}: by chance the "
            f"surest decisions among them are wrong too often; more labels, or a lower "
            f"--target-agreement, would do"
        )
    return (
        f"{promise} cannot be promised: even the surest decisions of {_names(made)} are wrong too "
        f"often in {counted(n, 'calibration pair')}, so more labels would not help; lower "
        f"--target-agreement, or take better judges or a better --confidence"
    )


def _names(made: Guarantee) -> str:
    names: Sequence[str] = [one.judge for one in made.judges]
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"
