"""PandaLM: the test set (two answers, several annotators) and the result files that go with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import decode, pair, stem, with_input
from magistrate.records import Gold, Preference, Sample

_LABELS: dict[str, Preference] = {"0": "tie", "tie": "tie", "1": "first", "2": "second"}
_VERDICTS: dict[str, Preference | None] = {**_LABELS, "garbage": None}
_ANNOTATOR = re.compile(r"(annotator|label_)(\d+)")
_RESULT = "_result"


def _test_set(f: Fields) -> Item:
    return f.item(
        Sample(
            question=with_input(f.text("instruction"), f.optional_text("input")),
            answers=pair(f.text("response1"), f.text("response2"), _models(f.get("cmp_key"))),
            reference=f.optional_text("reference_response"),
            gold=_gold(f),
            category=f.optional_text("motivation_app"),
            source_id=f.id("idx", "index"),
            meta=f.meta("motivation_app", "cmp_key", "task_id"),
        )
    )


def _gold(f: Fields) -> tuple[Gold, ...]:
    """Return a gold per annotator; the file names them ``annotator1..`` or ``label_0..``."""
    named = [(int(m[2]), key) for key in f.row if (m := _ANNOTATOR.fullmatch(key)) and f.has(key)]
    return tuple(
        Gold(annotator=key, preference=f.choice(key, _LABELS)) for _number, key in sorted(named)
    )


def _models(cmp_key: Any) -> tuple[str | None, str | None]:
    """Split ``modelA_modelB``; a name with an underscore of its own leaves both unknown."""
    if isinstance(cmp_key, str) and cmp_key.count("_") == 1:
        first, second = cmp_key.split("_")
        return first or None, second or None
    return None, None


def _result(f: Fields) -> Item:
    name = _result_key(f.row)
    if name is None:
        raise RowError("there is no field NAME_result, such as gpt_result")
    verdict = decode(f.get(name + _RESULT), f"'{name}{_RESULT}'", _VERDICTS)
    judgment = f.judgment(
        judge=re.sub(r"-testset-v\d+$", "", stem(f.where.file)) or name,
        order=(0, 1),
        ident=f.id("idx", "index"),
        status="unparsed" if verdict is None else "ok",
        preference=verdict,
        reasons=f.optional_text(name + "_reason") or None,
        error="the file says 'garbage'" if verdict is None else None,
    )
    return f.item(judgments=[judgment])


def _result_key(row: Any) -> str | None:
    """Return NAME of the field ``NAME_result``."""
    if not isinstance(row, Mapping):
        return None
    return next((key[: -len(_RESULT)] for key in row if key.endswith(_RESULT)), None)


READERS = (
    RowReader(
        name="pandalm",
        summary="PandaLM test set: instruction, input, response1, response2, annotator1..3",
        parse=_test_set,
        keys=("instruction", "response1", "response2"),
    ),
    RowReader(
        name="pandalm-result",
        summary="PandaLM result file: idx, NAME_result (1, 2, Tie or garbage), NAME_reason",
        parse=_result,
        keys=("idx",),
        without=("instruction", "question"),
        when=lambda row, _file: _result_key(row) is not None,
    ),
)
