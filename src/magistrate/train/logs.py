"""``log.csv`` and ``evaluation.csv``: the learning curves of a training, row by row on disk."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from magistrate.store.disk import write_atomically


class CsvLog:
    """A table that grows; a training that goes on after a crash drops what is done again."""

    def __init__(self, path: Path, columns: Sequence[str], *, keep_until: int = 0) -> None:
        """Open the table.

        Args:
            path: Of the file.
            columns: The first is ``step``.
            keep_until: Rows of later steps are dropped; 0 begins anew.
        """
        self._path = path
        self._columns = tuple(columns)
        kept = [row for row in read_rows(path) if int(row["step"]) <= keep_until]
        write_atomically(path, _as_csv(self._columns, kept, header=True))

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; what it lacks stays empty."""
        with self._path.open("ab") as file:
            file.write(_as_csv(self._columns, [row], header=False))


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table; a half-written last one, and a missing file, count as nothing."""
    if not path.is_file():
        return []
    text = path.read_text("utf-8")
    whole = text[: text.rfind("\n") + 1]
    return [row for row in csv.DictReader(io.StringIO(whole)) if (row.get("step") or "").isdigit()]


def _as_csv(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], *, header: bool) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, extrasaction="ignore", lineterminator="\n")
    if header:
        writer.writeheader()
    for row in rows:
        writer.writerow({key: _plain(row.get(key)) for key in columns})
    return text.getvalue().encode("utf-8")


def _plain(value: Any) -> Any:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else value
