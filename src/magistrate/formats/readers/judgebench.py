"""JudgeBench: pairs with objective labels, and judges' outputs in both orders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import decode, pair, show, swapped
from magistrate.records import Gold, Judgment, Preference, Sample, Status

_LABELS: dict[str, Preference] = {"a>b": "first", "b>a": "second", "a=b": "tie"}
_ORDERS = ((0, 1), (1, 0))


def _sample(f: Fields) -> Sample:
    label = f.choice("label", _LABELS)
    model = f.optional_text("response_model")
    return Sample(
        question=f.text("question"),
        answers=pair(f.text("response_A"), f.text("response_B"), (model, model)),
        gold=(Gold(preference=label),) if label else (),
        category=f.optional_text("source"),
        source_id=f.id("pair_id"),
        meta=f.meta("source", "original_id", "response_model"),
    )


def _outputs(f: Fields) -> Item:
    sample = _sample(f)
    entries = f.get("judgments")
    if not isinstance(entries, list) or not 1 <= len(entries) <= len(_ORDERS):
        raise RowError(f"'judgments' is {show(entries)}; a list of one or two is needed")
    judge = _judge_name(f, entries)
    found = [_judgment(f, sample, entry, k, judge) for k, entry in enumerate(entries)]
    return f.item(sample, found)


def _judgment(f: Fields, sample: Sample, entry: Any, place: int, judge: str) -> Judgment:
    """Read one order; the second is in the swapped frame and is mapped back."""
    if entry is not None and not isinstance(entry, Mapping):
        raise RowError(f"'judgments'[{place}] is {show(entry)}; an object with decision is needed")
    decision = entry.get("decision") if entry else None
    verdict = None if decision is None else decode(decision, "decision", _LABELS)
    inner = Fields((entry or {}).get("judgment") or {}, f.where, f.options, f.reader)
    scores = inner.numbers("scores", 2)
    if place == 1:
        verdict = swapped(verdict) if verdict else None
        scores = scores[::-1] if scores else None
    status, error = _status(entry, verdict)
    return f.judgment(
        judge=judge,
        order=_ORDERS[place],
        ident=f.id("pair_id"),
        sample=sample,
        status=status,
        preference=verdict,
        scores=scores,
        raw=inner.optional_text("response") or None,
        error=error,
    )


def _status(entry: Any, verdict: Preference | None) -> tuple[Status, str | None]:
    if entry is None:
        return "error", "the file has no judgment for this order (null)"
    if verdict is None:
        return "unparsed", "the file has no decision (null)"
    return "ok", None


def _judge_name(f: Fields, entries: list[Any]) -> str:
    """Return ``method:model``."""
    models = [
        inner.get("judge_model")
        for entry in entries
        if isinstance(entry, Mapping) and isinstance(inner := entry.get("judgment"), Mapping)
    ]
    model = next((m for m in models if isinstance(m, str)), None)
    return ":".join(part for part in (f.optional_text("judge_name"), model) if part) or "judgebench"


READERS = (
    RowReader(
        name="judgebench-output",
        summary="JudgeBench outputs: the data's fields, judge_name and judgments in both orders",
        parse=_outputs,
        keys=("question", "response_A", "response_B", "judgments"),
    ),
    RowReader(
        name="judgebench",
        summary="JudgeBench data: pair_id, question, response_A, response_B, label (A>B or B>A)",
        parse=lambda f: f.item(_sample(f)),
        keys=("question", "response_A", "response_B"),
        without=("judgments",),
    ),
)
