"""Labels such as ``A``, ``Response 1`` or ``Tie``, as judges write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from magistrate.prompts.numerals import fold_line

T = TypeVar("T")

NOUN = r"(?:the\s+)?(?:answer|assistant|response|model|candidate|output|option|回答|答案|助手)"
WORD_END = r"(?!\w|-\w)"
LABEL_END = r"(?![\w<>=]|-\w)"
"""The end of a label is not the beginning of a longer word or of a comparison."""

_DECORATION = re.compile("[*_`~|\"'“”‘’\\[\\](){}$\\s\u200b-\u200f\u2060\ufeff]+")
_WIDE = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
_SIGN = re.compile(r"\s*([<>=]+)\s*")
_SHORT = re.compile(r"[A-Za-z]|[0-9]{1,3}")
_NAME_END = re.compile(rf"{NOUN}\s*#?\s*(?P<short>[a-z]|[0-9]{{1,3}})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Labelled(Generic[T]):
    """A label at the start of a text."""

    value: T
    rest: str
    """What follows it, in plain form."""


class Labels(Generic[T]):
    """Finds labels at the start of a text.

    Markdown, quotes, brackets, blanks and full-width letters do not matter; nor does letter case,
    unless two labels differ by nothing else. A label of one letter or number may have a noun before
    it (``Answer A`` for ``A``).
    """

    def __init__(self, labels: Sequence[tuple[str, T]], *, end: str = LABEL_END) -> None:
        """Compile a pattern of all labels; ``end`` is a pattern of what a label ends before."""
        plain = [(plain_text(label), value) for label, value in labels]
        folded = {label.casefold() for label, _ in plain}
        self.same_case = len(folded) < len({label for label, _ in plain})
        """Whether letter case tells labels apart."""
        self._values = {self._key(label): value for label, value in plain}
        longest_first = sorted((label for label, _ in plain), key=len, reverse=True)
        short = [label for label in longest_first if _SHORT.fullmatch(label)]
        patterns = [_one(label) for label in longest_first]
        patterns += [rf"{NOUN}\s*#?\s*(?:{'|'.join(map(re.escape, short))})"] if short else []
        self.pattern = rf"(?:{'|'.join(patterns)}){end}"
        self._regex = re.compile(self.pattern, 0 if self.same_case else re.IGNORECASE)

    def at_start(self, text: str) -> Labelled[T] | None:
        """Return the label that a text begins with.

        >>> Labels([("A", 1), ("Tie", 2)]).at_start("**Answer A**, since")
        Labelled(value=1, rest=', since')
        >>> Labels([("m", 1), ("M", 2)]).at_start("M").value
        2
        >>> Labels([("A", 1)]).at_start("A>B") is None
        True
        """
        plain = plain_text(text)
        found = self._regex.match(plain)
        if found is None:
            return None
        return Labelled(self.value_of(found[0]), plain[found.end() :].strip())

    def value_of(self, written: str) -> T:
        """Return the value of a text that :attr:`pattern` matched."""
        key = self._key(written)
        if key not in self._values:
            key = self._key(re.sub(rf"^{NOUN}\s*#?\s*", "", written, flags=re.IGNORECASE))
        return self._values[key]

    def whole(self, text: str) -> T | None:
        """Return the value of a text that is a label and nothing else."""
        found = self.at_start(text)
        return found.value if found and not found.rest.strip(" .,;!。") else None

    def _key(self, label: str) -> str:
        label = _SIGN.sub(r"\1", " ".join(label.split()))
        return label if self.same_case else label.casefold()


def answer_labels(names: Sequence[str]) -> list[tuple[str, int]]:
    """Return all that may stand for each answer's name, with the answer's place from 0.

    ``Assistant 2`` may be called ``2`` for short, and ``model_2`` so too.

    >>> answer_labels(["Assistant 1", "Assistant 2"])
    [('Assistant 1', 0), ('Assistant 2', 1), ('1', 0), ('2', 1)]
    """
    full = [(name, place) for place, name in enumerate(names)]
    ends = [_NAME_END.fullmatch(plain_text(name)) for name in names]
    return full + [(end["short"], place) for place, end in enumerate(ends) if end]


def plain_text(text: str) -> str:
    """Return a text without Markdown, quotes and brackets, with single blanks, in ASCII signs.

    >>> plain_text("**Output (a)**")
    'Output a'
    """
    return _DECORATION.sub(" ", fold_line(text).translate(_WIDE)).strip()


@lru_cache(maxsize=64)
def labels_of(labels: tuple[tuple[str, T], ...]) -> Labels[T]:
    """Return the compiled labels; made once for each family."""
    return Labels(labels)


def _one(label: str) -> str:
    pieces = (piece for word in label.split() for piece in _SIGN.split(word) if piece)
    return r"\s*".join(map(re.escape, pieces))
