"""CritiqueLLM: Chinese pairs and single answers with scores by people."""

from __future__ import annotations

import re
from typing import Any

from magistrate.formats.base import Item
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import pair
from magistrate.records import Answer, Gold, Preference, Sample

_LABELS: dict[str, Preference] = {"0": "first", "1": "second", "2": "tie"}
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


def _pairwise(f: Fields) -> Item:
    return f.item(
        Sample(
            question=f.text("question"),
            answers=pair(f.text("response_1"), f.text("response_2")),
            reference=f.optional_text("reference"),
            gold=_gold(f),
            category=f.optional_text("category"),
            language=_language(f),
            source_id=f.id("id"),
        )
    )


def _gold(f: Fields) -> tuple[Gold, ...]:
    label = f.choice("label", _LABELS)
    first, second = f.number("human_score_1"), f.number("human_score_2")
    scores = None if first is None or second is None else (first, second)
    return (Gold(preference=label, scores=scores),) if label or scores else ()


def _pointwise(f: Fields) -> Item:
    score = f.number("human_score")
    model = f.optional_text("model")
    return f.item(
        Sample(
            question=f.text("question"),
            answers=(Answer(text=f.text("response"), model=model),),
            reference=f.optional_text("reference"),
            gold=() if score is None else (Gold(scores=(score,)),),
            category=f.optional_text("category"),
            language=_language(f),
            source_id=f.id("id"),
        )
    )


def _language(f: Fields) -> str | None:
    return "zh" if _CHINESE.search(f.text("question")) else None


def _is_critiquellm(row: Any, _file: str) -> bool:
    """Leave tables with a label of their own, whose 1 means the first answer, to other readers."""
    return "human_score_1" in row or "label" not in row


READERS = (
    RowReader(
        name="critiquellm-pairwise",
        summary="CritiqueLLM pairs: question, response_1, response_2, human_score_1/2, label",
        parse=_pairwise,
        keys=("question", "response_1", "response_2"),
        when=_is_critiquellm,
    ),
    RowReader(
        name="critiquellm-pointwise",
        summary="CritiqueLLM single answers: question, response, model, human_score",
        parse=_pointwise,
        keys=("question", "response", "human_score"),
    ),
)
