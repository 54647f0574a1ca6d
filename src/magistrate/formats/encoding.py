"""Bytes to text without losing any.

* A byte order mark decides between UTF-8, UTF-16 and UTF-32; without one the text is UTF-8, or
  UTF-16 if it begins like ASCII characters of two bytes each.
* A surrogate that stands alone in three-byte form (ED A0..BF xx) is kept as that surrogate.
* Any other byte that is not UTF-8 becomes one of U+DC80..U+DCFF (Python's ``surrogateescape``), so
  two texts that differ only there still differ. Engines show both kinds to models as U+FFFD.
"""

from __future__ import annotations

import codecs
import io
from typing import IO

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BLOCK = 1 << 18
ENCODING_BYTES = 1 << 12
"""How many bytes at the beginning of a file tell its encoding."""


def byte_order_mark(head: bytes) -> tuple[str, int]:
    """Return the encoding that a byte order mark names, and the length of the mark in bytes.

    >>> byte_order_mark(codecs.BOM_UTF16_LE + b"a")
    ('utf-16-le', 2)
    >>> byte_order_mark(b"plain")
    ('utf-8', 0)
    """
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding, len(mark)
    return "utf-8", 0


def encoding_of(head: bytes) -> tuple[str, int]:
    """Return the encoding of a file by its beginning, and the length of its byte order mark.

    UTF-16 without a mark shows by its NUL bytes: the text begins with ASCII characters, so one byte
    of each of the first pairs is NUL and the other is not, and no pair is two NULs.

    >>> encoding_of('{"a": 1}'.encode("utf-16-be"))
    ('utf-16-be', 0)
    >>> encoding_of(b"a" + bytes(1) + b"b plain text")
    ('utf-8', 0)
    """
    encoding, mark = byte_order_mark(head)
    head = head[: ENCODING_BYTES // 2 * 2]
    if mark or len(head) < 2 * _FIRST_PAIRS:
        return encoding, mark
    even, odd = head[: len(head) // 2 * 2 : 2], head[1::2]
    for ascii_bytes, high, name in ((even, odd, "utf-16-le"), (odd, even, "utf-16-be")):
        begins = not any(high[:_FIRST_PAIRS]) and all(ascii_bytes[:_FIRST_PAIRS])
        if begins and not any(a == b == 0 for a, b in zip(ascii_bytes, high, strict=False)):
            return name, 0
    return encoding, mark


_FIRST_PAIRS = 4


def decode(data: bytes) -> tuple[str, bool]:
    r"""Return ``data`` as text, and whether all of it was valid UTF-8.

    >>> decode(b"caf\xe9")
    ('caf\udce9', False)
    """
    try:
        return data.decode("utf-8"), True
    except UnicodeDecodeError:
        pass
    try:
        return data.decode("utf-8", "surrogatepass"), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "surrogateescape"), False


class Transcoder(io.RawIOBase):
    """Turns a stream in another Unicode encoding into UTF-8; lone surrogates pass."""

    def __init__(self, stream: IO[bytes], encoding: str) -> None:
        super().__init__()
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
        self._left = b""
        self._ended = False

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Fill ``buffer`` with UTF-8; return how many bytes were written, 0 at the end."""
        while not self._left and not self._ended:
            block = self._stream.read(_BLOCK)
            self._ended = not block
            text = self._decode(block)
            self._left = text.encode("utf-8", "surrogatepass")
        part = self._left[: len(buffer)]
        buffer[: len(part)] = part
        self._left = self._left[len(part) :]
        return len(part)

    def _decode(self, block: bytes) -> str:
        try:
            return self._decoder.decode(block, final=not block)
        except UnicodeDecodeError:
            # Half a code unit at the very end of a cut-off file.
            self._decoder.reset()
            return "\ufffd"


class LineEnds(io.RawIOBase):
    """Turns the carriage returns that end the lines of a file into newlines."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__()
        self._stream = stream

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        """Fill ``buffer``; return how many bytes were written, 0 at the end."""
        block = self._stream.read(len(buffer)).replace(b"\r", b"\n")
        buffer[: len(block)] = block
        return len(block)
