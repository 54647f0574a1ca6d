"""CSV, TSV and Parquet with the columns that the table reader knows.

How many answers a table has columns for is what the first sample has: a cell cannot tell a missing
answer from an empty one, so samples with another number are left out and listed.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from magistrate.formats.base import RowError
from magistrate.formats.writers.base import OTHER_FIELDS, Tally, WriteReport, new_file
from magistrate.formats.writers.golds import LABEL_WORDS, scored, the_preference, the_scores
from magistrate.formats.writers.others import Kind, OtherColumns, as_kind
from magistrate.records import Sample

TableKind = Literal["csv", "tsv", "parquet"]

TABLE_HOLDS = frozenset(
    {"reference", "rubric", "context", "images", "category", "language", "id", "preference"}
    | {"scores", "named labels", "annotators", "ranking", OTHER_FIELDS}
)

_ORDER = (
    *("id", "question", "answer", "model", "label", "score", "annotator"),
    *("reference", "rubric", "context", "images", "category", "language"),
)


_GROUP_BYTES = 8 << 20
"""About so much text goes into a row group of Parquet."""
_BATCH_BYTES = 2 << 20


def table_row(sample: Sample, tally: Tally, place: int) -> dict[str, Any]:
    """Return a sample's cells by column; columns without a value are left out."""
    several = len(sample.answers) > 1
    cells: dict[str, Any] = {"id": sample.source_id, "question": sample.question_text}
    for number, answer in enumerate(sample.answers, start=1):
        cells[f"answer{number}" if several else "answer"] = answer.text
        cells[f"model{number}" if several else "model"] = answer.model
    cells["label"] = _label(sample, tally, place)
    for number, score in enumerate(the_scores(sample) or (), start=1):
        cells[f"score{number}" if several else "score"] = score
    annotators = {gold.annotator for gold in sample.gold}
    cells["annotator"] = annotators.pop() if len(annotators) == 1 else None
    for name in ("reference", "rubric", "category", "language"):
        cells[name] = getattr(sample, name)
    for name in ("context", "images"):
        cells[name] = _one_cell(name, getattr(sample, name), tally, place)
    return {name: value for name, value in cells.items() if value is not None}


def _label(sample: Sample, tally: Tally, place: int) -> str | None:
    if len(sample.answers) == 1:
        return next((gold.label for gold in sample.gold if gold.label is not None), None)
    if len(sample.answers) == 2:
        preference = the_preference(sample)
        if preference is None and (gold := scored(sample)) and gold.scores:
            # A reader takes the better score for the label; say nothing that is not there.
            tally.log.add("not-written", "scores without a label read back as a label", row=place)
        return LABEL_WORDS[preference] if preference else None
    ranking = next((gold.ranking for gold in sample.gold if gold.ranking is not None), None)
    if ranking is None:
        return None
    if sorted(ranking) != [1] + [2] * (len(ranking) - 1):
        tally.log.add("not-written", "a table holds the best answer but no full ranking", row=place)
    best = [number for number, rank in enumerate(ranking, start=1) if rank == 1]
    return str(best[0]) if len(best) == 1 else None


def _one_cell(name: str, values: tuple[str, ...], tally: Tally, place: int) -> str | None:
    if len(values) > 1:
        tally.log.add("joined", f"several {name} were joined into one cell", row=place)
    return "\n\n".join(values) if values else None


def write_table(
    samples: Iterable[Sample], path: str, kind: TableKind, *, strict: bool = False
) -> WriteReport:
    """Write samples as a table.

    Raises:
        InputError: The file cannot be written, or a sample does not fit and ``strict`` is set.
    """
    tally = Tally(kind, TABLE_HOLDS, strict=strict)
    with tempfile.TemporaryDirectory(prefix="magistrate-") as folder:
        # The columns are known only at the end, so rows wait on disk and not in memory.
        spool = Path(folder) / "rows.jsonl"
        columns, others = _spool(samples, spool, tally, kind)
        if not tally.any_written():
            return tally.report(path)
        if kind == "parquet":
            _write_parquet(spool, path, columns, others, tally.written)
        else:
            _write_delimited(spool, path, columns, others, "\t" if kind == "tsv" else ",")
    return tally.report(path)


