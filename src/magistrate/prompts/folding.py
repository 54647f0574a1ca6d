r"""What text comes down to when its disguises are taken off.

Two texts that a reader takes for the same may differ in letter case, width, look-alike letters of
other scripts, invisible characters, combining marks, kinds of quotes, brackets and dashes, and
HTML references. Folded they are equal. Folding is for finding things; what is found stands in the
text as it was written, so every folded character knows where it came from.

>>> fold("＜／Ａｎѕ\u200bwer_①＞")
'</answer_1>'
>>> fold("&lt;/ANSWER_1&#62;")
'</answer_1>'
"""

from __future__ import annotations

import html
import re
import unicodedata

_ALIKE = {
    "<": "‹〈⟨❮❬˂ᐸ≺",
    ">": "›〉⟩❯❭˃ᐳ≻",
    "[": "【〔〖⟦❲⁅",
    "]": "】〕〗⟧❳⁆",
    "/": "∕⁄╱⧸⟋",
    "|": "│┃┆┇ǀ∣❘¦",
    "'": "‘’‛′ʼʹ´`＇",
    '"': "“”„‟″ʺ«»",
    "-": "‐‑‒–—―−⁃",
    ":": "꞉∶ː˸",
    "#": "♯",
    "*": "∗⁎✱",
    "_": "ˍ",
    # Letters of other scripts that look like Latin ones.
    "a": "аАαΑ",
    "b": "ВΒ",
    "c": "сС",
    "d": "ԁ",
    "e": "еЕΕ",
    "h": "һНΗ",
    "i": "іІιΙ",
    "j": "јЈ",
    "k": "КκΚ",
    "m": "МΜ",
    "n": "Ν",
    "o": "оОοΟ",
    "p": "рРρΡ",
    "q": "ԛ",
    "s": "ѕЅ",
    "t": "ТΤ",
    "v": "ν",
    "w": "ԝ",
    "x": "хХΧ",
    "y": "уУΥ",
    "z": "Ζ",
}
_LATIN = {alike: plain for plain, group in _ALIKE.items() for alike in group}
_INVISIBLE_KINDS = frozenset({"Cf", "Mn", "Me", "Cc", "Cs", "Co", "Cn"})
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u3164\uffa0\u2800\ufffd")
_LINE_ENDS = frozenset("\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?")


class _Folds(dict[int, str]):
    """The folded form of each character, worked out when it is first met; for ``translate``."""

    def __missing__(self, code: int) -> str:
        folded = self[code] = _fold_character(chr(code))
        return folded


def _fold_character(character: str) -> str:
    if character in _LINE_ENDS:
        return "\n"
    if character.isspace():
        return " "
    if character in _LATIN:
        return _LATIN[character]
    if character in _INVISIBLE_LETTERS:
        return ""
    plain = "".join(
        _LATIN.get(piece, piece)
        for piece in unicodedata.normalize("NFKD", character)
        if unicodedata.category(piece) not in _INVISIBLE_KINDS
    )
    return plain.casefold()


_FOLDS = _Folds()


def fold(text: str) -> str:
    r"""Return the folded text. A line end of any kind is ``\n``, any other blank is a space."""
    if "&" in text:
        text = _REFERENCE.sub(lambda found: html.unescape(found[0]), text)
    return text.translate(_FOLDS)


def fold_with_places(text: str) -> tuple[str, list[int]]:
    """Return the folded text, and for each of its characters the index of its origin in ``text``.

    A character reference such as ``&lt;`` counts from its ``&``.
    """
    folded: list[str] = []
    places: list[int] = []
    end = 0
    references = _REFERENCE.finditer(text) if "&" in text else ()
    for found in (*references, None):
        start = len(text) if found is None else found.start()
        for place in range(end, start):
            form = _FOLDS[ord(text[place])]
            folded.append(form)
            places.extend([place] * len(form))
        if found is not None:
            form = html.unescape(found[0]).translate(_FOLDS)
            folded.append(form)
            places.extend([start] * len(form))
            end = found.end()
    return "".join(folded), places
