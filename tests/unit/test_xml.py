"""XML as rows, and what an XML file may not do."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import magistrate as mg
from magistrate.errors import InputError
from magistrate.formats import xmlrows
from magistrate.formats.base import BadRow, Row
from magistrate.formats.jsonvalues import FileContext
from magistrate.formats.notices import NoticeLog
from magistrate.formats.rows import Rows
from magistrate.formats.source import Source
from magistrate.formats.xmlrows import DEEPEST, is_xml, read_xml


def rows_of(path: Path, content: str | bytes) -> list[Any]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    rows = Rows(Source(str(path)))
    assert rows.container == "xml"
    return [row.reason if isinstance(row, BadRow) else row.value for row in rows.read(NoticeLog())]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.xml"


def test_elements_become_objects_lists_and_text(path: Path) -> None:
    content = """<?xml version="1.0"?>
    <list>
      <row id="7"><q>A &amp; B &lt;c&gt; &#233;</q><empty/><many>1</many><many>2</many>
        <many>3</many><in><deep>x</deep></in></row>
      <row>only text</row>
      <row>beside <b>elements</b></row>
      <row><![CDATA[<raw> & ]]></row>
    </list>"""
    assert rows_of(path, content) == [
        {
            "@id": "7",
            "q": "A & B <c> é",
            "empty": "",
            "many": ["1", "2", "3"],
            "in": {"deep": "x"},
        },
        "only text",
        {"b": "elements", "#text": "beside "},
        "<raw> & ",
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "iso-8859-1"])
@pytest.mark.parametrize("packed", [False, True])
def test_encodings_and_gzip(path: Path, encoding: str, packed: bool) -> None:
    declared = encoding.removesuffix("-sig").removesuffix("-le")
    text = f'<?xml version="1.0" encoding="{declared}"?>\n<l><r><q>caf\u00e9</q></r></l>'
    content = text.encode(encoding)
    assert rows_of(path, gzip.compress(content) if packed else content) == [{"q": "caf\u00e9"}]


def test_a_table_in_xml_is_judged_like_any_other(path: Path) -> None:
    row = "<row><question>Q</question><answer1>A</answer1><answer2/><label>1</label></row>"
    path.write_text(f"<rows>{row * 3}</rows>")
    reader = mg.read_samples(path)
    samples = list(reader)
    assert reader.format == "table"
    assert [answer.text for answer in samples[0].answers] == ["A", ""]
    assert samples[0].gold[0].preference == "first"
    assert len(samples) == 3


LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE l [
  <!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">
]><l><r><q>&c;</q></r></l>"""
READS_A_FILE = """<?xml version="1.0"?>
<!DOCTYPE l [<!ENTITY x SYSTEM "file://{}">]><l><r><q>&x;</q></r></l>"""


def test_entities_are_never_expanded_and_files_never_opened(path: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    for content in (LAUGHS, READS_A_FILE.format(secret)):
        (reason,) = rows_of(path, content)
        assert "declares a document type" in reason
        with pytest.raises(InputError, match="document type"):
            mg.read_samples(path)


def test_an_entity_that_nobody_declared_is_an_error(path: Path) -> None:
    good, reason = rows_of(path, "<l><r><q>fine</q></r><r><q>&secret;</q></r></l>")
    assert good == {"q": "fine"}
    assert "undefined entity" in reason


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("<r><q>x</r>", "mismatched tag: line 3"),
        ("<r><q>x", "no element found"),
        ("</l><more/>", "junk after document element"),
        ("<r>\x01</r></l>", "not well-formed"),
    ],
)
def test_rows_before_the_damage_are_kept(path: Path, rest: str, words: str) -> None:
    found = rows_of(path, f"<l>\n<r><q>1</q></r><r><q>2</q></r>\n{rest}")
    assert found[:2] == [{"q": "1"}, {"q": "2"}]
    assert words in found[-1]
    assert "nothing after it was read" in found[-1]
    assert len(found) == 3


def test_too_deep_and_too_long_are_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = DEEPEST * "<a>" + DEEPEST * "</a>"
    assert f"more than {DEEPEST} deep" in rows_of(path, f"<l><r><q>1</q></r>{deep}</l>")[-1]
    monkeypatch.setattr(xmlrows, "MAX_ROW_BYTES", 1 << 20)
    long = "<r>" + "<q>" + "x" * (3 << 20) + "</q></r>"
    found = rows_of(path, f"<l><r><q>1</q></r>{long}</l>")
    assert found[0] == {"q": "1"}
    assert "the element is longer than 1 MiB" in found[-1]


def test_rows_are_numbered_by_their_place(path: Path) -> None:
    path.write_text("<l>" + "<r><q>x</q></r>" * 20_000 + "</l>")
    rows = list(Rows(Source(str(path))).read(NoticeLog()))
    assert [row.number for row in rows if isinstance(row, Row)] == list(range(1, 20_001))


@pytest.mark.parametrize(
    ("head", "xml"),
    [
        (b"<?xml version='1.0'?><a/>", True),
        (b"\n <rows>\n <row>", True),
        (b"<rows a='1'><row>", True),
        (b"<!DOCTYPE html><html><body>", False),
        (b"<html><body>", False),
        (b"<b>bold</b>,1,2\n", False),
        (b"a,b\n<x>,<y>\n", False),
    ],
)
def test_what_counts_as_xml(head: bytes, xml: bool) -> None:
    assert is_xml(head) == xml


PIECES = [b"<l>", b"</l>", b"<r>", b"</r>", b"<q/>", b"&amp;", b"&x;", b"<!DOCTYPE l>", b"x"]
PIECES += [b"<![CDATA[", b"]]>", b"<!--", b"-->", b"<?p?>", b"\xff", b"\0", b"<?xml?>", b'a="1"']


class Stream:
    """Gives its bytes a few at a time."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, size: int) -> bytes:
        block, self.data = self.data[:7], self.data[7:]
        return block


@given(st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join))
@settings(max_examples=300, deadline=None)
def test_whatever_comes_there_are_rows_and_at_most_one_bad_one_at_the_end(data: bytes) -> None:
    found = list(read_xml(Stream(data), FileContext("f", NoticeLog())))  # type: ignore[arg-type]
    assert all(isinstance(row, Row) for row in found[:-1])
    assert [row.number if isinstance(row, Row) else row.row for row in found] == list(
        range(1, len(found) + 1)
    )
