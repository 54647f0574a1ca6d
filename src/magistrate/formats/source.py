"""Open any file, pipe or ``-`` as a stream of UTF-8 bytes, and say clearly why it cannot be.

Compression and encodings are recognised by their first bytes, never by the file's name.
"""

from __future__ import annotations

import difflib
import errno
import gzip
import io
import shutil
import sys
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import IO, BinaryIO, cast

from magistrate.errors import InputError
from magistrate.formats.encoding import ENCODING_BYTES, Transcoder, decode, encoding_of

STDIN = "-"
"""Name of standard input."""

HEAD_BYTES = 1 << 20
"""How much of a file is looked at to find out what it is."""

_BLOCK = 1 << 20
_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"
_OTHER_MAGIC = {
    b"PK\x03\x04": "a ZIP archive (an Excel workbook, perhaps); export it as CSV",
    b"BZh": "compressed with bzip2; unpack it first (bunzip2)",
    b"\xfd7zXZ": "compressed with xz; unpack it first (unxz)",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it first (unzstd)",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"SQLite format 3": "an SQLite database",
    b"ARROW1": "an Arrow file; write it as Parquet",
    b"\x80\x04\x95": "a Python pickle, which is never opened because it can run code",
    b"\x80\x02}": "a Python pickle, which is never opened because it can run code",
    b"version https://git-lfs": "a Git LFS pointer; fetch the file itself (git lfs pull)",
}


class Source:
    """A file that can be opened again and again.

    What can be read only once (standard input, a named pipe) is first copied to a temporary file,
    so that it can be sniffed, counted and read again; the copy goes when the source does.

    Args:
        name: Path as the user gave it, or ``-`` for standard input.

    Raises:
        InputError: There is no such file, it is a folder, or it may not be read.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.damage: Damage | None = None
        """What ended the reading of packed data early, once it was met."""
        self._copies: list[Path] = []
        # Tied to the list, not to self: a finaliser that holds self would keep it alive.
        weakref.finalize(self, _remove, self._copies)
        if name == STDIN:
            self.path = self._keep(sys.stdin.buffer)
            return
        path = Path(name)
        self.path = path
        _check_readable(path, name)
        if not path.is_file():
            with path.open("rb") as pipe:
                self.path = self._keep(pipe)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the bytes, unpacked; nothing is decoded yet.

        Packed data that is damaged ends where the damage begins, and :attr:`damage` says so.
        """
        with self.path.open("rb") as raw:
            magic = raw.read(len(_GZIP))
            raw.seek(0)
            if magic != _GZIP:
                yield raw
                return
            with gzip.GzipFile(fileobj=raw) as unpacked:
                yield io.BufferedReader(cast("io.RawIOBase", _Checked(unpacked, self)), _BLOCK)

    @contextmanager
    def open_text(self) -> Iterator[IO[bytes]]:
        """Open the file as UTF-8 bytes without a byte order mark."""
        with self.open() as stream:
            encoding, skip = encoding_of(_peek(stream, ENCODING_BYTES))
            _skip(stream, skip)
            if encoding == "utf-8":
                yield stream
            else:
                yield io.BufferedReader(cast("io.RawIOBase", Transcoder(stream, encoding)), _BLOCK)

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """Return the first ``size`` bytes as UTF-8 (fewer if the file is shorter)."""
        with self.open_text() as stream:
            return stream.read(size)

    def is_parquet(self) -> bool:
        """Whether the file, unpacked, is Parquet."""
        with self.open() as stream:
            return _peek(stream, len(_PARQUET)) == _PARQUET

    def seekable_path(self) -> Path:
        """Return a path to the unpacked file, which is a temporary copy if it is compressed."""
        with self.path.open("rb") as raw:
            if raw.read(len(_GZIP)) != _GZIP:
                return self.path
        if not self._copies or self._copies[-1] == self.path:
            with self.open() as stream:
                self._keep(stream)
        return self._copies[-1]

    def check_text(self) -> None:
        """Refuse what is no text.

        Raises:
            InputError: The file is empty, of a known other kind, or binary.
        """
        with self.open() as stream:
            raw = _peek(stream, 64)
        for magic, what in _OTHER_MAGIC.items():
            if raw.startswith(magic):
                raise InputError(f"{self.name} is {what}; {_NEEDED}")
        if not raw and self.damage:
            raise InputError(f"{self.name}: {self.damage.reason}; copy the file again")
        if not raw:
            raise InputError(f"{self.name} is empty; {_NEEDED}")
        head = self.head(1 << 16)
        if not head.strip(b" \t\r\n\0"):
            raise InputError(f"{self.name} holds nothing but blank space; {_NEEDED}")
        count = _unprintable(head)
        share = count / len(head)
        if share > _MOST_UNPRINTABLE and count > _FEW:
            raise InputError(
                f"{self.name} is no text: {share:.0%} of its first {len(head):,} bytes are control "
                f"or stray bytes; {_NEEDED}"
            )

    def _keep(self, stream: IO[bytes]) -> Path:
        with tempfile.NamedTemporaryFile(prefix="magistrate-", delete=False) as copy:
            self._copies.append(Path(copy.name))
            shutil.copyfileobj(stream, copy, _BLOCK)
        return self._copies[-1]


