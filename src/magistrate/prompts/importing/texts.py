"""The texts of a file, whatever kind of file it is; each has a name to be asked for by."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from magistrate.errors import FamilyError
from magistrate.prompts.importing.python_texts import MOST_CHARACTERS, read_python
from magistrate.prompts.importing.wording import (
    Field,
    Notation,
    Wording,
    field_names,
    joined,
    read_wording,
)

_NAMED_BY = ("name", "id", "prompt_name", "key")
_MOST_LEVELS = 40
_JINJA = (".jinja", ".jinja2", ".j2")


@dataclass(frozen=True, slots=True)
class Text:
    """A text found in a file."""

    name: str
    """With dots from the outside in: ``PROMPTS.pair``, ``pair-v2.system_prompt``."""
    wording: Wording
    """As it stands there. Places are those that the source itself fills; braces are unread."""
    file: Path
    line: int | None = None

    def read(self, notation: Notation) -> Wording:
        """Return the wording with its places read in a notation.

        Raises:
            FamilyError: The text is not of this notation; the message names file and text.
        """
        pieces: list[str | Field] = []
        try:
            for piece in self.wording:
                pieces.extend(
                    (piece,) if isinstance(piece, Field) else read_wording(piece, notation)
                )
        except FamilyError as error:
            raise FamilyError(f"{self.where}: {error}") from error
        return joined(pieces)

    @property
    def where(self) -> str:
        """File, line and name, for messages."""
        line = f", line {self.line}" if self.line is not None else ""
        return f"{self.file}{line}, '{self.name}'"


def read_texts(file: Path) -> tuple[Text, ...]:
    """Return every text of a file that has a name.

    Python sources are parsed, not run. Of JSON, JSON Lines and YAML every string counts; a row of
    JSON Lines is named by its ``name`` (or ``id``), otherwise by its number from 0. Any other file
    is one text, named as the file without its ending.

    Raises:
        FamilyError: The file cannot be read as what its ending says.
    """
    source = read_file(file)
    reader = _READERS.get(file.suffix.lower(), _read_plain)
    try:
        return tuple(reader(source, file))
    except FamilyError as error:
        raise FamilyError(f"{file}: {error}") from error


def read_file(file: Path) -> str:
    """Return what a file holds; line ends come as they are.

    Raises:
        FamilyError: It cannot be read, is too large, or is not UTF-8.
    """
    try:
        if file.stat().st_size > 4 * MOST_CHARACTERS:
            raise FamilyError(f"{file}: too large for a file of prompts")
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise FamilyError(f"{file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise FamilyError(f"{file}: not UTF-8 ({error.reason} at byte {error.start})") from error


def read_yaml(source: str) -> Any:
    """Return what a YAML document holds; plain values only.

    Raises:
        FamilyError: It is no YAML, or PyYAML is not installed.
    """
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError as error:
        raise FamilyError(
            "reading YAML needs PyYAML, which is not installed; run: pip install pyyaml"
        ) from error
    try:
        return yaml.safe_load(source)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FamilyError(f"not valid YAML: {told}") from error


def prompts_among(texts: tuple[Text, ...]) -> tuple[Text, ...]:
    """Return the texts that may be prompts: those with places, in some notation, for data."""
    return tuple(text for text in texts if notation_of(text) is not None)


def notation_of(text: Text) -> Notation | None:
    """Return how the places of a text are written; None where it has none."""
    if field_names(text.wording):
        return "literal"
    tried: tuple[Notation, ...] = ("format", "percent", "braces")
    for notation in ("jinja",) if text.file.suffix.lower() in _JINJA else tried:
        try:
            if field_names(text.read(notation)):
                return notation
        except FamilyError:
            continue
    return None


def _read_python(source: str, file: Path) -> Iterator[Text]:
    # A parser of Python sees lines end in any way; what stands inside a text is then "\n".
    for name, wording, line in read_python(source):
        yield Text(name, wording, file, line)


def _read_json(source: str, file: Path) -> Iterator[Text]:
    yield from _strings("", _parsed(source), file, None)


def _read_json_lines(source: str, file: Path) -> Iterator[Text]:
    for number, line in enumerate(source.split("\n"), 1):
        if line.strip():
            row = _parsed(line, number)
            yield from _strings(_name_of(row) or str(number - 1), row, file, number)


def _read_yaml(source: str, file: Path) -> Iterator[Text]:
    yield from _strings("", read_yaml(source), file, None)


def _read_plain(source: str, file: Path) -> Iterator[Text]:
    if "\x00" in source:
        raise FamilyError("not a text file")
    yield Text(file.stem, joined((source,)), file)


def _parsed(source: str, number: int | None = None) -> Any:
    try:
        return json.loads(source)
    except (ValueError, RecursionError) as error:
        where = f"line {number}: " if number is not None else ""
        raise FamilyError(f"{where}not valid JSON ({error})") from error


def _name_of(row: Any) -> str | None:
    if not isinstance(row, Mapping):
        return None
    for key in _NAMED_BY:
        if isinstance(row.get(key), str) and row[key]:
            return str(row[key])
    return None


def _strings(name: str, value: Any, file: Path, line: int | None, level: int = 0) -> Iterator[Text]:
    """Return every string inside a value, named by the keys that lead to it."""
    if isinstance(value, str):
        yield Text(name, joined((value,)), file, line)
    elif level > _MOST_LEVELS:
        raise FamilyError(f"nested more than {_MOST_LEVELS} levels deep")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _strings(f"{name}.{key}" if name else str(key), inner, file, line, level + 1)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            own = _name_of(inner) or str(place)
            yield from _strings(f"{name}.{own}" if name else own, inner, file, line, level + 1)


_READERS: Mapping[str, Callable[[str, Path], Iterator[Text]]] = {
    ".py": _read_python,
    ".json": _read_json,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".yaml": _read_yaml,
    ".yml": _read_yaml,
}
