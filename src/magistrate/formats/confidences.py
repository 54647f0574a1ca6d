"""Lists of confidences, one for each pair in the sequence of another file's rows.

    read_confidences("pandalm-relia.json#entropy_cali")

One number a line, a JSON array of numbers, rows with a number in one field, or a JSON object of
lists as the scripts of arXiv 2403.02839 write them (``Entropy``, ``entropy_cali``). Higher is surer
there as here. What is null or not finite is unknown.
"""

from __future__ import annotations

import math
from typing import Any

from magistrate.errors import InputError
from magistrate.formats.base import BadRow
from magistrate.formats.notices import NoticeLog
from magistrate.formats.rows import Rows
from magistrate.formats.source import Source

DEFAULT_KEY = "Entropy"
"""What the scripts of arXiv 2403.02839 go by, where their file is not told which list to take."""


def split_key(path: str) -> tuple[str, str | None]:
    """Return the file and the name of the list in it, if one is named.

    >>> split_key("relia.json#entropy_cali"), split_key("sure.txt")
    (('relia.json', 'entropy_cali'), ('sure.txt', None))
    """
    file, mark, key = path.rpartition("#")
    return (file, key) if mark and file and key else (path, None)


def read_confidences(path: str) -> list[float]:
    """Return the numbers of a file, NaN for unknown ones.

    Args:
        path: The file, with ``#NAME`` for one of several lists or fields.

    Raises:
        InputError: The file cannot be read, or holds something else; with the row.
    """
    file, key = split_key(path)
    rows: list[Any] = []
    for row in Rows(Source(file)).read(NoticeLog()):
        if isinstance(row, BadRow):
            raise InputError(f"{file}, row {row.row}: {row.reason}")
        rows.append(row.value)
    if len(rows) == 1 and isinstance(rows[0], dict):
        rows = _list_of(rows[0], file, key)
    elif len(rows) == 1 and isinstance(rows[0], list):
        rows = rows[0]
    elif rows and isinstance(rows[0], dict):
        name = key or _only([key for key, value in rows[0].items() if _is_number(value)], file)
        rows = [row.get(name) if isinstance(row, dict) else row for row in rows]
    return [_number(value, file, place) for place, value in enumerate(rows, 1)]


def _list_of(lists: dict[str, Any], file: str, key: str | None) -> list[Any]:
    names = [name for name, value in lists.items() if isinstance(value, list)]
    name = key or (DEFAULT_KEY if DEFAULT_KEY in names else _only(names, file))
    if name not in names:
        raise InputError(f"{file} has no list '{name}'; it has: {', '.join(names) or 'none'}")
    found: list[Any] = lists[name]
    return found


def _only(names: list[str], file: str) -> str:
    if len(names) != 1:
        raise InputError(
            f"{file} has {len(names)} fields that may be confidences ({', '.join(names)}); name "
            f"one, as in {file}#NAME"
        )
    return names[0]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: Any, file: str, place: int) -> float:
    if value is None:
        return math.nan
    if not _is_number(value):
        raise InputError(
            f"{file}, row {place}: {str(value)[:60]!r} is no number; needed: one confidence for "
            f"each pair, higher is surer"
        )
    return float(value) if math.isfinite(value) else math.nan
