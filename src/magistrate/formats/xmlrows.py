"""XML, row by row: the elements inside the root are the rows.

An element with nothing inside is its text; one with elements inside is an object, a name that comes
twice in it a list. Attributes are fields ``@name``; text beside elements is the field ``#text``.

The file is not trusted: a document type is refused, since it can define entities that expand
without end or that read other files, and nothing outside the file is ever opened.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Any
from xml.parsers import expat

from magistrate.formats.base import BadRow, Row
from magistrate.formats.jsonrows import MAX_ROW_BYTES
from magistrate.formats.jsonvalues import FileContext

DEEPEST = 100
"""Elements inside each other."""

_BLOCK = 1 << 16
_START = re.compile(rb"\s*(?:<\?xml\b|<(?!html\b)[A-Za-z_][\w.:-]*(?:\s[^<>]*)?>\s*<[A-Za-z_!])")
_WIDE_ENCODING = re.compile(
    rb"<\?xml[^>]*encoding\s*=\s*[\"'](?:utf-?(?:16|32)|ucs)", re.IGNORECASE
)


def is_xml(head: bytes) -> bool:
    """Whether a file that begins so is XML (a web page is not)."""
    return _START.match(head) is not None


def read_xml(stream: IO[bytes], context: FileContext) -> Iterator[Row | BadRow]:
    """Read the rows; the row number is the element's place in the root, from 1.

    What is not well-formed ends the reading, with a bad row for it: XML has no place to go on from.
    """
    block = stream.read(_BLOCK)
    # UTF-16 and the like were turned into UTF-8 on the way, whatever the file still says of itself.
    parser = expat.ParserCreate("utf-8" if _WIDE_ENCODING.match(block) else None)
    rows = _Collector(parser)
    number = 0
    while True:
        fault = rows.feed(block)
        for value in rows.take():
            number += 1
            yield Row(number, value)
        if fault is not None:
            yield context.bad(number + 1, fault)
        if fault is not None or not block:
            return
        block = stream.read(_BLOCK)


class _RefusedError(ValueError):
    """Well-formed, but not read."""


class _Element:
    """An element that is not closed yet."""

    __slots__ = ("children", "repeated", "text")

    def __init__(self, attributes: dict[str, str]) -> None:
        self.children: dict[str, Any] = {f"@{key}": value for key, value in attributes.items()}
        self.repeated: set[str] = set()
        self.text: list[str] = []

    def add(self, name: str, value: Any) -> None:
        if name not in self.children:
            self.children[name] = value
        elif name in self.repeated:
            self.children[name].append(value)
        else:
            self.children[name] = [self.children[name], value]
            self.repeated.add(name)

    def value(self) -> Any:
        text = "".join(self.text)
        if not self.children:
            return text
        return {**self.children, "#text": text} if text.strip() else self.children


class _Collector:
    """Turns what the parser meets into rows."""

    def __init__(self, parser: expat.XMLParserType) -> None:
        self._parser = parser
        self._open: list[_Element] = []
        self._rows: list[Any] = []
        self._row_begins = 0
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.StartDoctypeDeclHandler = self._refuse_doctype

    def feed(self, block: bytes) -> str | None:
        """Parse a block, the empty one at the end; return what is wrong with it, or None."""
        try:
            self._parser.Parse(block, not block)
        except (expat.ExpatError, _RefusedError) as error:
            return f"not readable as XML: {error}; nothing after it was read"
        except (LookupError, UnicodeError) as error:
            return f"not readable as XML: its encoding is not known ({error})"
        return None

    def take(self) -> list[Any]:
        """Return the rows that are complete, once."""
        rows, self._rows = self._rows, []
        return rows

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) >= DEEPEST:
            raise _RefusedError(f"elements stand more than {DEEPEST} deep in each other")
        if len(self._open) == 1:
            self._row_begins = self._parser.CurrentByteIndex
        self._open.append(_Element(attributes))

    def _end(self, name: str) -> None:
        closed = self._open.pop()
        if len(self._open) == 1:
            self._rows.append(closed.value())
        elif self._open:
            self._open[-1].add(name, closed.value())

    def _characters(self, text: str) -> None:
        if len(self._open) < 2:
            return  # between rows
        self._open[-1].text.append(text)
        if self._parser.CurrentByteIndex - self._row_begins > MAX_ROW_BYTES:
            raise _RefusedError(f"the element is longer than {MAX_ROW_BYTES >> 20} MiB")

    def _refuse_doctype(self, *_: object) -> None:
        raise _RefusedError("it declares a document type (<!DOCTYPE>), which could define entities")
