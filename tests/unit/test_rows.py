"""Rows of any file: arrangements, encodings, damage."""

from __future__ import annotations

import codecs
import datetime
import gzip
import io
import json
import os
import sys
import threading
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from magistrate.errors import InputError
from magistrate.formats import jsonrows
from magistrate.formats.base import BadRow, Row
from magistrate.formats.notices import MAX_PER_KIND, NoticeLog
from magistrate.formats.rows import Rows
from magistrate.formats.seen import SeenIds
from magistrate.formats.source import Source

ROWS = [{"id": 1, "text": "one"}, {"id": 2, "text": 'two, "x"\n{[}'}, {"id": 3, "text": "é 中"}]


class File:
    """What was read from one file."""

    def __init__(self, path: Path) -> None:
        rows = Rows(Source(str(path)))
        log = NoticeLog()
        found = list(rows.read(log))
        self.container = rows.container
        self.good = [row for row in found if isinstance(row, Row)]
        self.bad = [row for row in found if isinstance(row, BadRow)]
        self.values = [row.value for row in self.good]
        self.numbers = [row.number for row in self.good]
        self.kinds = [notice.kind for notice in log.notices()]
        self.messages = [notice.message for notice in log.notices()]


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., File]:
    def write_and_read(content: bytes | str, name: str = "file.txt") -> File:
        data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        path = tmp_path / name
        path.write_bytes(data)
        return File(path)

    return write_and_read


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


class TestArrangements:
    @pytest.mark.parametrize("name", ["file.json", "file.jsonl", "file.csv", "file"])
    def test_the_name_does_not_matter(self, read: Callable[..., File], name: str) -> None:
        as_lines = read(lines(ROWS), name)
        assert (as_lines.container, as_lines.values) == ("json lines", ROWS)
        as_array = read(json.dumps(ROWS), name)
        assert (as_array.container, as_array.values) == ("json array", ROWS)
        assert as_array.numbers == [1, 2, 3]

    @pytest.mark.parametrize("indent", [None, 0, 2, 4])
    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_array_in_any_layout(
        self, read: Callable[..., File], indent: int | None, count: int
    ) -> None:
        found = read(json.dumps(ROWS[:count], indent=indent))
        assert (found.container, found.values, found.bad) == ("json array", ROWS[:count], [])

    def test_array_with_an_element_a_line(self, read: Callable[..., File]) -> None:
        text = "[\n" + ",\n".join(json.dumps(row) for row in ROWS) + "\n]\n"
        found = read(text)
        assert (found.container, found.values, found.bad) == ("json array", ROWS, [])

    def test_array_of_scalars(self, read: Callable[..., File]) -> None:
        assert read('[5, 4.5, null, "x", true]').values == [5, 4.5, None, "x", True]
        assert read("[]").values == []

    def test_lines_of_lists_with_a_bare_number(self, read: Callable[..., File]) -> None:
        found = read("[8, 9]\n5.0\n[7, 7]\n")
        assert (found.container, found.values) == ("json lines", [[8, 9], 5.0, [7, 7]])

    def test_one_object_is_one_row(self, read: Callable[..., File]) -> None:
        for text in (json.dumps(ROWS[0]), json.dumps(ROWS[0], indent=2), lines(ROWS[:1])):
            assert read(text).values == [ROWS[0]]

    def test_objects_over_several_lines(self, read: Callable[..., File]) -> None:
        found = read("\n".join(json.dumps(row, indent=2) for row in ROWS))
        assert (found.container, found.values, found.bad) == ("json values", ROWS, [])

    def test_object_of_rows_keeps_the_keys(self, read: Callable[..., File]) -> None:
        table = {"v1_0": ROWS[0], "v1_1": ROWS[1]}
        for indent in (None, 2):
            found = read(json.dumps(table, indent=indent))
            assert found.container == "json object"
            assert found.values == [{"_key": "v1_0", **ROWS[0]}, {"_key": "v1_1", **ROWS[1]}]

    def test_object_of_texts(self, read: Callable[..., File]) -> None:
        found = read(json.dumps({"v1_0": "a", "v1_1": "b"}))
        assert found.values == [{"_key": "v1_0", "_value": "a"}, {"_key": "v1_1", "_value": "b"}]
        row = {"question": "q", "answer1": "a", "answer2": "b"}
        assert read(json.dumps(row)).values == [row]

    def test_rows_inside_an_object(self, read: Callable[..., File]) -> None:
        assert read(json.dumps({"version": 1, "data": ROWS}, indent=1)).values == ROWS

    def test_a_row_with_messages_is_no_table(self, read: Callable[..., File]) -> None:
        row = {"messages": [{"role": "user", "content": "x"}], "answer": "y"}
        assert read(json.dumps(row, indent=1)).values == [row]

    def test_large_object_of_rows_streams(self, read: Callable[..., File]) -> None:
        table = {f"k{i}": {"text": "x" * 5000} for i in range(400)}
        found = read(json.dumps(table, indent=1))
        assert len(found.values) == 400
        assert found.values[399] == {"_key": "k399", "text": "x" * 5000}

    def test_large_wrapped_array_streams(self, read: Callable[..., File]) -> None:
        found = read(json.dumps({"version": "1", "data": [{"text": "x" * 5000}] * 400}, indent=1))
        assert len(found.values) == 400
        assert found.bad == []


