"""The parts that a result is broken down into: by category, language, model, length or question.

A part is a name and the samples in it. Parts of one breakdown may overlap only where that is said
(``model``: a pair counts for both of its models).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from magistrate.metrics.columns import Named, PairColumns
from magistrate.records import Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

By = Literal["category", "language", "model", "length", "length-gap", "question-type"]
BREAKDOWNS: tuple[By, ...] = get_args(By)

UNNAMED_PART = "(none)"
"""Samples of which the file does not say it."""

_LENGTH_EDGES = (200, 500, 1_000, 2_000, 4_000)
"""Bounds in characters of the mean length of the two answers."""
_CODE = re.compile(
    r"```|\bdef \w+\(|\bclass \w+[:({]|#include|\bSELECT\b.+\bFROM\b|"
    r"\b(python|javascript|java|c\+\+|sql|html|css|bash|regex)\b",
    re.IGNORECASE | re.DOTALL,
)
_QUESTION = re.compile(
    r"^\W*(what|who|whom|whose|which|when|where|why|how|is|are|was|were|do|does|did|can|could|"
    r"should|would|will|has|have)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Part:
    """A named part of the samples."""

    name: str
    chosen: NDArray[np.bool_]
    """Shape (n,)."""


def parts_of(pairs: PairColumns, by: By, question_types: Named | None = None) -> list[Part]:
    """Return the parts of pairs, in a fixed sequence: by name, or from short to long.

    Args:
        pairs: The pairs.
        by: What tells the parts.
        question_types: Column for ``question-type``, which is told by texts
            (:func:`question_type`).

    Raises:
        ValueError: ``question-type`` is asked for without its column.
    """
    if by == "category":
        return list(by_name(pairs.category))
    if by == "language":
        return list(by_name(pairs.language))
    if by == "model":
        return list(_by_model(pairs))
    if by == "length":
        return list(by_length(pairs.lengths.mean(1)))
    if by == "length-gap":
        return list(_by_gap(pairs))
    if question_types is None:
        raise ValueError("question types are told by the questions' texts, which are not here")
    return list(by_name(question_types))


def by_name(column: Named) -> Iterator[Part]:
    """Yield the samples of each name, by name."""
    for name in sorted(column.names):
        chosen = column.where(name)
        if chosen.any():
            yield Part(name or UNNAMED_PART, chosen)


def by_length(lengths: NDArray[np.floating]) -> Iterator[Part]:
    """Yield samples by length in characters, between fixed bounds, so that sets compare.

    Args:
        lengths: Shape (n,); of a pair the mean of its two answers.
    """
    import numpy as np

    place = np.searchsorted(_LENGTH_EDGES, lengths, side="right")
    bounds = ("0", *(f"{edge:,}" for edge in _LENGTH_EDGES))
    for k, low in enumerate(bounds):
        chosen = place == k
        if chosen.any():
            last = k == len(bounds) - 1
            yield Part(f"{low}+" if last else f"{low} to {bounds[k + 1]}", chosen)


def question_type(sample: Sample) -> str:
    """Return a rough type of a question, told by its words.

    ``dialogue`` (more than one turn of the user), ``code`` (a code block, or the name of a
    language), ``question`` (begins with a question word or ends in a question mark), else
    ``instruction``. English words only; it groups, it does not classify.
    """
    if not isinstance(sample.question, str):
        if sum(turn.role == "user" for turn in sample.question) > 1:
            return "dialogue"
    elif any(len(answer.turns) > 1 for answer in sample.answers):
        return "dialogue"
    text = sample.question_text
    if _CODE.search(text):
        return "code"
    first_line = text.strip().split("\n", 1)[0]
    asks = _QUESTION.match(text) or first_line.rstrip().endswith(("?", "？"))
    return "question" if asks else "instruction"


def _by_model(pairs: PairColumns) -> Iterator[Part]:
    names = set(pairs.first_model.names) | set(pairs.second_model.names)
    for name in sorted(names):
        chosen = pairs.first_model.where(name) | pairs.second_model.where(name)
        if chosen.any():
            yield Part(name or UNNAMED_PART, chosen)


def _by_gap(pairs: PairColumns) -> Iterator[Part]:
    """Yield pairs by whether the annotators' better answer is the longer one."""
    import numpy as np

    longer = np.sign(pairs.lengths[:, 0] - pairs.lengths[:, 1])
    decisive = np.abs(pairs.gold.astype(int)) == 1
    for name, chosen in (
        ("the longer answer is better", decisive & (longer == pairs.gold)),
        ("the shorter answer is better", decisive & (longer == -pairs.gold)),
        ("equally long", decisive & (longer == 0)),
        ("labelled a tie", pairs.gold == 0),
    ):
        if chosen.any():
            yield Part(name, chosen)