_NEEDED = "needed: JSON, JSON Lines, CSV, TSV, XML or Parquet, plain or gzipped"
_MOST_UNPRINTABLE = 0.2
_FEW = 50
"""So many control characters say nothing: a table of three short rows may hold them."""


@dataclass(frozen=True, slots=True)
class Damage:
    """Where packed data could not be unpacked any further."""

    reason: str
    cuts_a_line: bool
    """Whether what was unpacked ends inside a line."""


class _Checked(io.RawIOBase):
    """Unpacks gzip up to the first damage, which it notes in the source."""

    def __init__(self, stream: gzip.GzipFile, source: Source) -> None:
        super().__init__()
        self._stream = stream
        self._source = source
        self._last = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        if self._ended:
            return 0
        try:
            # One step at a time: a longer read would lose what was unpacked before the damage.
            data = self._stream.read1(len(buffer))
        except (EOFError, OSError, zlib.error) as error:
            self._ended = True
            self._source.damage = Damage(_damage(error, self._last), self._last not in (b"", b"\n"))
            return 0
        buffer[: len(data)] = data
        self._last = data[-1:] or self._last
        return len(data)


def _damage(error: Exception, last: bytes) -> str:
    if isinstance(error, gzip.BadGzipFile) and last and "Not a gzipped file" in str(error):
        return "what follows the gzip data is no gzip data, and was not read"
    if isinstance(error, EOFError):
        return "the gzip data is cut off or damaged here: it ends before its end mark"
    return f"the gzip data is cut off or damaged here ({error})"


def _check_readable(path: Path, name: str) -> None:
    if not name:
        raise InputError("a file's name is empty; name a file, or - for standard input")
    try:
        if path.is_dir():
            inside = sorted(p.name for p in path.iterdir() if p.is_file())[:5]
            hint = f"; it holds {', '.join(inside)}" if inside else "; it holds no files"
            raise InputError(f"{name} is a folder, and a file is needed{hint}")
        if path.is_symlink() and not path.exists():
            raise InputError(f"{name} is a link to {path.readlink()}, {_no_end(path)}")
        if not path.exists():
            raise InputError(f"there is no file {name}{near(path)}")
        with path.open("rb") if path.is_file() else io.BytesIO():
            pass
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}") from error


def _no_end(link: Path) -> str:
    """Say why a link leads to no file."""
    try:
        link.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return "which leads back to itself; give the file itself"
    return "which does not exist; give the file itself"


def near(path: Path) -> str:
    """Name files whose names are close to one that is missing."""
    folder = path.parent
    if not folder.is_dir():
        return f" (there is no folder {folder} either)"
    names = [p.name for p in folder.iterdir()]
    close = difflib.get_close_matches(path.name, names, n=3, cutoff=0.6)
    if not close:
        stem = path.name.split(".")[0]
        close = sorted(n for n in names if stem and n.split(".")[0] == stem)[:3]
    return f"; did you mean {' or '.join(str(folder / n) for n in close)}?" if close else ""


def _remove(copies: list[Path]) -> None:
    for copy in copies:
        copy.unlink(missing_ok=True)


def _peek(stream: IO[bytes], size: int) -> bytes:
    buffered = cast("io.BufferedReader", stream)
    return buffered.peek(size)[:size]


def _skip(stream: IO[bytes], size: int) -> None:
    if size:
        stream.read(size)


def _unprintable(head: bytes) -> int:
    """Count control characters (NUL included) and bytes that are not UTF-8."""
    text, valid = decode(head)
    controls = sum(1 for c in text if c < " " and c not in "\t\n\r\f\v\x1b\x1e")
    return controls if valid else controls + sum(1 for c in text if "\udc80" <= c <= "\udcff")


def keep_inputs(inputs: Iterable[str | PathLike[str]], out: str | PathLike[str]) -> None:
    """Refuse an output that would take the place of an input.

    Raises:
        InputError: The output is one of the inputs.
    """
    for path in inputs:
        if is_same_file(fspath(path), fspath(out)):
            raise InputError(
                f"the output would replace the input {fspath(path)}; name another file"
            )


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths name one file that is there, also through links."""
    first, second = Path(one), Path(other)
    return first.exists() and second.exists() and first.samefile(second)