class TestLinesInTheWild:
    def test_two_objects_on_one_line(self, read: Callable[..., File]) -> None:
        found = read('{"a": 1}{"a": 2}\n{"a": 3} {"a": 4}\n{"a": 5}\n')
        assert [row["a"] for row in found.values] == [1, 2, 3, 4, 5]
        assert found.numbers == [1, 1, 2, 2, 3]
        assert found.kinds == ["several-on-a-line"]
        assert "(2 rows: 1, 2)" in found.messages[0]

    def test_good_value_before_a_broken_one_on_a_line(self, read: Callable[..., File]) -> None:
        found = read('{"a": 1}{"a": \n{"a": 3}\n')
        assert [row["a"] for row in found.values] == [1, 3]
        assert [bad.row for bad in found.bad] == [1]

    def test_blank_lines_and_windows_line_ends(self, read: Callable[..., File]) -> None:
        found = read('\r\n{"a": 1}\r\n\r\n   \r\n{"a": 2}\r\n\n')
        assert (found.values, found.numbers, found.bad) == ([{"a": 1}, {"a": 2}], [2, 5], [])

    def test_cut_off_last_line(self, read: Callable[..., File]) -> None:
        found = read('{"a": 1}\n{"a": 2}\n{"a": "thr')
        assert found.values == [{"a": 1}, {"a": 2}]
        assert [(bad.row, bad.reason.startswith("cut off")) for bad in found.bad] == [(3, True)]

    def test_a_broken_line_costs_itself_alone(self, read: Callable[..., File]) -> None:
        for broken in ('{"a": 1,', "oops", '{"a": 1}]', "{'a': 1}", '{"a": 0x1}'):
            found = read(f'{{"a": 0}}\n{broken}\n{{"a": 2}}\n')
            assert {"a": 0} in found.values
            assert found.values[-1] == {"a": 2}
            assert [bad.row for bad in found.bad] == [2]

    def test_a_broken_first_line(self, read: Callable[..., File]) -> None:
        found = read('{"a": 1\n{"a": 2}\n{"a": 3}\n')
        assert found.values == [{"a": 2}, {"a": 3}]
        assert [bad.row for bad in found.bad] == [1]

    def test_reason_names_the_place(self, read: Callable[..., File]) -> None:
        found = read('{"a": 1}\n{"a": 1 "b": 2}\n')
        assert "character 9" in found.bad[0].reason

    def test_commas_at_line_ends(self, read: Callable[..., File]) -> None:
        assert read('{"a": 1},\n{"a": 2},\n').values == [{"a": 1}, {"a": 2}]

    def test_json_text_sequences(self, read: Callable[..., File]) -> None:
        assert read('\x1e{"a": 1}\n\x1e{"a": 2}\n').values == [{"a": 1}, {"a": 2}]

    def test_long_line(self, read: Callable[..., File]) -> None:
        answer = "wörd " * 1_000_000
        for text in (lines([{"a": answer}, {"a": "b"}]), json.dumps([{"a": answer}, {"a": "b"}])):
            assert read(text).values == [{"a": answer}, {"a": "b"}]

    def test_line_beyond_the_limit(
        self, read: Callable[..., File], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(jsonrows, "MAX_ROW_BYTES", 1000)
        found = read(lines([{"a": "x"}, {"a": "y" * 5000}, {"a": "z"}]))
        assert found.values == [{"a": "x"}, {"a": "z"}]
        assert [bad.row for bad in found.bad] == [2]


class TestNumbersAndCharacters:
    def test_numbers_beyond_the_standard(self, read: Callable[..., File]) -> None:
        found = read('{"a": NaN}\n{"a": -Infinity}\n{"id": 123456789012345678901234567890}\n')
        assert found.values[0]["a"] != found.values[0]["a"]
        assert found.values[1]["a"] == float("-inf")
        assert found.values[2]["id"] == 123456789012345678901234567890

    def test_number_too_long_to_read_is_its_text(self, read: Callable[..., File]) -> None:
        found = read('{"a": 1}\n{"a": [' + "9" * 5000 + "]}\n")
        assert (found.values, found.bad) == ([{"a": 1}, {"a": ["9" * 5000]}], [])
        assert found.kinds == ["long-number"]
        assert found.messages[0].endswith("kept as its text (row 2)")

    @pytest.mark.parametrize("blank", ["", " "])
    def test_a_repeated_key_is_told(self, read: Callable[..., File], blank: str) -> None:
        odd = (
            f'{{"a"{blank}: "x", "b"{blank}: [{{"c"{blank}: 1, "c"{blank}: 2}}], "a"{blank}: "y"}}'
        )
        plain = json.dumps({"a": 'say "z": 1', "b": {"a": 1}})
        for text in (f"{plain}\n{odd}\n", f"[\n{plain},\n{odd}\n]"):
            found = read(text)
            assert found.values[1] == {"a": "y", "b": [{"c": 2}]}
            assert found.kinds == ["repeated-key"] * 2
            assert (
                'the key "a" stands 2 times in one object; the last is taken (row 2)'
                in (found.messages[1])
            )
        assert read(f"{plain}\n{plain}\n").kinds == []

    @pytest.mark.parametrize("depth", [300, 900, 990, 1010, 1020, 2000])
    def test_depths_around_the_limit_cost_one_row(
        self, read: Callable[..., File], depth: int
    ) -> None:
        found = read('{"a": 1}\n{"a": ' + "[" * depth + "]" * depth + '}\n{"a": 3}\n')
        assert [row["a"] for row in (found.values[0], found.values[-1])] == [1, 3]
        assert len(found.values) + len(found.bad) == 3

    def test_deep_nesting(self, read: Callable[..., File]) -> None:
        found = read('{"a": 1}\n{"a": ' + "[" * 200_000 + "]" * 200_000 + "}\n")
        assert found.values == [{"a": 1}]
        assert "nested too deeply" in found.bad[0].reason

    def test_lone_surrogates(self, read: Callable[..., File]) -> None:
        found = read('{"a": "x\\ud800y"}\n{"a": "\\ud83d\\ude00"}\n')
        assert found.values == [{"a": "x\ud800y"}, {"a": "😀"}]

    def test_lone_surrogate_as_bytes(self, read: Callable[..., File]) -> None:
        found = read(b'{"a": "x\xed\xa0\x80y"}\n{"a": "z"}\n')
        assert found.values == [{"a": "x\ud800y"}, {"a": "z"}]

    def test_nul_characters(self, read: Callable[..., File]) -> None:
        found = read('{"a": "x\0y"}\n{"a": "\\u0000"}\n\0\0\0\n{"a": "z"}\n')
        assert found.values == [{"a": "x\0y"}, {"a": "\0"}, {"a": "z"}]
        assert found.bad == []

    def test_raw_control_characters(self, read: Callable[..., File]) -> None:
        assert read('{"a": "x\ty"}\n{"a": 1}\n').values == [{"a": "x\ty"}, {"a": 1}]

    def test_bytes_that_are_not_utf8(self, read: Callable[..., File]) -> None:
        found = read(b'{"a": "caf\xe9"}\n{"a": "ok"}\n')
        assert found.values == [{"a": "caf\udce9"}, {"a": "ok"}]
        assert found.values[0]["a"].encode("utf-8", "surrogateescape") == b"caf\xe9"
        assert found.kinds == ["encoding"]

    @pytest.mark.parametrize(
        ("mark", "encoding"),
        [
            (codecs.BOM_UTF8, "utf-8"),
            (codecs.BOM_UTF16_LE, "utf-16-le"),
            (codecs.BOM_UTF16_BE, "utf-16-be"),
            (codecs.BOM_UTF32_LE, "utf-32-le"),
        ],
    )
    def test_byte_order_marks(self, read: Callable[..., File], mark: bytes, encoding: str) -> None:
        for text in (lines(ROWS), json.dumps(ROWS, indent=1, ensure_ascii=False)):
            assert read(mark + text.encode(encoding)).values == ROWS
        found = read(mark + "q,a\r\né,😀\r\n".encode(encoding))
        assert found.values == [{"q": "é", "a": "😀"}]

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    def test_utf16_without_a_mark(self, read: Callable[..., File], encoding: str) -> None:
        for text in (lines(ROWS), json.dumps(ROWS, ensure_ascii=False)):
            assert read(text.encode(encoding)).values == ROWS
        found = read("text,a\r\n一二,😀\r\n".encode(encoding))
        assert found.values == [{"text": "一二", "a": "😀"}]
        assert read(gzip.compress(lines(ROWS).encode(encoding))).values == ROWS

    def test_nuls_in_utf8_are_no_utf16(self, read: Callable[..., File]) -> None:
        assert read('q,a\n"\0x\0y\0z\0",w\n').values == [{"q": "\0x\0y\0z\0", "a": "w"}]

    def test_utf16_cut_in_a_character(self, read: Callable[..., File]) -> None:
        data = codecs.BOM_UTF16_LE + lines(ROWS).encode("utf-16-le") + b"\n"
        assert read(data).values == ROWS


class TestBrokenArrays:
    def test_cut_off_array(self, read: Callable[..., File]) -> None:
        text = json.dumps([{"id": i, "t": "x" * 30} for i in range(5)], indent=1)
        found = read(text[: text.rindex("x")])
        assert [row["id"] for row in found.values] == [0, 1, 2, 3]
        assert len(found.bad) == 1

    def test_array_that_is_not_closed(self, read: Callable[..., File]) -> None:
        found = read('[{"a": 1}, {"a": 2}')
        assert found.values == [{"a": 1}, {"a": 2}]
        assert found.kinds == ["cut-off"]

    @pytest.mark.parametrize(
        "broken",
        [
            '{"id": 1, "t": "unclosed}',
            '{"id": 1, "t": "in"ner"}',
            '{"id": 1, "t": [1}',
            '{"id": 1 "t": 2}',
            '{"id": 1, "t": 2',
            "{id: 1}",
            '{"id": 1, "t": "a" "b"}',
        ],
    )
    def test_a_broken_element_costs_itself_alone(
        self, read: Callable[..., File], broken: str
    ) -> None:
        good = [json.dumps({"id": i, "t": f"text {i}"}) for i in range(5)]
        elements = [good[0], broken, *good[2:]]
        found = read("[\n  " + ",\n  ".join(elements) + "\n]")
        assert [row["id"] for row in found.values] == [0, 2, 3, 4]
        assert [bad.row for bad in found.bad] == [2]

    def test_a_broken_first_element(self, read: Callable[..., File]) -> None:
        found = read('[{"id": 0, "t": "x}, {"id": 1, "t": "y"}, {"id": 2, "t": "z"}]')
        assert [row["id"] for row in found.values] == [1, 2]

    def test_what_follows_is_told(self, read: Callable[..., File]) -> None:
        found = read('[\n{"a": 1}\n]\nmore')
        assert found.values == [{"a": 1}]
        assert found.kinds == ["trailing"]


class TestTables:
    def test_quotes_line_breaks_and_nuls(self, read: Callable[..., File]) -> None:
        found = read('q,a\r\n"one\r\ntwo, ""three""",x\r\n"",y\0z\r\n')
        assert found.container == "csv"
        assert found.values == [{"q": 'one\r\ntwo, "three"', "a": "x"}, {"q": "", "a": "y\0z"}]

    @pytest.mark.parametrize("delimiter", ["\t", ",", ";", "|"])
    def test_delimiters(self, read: Callable[..., File], delimiter: str) -> None:
        found = read(delimiter.join("abc") + "\n" + delimiter.join("123") + "\n")
        assert found.values == [{"a": "1", "b": "2", "c": "3"}]
        assert found.container == ("tsv" if delimiter == "\t" else "csv")

    def test_ragged_rows(self, read: Callable[..., File]) -> None:
        found = read("a,b\n1,2\n3\n4,5,6\n7,8\n")
        assert found.values == [{"a": "1", "b": "2"}, {"a": "7", "b": "8"}]
        assert [bad.row for bad in found.bad] == [2, 3]
        assert "1 cells where the header has 2 columns" in found.bad[0].reason

    def test_unclosed_quote_costs_one_row(self, read: Callable[..., File]) -> None:
        found = read('a,b\n1,2\n"3,4\n5,6\n7,8\n')
        assert [row["a"] for row in found.values] == ["1", "5", "7"]
        assert [bad.row for bad in found.bad] == [2]

    def test_tsv_without_quoting(self, read: Callable[..., File]) -> None:
        found = read('a\tb\n"If so" he said\tx\n"open\ty\nz\t"w"\n')
        assert [row["a"] for row in found.values] == ['"If so" he said', '"open', "z"]

    def test_tsv_with_quoting(self, read: Callable[..., File]) -> None:
        found = read('a\tb\n"one\ntwo"\t"x ""y"""\n')
        assert found.values == [{"a": "one\ntwo", "b": 'x "y"'}]

    def test_backslash_escapes(self, read: Callable[..., File]) -> None:
        found = read('a,b\n"say \\"hi\\", ok",x\n"y",z\n')
        assert found.values == [{"a": 'say "hi", ok', "b": "x"}, {"a": "y", "b": "z"}]

    def test_blanks_after_commas(self, read: Callable[..., File]) -> None:
        found = read('a, b\n"x, y", "z"\n')
        assert found.values == [{"a": "x, y", "b": "z"}]

    def test_blank_rows_are_told(self, read: Callable[..., File]) -> None:
        found = read("a,b\n1,2\n,\n\n3,4\n")
        assert [row["a"] for row in found.values] == ["1", "3"]
        assert found.numbers == [1, 3]
        assert found.kinds == ["blank-row"]

    def test_unnamed_and_repeated_columns(self, read: Callable[..., File], tmp_path: Path) -> None:
        assert read(",a\n0,1\n").values == [{"column_1": "0", "a": "1"}]
        with pytest.raises(InputError, match="names a twice"):
            read("a,b,a\n1,2,3\n")

    def test_line_separators_of_unicode_end_no_row(self, read: Callable[..., File]) -> None:
        found = read("a,b\nx\u2028y,z\x0bw\n")
        assert found.values == [{"a": "x\u2028y", "b": "z\x0bw"}]

    def test_carriage_returns_alone_end_rows(self, read: Callable[..., File]) -> None:
        found = read('a,b\r1,"x\ry"\r2,z\r')
        assert found.values == [{"a": "1", "b": "x\ny"}, {"a": "2", "b": "z"}]
        found = read("".join(json.dumps(row) + "\r" for row in ROWS))
        assert (found.container, found.values) == ("json lines", ROWS)
        assert (found.numbers, found.kinds) == ([1, 2, 3], [])
        assert read(json.dumps(ROWS, indent=1).replace("\n", "\r")).values == ROWS
        assert read('{"a": "x\ry"}').values == [{"a": "x\ry"}]

    def test_ten_thousand_columns_take_no_time(self, read: Callable[..., File]) -> None:
        names = [f"c{i}" for i in range(10_000)]
        begun = time.process_time()
        found = read(",".join(names) + "\n" + ",".join("x" * 10_000) + "\n")
        assert len(found.values[0]) == 10_000
        with pytest.raises(InputError, match="names c7 twice") as caught:
            read(",".join([*names, "c7"]) + "\n1\n")
        assert len(str(caught.value)) < 1000
        assert time.process_time() - begun < 1.5

    def test_long_cell(self, read: Callable[..., File]) -> None:
        assert read("a,b\n" + "x" * 5_000_000 + ",y\n").values == [{"a": "x" * 5_000_000, "b": "y"}]

    def test_parquet(self, tmp_path: Path) -> None:
        path = tmp_path / "t.bin"
        pl.DataFrame(
            {
                "q": ["a", None],
                "n": [1, 2],
                "l": [["x"], []],
                "day": pl.Series(["2024-01-02", None]).str.to_date(),
            }
        ).write_parquet(path)
        found = File(path)
        assert found.container == "parquet"
        assert found.values[0] == {"q": "a", "n": 1, "l": ["x"], "day": "2024-01-02"}
        assert found.values[1]["q"] is None

    def test_parquet_types_that_json_lacks(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        moment = datetime.datetime.fromisoformat("2024-01-02T03:04:05")
        step = datetime.timedelta(days=1, hours=1)
        pl.DataFrame(
            {
                "q": ["a"],
                "moment": [moment],
                "zoned": pl.Series([moment]).dt.replace_time_zone("Europe/Berlin"),
                "step": [step],
                "clock": [datetime.time(1, 2, 3)],
                "price": pl.Series(["1.50"]).cast(pl.Decimal(10, 2)),
                "kind": pl.Series(["k"], dtype=pl.Categorical),
                "level": pl.Series(["l"], dtype=pl.Enum(["l", "m"])),
                "bytes": ["é".encode()],
                "latin": [b"caf\xe9"],
                "image": [b"\x89PNG\0\xff"],
                "deep": [{"days": [moment.date()], "raw": b"x", "step": step, "none": None}],
                "array": pl.Series([[1, 2]], dtype=pl.Array(pl.Int64, 2)),
                "list": [[moment]],
            }
        ).write_parquet(path)
        found = File(path)
        assert found.bad == []
        assert found.values == [
            {
                "q": "a",
                "moment": "2024-01-02T03:04:05.000000",
                "zoned": "2024-01-02T03:04:05.000000+01:00",
                "step": "P1DT1H",
                "clock": "01:02:03",
                "price": "1.50",
                "kind": "k",
                "level": "l",
                "bytes": "é",
                "latin": "caf\udce9",
                "image": None,
                "deep": {"days": ["2024-01-02"], "raw": "x", "step": "P1DT1H", "none": None},
                "array": [1, 2],
                "list": ["2024-01-02T03:04:05"],
            }
        ]
        assert json.dumps(found.values)
        assert sorted(found.kinds) == ["encoding", "left-out"]
        assert any("column 'image' holds bytes that are no text" in m for m in found.messages)

    def test_a_parquet_value_that_python_lacks_costs_its_column(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        far = pl.Series([[10**18]]).cast(pl.List(pl.Datetime("us")))
        pl.DataFrame({"q": ["a"], "far": far, "z": [1]}).write_parquet(path)
        found = File(path)
        assert found.values == [{"q": "a", "far": None, "z": 1}]
        assert found.kinds == ["left-out"]
        assert "column 'far' cannot be read" in found.messages[0]
        assert "\n" not in found.messages[0]

    def test_parquet_of_many_batches_keeps_order(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        pl.DataFrame({"n": range(7001)}).write_parquet(path, row_group_size=900)
        assert [row["n"] for row in File(path).values] == list(range(7001))

    def test_damaged_parquet(self, tmp_path: Path) -> None:
        path = tmp_path / "t.parquet"
        path.write_bytes(b"PAR1" + b"x" * 100)
        with pytest.raises(InputError, match="Parquet file cannot be read"):
            File(path)


class TestSources:
    @pytest.mark.parametrize("name", ["a.json.gz", "a.json"])
    def test_gzip_by_content(self, read: Callable[..., File], name: str) -> None:
        assert read(gzip.compress(lines(ROWS).encode()), name).values == ROWS
        assert read(gzip.compress(json.dumps(ROWS).encode()), name).values == ROWS
        assert read(gzip.compress(b"a,b\n1,2\n"), name).values == [{"a": "1", "b": "2"}]
        assert read(lines(ROWS), "plain.gz").values == ROWS

    def test_gzip_of_parquet_and_of_several_members(
        self, read: Callable[..., File], tmp_path: Path
    ) -> None:
        buffer = io.BytesIO()
        pl.DataFrame({"a": [1, 2]}).write_parquet(buffer)
        assert read(gzip.compress(buffer.getvalue())).values == [{"a": 1}, {"a": 2}]
        members = gzip.compress(b'{"a": 1}\n') + gzip.compress(b'{"a": 2}\n')
        assert read(members).values == [{"a": 1}, {"a": 2}]

    @pytest.mark.parametrize("kind", ["lines", "array", "csv"])
    def test_rows_before_the_damage_of_a_cut_gzip_are_read(
        self, read: Callable[..., File], kind: str
    ) -> None:
        rows = [{"id": str(i), "t": os.urandom(30).hex()} for i in range(3000)]
        texts = {
            "lines": lines(rows),
            "array": json.dumps(rows),
            "csv": "id,t\n" + "".join(f"{row['id']},{row['t']}\n" for row in rows),
        }
        data = gzip.compress(texts[kind].encode())
        found = read(data[: len(data) // 2])
        assert 1000 < len(found.values) < 2000
        assert found.values == rows[: len(found.values)]
        (bad,) = found.bad
        assert bad.row == len(found.values) + 1
        assert "the gzip data is cut off or damaged here" in bad.reason

    def test_damage_inside_gzip(self, read: Callable[..., File]) -> None:
        rows = [{"id": i, "t": os.urandom(30).hex()} for i in range(20_000)]
        data = bytearray(gzip.compress(lines(rows).encode()))
        middle = len(data) // 2
        data[middle : middle + 2000] = b"\xff" * 2000
        found = read(bytes(data))
        assert found.values[:9000] == rows[:9000]
        assert "damaged here" in found.bad[-1].reason

    def test_what_follows_gzip_is_told(self, read: Callable[..., File]) -> None:
        found = read(gzip.compress(lines(ROWS).encode()) + b"garbage")
        assert found.values == ROWS
        assert [(bad.row, "is no gzip data" in bad.reason) for bad in found.bad] == [(4, True)]

    def test_cut_off_gzip(self, read: Callable[..., File]) -> None:
        data = gzip.compress(os.urandom(100_000).hex().encode())
        with pytest.raises(InputError, match="cut off or damaged"):
            read(data[: len(data) // 2])

    def test_standard_input_can_be_read_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        data = io.BytesIO(lines(ROWS).encode())
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=data))
        rows = Rows(Source("-"))
        for _ in range(2):
            assert [row.value for row in rows.read(NoticeLog()) if isinstance(row, Row)] == ROWS

    def test_named_pipe(self, tmp_path: Path) -> None:
        path = tmp_path / "pipe"
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(lines(ROWS).encode(),))
        writer.start()
        assert File(path).values == ROWS
        writer.join()

    def test_temporary_copies_go(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b"[]")))
        source = Source("-")
        copy = source.path
        assert copy.exists()
        del source
        assert not copy.exists()

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is empty"),
            (b" \n\n ", "nothing but blank space"),
            (bytes(range(256)) * 20, "is no text"),
            (b"PK\x03\x04" + b"x" * 50, "ZIP archive"),
            (b"version https://git-lfs.github.com/spec/v1\noid x\n", "Git LFS pointer"),
            (b"Just some prose. More of it.\nAnd more.\n", "neither JSON nor a table"),
        ],
    )
    def test_files_that_are_no_data(
        self, read: Callable[..., File], content: bytes, message: str
    ) -> None:
        with pytest.raises(InputError, match=message):
            read(content)

    def test_folder_and_missing_file(self, tmp_path: Path) -> None:
        (tmp_path / "pairs.jsonl").write_text("{}")
        with pytest.raises(InputError, match=r"is a folder.*pairs\.jsonl"):
            Source(str(tmp_path))
        with pytest.raises(InputError, match=r"no file .*did you mean .*pairs\.jsonl"):
            Source(str(tmp_path / "pair.jsonl"))
        with pytest.raises(InputError, match="there is no folder"):
            Source(str(tmp_path / "no" / "pair.jsonl"))

    def test_empty_name_and_links_that_lead_nowhere(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="name is empty"):
            Source("")
        for name, to in (("one", "two"), ("two", "one"), ("dangling", "nope")):
            (tmp_path / name).symlink_to(to)
        with pytest.raises(InputError, match="one is a link to two, which leads back to itself"):
            Source(str(tmp_path / "one"))
        with pytest.raises(InputError, match="is a link to nope, which does not exist"):
            Source(str(tmp_path / "dangling"))


class TestBoundedHelpers:
    def test_notices_are_merged_and_bounded(self) -> None:
        log = NoticeLog()
        for row in range(1, 8):
            log.add("k", "odd", file="f", row=row)
        for number in range(MAX_PER_KIND + 5):
            log.add("many", f"message {number}")
        messages = [notice.message for notice in log.notices()]
        assert messages[0] == "f: odd (7 rows: 1, 2, 3, 4, 5, ...)"
        assert len(messages) == 1 + MAX_PER_KIND + 1
        assert messages[-1] == "and 5 more of this kind"

    def test_seen_ids(self) -> None:
        seen = SeenIds()
        assert all(seen.first_row(f"id {i}", i) is None for i in range(5000))
        assert [seen.first_row(f"id {i}", 9) for i in (0, 17, 4999)] == [0, 17, 4999]

    def test_seen_ids_stop_at_their_limit(self) -> None:
        seen = SeenIds(limit=3)
        found = [seen.first_row(f"id {i}", i) for i in (7, 1, 2, 3, 3, 7)]
        assert found == [None, None, None, None, None, 7]
        assert seen.full
