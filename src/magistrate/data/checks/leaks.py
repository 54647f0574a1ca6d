"""What stands in a test set too: equal, contained, or nearly the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from magistrate.data.checks.collected import Collected, Texts
from magistrate.data.checks.contained import SHORTEST, contained_in
from magistrate.data.checks.findings import EXAMPLES_KEPT, Example, Finding, excerpt
from magistrate.report.text import counted

if TYPE_CHECKING:
    from magistrate.data.checks.near import NearPairs

LeakKind = Literal["equal", "contains", "contained", "near"]
"""``contains``: ours holds the test set's whole; ``contained``: the test set's holds ours whole."""

LEAST_ANSWER = 40
"""Characters (normalised) of an answer from which on it counts as leaked; shorter ones ('Yes.',
'I cannot help with that.') are equal by accident."""


@dataclass(frozen=True, slots=True)
class Leak:
    """One text that stands in a test set."""

    place: int
    """Of our text."""
    kind: LeakKind
    other: int
    """Place of the test set's text."""
    similarity: float | None = None


def leaks_among(
    ours: Sequence[str], tests: Texts, near: NearPairs | None, begin: int
) -> list[Leak]:
    """Return every text of ours that a test set has, each once, with the plainest reason.

    Args:
        ours: Our texts, normalised.
        tests: The test set's.
        near: Pairs among ``ours`` and, from place ``begin`` on, the test texts that are not equal
            to any of ours (in their sequence); None if near-duplicates were not looked for.
        begin: Where those begin.
    """
    found: dict[int, Leak] = {}
    for place, text in enumerate(ours):
        if (other := tests.places.get(text)) is not None:
            found[place] = Leak(place, "equal", other)
    texts = tests.list()
    for inner, outer in contained_in(texts, ours):
        found.setdefault(outer, Leak(outer, "contains", inner))
    for inner, outer in contained_in(ours, texts):
        found.setdefault(inner, Leak(inner, "contained", outer))
    if near is not None:
        apart = not_among(tests, ours)
        across = (near.one < begin) & (near.other >= begin)
        for one, other, similarity in zip(
            near.one[across], near.other[across], near.similarity[across], strict=True
        ):
            leak = Leak(int(one), "near", apart[int(other) - begin], float(similarity))
            earlier = found.get(leak.place)
            if earlier is None or (
                earlier.kind == "near" and (earlier.similarity or 0) < float(similarity)
            ):
                found[leak.place] = leak
    return [found[place] for place in sorted(found)]


def not_among(tests: Texts, ours: Sequence[str]) -> list[int]:
    """Return the places of the test texts that are not equal to any of ours."""
    known = set(ours)
    return [place for text, place in tests.places.items() if text not in known]


def leaked_questions(
    data: Collected, texts: Sequence[str], tests: Collected, leaks: Sequence[Leak]
) -> Iterator[Finding]:
    """Yield what is to be said of leaked questions."""
    if not leaks:
        return
    of = {leak.place: leak for leak in leaks}
    kinds = Counter(leak.kind for leak in leaks)
    samples = sum(question in of for question in data.question_of)
    others = len({leak.other for leak in leaks})
    yield Finding(
        check="leaked-questions",
        severity="error",
        count=len(leaks),
        says=f"{counted(len(leaks), 'question')} ({counted(samples, 'sample')}) stand in the test "
        f"sets too: {_in_words(kinds)}; {counted(others, 'question')} of the test sets "
        f"{'is' if others == 1 else 'are'} known",
        do="drop them before training: `data split FILES --against TEST_SETS` does, and lists them",
        examples=_examples(data, texts, tests, leaks, "questions"),
        values={
            "samples": samples,
            "test_questions": others,
            "test_questions_in_all": len(tests.questions),
            **{kind: kinds[kind] for kind in ("equal", "contains", "contained", "near")},
            "shortest_contained": SHORTEST,
        },
    )


def leaked_answers(
    data: Collected, texts: Sequence[str], tests: Collected, leaks: Sequence[Leak]
) -> Iterator[Finding]:
    """Yield what is to be said of leaked answers."""
    if not leaks:
        return
    kinds = Counter(leak.kind for leak in leaks)
    yield Finding(
        check="leaked-answers",
        severity="warning",
        count=len(leaks),
        says=f"{counted(len(leaks), 'answer')} of {LEAST_ANSWER} characters and more stand in the "
        f"test sets too: {_in_words(kinds)}",
        do="a judge that has seen an answer judged may remember the verdict: drop their samples if "
        "their questions leak too",
        examples=_examples(data, texts, tests, leaks, "answers"),
        values={kind: kinds[kind] for kind in ("equal", "near")},
    )


def leaks_of_answers(
    ours: Sequence[str], tests: Texts, near: NearPairs | None, begin: int
) -> list[Leak]:
    """Return the leaked answers: equal and near ones; arguments as :func:`leaks_among`."""
    found = {
        place: Leak(place, "equal", other)
        for place, text in enumerate(ours)
        if len(text) >= LEAST_ANSWER and (other := tests.places.get(text)) is not None
    }
    if near is not None:
        apart = not_among(tests, ours)
        across = (near.one < begin) & (near.other >= begin)
        for one, other, similarity in zip(
            near.one[across], near.other[across], near.similarity[across], strict=True
        ):
            place = int(one)
            if len(ours[place]) >= LEAST_ANSWER:
                leak = Leak(place, "near", apart[int(other) - begin], float(similarity))
                found.setdefault(place, leak)
    return [found[place] for place in sorted(found)]


_WORDS: dict[str, str] = {
    "equal": "equal",
    "contains": "contain a test text",
    "contained": "are contained in one",
    "near": "nearly the same",
}


def _in_words(kinds: Counter[LeakKind]) -> str:
    return ", ".join(f"{kinds[kind]:,} {words}" for kind, words in _WORDS.items() if kinds[kind])  # type: ignore[index]


def _examples(
    data: Collected, texts: Sequence[str], tests: Collected, leaks: Sequence[Leak], what: str
) -> tuple[Example, ...]:
    mine: Texts = getattr(data, what)
    theirs: Texts = getattr(tests, what)
    other_texts = theirs.list()
    return tuple(
        data.example(
            mine.first_sample[leak.place],
            texts[leak.place],
            (tests, theirs.first_sample[leak.other]),
            other_text=excerpt(other_texts[leak.other]),
            similarity=leak.similarity,
            note=leak.kind,
        )
        for leak in leaks[:EXAMPLES_KEPT]
    )
