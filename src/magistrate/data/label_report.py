"""What came of labelling: per teacher, between teachers, and against human gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from magistrate.data.annotator_models import NO_VOTE
from magistrate.data.merging import Ballots, codes_of, gold_by_annotator
from magistrate.formats.base import BadRow, Notice
from magistrate.formats.writers import Skipped
from magistrate.metrics.annotators import Annotators, WithAnnotator, describe, with_each
from magistrate.metrics.columns import NOTHING
from magistrate.metrics.intervals import Rate, proportion
from magistrate.records import Record, Status

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HUMANS = "human gold"

WAYS: dict[bool | None, str] = {None: "merged", False: "merged without", True: "merged with"}
"""What a merged label is called, by whether it was made with the reference."""


class TeacherReport(Record):
    """One teacher, asked in one way."""

    annotator: str
    judge: str
    with_reference: bool
    column: str
    """The annotator's name where both ways stand side by side."""
    run: str | None
    """Its run folder."""
    asked: int
    """Samples that it read."""
    not_asked: int
    """Samples that its family cannot show: no reference, or another number of answers."""
    labelled: int
    contradicting: int
    """Labels whose scores were left out because their mean says another outcome."""
    failed: dict[Status, int]
    """Samples without a label of it, by the status of the first reading that failed."""
    consistent: int
    compared: int
    """Samples labelled in both orders; ``consistent`` of them alike."""
    cost: float
    """In US dollars."""
    tokens: int

    @property
    def consistency(self) -> Rate:
        """Share of samples with one outcome in both orders, with Wilson's interval."""
        return proportion(self.consistent, self.compared)


class Measured(Record):
    """How far annotators agree on the pairs among the samples."""

    annotators: Annotators | None
    """All columns, each two of them; None where nobody labelled a pair."""
    human: tuple[WithAnnotator, ...] = ()
    """Every teacher, and the merged labels **made without the humans**, against the majority of
    the humans; empty where there are none."""
    skill: dict[str, dict[str, float]] = Field(default_factory=dict)
    """By merged label and annotator: the probability of being right that the rule estimated."""


class Labelled(Record):
    """The result of :func:`magistrate.label`."""

    output: str
    to: str
    work: str
    """Folder of the teachers' runs and of ``failed.jsonl``."""
    samples: int
    written: int
    """Samples with a label, in the output."""
    unlabelled: int
    """Samples that nobody labelled; not in the output."""
    skipped_count: int
    skipped: tuple[Skipped, ...]
    """Labelled samples that the output's format cannot hold, with the reasons."""
    rule: str
    teachers: tuple[TeacherReport, ...]
    measured: Measured
    failed: int
    """Lines of ``failed_file``: labels that a teacher did not give."""
    failed_file: str
    cost: float
    notices: tuple[Notice, ...]
    bad_count: int
    bad: tuple[BadRow, ...]
    """Rows of the input that could not be read."""


def measure(
    ballots: Ballots,
    merged: Mapping[bool | None, NDArray[np.float64]],
    skill: Mapping[bool | None, Mapping[str, float]],
) -> Measured:
    """Measure how far annotators agree.

    Args:
        ballots: All votes.
        merged: By way of asking: the merged distributions **of the teachers alone**, shape
            (samples, 3), so that agreement with the humans is not agreement with themselves.
        skill: By way of asking: what the rule estimated of each annotator.
    """
    import numpy as np

    names = list(ballots.names)
    codes = ballots.codes(names)
    clusters = ballots.clusters
    annotators = describe(_outcomes(codes), names, clusters) if names else None
    human: tuple[WithAnnotator, ...] = ()
    if ballots.humans:
        truth = gold_by_annotator(
            np.concatenate([codes, np.full((len(codes), 1), NO_VOTE, dtype=np.int8)], axis=1),
            [*(name in ballots.humans for name in names), False],
        )[:, -1]
        teachers = [k for k, name in enumerate(names) if name not in ballots.humans]
        columns = [codes[:, k] for k in teachers] + [codes_of(one) for one in merged.values()]
        called = [names[k] for k in teachers] + [WAYS[way] for way in merged]
        if columns:
            votes = _outcomes(np.stack(columns, axis=1))
            human = with_each(_outcomes(truth), votes, called, clusters)
    return Measured(
        annotators=annotators,
        human=human,
        skill={
            WAYS[way]: {name: value for name, value in one.items() if value == value}
            for way, one in skill.items()
        },
    )


def _outcomes(codes: NDArray[np.int8]) -> NDArray[np.int8]:
    """Turn places in ``OUTCOMES`` into 1, 0, -1 and :data:`NOTHING`, as metrics have them."""
    import numpy as np

    return np.where(codes == NO_VOTE, NOTHING, 1 - codes).astype(np.int8)


def agreement_with_humans(measured: Measured, column: str) -> WithAnnotator | None:
    """Return how far a teacher agrees with the humans; None where that is not known."""
    return next((one for one in measured.human if one.annotator == column), None)


def agreement_with_teachers(
    measured: Measured, column: str, teachers: Sequence[str]
) -> tuple[float, int] | None:
    """Return a teacher's mean agreement with the other teachers, and the number of comparisons.

    Each other teacher counts by how many pairs both labelled.
    """
    if measured.annotators is None:
        return None
    pairs = [
        two.agreement
        for two in measured.annotators.between
        if column in (two.one, two.other)
        and two.one in teachers
        and two.other in teachers
        and two.agreement.value is not None
    ]
    total = sum(one.n for one in pairs)
    if not total:
        return None
    return sum((one.value or 0.0) * one.n for one in pairs) / total, total
