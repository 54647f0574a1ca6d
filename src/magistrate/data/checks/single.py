"""What is to be noticed of samples one by one: empty, unread, contradicting, lacking something."""

from __future__ import annotations

from collections.abc import Iterator

from magistrate.data.checks.collected import Collected
from magistrate.data.checks.findings import EXAMPLES_KEPT, Finding, Severity
from magistrate.metrics.annotators import describe
from magistrate.report.text import counted

LOW_ALPHA = 0.2
"""Krippendorff's alpha below which annotators agree hardly more than by chance."""

_KINDS: tuple[tuple[str, Severity, str, str], ...] = (
    ("empty-questions", "warning", "has no question|have no question", "drop them"),
    (
        "empty-answers",
        "warning",
        "has an empty answer|have an empty answer",
        "see whether the answers were lost on the way; if models really said nothing, keep them",
    ),
    (
        "unread-verdicts",
        "warning",
        "has a verdict that could not be read|have verdicts that could not be read",
        "ask again (`data label` resumes and retries), or leave them out; they are never ties",
    ),
    (
        "reference-lost",
        "warning",
        "was labelled with a reference that is gone|were labelled with a reference that is gone",
        "join the references again, or leave these labels out",
    ),
    (
        "reference-is-answer",
        "warning",
        "has a reference that equals an answer|have a reference that equals an answer",
        "the reference gives the label away: take another reference, or drop them",
    ),
)


def singles(data: Collected) -> Iterator[Finding]:
    """Yield the findings about single samples."""
    for kind, severity, verbs, do in _KINDS:
        found = data.notes.get(kind, [])
        samples = list(dict.fromkeys(found))
        if samples:
            verb = verbs.split("|")[len({place for place, _ in samples}) > 1]
            count = len({place for place, _ in samples})
            yield Finding(
                check=kind,
                severity=severity,
                count=count,
                says=f"{counted(count, 'sample')} {verb}",
                do=do,
                examples=tuple(
                    data.example(place, text) for place, text in samples[:EXAMPLES_KEPT]
                ),
            )
    yield from _some_without(
        data, "without-reference", "reference", "say so to whoever reads the numbers"
    )
    yield from _some_without(data, "unlabelled", "label", "label them, or leave them out")
    yield from _annotators(data)
    yield from _languages(data)


def _some_without(data: Collected, kind: str, what: str, do: str) -> Iterator[Finding]:
    """Yield a note where some samples lack what others have."""
    found = data.notes.get(kind, [])
    if found and len(found) < data.samples:
        yield Finding(
            check=kind,
            severity="note",
            count=len(found),
            says=f"{counted(len(found), 'sample')} of {data.samples:,} have no {what}",
            do=do,
            examples=tuple(data.example(place) for place, _ in found[:EXAMPLES_KEPT]),
        )
    elif found and kind == "unlabelled":
        yield Finding(
            check=kind,
            severity="note",
            count=len(found),
            says="nobody labelled these samples yet",
            do="label them: `data label`",
        )


def _annotators(data: Collected) -> Iterator[Finding]:
    columns = data.pair_columns()
    if len(columns.annotators) < 2 or not len(columns):
        return
    told = describe(columns.votes, columns.annotators, columns.question)
    if told is None or not told.several:
        return
    found = data.notes.get("contradicting-annotators", [])
    alpha = told.krippendorff
    low = alpha is not None and alpha < LOW_ALPHA
    chance = "less than" if alpha is not None and alpha < 0 else "hardly more than"
    of_several = f"of {counted(told.several, 'pair')} with several annotators"
    says = (
        f"in {len(found):,} {of_several} one says first and another second"
        if found
        else f"in none {of_several} does one say first and another second"
    )
    yield Finding(
        check="contradicting-annotators",
        severity="warning" if low else "note",
        count=len(found),
        says=f"{says}; all agree in {told.unanimous:,}"
        + ("" if alpha is None else f"; Krippendorff's alpha {alpha:.3f}"),
        do=f"they agree {chance} by chance"
        + ("" if found else " (one says tie where another does not)")
        + ": read some pairs with several labels before training"
        if low
        else "",
        examples=tuple(
            data.example(place, note=text[:300]) for place, text in found[:EXAMPLES_KEPT]
        ),
        values={
            "several": told.several,
            "unanimous": told.unanimous,
            "three_way": told.three_way,
            "krippendorff": alpha,
            "fleiss": told.fleiss,
        },
    )


def _languages(data: Collected) -> Iterator[Finding]:
    if data.languages:
        most = data.languages.most_common()
        yield Finding(
            check="languages",
            severity="note",
            count=len(most),
            says="languages: " + ", ".join(f"{name} ({count:,})" for name, count in most[:10]),
            values={"languages": dict(most)},
        )
