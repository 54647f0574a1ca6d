"""JSON values from bytes, leniently: what can be read is read, and what was odd about it is noted.

orjson parses the common case. What it refuses (lone surrogates, NaN, raw control characters, stray
bytes, several values side by side) goes to the standard library's parser. A key that stands twice
in an object is told; as with every parser the last one is taken.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import orjson

from magistrate.formats.base import BadRow
from magistrate.formats.encoding import decode
from magistrate.formats.notices import NoticeLog

_EXACT_FLOAT = 2.0**63
_TOO_DEEP = "not readable: nested too deeply"
_BETWEEN = " \t\r\n,\x1e\0"


@dataclass(frozen=True, slots=True)
class FileContext:
    """What the row readers of one file share."""

    file: str
    log: NoticeLog

    def bad(self, row: int, reason: str) -> BadRow:
        """Return a bad row of this file."""
        return BadRow(file=self.file, row=row, reason=reason)


def parse(data: bytes, context: FileContext, row: int) -> Any:
    """Parse one JSON value.

    Raises:
        ValueError: It is no JSON; the message is the reason shown to the user.
    """
    values = parse_all(data, context, row)
    if len(values) != 1:
        raise ValueError(f"{len(values)} JSON values where one is expected")
    return values[0]


def parse_all(data: bytes, context: FileContext, row: int) -> list[Any]:
    """Parse the JSON values that stand side by side in ``data``.

    Raises:
        ValueError: The first value is no JSON. (A later one is kept as :class:`ValueError` in the
            list, so that the good ones before it are not lost.)
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return _parse_leniently(data, context, row)
    return [checked(value, data, context, row)]


def checked(value: Any, data: bytes, context: FileContext, row: int) -> Any:
    """Return what orjson made of ``data``, read again where it lost something.

    Raises:
        ValueError: It is nested too deeply.
    """
    try:
        if _may_repeat_a_key(value, data):
            return _decoder(context, row).decode(decode(data)[0])
        return json.loads(data) if _has_rounded_integer(value) else value
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


def _may_repeat_a_key(value: Any, data: bytes) -> bool:
    """Whether the text has another number of keys than the value; seldom true without cause."""
    keys = _keys_in(value)
    found = data.count(b'":')
    # In a string a quote is escaped, so what is left are the ends of keys (unless a blank follows).
    return found != keys and found - data.count(b'\\":') != keys


def _keys_in(value: Any) -> int:
    """Count the keys of all objects in a value."""
    count = 0
    parts = value
    if type(value) is dict:
        count = len(value)
        parts = value.values()
    elif type(value) is not list:
        return 0
    for part in parts:
        kind = type(part)
        if kind is dict or kind is list:
            count += _keys_in(part)
    return count


def _decoder(context: FileContext, row: int) -> json.JSONDecoder:
    """Return a parser that takes what is odd but readable, and notes it."""

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            for key, count in Counter(key for key, _ in pairs).items():
                if count > 1:
                    context.log.add(
                        "repeated-key",
                        f"the key {ascii_quote(key[:60])} stands {count} times in one object; "
                        "the last is taken",
                        file=context.file,
                        row=row,
                    )
        return found

    def as_integer(digits: str) -> int | str:
        try:
            return int(digits)
        except ValueError:  # Python's limit against slow conversions, 4,300 digits
            context.log.add(
                "long-number",
                "holds an integer of more digits than Python reads, kept as its text",
                file=context.file,
                row=row,
            )
            return digits

    return json.JSONDecoder(strict=False, object_pairs_hook=as_object, parse_int=as_integer)


def _has_rounded_integer(value: Any) -> bool:
    """Whether a number may be an integer beyond 64 bits, which orjson turns into a float."""
    kind = type(value)
    if kind is dict:
        value = value.values()
    elif kind is not list:
        return kind is float and not -_EXACT_FLOAT < value < _EXACT_FLOAT
    for item in value:
        kind = type(item)
        if kind is str or kind is int or item is None:
            continue
        if _has_rounded_integer(item):
            return True
    return False


def _parse_leniently(data: bytes, context: FileContext, row: int) -> list[Any]:
    text, valid = decode(data)
    if not valid:
        context.log.add(
            "encoding",
            "bytes that are not UTF-8 were kept as they are (judges see \ufffd for each)",
            file=context.file,
            row=row,
        )
    if "\0" in text:
        context.log.add("encoding", "holds NUL characters", file=context.file, row=row)
    values: list[Any] = []
    decoder = _decoder(context, row)
    at = _skip_between(text, 0)
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            problem = ValueError(_reason(error, text))
            if not values:
                raise problem from None
            values.append(problem)
            break
        values.append(value)
        at = _skip_between(text, at)
    return values


def _skip_between(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BETWEEN:
        at += 1
    return at


def _reason(error: ValueError | RecursionError, text: str) -> str:
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    if not isinstance(error, json.JSONDecodeError):
        return f"not readable: {error}"
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return f"cut off: the JSON value does not end (after {_tail(text)})"
    return f"not JSON: {error.msg} at character {error.pos + 1}, near {_near(text, error.pos)}"


def _tail(text: str) -> str:
    return ascii_quote(text.rstrip()[-30:])


def _near(text: str, at: int) -> str:
    return ascii_quote(text[max(0, at - 15) : at + 15])


def ascii_quote(text: str) -> str:
    """Return text in quotes with control characters and stray bytes made visible."""
    return json.dumps(text, ensure_ascii=not text.isprintable())
