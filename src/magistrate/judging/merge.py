"""Judgments of one sample under one judge, merged into a decision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import fmean

from magistrate.judging.calibration import Calibration
from magistrate.judging.plan import Plan
from magistrate.records import Decision, Judgment, Preference, Probabilities, Sample

MEAN_PROBABILITY = "mean-probability"
"""The rule: mean of the probabilities over all readings; where a judge gives none, the mean of its
votes. Scores are averaged. One reading that is not ``ok`` makes the decision not ``ok``: an opinion
from one side alone would carry that side's position bias."""


def decide(
    plan: Plan,
    samples: Iterable[Sample],
    judgment_of: Callable[[str], Judgment | None],
    calibration: Calibration | None = None,
) -> Iterator[Decision]:
    """Yield a decision for every sample that has all its judgments; the others are still pending.

    Args:
        plan: What was to be read of each sample.
        samples: The samples in the sequence of the run; the row counts from 0.
        judgment_of: Returns the judgment of a key, or None.
        calibration: The judge's, where it has one.
    """
    for row, sample in enumerate(samples):
        keys = plan.keys_of(sample)
        known = [judgment for key in keys if (judgment := judgment_of(key)) is not None]
        if len(known) == len(keys):
            yield merge_judgments(row, sample, known, calibration)


def merge_judgments(
    row: int,
    sample: Sample,
    judgments: Sequence[Judgment],
    calibration: Calibration | None = None,
) -> Decision:
    """Merge the judgments of one sample by the rule ``mean-probability``.

    Args:
        row: Place of the sample in its run, from 0.
        sample: The sample.
        judgments: At least one; all orders and repeats of one judge.
        calibration: Makes of the probability of the decision how probable it is that this is
            right. The probabilities stay the judge's own.

    Raises:
        ValueError: There are no judgments.
    """
    if not judgments:
        raise ValueError("a decision needs at least one judgment")
    keys = tuple(judgment.key for judgment in judgments)
    truncated = any(judgment.was_truncated for judgment in judgments)
    failed = next((known for known in judgments if known.status != "ok"), None)
    if failed is not None:
        return Decision(
            row=row,
            sample_id=sample.id,
            status=failed.status,
            truncated=truncated,
            rule=MEAN_PROBABILITY,
            keys=keys,
        )
    probabilities = _mean_probabilities(judgments)
    scores = _mean_scores(judgments)
    preference: Preference | None = None
    if len(sample.answers) == 2:
        preference = probabilities.preference if probabilities else _preference_by_votes(judgments)
    confidence = probabilities.confidence if probabilities else None
    is_calibrated = confidence is not None and calibration is not None
    if confidence is not None and calibration is not None:
        confidence = calibration.apply(confidence)
    return Decision(
        row=row,
        sample_id=sample.id,
        status="ok",
        preference=preference,
        scores=scores,
        ranking=_mean_ranking(judgments, scores),
        probabilities=probabilities,
        confidence=confidence,
        calibrated=is_calibrated,
        consistent=_consistent(judgments),
        truncated=truncated,
        rule=MEAN_PROBABILITY,
        keys=keys,
    )


def _mean_probabilities(judgments: Sequence[Judgment]) -> Probabilities | None:
    known = [judgment.probabilities for judgment in judgments if judgment.probabilities]
    if len(known) != len(judgments):
        return None
    first = fmean(one.first for one in known)
    second = fmean(one.second for one in known)
    return Probabilities(first=first, tie=max(0.0, 1.0 - first - second), second=second)


def _preference_by_votes(judgments: Sequence[Judgment]) -> Preference | None:
    """The side with more votes; as many for either side is a tie."""
    votes = [judgment.preference for judgment in judgments if judgment.preference]
    if not votes:
        return None
    first, second = votes.count("first"), votes.count("second")
    if first == second:
        return "tie"
    leading: Preference = "first" if first > second else "second"
    return leading if max(first, second) >= votes.count("tie") else "tie"


def _mean_scores(judgments: Sequence[Judgment]) -> tuple[float, ...] | None:
    known = [judgment.scores for judgment in judgments if judgment.scores]
    if len(known) != len(judgments):
        return None
    return tuple(fmean(column) for column in zip(*known, strict=True))


def _mean_ranking(
    judgments: Sequence[Judgment], scores: tuple[float, ...] | None
) -> tuple[int, ...] | None:
    """Rank by the mean of the ranks, then of the scores; equal means share the better rank."""
    known = [judgment.ranking for judgment in judgments if judgment.ranking]
    if not known or len(known) != len(judgments):
        return None
    means = [fmean(column) for column in zip(*known, strict=True)]
    tie_breaks = scores if scores and len(known) > 1 else (0.0,) * len(means)
    places = [(mean, -score) for mean, score in zip(means, tie_breaks, strict=True)]
    return tuple(1 + sum(other < own for other in places) for own in places)


def _consistent(judgments: Sequence[Judgment]) -> bool | None:
    """Whether all orders gave one outcome; None when only one order was read."""
    if len({judgment.order for judgment in judgments if judgment.order_read}) < 2:
        return None
    outcomes = {judgment.preference or judgment.ranking for judgment in judgments}
    return len(outcomes) == 1
