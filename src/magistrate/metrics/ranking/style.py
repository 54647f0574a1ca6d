"""Length and markdown of an answer, and how two answers differ in them.

The four features are those of Chatbot Arena's style control (LMSYS, "Does style matter?
Disentangling style and substance in Chatbot Arena", 2024): length, headers, bold passages and list
items. There length is in tokens; here in characters, since which tokens is another model's matter.
A pair differs by ``(first - second) / (first + second)`` in each feature, 0 where both have none,
and each column is then divided by its standard deviation over all battles.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from magistrate.metrics.compact import answer_length
from magistrate.records import Answer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FEATURES = ("length", "headers", "bold", "lists")

_FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_HEADER = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_BOLD = re.compile(r"\*\*[^*\n]+\*\*|(?<!\w)__[^_\n]+__(?!\w)")
_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)


def style_counts(answer: Answer) -> tuple[int, int, int, int]:
    r"""Return characters, headers, bold passages and list items of an answer.

    What stands in fenced code blocks is code, whose ``#`` begins a comment.

    >>> style_counts(Answer(text="# Title\n\n- **one**\n- two"))
    (24, 1, 1, 2)
    """
    text = "\n".join(turn.text for turn in answer.turns) if answer.turns else answer.text
    prose = _FENCE.sub("", text)
    return (
        answer_length(answer),
        *(sum(1 for _ in pattern.finditer(prose)) for pattern in (_HEADER, _BOLD, _ITEM)),
    )  # type: ignore[return-value]


def style_differences(style: Floats) -> Floats:
    """Return how the first answer of each battle differs from the second.

    Args:
        style: Shape (n, 2, features), at least 0.

    Returns:
        Shape (n, features): normalised differences divided by their standard deviation; a feature
        in which no two answers differ is 0 throughout.
    """
    import numpy as np

    first, second = style[:, 0], style[:, 1]
    total = first + second
    apart = np.divide(first - second, total, out=np.zeros_like(total), where=total > 0)
    spread = apart.std(axis=0)
    scaled: Floats = np.divide(apart, spread, out=np.zeros_like(apart), where=spread > 0)
    return scaled