def _spool(
    samples: Iterable[Sample], spool: Path, tally: Tally, kind: TableKind
) -> tuple[list[str], dict[str, Kind]]:
    """Write the rows to disk; return the columns, and of these the other fields' with their kinds.

    The columns of other fields stand last, in the sequence in which they come up.
    """
    others = OtherColumns(tally)
    columns: dict[str, None] = {"question": None}
    count: int | None = None
    with spool.open("w", encoding="ascii") as file:
        for place, sample in enumerate(samples, start=1):
            count = count or len(sample.answers)
            try:
                _need_count(sample, count)
            except RowError as error:
                tally.skip(sample, place, str(error))
                continue
            row = table_row(sample, tally, place)
            columns.update(dict.fromkeys(row))
            row |= others.cells(sample.meta, place)
            if kind == "parquet":
                row = _without_surrogates(row, tally, place)
            file.write(json.dumps(row) + "\n")
            tally.wrote(sample, place)
    return [*sorted(columns, key=_place), *others.kinds], others.kinds


def _need_count(sample: Sample, count: int) -> None:
    found = len(sample.answers)
    if found != count:
        raise RowError(
            f"it has {found} answer{'s' if found > 1 else ''} where the first sample has {count}; "
            f"a table cannot tell a missing answer from an empty one (write 'samples' instead)"
        )


def _place(column: str) -> tuple[int, int]:
    stem = column.rstrip("0123456789")
    return _ORDER.index(stem), int(column[len(stem) :] or 0)


def _without_surrogates(row: dict[str, Any], tally: Tally, place: int) -> dict[str, Any]:
    """Return the row with lone surrogates, which Parquet cannot hold, as U+FFFD."""
    clean = {
        name: _joined(value) if isinstance(value, str) else value for name, value in row.items()
    }
    if any(isinstance(v, str) and "\ufffd" in v and v != row[n] for n, v in clean.items()):
        tally.log.add("encoding", "lone surrogates were written as \ufffd", row=place)
    return clean


def _joined(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _rows(spool: Path) -> Iterator[dict[str, Any]]:
    with spool.open(encoding="ascii") as file:
        for line in file:
            yield json.loads(line)


def _write_delimited(
    spool: Path, path: str, columns: list[str], others: Mapping[str, Kind], delimiter: str
) -> None:
    texts: dict[str, Kind] = dict.fromkeys(others, "text")
    with new_file(path) as raw:
        text = io.TextIOWrapper(
            cast("BinaryIO", raw), encoding="utf-8", errors="surrogatepass", newline=""
        )
        writer = csv.DictWriter(text, columns, restval="", delimiter=delimiter)
        writer.writeheader()
        writer.writerows(_of_kinds(row, texts) for row in _rows(spool))
        text.flush()
        text.detach()


def _of_kinds(row: dict[str, Any], kinds: Mapping[str, Kind]) -> dict[str, Any]:
    for name in row.keys() & kinds.keys():
        row[name] = as_kind(row[name], kinds[name])
    return row


def _write_parquet(
    spool: Path, path: str, columns: list[str], others: Mapping[str, Kind], rows: int
) -> None:
    import polars as pl
    from polars.io.plugins import register_io_source

    of_kind = {"bool": pl.Boolean, "int": pl.Int64, "float": pl.Float64, "text": pl.String}
    types: dict[str, Any] = {
        c: of_kind[others[c]] if c in others else pl.Float64 if c.startswith("score") else pl.String
        for c in columns
    }

    def batches(*_: object) -> Iterator[pl.DataFrame]:
        return (pl.DataFrame(batch, schema=types) for batch in _batches(spool, others))

    # A row group is held in memory while it is written: its size bounds the memory, whatever the
    # length of the file. (Scanning the spool as NDJSON maps and holds all of it.)
    a_row = max(1, spool.stat().st_size // rows)
    table = spool.with_suffix(".parquet")
    register_io_source(batches, schema=types).sink_parquet(
        table, row_group_size=max(1, _GROUP_BYTES // a_row)
    )
    with new_file(path) as out, table.open("rb") as made:
        shutil.copyfileobj(made, out)


def _batches(spool: Path, kinds: Mapping[str, Kind]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of the spool, some megabytes at a time."""
    with spool.open("rb") as file:
        while lines := file.readlines(_BATCH_BYTES):
            yield [_of_kinds(json.loads(line), kinds) for line in lines]
