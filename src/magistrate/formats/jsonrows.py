"""JSON in every arrangement found in the wild, row by row, in memory that no file outgrows.

What is no JSON (:mod:`jsonvalues <magistrate.formats.jsonvalues>` says what is read all the same)
becomes a bad row, and the rows after it are found again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO

import orjson

from magistrate.formats.base import KEY_FIELD, VALUE_FIELD, BadRow, Row
from magistrate.formats.jsonvalues import FileContext, checked, parse, parse_all

MAX_ROW_BYTES = 64 << 20
"""A row longer than this is refused: it is nearly always a missing quote or line break."""

_CHUNK = 1 << 20
# From inside a value to its next bracket: strings are stepped over whole, so brackets in them
# do not count. Possessive throughout: an unclosed string fails at once.
_TO_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+([{}\[\]])', re.DOTALL)
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SCALAR = re.compile(rb"[^,\]}\s]+")
_FIRST_KEY = re.compile(rb'\{\s*("(?:[^"\\]++|\\.)*+")\s*:')


# --- JSON Lines --------------------------------------------------------------------------------


def read_lines(stream: IO[bytes], context: FileContext) -> Iterator[Row | BadRow]:
    """Read JSON Lines; the row number is the line number."""
    number = 0
    readline = stream.readline
    loads = orjson.loads
    while line := readline(MAX_ROW_BYTES):
        number += 1
        try:
            value = checked(loads(line), line, context, number)
        except orjson.JSONDecodeError:
            yield from _odd_line(line, stream, context, number)
            continue
        except ValueError as error:
            yield context.bad(number, str(error))
            continue
        yield Row(number, value)


def _odd_line(
    line: bytes, stream: IO[bytes], context: FileContext, number: int
) -> Iterator[Row | BadRow]:
    if len(line) >= MAX_ROW_BYTES and not line.endswith(b"\n"):
        while (rest := stream.readline(_CHUNK)) and not rest.endswith(b"\n"):
            pass
        yield context.bad(number, f"the line is longer than {MAX_ROW_BYTES >> 20} MiB")
        return
    if not line.strip(b" \t\r\n\0"):
        return
    try:
        values = parse_all(line, context, number)
    except ValueError as error:
        yield context.bad(number, str(error))
        return
    if len(values) > 1:
        context.log.add(
            "several-on-a-line",
            "a line holds several JSON values; each was read as a row of its own",
            file=context.file,
            row=number,
        )
    for value in values:
        if isinstance(value, ValueError):
            yield context.bad(number, str(value))
        else:
            yield Row(number, value)


# --- one big value -----------------------------------------------------------------------------


class Scanner:
    """Cuts a stream of bytes into JSON values by their brackets, without parsing them."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._data = b""
        self._at = 0
        self._ended = False

    def peek(self, skip: bytes = b" \t\r\n") -> bytes:
        """Step over the bytes in ``skip``; return the next one, ``b""`` at the end."""
        while True:
            while self._at < len(self._data):
                byte = self._data[self._at : self._at + 1]
                if byte not in skip:
                    return byte
                self._at += 1
            if not self._fill():
                return b""

    def step(self) -> None:
        """Step over one byte."""
        self._at += 1

    def rest(self) -> bytes:
        """Return what has been read and not yet stepped over."""
        return self._data[self._at :]

    def value(self) -> bytes | None:
        """Return the bytes of the value that starts here, or None if it never ends.

        The position moves behind the value; it stays where it is for None.
        """
        while (end := value_end(self._data, self._at)) < 0 or (
            end == len(self._data) and not self._ended
        ):
            if len(self._data) - self._at > MAX_ROW_BYTES or not self._fill():
                break
        if end < 0:
            return None
        found = self._data[self._at : end]
        self._at = end
        return found

    def recover(self, start: re.Pattern[bytes] | None, back: int) -> bool:
        """Move to the next place that looks like the start of a row; whether there is one.

        Args:
            start: What rows begin with.
            back: How many bytes back the bad row began (0 if the position is still there).
        """
        if start is not None and (found := start.search(self._data, self._at - back + 1)):
            if back == 0 or found.start(1) < self._at:
                self._at = found.start(1)
            return True
        return back > 0

    def _fill(self) -> bool:
        if self._ended:
            return False
        left = len(self._data) - self._at
        # As much again as is there, so that rescanning a long value costs at most twice its length.
        block = self._stream.read(max(_CHUNK, left))
        if not block:
            self._ended = True
            return False
        self._data = self._data[self._at :] + block
        self._at = 0
        return True


