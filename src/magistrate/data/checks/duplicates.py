"""Samples that stand there twice, contradict each other, or are nearly alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from magistrate.data.checks.collected import Collected
from magistrate.data.checks.findings import EXAMPLES_KEPT, Example, Finding, excerpt
from magistrate.metrics.columns import NOTHING, SPLIT
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.data.checks.near import NearPairs

_NAMES = {1: "first", 0: "tie", -1: "second"}


def duplicates(data: Collected, questions: Sequence[str]) -> Iterator[Finding]:
    """Yield what is to be said of samples with equal texts (after normalisation).

    Args:
        data: The samples.
        questions: Texts of the questions by place.
    """
    groups: dict[tuple[int, tuple[int, ...]], list[int]] = defaultdict(list)
    for sample in range(data.samples):
        key = data.question_of[sample], tuple(sorted(data.answers_at(sample)))
        groups[key].append(sample)
    repeated = [group for group in groups.values() if len(group) > 1]
    yield from _same_pairs(data, repeated, questions)
    yield from _contradictions(data, repeated, questions)
    yield from _equal_answers(data, questions)
    yield from _repeated_questions(data)


def _same_pairs(
    data: Collected, groups: Sequence[Sequence[int]], questions: Sequence[str]
) -> Iterator[Finding]:
    if not groups:
        return
    extra = sum(len(group) - 1 for group in groups)
    swapped = sum(
        data.answers_at(sample) != data.answers_at(group[0])
        for group in groups
        for sample in group[1:]
    )
    yield Finding(
        check="duplicate-samples",
        severity="warning",
        count=extra,
        says=f"{counted(extra, 'sample')} repeat an earlier one, {swapped:,} of them with the "
        f"answers exchanged",
        do="drop the repeats, or they weigh double; `data split` keeps them on one side",
        examples=tuple(
            data.example(sample, questions[data.question_of[sample]], (data, group[0]))
            for group in groups
            for sample in group[1:]
        )[:EXAMPLES_KEPT],
        values={"repeats": extra, "with_answers_exchanged": swapped},
    )


def _contradictions(
    data: Collected, groups: Sequence[Sequence[int]], questions: Sequence[str]
) -> Iterator[Finding]:
    """Yield pairs that stand there twice with different labels, the answers mapped back."""
    examples: list[Example] = []
    opposite = other = 0
    for group in groups:
        places = data.answers_at(group[0])
        if len(places) != 2 or places[0] == places[1]:
            continue
        labels = [(sample, _label_as(data, sample, places)) for sample in group]
        known = [(sample, label) for sample, label in labels if label is not None]
        if len({label for _, label in known}) < 2:
            continue
        if {1, -1} <= {label for _, label in known}:
            opposite += 1
        else:
            other += 1
        (one, first), (two, second) = known[0], next(k for k in known if k[1] != known[0][1])
        note = f"{_NAMES[first]} against {_NAMES[second]}, the answers as in the former"
        text = questions[data.question_of[two]]
        examples.append(data.example(two, text, (data, one), note=note))
    if examples:
        yield Finding(
            check="contradicting-duplicates",
            severity="error" if opposite else "warning",
            count=len(examples),
            says=f"{counted(len(examples), 'pair')} stand there more than once with different "
            f"labels: {opposite:,} with opposite ones, {other:,} with a tie in one place",
            do="keep one label of each, or merge them as annotators of one sample; as they are, no "
            "judge can learn both",
            examples=tuple(examples[:EXAMPLES_KEPT]),
            values={"opposite": opposite, "tie_in_one": other},
        )


def _label_as(data: Collected, sample: int, places: tuple[int, ...]) -> int | None:
    """Return the label of a pair with its answers in another sample's sequence."""
    label = data.label_of[sample]
    if label in (NOTHING, SPLIT):
        return None
    return label if data.answers_at(sample) == places else -label


def _equal_answers(data: Collected, questions: Sequence[str]) -> Iterator[Finding]:
    found = [
        sample
        for sample in range(data.samples)
        if len(places := data.answers_at(sample)) == 2 and places[0] == places[1]
    ]
    if not found:
        return
    decided = [sample for sample in found if data.label_of[sample] in (1, -1)]
    yield Finding(
        check="equal-answers",
        severity="warning" if decided else "note",
        count=len(found),
        says=f"{counted(len(found), 'pair')} have the same answer twice, {len(decided):,} of them "
        f"with a label that prefers one",
        do="drop them, or label them tie: nothing can be learnt from them but position",
        examples=tuple(
            data.example(sample, questions[data.question_of[sample]])
            for sample in (decided or found)[:EXAMPLES_KEPT]
        ),
        values={"decided": len(decided)},
    )


def _repeated_questions(data: Collected) -> Iterator[Finding]:
    times: dict[int, int] = defaultdict(int)
    for question in data.question_of:
        times[question] += 1
    repeated = sum(count > 1 for count in times.values())
    if repeated:
        most = max(times, key=lambda question: times[question])
        yield Finding(
            check="repeated-questions",
            severity="note",
            count=repeated,
            says=f"{counted(repeated, 'question')} of {len(times):,} stand in several samples, "
            f"one in {times[most]:,}",
            do="split by question (`data split` does), so that no question is on two sides",
            examples=(data.example(data.questions.first_sample[most]),),
            values={"questions": len(times), "most": times[most]},
        )


def near_questions(data: Collected, texts: Sequence[str], near: NearPairs) -> Iterator[Finding]:
    """Yield what is to be said of questions that are nearly alike.

    Args:
        data: The samples.
        texts: Texts of the questions by place.
        near: Pairs of their places.
    """
    if len(near):
        members = set(near.one.tolist()) | set(near.other.tolist())
        yield Finding(
            check="near-duplicate-questions",
            severity="note",
            count=len(members),
            says=f"{counted(len(members), 'question')} are nearly the same as another one",
            do="keep them on one side when splitting (`data split` does)",
            examples=_near_examples(data, texts, near, data.questions.first_sample),
            values={"pairs": len(near)},
        )


def near_answers(data: Collected, texts: Sequence[str], near: NearPairs) -> Iterator[Finding]:
    """Yield what is to be said of answers that are nearly alike; arguments as above."""
    if not len(near):
        return
    members = set(near.one.tolist()) | set(near.other.tolist())
    pairs = set(zip(near.one.tolist(), near.other.tolist(), strict=True))
    within = sum(
        (min(places), max(places)) in pairs
        for sample in range(data.samples)
        if len(places := data.answers_at(sample)) == 2
    )
    yield Finding(
        check="near-duplicate-answers",
        severity="note",
        count=len(members),
        says=f"{counted(len(members), 'answer')} are nearly the same as another one; in "
        f"{counted(within, 'pair')} the two answers are",
        do="pairs of nearly equal answers are hard to label; see whether their labels hold",
        examples=_near_examples(data, texts, near, data.answers.first_sample),
        values={"pairs": len(near), "within_a_sample": within},
    )


def _near_examples(
    data: Collected, texts: Sequence[str], near: NearPairs, first_sample: Sequence[int]
) -> tuple[Example, ...]:
    order = near.similarity.argsort(kind="stable")[::-1][:EXAMPLES_KEPT]
    return tuple(
        data.example(
            first_sample[int(near.other[k])],
            texts[int(near.other[k])],
            (data, first_sample[int(near.one[k])]),
            other_text=excerpt(texts[int(near.one[k])]),
            similarity=float(near.similarity[k]),
        )
        for k in order
    )
