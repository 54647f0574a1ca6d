"""Whatever is written is read back; whatever is damaged costs its own row alone."""

from __future__ import annotations

import csv
import gzip
import io
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import magistrate as mg
from magistrate.errors import InputError, MagistrateError
from magistrate.formats.base import BadRow, Row
from magistrate.formats.inspect import agreed_label
from magistrate.formats.notices import NoticeLog
from magistrate.formats.rows import Rows
from magistrate.formats.source import Source
from magistrate.records import Answer, Gold, Sample, Turn

FAST = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Text of all kinds: controls, NUL, line separators, and halves of surrogate pairs, kept apart by a
# letter because two halves side by side are one character (see magistrate.ids).
PLAIN = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ODD = st.sampled_from(
    ["", "\0", "\r", "\r\n", "\n", '"', "\\", "{", "]", ",", "\t", "\u2028", "<br/>"]
)
HALF = st.sampled_from(["", "\ud800a", "\udfffb", "\udce9c"])
TEXT = st.tuples(PLAIN, ODD, HALF, PLAIN).map("".join)
NAME = TEXT.filter(lambda text: text.strip(" \0\t\r\n") != "")
SAFE_NAME = st.text("abcdefgh-.0123456789", min_size=1, max_size=8).filter(lambda t: t.strip("."))
NUMBER = st.floats(0, 10, allow_nan=False) | st.integers(0, 10).map(float)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
OBJECTS = st.lists(
    st.dictionaries(st.sampled_from("abcde"), JSON, min_size=1), min_size=1, max_size=6
)
PREFERENCE = st.sampled_from(["first", "second", "tie", None])


@contextmanager
def file_with(content: bytes, name: str = "file") -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        yield path


def read(content: bytes) -> tuple[list[Any], list[BadRow]]:
    with file_with(content) as path:
        found = list(Rows(Source(str(path))).read(NoticeLog()))
    good = [row.value for row in found if isinstance(row, Row)]
    return good, [row for row in found if isinstance(row, BadRow)]


def as_bytes(value: Any, *, ascii_only: bool, indent: int | None = None) -> bytes:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    return text.encode("utf-8", "surrogatepass")


# --- rows --------------------------------------------------------------------------------------


@FAST
@given(OBJECTS, st.booleans(), st.sampled_from(["\n", "\r\n", "\n\n", " \n"]), st.booleans())
def test_lines(rows: list[Any], ascii_only: bool, end: str, is_packed: bool) -> None:
    content = b"".join(as_bytes(row, ascii_only=ascii_only) + end.encode() for row in rows)
    if len(rows) == 1:
        content *= 2  # one line alone may be a table of rows by key
        rows = rows * 2
    assert read(gzip.compress(content) if is_packed else content) == (rows, [])


@FAST
@given(OBJECTS, st.booleans(), st.sampled_from([None, 0, 2]))
def test_arrays(rows: list[Any], ascii_only: bool, indent: int | None) -> None:
    assert read(as_bytes(rows, ascii_only=ascii_only, indent=indent)) == (rows, [])


