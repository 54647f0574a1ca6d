"""AlpacaEval: outputs of one model, and annotations of two (1.0 with labels, 2.0 weighted)."""

from __future__ import annotations

from typing import Any

from magistrate.formats.base import Item, RowError
from magistrate.formats.readers.fields import Fields, RowReader
from magistrate.formats.readers.values import pair, with_input
from magistrate.records import Answer, Gold, Preference, Sample

_LABELS: dict[float, Preference] = {0.0: "tie", 1.0: "first", 1.5: "tie", 2.0: "second"}


def _outputs(f: Fields) -> Item:
    return f.item(
        Sample(
            question=_question(f),
            answers=(Answer(text=f.text("output"), model=f.optional_text("generator")),),
            category=f.optional_text("dataset"),
            source_id=f.id("id"),
            meta=f.meta("dataset"),
        )
    )


def _annotations(f: Fields) -> Item:
    models = (f.optional_text("generator_1"), f.optional_text("generator_2"))
    return f.item(
        Sample(
            question=_question(f),
            answers=pair(f.text("output_1"), f.text("output_2"), models),
            gold=(_gold(f),) if "preference" in f.row else (),
            category=f.optional_text("dataset"),
            source_id=f.id("id"),
            meta=f.meta("dataset", "preference", "annotator"),
        )
    )


def _gold(f: Fields) -> Gold:
    """Read a preference code: 1 first, 2 second, 0 or 1.5 a tie, null nothing readable.

    Anything else in [1, 2] is 1 + P(second better), as all codes of a weighted annotator are.
    """
    annotator = f.optional_text("annotator")
    code = f.number("preference")
    if code is None:
        return Gold(annotator=annotator)
    soft = code not in _LABELS or (code >= 1 and "weighted" in (annotator or ""))
    if soft and not 1 <= code <= 2:
        raise RowError(f"'preference' is {code:g}; needed: 0, a number from 1 to 2, or null")
    return Gold(
        annotator=annotator,
        preference=_LABELS.get(code) or ("first" if code < 1.5 else "second"),
        probability_second=code - 1 if soft else None,
    )


def _question(f: Fields) -> str:
    return with_input(f.text("instruction"), f.optional_text("input"))


def _is_model_output(row: Any, _file: str) -> bool:
    """Tell a model's outputs from training data in the Alpaca form, which names no generator."""
    return "generator" in row or "dataset" in row


READERS = (
    RowReader(
        name="alpaca-eval-annotations",
        summary="AlpacaEval annotations: instruction, output_1, output_2, preference (1, 2, soft)",
        parse=_annotations,
        keys=("instruction", "output_1", "output_2"),
    ),
    RowReader(
        name="alpaca-eval-outputs",
        summary="AlpacaEval model outputs: instruction, output, generator",
        parse=_outputs,
        keys=("instruction", "output"),
        without=("output_1",),
        when=_is_model_output,
    ),
)
