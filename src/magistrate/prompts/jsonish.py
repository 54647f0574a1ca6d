"""JSON as models write it: among prose, with trailing commas, invalid escapes, Python's quotes.

Mended is only what cannot change a value: a comma before a closing bracket, a backslash that
escapes nothing, line breaks inside strings, ``'text'`` for ``"text"``, ``True`` for ``true``. An
object that is not closed is never completed: what its end said is unknown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

BROKEN: Final = "broken"
UNCLOSED: Final = "unclosed"
REPEATED: Final = "repeated"

Trouble: TypeAlias = str
"""One of :data:`BROKEN`, :data:`UNCLOSED`, :data:`REPEATED`."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An object or array found in a text."""

    value: Any
    start: int
    end: int
    trouble: Trouble | None = None
    detail: str = ""


_START = re.compile(r"\{(?=\s*(?:[\"'}]|\w+\s*:))|\[(?=\s*[\"'{\]0-9-])")
_STRING = r'"(?:\\.|[^"\\])*+"|(?<=[{\[,:\s])\'(?:\\.|[^\'\\])*+\'(?=\s*[}\],:])'
_BRACKETS = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
_TO_MEND = re.compile(rf"{_STRING}|,(?=\s*[}}\]])|\b(?:True|False|None)\b", re.DOTALL)
_BAD_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|(.))', re.DOTALL)
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_MOST_UNCLOSED = 8
_LONGEST_NUMBER = 400
_CLOSES = {"}": "{", "]": "["}


class _RepeatedKeyError(ValueError):
    """An object names a key twice."""


def find_json(text: str, opening: str = "{[") -> Iterator[Piece]:
    r"""Yield the outermost objects and arrays of a text, in their sequence.

    Args:
        text: Anything.
        opening: What counts: objects (``{``), arrays (``[``) or both.

    >>> [piece.value for piece in find_json('So {"a": [8, 9,], "b": "50\\%"} it is.')]
    [{'a': [8, 9], 'b': '50\\%'}]
    >>> [piece.trouble for piece in find_json('{"a": [8, 1', "{")]
    ['unclosed']
    """
    position = unclosed = 0
    while (found := _START.search(text, position)) is not None:
        start = found.start()
        if text[start] not in opening:
            position = start + 1
            continue
        end = _end_of(text, start)
        if end is None:
            yield Piece(None, start, len(text), UNCLOSED)
            unclosed += 1
            if unclosed == _MOST_UNCLOSED:
                return
            position = start + 1
        else:
            yield _read(text, start, end)
            position = end


def stands_alone(text: str, piece: Piece) -> bool:
    """Whether an object or array has its lines for itself, but for what announces it.

    What stands in the middle of a sentence is quoted or talked about, and no verdict.

    >>> text = 'The answer says {"a": 1}, which is odd. My verdict: {"a": 2}.'
    >>> [stands_alone(text, piece) for piece in find_json(text)]
    [False, True]
    """
    before = text[text.rfind("\n", 0, piece.start) + 1 : piece.start].strip(" \t\r*_`>#-")
    line_end = text.find("\n", piece.end)
    after = text[piece.end : line_end if line_end >= 0 else len(text)]
    return (not before or before.endswith((":", "："))) and not after.strip(" \t\r.;*_`")


def _end_of(text: str, start: int) -> int | None:
    """Return the position after the bracket that closes the one at ``start``."""
    open_brackets: list[str] = []
    for found in _BRACKETS.finditer(text, start):
        sign = found[0]
        if sign in "{[":
            open_brackets.append(sign)
        elif sign in _CLOSES:
            if not open_brackets or open_brackets.pop() != _CLOSES[sign]:
                return None
            if not open_brackets:
                return found.end()
    return None


def _read(text: str, start: int, end: int) -> Piece:
    source = text[start:end]
    try:
        return Piece(_load(source), start, end)
    except _RepeatedKeyError as error:
        return Piece(None, start, end, REPEATED, str(error))
    except (ValueError, RecursionError):
        pass
    try:
        return Piece(_load(_TO_MEND.sub(_mend, source)), start, end)
    except _RepeatedKeyError as error:
        return Piece(None, start, end, REPEATED, str(error))
    except (ValueError, RecursionError) as error:
        return Piece(None, start, end, BROKEN, str(error))


def _load(source: str) -> Any:
    return json.loads(
        source,
        strict=False,
        object_pairs_hook=_object,
        parse_constant=str,  # NaN and Infinity stay words, which are no numbers
        parse_int=_whole_number,
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        raise _RepeatedKeyError(next(name for name in names if names.count(name) > 1))
    return made


def _whole_number(text: str) -> int | float:
    return int(text) if len(text) < _LONGEST_NUMBER else float("inf")


def _mend(found: re.Match[str]) -> str:
    written = found[0]
    if written == ",":
        return ""
    if written in _PYTHON:
        return _PYTHON[written]
    inside = written[1:-1]
    if written[0] == "'":
        inside = inside.replace("\\'", "'")
        inside = re.sub(r'(?<!\\)((?:\\\\)*)"', r"\1\\" + '"', inside)
    return '"' + _BAD_ESCAPE.sub(_escape, inside) + '"'


def _escape(found: re.Match[str]) -> str:
    return found[0] if found[1] else "\\\\" + found[2]