def value_end(data: bytes, at: int) -> int:
    """Return where the JSON value that starts at ``at`` ends, or -1 if it does not end in ``data``.

    >>> value_end(b'{"a": "}"}, 1', 0)
    10
    >>> value_end(b'{"a": "}', 0)
    -1
    """
    first = data[at : at + 1]
    if first == b'"':
        string = _STRING.match(data, at)
        return string.end() if string else -1
    if first not in (b"{", b"["):
        scalar = _SCALAR.match(data, at)
        # A byte that begins nothing (a stray bracket) is a value of its own: it must be passed.
        return scalar.end() if scalar else at + 1
    depth = 0
    while bracket := _TO_BRACKET.match(data, at):
        depth += 1 if bracket[1] in (b"{", b"[") else -1
        at = bracket.end()
        if depth == 0:
            return at
    return -1


def read_array(stream: IO[bytes], context: FileContext) -> Iterator[Row | BadRow]:
    """Read the elements of a JSON array; the row number is the element's place, from 1."""
    scanner = Scanner(stream)
    if scanner.peek() == b"[":
        scanner.step()
    yield from _read_elements(scanner, context, b"]")


def read_values(stream: IO[bytes], context: FileContext) -> Iterator[Row | BadRow]:
    """Read JSON values that follow each other in any layout; the number counts the values."""
    yield from _read_elements(Scanner(stream), context, b"")


def _read_elements(
    scanner: Scanner, context: FileContext, close: bytes, *, whole: bool = True
) -> Iterator[Row | BadRow]:
    """Read values up to ``close``, which ends the file if they are the whole of it."""
    start: re.Pattern[bytes] | None = None
    number = 0
    while (byte := scanner.peek(b" \t\r\n,\0\x1e")) and byte != close:
        number += 1
        data = scanner.value()
        if data is None:
            yield context.bad(number, _endless(close))
            start = start or _row_start(scanner.rest())
            if not scanner.recover(start, back=0):
                return
            continue
        try:
            value = parse(data, context, number)
        except ValueError as error:
            yield context.bad(number, str(error))
            start = start or _row_start(data)
            scanner.recover(start, back=len(data))
            continue
        start = start or _row_start(data)
        yield Row(number, value)
    if close:
        _note_end(scanner, context, number, closed=byte == close, whole=whole)


def _row_start(data: bytes) -> re.Pattern[bytes] | None:
    """Return what finds the next row after a broken one: an object with the same first key."""
    key = _FIRST_KEY.match(data)
    return re.compile(rb"[,\[\n}]\s*(\{\s*" + re.escape(key[1]) + rb"\s*:)") if key else None


def _endless(close: bytes) -> str:
    where = "array" if close else "file"
    return (
        f"cut off: the value does not end before the {where} does (a bracket or quote is missing)"
    )


def _note_end(
    scanner: Scanner, context: FileContext, number: int, *, closed: bool, whole: bool
) -> None:
    if not closed:
        context.log.add(
            "cut-off",
            f"the JSON array is not closed after row {number:,}; the file seems to be cut off",
            file=context.file,
        )
        return
    scanner.step()
    if whole and scanner.peek(b" \t\r\n\0"):
        context.log.add(
            "trailing", "what follows the closing bracket was not read", file=context.file
        )


def read_keyed(stream: IO[bytes], context: FileContext) -> Iterator[Row | BadRow]:
    """Read a JSON object of rows by key: the key is kept in the row's ``_key``.

    A value that is no object becomes the row's ``_value``.
    """
    scanner = Scanner(stream)
    if scanner.peek() == b"{":
        scanner.step()
    number = 0
    while (byte := scanner.peek(b" \t\r\n,")) and byte != b"}":
        number += 1
        key = scanner.value()
        if key is None or scanner.peek() != b":":
            yield context.bad(number, "a key and a colon are expected in a JSON object of rows")
            return
        scanner.step()
        scanner.peek()
        data = scanner.value()
        if data is None:
            yield context.bad(number, _endless(b"}"))
            return
        try:
            name, value = parse(key, context, number), parse(data, context, number)
        except ValueError as error:
            yield context.bad(number, str(error))
            continue
        row = value if isinstance(value, dict) else {VALUE_FIELD: value}
        yield Row(number, {KEY_FIELD: name, **row})


def read_wrapped(stream: IO[bytes], context: FileContext, name: str) -> Iterator[Row | BadRow]:
    """Read the array of rows under ``name`` inside an object such as ``{"data": [...]}``."""
    scanner = Scanner(stream)
    scanner.peek()
    scanner.step()
    while scanner.peek(b" \t\r\n,") == b'"':
        key = scanner.value()
        if scanner.peek(b" \t\r\n:") == b"[" and key == json.dumps(name).encode():
            scanner.step()
            yield from _read_elements(scanner, context, b"]", whole=False)
            return
        scanner.value()
