"""What of a sample's gold fits into formats that hold one label."""

from __future__ import annotations

from magistrate.formats.base import RowError
from magistrate.formats.inspect import NO_LABEL, SPLIT, agreed_label
from magistrate.records import Gold, Preference, Sample

LABEL_WORDS: dict[Preference, str] = {"first": "1", "second": "2", "tie": "tie"}


def the_preference(sample: Sample) -> Preference | None:
    """Return the preference that most annotators gave, None if there is none."""
    label = agreed_label(sample.gold)
    if label in (NO_LABEL, SPLIT):
        return None
    return label  # type: ignore[return-value]


def decisive(sample: Sample) -> Preference:
    """Return the preference of a pair that has a better answer.

    Raises:
        RowError: The sample is no pair, has no label, or its label is a tie.
    """
    need_answers(sample, 2)
    label = agreed_label(sample.gold)
    if label == NO_LABEL:
        raise RowError("it has no label, and this format needs the better answer")
    if label == SPLIT:
        raise RowError("its annotators disagree, and this format needs one better answer")
    if label == "tie":
        raise RowError("its label is a tie, and this format needs the better answer")
    return label  # type: ignore[return-value]


def the_scores(sample: Sample) -> tuple[float, ...] | None:
    """Return the scores of the first annotator who gave a score to each answer."""
    gold = scored(sample)
    return gold.scores if gold else None


def scored(sample: Sample, *, with_reference: bool | None = None) -> Gold | None:
    """Return the first gold with a score for each answer.

    Args:
        sample: Whose gold is looked through.
        with_reference: True: only what was said with the reference; False: only what was not, or
            of which that is not known; None: all.
    """
    count = len(sample.answers)
    fitting = (
        gold
        for gold in sample.gold
        if with_reference is None or (gold.with_reference is True) == with_reference
    )
    return next((g for g in fitting if g.scores is not None and len(g.scores) == count), None)


def need_answers(sample: Sample, count: int) -> None:
    """Check the number of answers.

    Raises:
        RowError: It is another one.
    """
    found = len(sample.answers)
    if found != count:
        raise RowError(
            f"it has {found} answer{'s' if found != 1 else ''}, and this format holds {count}"
        )


def ident(sample: Sample) -> str:
    """Return the id that the file gave, or else the content id."""
    return sample.source_id if sample.source_id is not None else sample.id
