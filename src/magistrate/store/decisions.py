"""``decisions.parquet``: the decisions of a run for other programs. Derived, never the source."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from magistrate.errors import RunDamagedError
from magistrate.ids import content_id, file_sha256
from magistrate.records import Decision, Probabilities
from magistrate.store.disk import write_atomically
from magistrate.store.run import Run

if TYPE_CHECKING:
    import polars as pl

ROWS_AT_ONCE = 20_000
"""Decisions held as Python objects while the table is built; the rest is in columns."""

_PROBABILITIES = ("first", "tie", "second")
_STAMP = "magistrate.made_from"


def decisions_table(decisions: Iterable[Decision]) -> pl.DataFrame:
    """Return decisions as a table, a row each.

    The columns are the fields of :class:`Decision`; ``probabilities`` are three columns
    (``p_first``, ``p_tie``, ``p_second``).
    """
    import polars as pl

    schema = _schema()
    rows = iter(decisions)
    parts = [pl.DataFrame(schema=schema)]
    while block := [_row(decision) for decision in islice(rows, ROWS_AT_ONCE)]:
        parts.append(pl.DataFrame(block, schema=schema))
    return pl.concat(parts)


def write_decisions(run: Run) -> Path:
    """Write ``decisions.parquet`` from the run's judgments, unless it is there and current.

    Raises:
        RunError: The disk is full or the folder cannot be written.
        RunDamagedError: The run's files cannot be read.
    """
    path = run.folder.decisions
    stamp = _stamp(run)
    if stamp_of(path) == stamp:
        return path
    table = decisions_table(run.decisions())
    # Through memory: of a full disk polars says something else every time, and Python the truth.
    buffer = io.BytesIO()
    table.write_parquet(buffer, metadata={_STAMP: stamp})
    write_atomically(path, buffer.getvalue())
    return path


def are_current(run: Run) -> bool:
    """Whether ``decisions.parquet`` was made from the run's judgments as they are now."""
    return stamp_of(run.folder.decisions) == _stamp(run)


def stamp_of(path: Path) -> str | None:
    """Return from what a table of decisions was made; None when there is none that can be read."""
    if not path.exists():
        return None
    import polars as pl

    try:
        return pl.read_parquet_metadata(path).get(_STAMP)
    except (OSError, pl.exceptions.PolarsError):
        return None


def read_decisions(path: Path) -> Iterator[Decision]:
    """Yield the decisions of a table.

    Raises:
        RunDamagedError: The file is not such a table.
    """
    import polars as pl

    try:
        table = pl.read_parquet(path)
        for row in table.iter_rows(named=True):
            yield _decision(row)
    except (OSError, pl.exceptions.PolarsError, KeyError, ValueError) as error:
        raise RunDamagedError(
            f"{path} is not a table of decisions: {error}; it is derived: delete it, and the next "
            f"'magistrate judge' makes it anew"
        ) from error


def _stamp(run: Run) -> str:
    """Identify what decisions depend on."""
    judgments = run.folder.judgments
    calibration = run.manifest.calibration
    return content_id(
        {
            "format": 3,
            "calibration": calibration.model_dump(mode="json") if calibration else None,
            "samples": run.manifest.samples_sha256,
            "judge": run.manifest.judge_id,
            "orders": run.manifest.settings.orders,
            "repeats": run.manifest.settings.repeats,
            "judgments": file_sha256(judgments) if judgments.exists() else None,
        }
    )


def _schema() -> dict[str, Any]:
    import polars as pl

    return {
        "row": pl.Int64,
        "sample_id": pl.String,
        "status": pl.String,
        "preference": pl.String,
        "scores": pl.List(pl.Float64),
        "ranking": pl.List(pl.Int64),
        "p_first": pl.Float64,
        "p_tie": pl.Float64,
        "p_second": pl.Float64,
        "confidence": pl.Float64,
        "calibrated": pl.Boolean,
        "consistent": pl.Boolean,
        "truncated": pl.Boolean,
        "rule": pl.String,
        "keys": pl.List(pl.String),
    }


def _row(decision: Decision) -> dict[str, Any]:
    values = decision.model_dump(exclude={"probabilities"})
    for name in _PROBABILITIES:
        known = decision.probabilities
        values[f"p_{name}"] = getattr(known, name) if known else None
    return values


def _decision(row: dict[str, Any]) -> Decision:
    shares = {name: row.pop(f"p_{name}") for name in _PROBABILITIES}
    known = Probabilities(**shares) if shares["first"] is not None else None
    return Decision(**row, probabilities=known)
