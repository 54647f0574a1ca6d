"""Cascaded selective evaluation (arXiv 2407.18370): a judge's probabilities beside people's votes.

One file a judge. The files of several judges hold the same pairs, told apart by their content.
"""

from __future__ import annotations

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import pair, show, stem
from magistrate.records import Answer, Gold, Preference, Probabilities, Sample

_CODES: dict[str, Preference] = {"1": "first", "2": "second"}
_SPLITS = (".calibration", ".test")
"""Ends of the files' names after the judge's name."""


def _row(f: Fields) -> Item:
    sample = Sample(question=f.text("instruction"), answers=_answers(f), gold=tuple(_gold(f)))
    if "probs" not in f.row:  # before a judge was asked
        return f.item(sample)
    probabilities = _probabilities(f)
    judgment = f.judgment(
        judge=_judge(f.where.file),
        order=(0, 1),
        ident=None,
        sample=sample,
        status="unparsed" if probabilities is None else "ok",
        preference=probabilities.preference if probabilities else None,
        probabilities=probabilities,
        error=None if probabilities else "the judge has no probabilities (null)",
    )
    return f.item(sample, [judgment])


def _answers(f: Fields) -> tuple[Answer, ...]:
    outputs = f.get("outputs")
    if not isinstance(outputs, list) or len(outputs) != 2:
        raise RowError(f"'outputs' is {show(outputs)}; a list of two texts is needed")
    texts = [f.as_text(text, f"'outputs[{place}]'") for place, text in enumerate(outputs)]
    return pair(texts[0], texts[1])


def _gold(f: Fields) -> list[Gold]:
    votes = f.object("preferences")
    return [
        Gold(annotator=name, preference=preference)
        for name in votes.row
        if (preference := votes.choice(name, _CODES)) is not None
    ]


def _probabilities(f: Fields) -> Probabilities | None:
    """Read ``[p1, p2]``; there is no tie, and what rounding left over one is cut."""
    found = f.numbers("probs", 2)
    if found is None:
        return None
    if min(found) < 0 or sum(found) > 1.001:
        raise RowError(f"'probs' is {show(f.get('probs'))}; two probabilities are needed")
    first, second = (min(1.0, value) for value in found)
    return Probabilities(first=first, tie=0.0, second=second)


def _judge(file: str) -> str:
    name = stem(file)
    return next((name.removesuffix(end) for end in _SPLITS if name.endswith(end)), name)


READERS = (
    RowReader(
        name="selective-evaluation",
        summary="Cascaded selective evaluation: instruction, outputs, preferences, probs [p1, p2]",
        parse=_row,
        keys=("instruction", "outputs", "preferences"),
    ),
)
