"""Numbers as judges write them, in any script, folded to ASCII without joining any two."""

from __future__ import annotations

import re

_PUNCTUATION = str.maketrans(
    "，、،：；／．٫。－−–—＝（）［］【】’‘“”", ",,,:;/...----=()[][]''\"\""
)
_CHINESE_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}

CHINESE_NUMERAL = "[零〇一二两三四五六七八九十百]+"


def fold_line(line: str) -> str:
    """Return ``line`` with digits of every script and wide punctuation as ASCII.

    Superscripts and other signs that merely look like digits are left alone, so ``8²`` is not 82.

    >>> fold_line("８，９")
    '8,9'
    >>> fold_line("٨ ٩")
    '8 9'
    """
    if line.isascii():
        return line
    folded = line.translate(_PUNCTUATION)
    return re.sub(r"[^\x00-\x7f]", lambda c: str(int(c[0])) if c[0].isdecimal() else c[0], folded)


def number_of(text: str) -> float | None:
    """Return the value of an ASCII number or a Chinese numeral below 1000; None for neither.

    >>> number_of("85.5"), number_of("十"), number_of("九十五"), number_of("一百")
    (85.5, 10.0, 95.0, 100.0)
    >>> number_of("八九") is None
    True
    """
    if text.isascii():
        return float(text)
    rest, value = text, 0
    for unit, worth in (("百", 100), ("十", 10)):
        before, found, after = rest.partition(unit)
        if found:
            digit = 1 if not before and worth == 10 else _CHINESE_DIGITS.get(before)
            if digit is None:
                return None
            value, rest = value + digit * worth, after
    if rest:
        if rest not in _CHINESE_DIGITS:
            return None
        value += _CHINESE_DIGITS[rest]
    return float(value)