@FAST
@given(OBJECTS, st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_encodings(rows: list[Any], encoding: str) -> None:
    text = "".join(json.dumps(row) + "\n" for row in [*rows, *rows])
    assert read(text.encode(encoding)) == ([*rows, *rows], [])


TABLE = st.integers(2, 4).flatmap(
    lambda width: st.lists(st.lists(TEXT, min_size=width, max_size=width), min_size=1, max_size=5)
)


@FAST
@given(TABLE, st.sampled_from(",\t;|"), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_tables(cells: list[list[str]], delimiter: str, end: str, quote_all: bool) -> None:
    columns = [f"c{place}" for place in range(len(cells[0]))]
    file = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    # The writer of Python 3.11 leaves a carriage return bare unless it is in the line end.
    if "\r" in "".join(map("".join, cells)) and "\r" not in end:
        quoting = csv.QUOTE_ALL
    csv.writer(file, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(
        [columns, *cells]
    )
    expected = [dict(zip(columns, row, strict=True)) for row in cells]
    kept = [row for row in expected if any(cell.strip(" \0\r") for cell in row.values())]
    assert read(file.getvalue().encode("utf-8", "surrogatepass")) == (kept, [])


@FAST
@given(st.lists(TEXT, min_size=3, max_size=8), st.data())
def test_a_cut_line_costs_itself_alone(texts: list[str], data: st.DataObject) -> None:
    lines = [as_bytes({"id": i, "t": text}, ascii_only=True) for i, text in enumerate(texts)]
    place = data.draw(st.integers(0, len(lines) - 1))
    lines[place] = lines[place][: data.draw(st.integers(1, len(lines[place]) - 1))]
    good, bad = read(b"\n".join(lines))
    assert [row["id"] for row in good] == [i for i in range(len(texts)) if i != place]
    assert [row.row for row in bad] == [place + 1]


@FAST
@given(st.lists(TEXT, min_size=3, max_size=8), st.booleans(), st.data())
def test_a_cut_element_costs_itself_alone(
    texts: list[str], is_pretty: bool, data: st.DataObject
) -> None:
    parts = [as_bytes({"id": i, "t": text}, ascii_only=True) for i, text in enumerate(texts)]
    place = data.draw(st.integers(0, len(parts) - 1))
    parts[place] = parts[place][: data.draw(st.integers(7, len(parts[place]) - 1))]
    between = b",\n  " if is_pretty else b", "
    good, bad = read(b"[" + between.join(parts) + b"]")
    assert [row["id"] for row in good] == [i for i in range(len(texts)) if i != place]
    assert [row.row for row in bad] == [place + 1]


@FAST
@given(st.binary(max_size=300) | TEXT.map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_rows_or_a_clear_error(content: bytes) -> None:
    with suppress(InputError):
        read(content)


@FAST
@given(OBJECTS, st.sampled_from([None, 1]), st.data())
def test_damaged_json_is_rows_or_a_clear_error(
    rows: list[Any], indent: int | None, data: st.DataObject
) -> None:
    content = bytearray(as_bytes([*rows, *rows], ascii_only=False, indent=indent))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(InputError):
        read(bytes(content))


@FAST
@given(st.lists(JSON | st.dictionaries(
    st.sampled_from(["id", "question", "answer1", "answer2", "answer", "label", "score1", "text",
                     "context", "instruction", "output", "prompt", "chosen", "rejected"]),
    JSON, max_size=6), min_size=1, max_size=5))  # fmt: skip
def test_any_rows_are_samples_bad_rows_or_a_clear_error(rows: list[Any]) -> None:
    rows = [{"question": "q", "answer1": "a", "answer2": "b"}, *rows]
    content = b"".join(as_bytes(row, ascii_only=True) + b"\n" for row in rows)
    with file_with(content) as path, suppress(MagistrateError):
        reader = mg.read_samples(path)
        good = len(list(reader))
        assert good + reader.bad_count == reader.rows == len(rows)


# --- writers -----------------------------------------------------------------------------------


@st.composite
def samples(
    draw: st.DrawFn, *, count: st.SearchStrategy[int] | None = None, name: Any = NAME,
    text: Any = TEXT, rich: bool = True,
) -> Sample:  # fmt: skip
    """Any sample; not ``rich``: with one plain gold, and only what tables can hold."""
    number = draw(st.integers(1, 4) if count is None else count)
    # A row of a table with nothing in it is a blank row.
    question = draw(text) if rich else draw(text) + "?"
    if rich and draw(st.booleans()):
        question = draw(st.lists(turns(), min_size=1, max_size=3).map(tuple))
    answers = tuple(
        Answer(
            text=draw(text),
            model=draw(st.none() | name),
            turns=draw(st.lists(turns(), max_size=2)) if rich else (),
        )
        for _ in range(number)
    )
    optional = st.none() | name
    return Sample(
        question=question,
        answers=answers,
        reference=draw(optional),
        rubric=draw(optional),
        context=draw(st.lists(name, max_size=3 if rich else 1)),
        gold=draw(st.lists(golds(number, rich=rich), max_size=3 if rich else 1)),
        category=draw(optional),
        language=draw(optional),
        source_id=draw(optional),
        meta=draw(st.dictionaries(TEXT, JSON, max_size=2)) if rich else {},
    )


def turns() -> st.SearchStrategy[Turn]:
    return st.builds(Turn, role=st.sampled_from(["system", "user", "assistant"]), text=TEXT)


@st.composite
def golds(draw: st.DrawFn, number: int, *, rich: bool) -> Gold:
    preference = draw(PREFERENCE) if number == 2 else None
    scores = draw(st.none() | st.lists(NUMBER, min_size=number, max_size=number))
    if not rich:
        preference = preference or ("tie" if number == 2 else None)
        label = draw(SAFE_NAME) if number == 1 else None
        ranking = tuple([1] + [2] * (number - 1)) if number > 2 else None
        return Gold(preference=preference, scores=scores, label=label, ranking=ranking)
    return Gold(
        annotator=draw(st.none() | NAME),
        preference=preference,
        probability_second=draw(st.none() | st.floats(0, 1)),
        scores=scores,
        label=draw(st.none() | TEXT),
        reasons=draw(st.none() | TEXT),
    )


@contextmanager
def written(given_: list[Sample], name: str, to: str | None = None) -> Iterator[tuple[Path, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        yield path, mg.write_samples(given_, path, to)


@FAST
@given(st.lists(samples(), min_size=1, max_size=4), st.sampled_from(["s.jsonl", "s.json"]))
def test_own_format_keeps_everything(given_: list[Sample], name: str) -> None:
    with written(given_, name) as (path, report):
        assert (report.written, report.skipped_count, report.notices) == (len(given_), 0, ())
        assert list(mg.read_samples(path)) == given_


@FAST
@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
@given(given_=st.integers(1, 3).flatmap(
    lambda n: st.lists(samples(count=st.just(n), rich=False), min_size=1, max_size=4)))  # fmt: skip
def test_tables_keep_what_they_hold(given_: list[Sample], name: str) -> None:
    with written(given_, name) as (path, report):
        assert (report.written, report.notices) == (len(given_), ())
        reader = mg.read_samples(path, format="table")
        assert [tidy(sample) for sample in reader] == [tidy(sample) for sample in given_]
        assert reader.bad == []


@settings(FAST, max_examples=15)
@given(st.lists(samples(rich=False, count=st.just(2), name=PLAIN.filter(bool), text=PLAIN),
                min_size=1, max_size=3))  # fmt: skip
def test_parquet_keeps_what_it_holds(given_: list[Sample]) -> None:
    with written(given_, "t.parquet") as (path, report):
        assert report.notices == ()
        assert [tidy(s) for s in mg.read_samples(path, format="table")] == list(map(tidy, given_))


def tidy(sample: Sample) -> Sample:
    """Return a sample without empty golds, and with scores that a cell can hold as they are."""
    return sample.model_copy(update={"gold": tuple(g for g in sample.gold if g != Gold())})


@FAST
@given(st.lists(samples(count=st.just(2), rich=False), min_size=1, max_size=4))
def test_judgelm_keeps_texts_models_and_scores(given_: list[Sample]) -> None:
    with written(given_, "j.jsonl", "judgelm") as (path, _):
        found = list(mg.read_samples(path, format="judgelm"))
    assert [texts(s) for s in found] == [texts(s) for s in given_]
    assert [s.reference for s in found] == [s.reference for s in given_]
    with written(given_, "t.jsonl", "judgelm-training") as (path, report):
        scored = [s for s in given_ if s.gold and s.gold[0].scores]
        assert report.written == len(scored)
        if scored:
            found = list(mg.read_samples(path, format="judgelm-training"))
            assert [s.gold[0].scores for s in found] == [s.gold[0].scores for s in scored]


@FAST
@given(st.lists(samples(count=st.just(2), rich=False), min_size=1, max_size=4))
def test_alpaca_eval_keeps_texts_models_and_labels(given_: list[Sample]) -> None:
    with written(given_, "a.json", "alpaca-eval") as (path, _):
        found = list(mg.read_samples(path, format="alpaca-eval-annotations"))
    assert [texts(s) for s in found] == [texts(s) for s in given_]
    assert [agreed_label(s.gold) for s in found] == [agreed_label(s.gold) for s in given_]


@FAST
@given(st.lists(samples(count=st.just(2), rich=False), min_size=1, max_size=4))
def test_preference_keeps_decisive_pairs(given_: list[Sample]) -> None:
    decisive = [s for s in given_ if agreed_label(s.gold) in ("first", "second")]
    with written(given_, "p.jsonl", "preference") as (path, report):
        assert report.written == len(decisive)
        assert report.skipped_count == len(given_) - len(decisive)
        if not decisive:
            return
        found = list(mg.read_samples(path, format="preference"))
    for sample, back in zip(decisive, found, strict=True):
        question, *answers = texts(sample)
        if agreed_label(sample.gold) == "second":
            answers.reverse()
        assert texts(back) == [question, *answers]
        assert agreed_label(back.gold) == "first"


@FAST
@given(st.lists(samples(count=st.just(2), rich=False), min_size=1, max_size=4))
def test_mt_bench_keeps_answers(given_: list[Sample]) -> None:
    given_ = [
        s.model_copy(update={
            "source_id": f"q{i}",
            "answers": tuple(a.model_copy(update={"model": m})
                             for a, m in zip(s.answers, ("m1", "m2"), strict=True)),
        })
        for i, s in enumerate(given_)
    ]  # fmt: skip
    with written(given_, "bench", "mt-bench") as (path, report):
        assert report.written == len(given_)
        answers = [path / "model_answer" / f"{model}.jsonl" for model in ("m1", "m2")]
        found = list(mg.read_samples(*answers, questions=path / "question.jsonl"))
    assert [texts(s) for s in found] == [texts(s) for s in given_]


def texts(sample: Sample) -> list[Any]:
    return [sample.question, *((a.text, a.model or None) for a in sample.answers)]
