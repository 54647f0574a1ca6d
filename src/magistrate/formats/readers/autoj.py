"""Auto-J: pairwise test data, critiques, pointwise training data, and outputs of its judges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import label_text, last_rating, pair, show, stem, swapped
from magistrate.records import Answer, Gold, Judgment, Preference, Sample

_LABELS: dict[str, Preference] = {"0": "first", "1": "second", "2": "tie"}
_VERDICTS: dict[str, Preference | None] = {**_LABELS, "-1": None}
_PROMPT = re.compile(
    r"\[BEGIN DATA\]\n\*\*\*\n\[Query\]: (.*?)\n\*\*\*\n"
    r"\[Response\]: (.*)\n\*\*\*\n\[END DATA\]",
    re.DOTALL,
)
_EXCHANGED = re.compile(r"exchanged?[_-]?", re.IGNORECASE)
_TEACHER = "gpt-4"
"""Who wrote the critiques of the training data."""


def _pairwise(f: Fields) -> Item:
    label = f.choice("label", _LABELS)
    return f.item(
        Sample(
            question=f.text("prompt"),
            answers=pair(f.text("response 1"), f.text("response 2")),
            gold=(Gold(preference=label),) if label else (),
            category=f.optional_text("scenario"),
            source_id=f.id("id"),
            meta=f.meta("scenario"),
        )
    )


def _pairwise_output(f: Fields) -> Item:
    """Read a verdict; the file of the exchanged order is told by its name, and mapped back."""
    verdict = f.choice("output", _VERDICTS)
    name = stem(f.where.file)
    exchanged = _EXCHANGED.search(name) is not None
    if exchanged and verdict:
        verdict = swapped(verdict)
    judgment = f.judgment(
        judge=_EXCHANGED.sub("", name),
        order=(1, 0) if exchanged else (0, 1),
        ident=None,
        status="unparsed" if verdict is None else "ok",
        preference=verdict,
        error="the file has no verdict (-1 or null)" if verdict is None else None,
    )
    return f.item(judgments=[judgment])


def _critique(f: Fields) -> Item:
    sample = Sample(
        question=f.text("prompt"),
        answers=(Answer(text=f.text("response")),),
        category=f.optional_text("scenario"),
        source_id=f.id("id"),
        meta=f.meta("scenario"),
    )
    critiques = f.object("critiques")
    found = [_rated(f, critiques.text(judge), judge, sample) for judge in critiques.row]
    return f.item(sample, found)


def _critique_output(f: Fields) -> Item:
    return f.item(judgments=[_rated(f, f.text("output"), stem(f.where.file), None)])


def _rated(f: Fields, text: str, judge: str, sample: Sample | None) -> Judgment:
    """Read a critique that ends in ``Rating: [[x]]``."""
    rating = last_rating(text)
    return f.judgment(
        judge=judge,
        order=(0,),
        ident=f.id("id"),
        sample=sample,
        status="unparsed" if rating is None else "ok",
        scores=None if rating is None else (rating,),
        reasons=text,
        raw=text,
        error="the critique has no [[rating]]" if rating is None else None,
    )


def _training(f: Fields) -> Item:
    key = "usrmsg" if f.has("usrmsg") else "usermsg"
    message = f.text(key)
    parts = _PROMPT.search(message)
    if parts is None:
        raise RowError(f"'{key}' is {show(message)}; [Query] and [Response] are needed")
    score = f.number("pred_score")
    gold = Gold(
        annotator=_TEACHER,
        scores=None if score is None else (score,),
        reasons=f.optional_text("target_output"),
    )
    return f.item(
        Sample(
            question=parts[1],
            answers=(Answer(text=parts[2]),),
            gold=(gold,),
            category=f.optional_text("scenario"),
            meta=f.meta("scenario", "source_dataset"),
        )
    )


def _independent(f: Fields) -> Item:
    """Read a critique of the training data by itself; it has reasons and no rating."""
    inside = f.object("meta")
    return f.item(
        Sample(
            question=inside.text("prompt"),
            answers=(Answer(text=inside.text("response")),),
            gold=(Gold(annotator=_TEACHER, reasons=f.text("output")),),
            category=inside.optional_text("scenario"),
            meta={**inside.meta("scenario", "protocol"), **f.meta("finish_reason", "cost")},
        )
    )


def _is_output(row: Any, verdict: bool) -> bool:
    """Whether a row is ``{"output": ...}`` alone, holding a verdict or else a critique."""
    if len(row) != 1:
        return False
    value = row["output"]
    return (
        (label_text(value) in _VERDICTS)
        if verdict
        else (isinstance(value, str) and label_text(value) not in _VERDICTS)
    )


READERS = (
    RowReader(
        name="auto-j-pairwise",
        summary="Auto-J pairwise test data: prompt, 'response 1', 'response 2', label (2 is tie)",
        parse=_pairwise,
        keys=("prompt", "response 1", "response 2"),
    ),
    RowReader(
        name="auto-j-critique",
        summary="Auto-J critique test data: prompt, response, critiques by judge",
        parse=_critique,
        keys=("prompt", "response", "critiques"),
    ),
    RowReader(
        name="auto-j-training",
        summary="Auto-J pointwise training data: usrmsg, target_output, pred_score",
        parse=_training,
        keys=("target_output", "pred_score"),
        when=lambda row, _file: "usrmsg" in row or "usermsg" in row,
    ),
    RowReader(
        name="auto-j-independent",
        summary="Auto-J critiques of the training data: output, meta with prompt and response",
        parse=_independent,
        keys=("output", "meta"),
        when=lambda row, _file: (
            isinstance(row["meta"], Mapping)
            and "prompt" in row["meta"]
            and "response" in row["meta"]
        ),
    ),
    RowReader(
        name="auto-j-pairwise-output",
        summary="Auto-J pairwise outputs: output; '..._exchange_...' is the other order",
        parse=_pairwise_output,
        keys=("output",),
        when=lambda row, _file: _is_output(row, verdict=True),
    ),
    RowReader(
        name="auto-j-critique-output",
        summary="Auto-J critique outputs: output, a text that ends in Rating: [[x]]",
        parse=_critique_output,
        keys=("output",),
        when=lambda row, _file: _is_output(row, verdict=False),
    ),
)
