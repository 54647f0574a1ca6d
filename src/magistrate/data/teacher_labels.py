"""What teachers' runs say: a label for each sample that was read well, a reason for each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from magistrate.data.merging import consistent_scores
from magistrate.data.teachers import Pass
from magistrate.prompts.mentions import inverse, swap_mentions
from magistrate.records import Decision, Gold, Judgment, Record, Sample, Status
from magistrate.store.run import Run

NO_REFERENCE = "it has no reference"
"""Why a teacher that shows the reference is not asked."""


class FailedLabel(Record):
    """A sample that a teacher gave no label for: nothing that is not ``ok`` becomes one."""

    row: int
    """Place of the sample in the input, from 0."""
    sample_id: str
    source_id: str | None
    annotator: str
    with_reference: bool
    order: tuple[int, ...] | None
    """In which order the first reading was that failed; None where it was not asked at all."""
    status: Status
    reason: str
    raw: str | None = None
    """What the teacher wrote."""


@dataclass(slots=True)
class Asked:
    """A pass with its run."""

    ask: Pass
    rows: list[int]
    """Places of the samples that it was asked, in the sequence of the run."""
    run: Run | None
    """None where there was nothing to ask."""
    unfit: dict[int, str] = field(default_factory=dict)
    """Samples that it was not asked, with the reason."""
    labelled: int = 0
    contradicting: int = 0
    failed: Counter[Status] = field(default_factory=Counter)
    consistent: Counter[bool] = field(default_factory=Counter)


def readings_of(
    one: Asked, samples: Sequence[Sample]
) -> Iterator[tuple[int, Sample, tuple[Judgment, ...], Decision]]:
    """Yield what a teacher was asked, with the places of the samples in the input."""
    if one.run is None:
        return
    for row, (_, judgments, decision) in zip(one.rows, one.run.readings(), strict=False):
        if decision is not None:
            yield row, samples[row], judgments, decision


def label_of(
    one: Pass, sample: Sample, judgments: Sequence[Judgment], decision: Decision
) -> Gold | None:
    """Return a teacher's decision as a label; None where a reading of it is not ``ok``.

    Args:
        one: The teacher.
        sample: What it labelled.
        judgments: Its readings, in all orders.
        decision: What they were merged to.
    """
    if decision.status != "ok":
        return None
    probabilities = decision.probabilities
    soft = None
    if probabilities is not None and len(sample.answers) == 2:
        soft = min(1.0, probabilities.second + probabilities.tie / 2)
    return Gold(
        annotator=one.annotator,
        preference=decision.preference,
        probability_second=soft,
        scores=consistent_scores(decision.scores, decision.preference),
        ranking=decision.ranking,
        reasons=_reasons(judgments, decision),
        with_reference=one.shows_reference and sample.reference is not None,
    )


def _reasons(judgments: Sequence[Judgment], decision: Decision) -> str | None:
    """Return the reasons of the first reading that says what was decided, in the own order.

    The given order comes first. Where no reading says it (two that contradict each other make a
    tie), there are none: they would argue against the label.
    """
    for judgment in judgments:
        if (
            judgment.status == "ok"
            and judgment.reasons
            and judgment.preference == decision.preference
            and (judgment.ranking or None) == (decision.ranking or None)
        ):
            # Told of the answers as shown: place k held the sample's answer order[k].
            return swap_mentions(judgment.reasons, inverse(judgment.order))
    return None


def failure_of(
    one: Pass, row: int, sample: Sample, judgments: Sequence[Judgment]
) -> FailedLabel | None:
    """Return the first reading that failed; None if none did."""
    failed = next((judgment for judgment in judgments if judgment.status != "ok"), None)
    if failed is None:
        return None
    return FailedLabel(
        row=row,
        sample_id=sample.id,
        source_id=sample.source_id,
        annotator=one.annotator,
        with_reference=one.shows_reference,
        order=failed.order,
        status=failed.status,
        reason=failed.error or failed.status,
        raw=failed.raw,
    )
