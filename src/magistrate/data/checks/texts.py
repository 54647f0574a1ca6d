"""Texts as they are compared: what does not change their meaning is gone.

Normalised are: compatibility forms of Unicode (NFKC), case (full case folding), runs of blanks and
line breaks (one blank), and marks of punctuation at both ends. Marks within a text stay, since
``x[0]`` and ``x(0)``, or 5-3 and 5 3, are not the same.
"""

from __future__ import annotations

import unicodedata

from magistrate.records import Answer, Sample

_EDGES = " .,;:!?…\"'`“”‘’«»„。、，；：！？·।؟"


def normalised(text: str) -> str:
    r"""Return a text as it is compared.

    A text of nothing but punctuation stays what it is.

    >>> normalised('  What\nis  C++ ?')
    'what is c++'
    >>> normalised("…"), normalised("Ｗｈｙ？")
    ('...', 'why')
    """
    if text.isascii():
        joined = " ".join(text.lower().split())
    else:
        joined = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return joined.strip(_EDGES) or joined


def question_text(sample: Sample) -> str:
    """Return the question, or the whole dialogue, as it is compared."""
    return normalised(sample.question_text)


def answer_text(answer: Answer) -> str:
    """Return an answer, all of its turns, as it is compared."""
    if answer.turns:
        return normalised("\n".join(turn.text for turn in answer.turns))
    return normalised(answer.text)
