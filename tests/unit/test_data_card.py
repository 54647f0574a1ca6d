"""The data card: what it says, safely, in one file without scripts."""

from __future__ import annotations

import json
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from data_help import pair, question, write

from magistrate.cli.main import main
from magistrate.data.card import make_card, read_licences, write_card
from magistrate.data.hashing import data_hash
from magistrate.data.splitting import split_data
from magistrate.errors import InputError
from magistrate.records import Sample

pytest.importorskip("rensa")

EVIL = "<script>alert(1)</script>|*x*"


def tags_of(page: str) -> set[str]:
    """Return the names of all elements of a page."""
    found: set[str] = set()
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: found.add(tag)  # type: ignore[method-assign]
    parser.feed(page)
    return found


def samples() -> list[Sample]:
    return [
        pair(
            question(k),
            "short",
            "a longer answer" * (1 + k % 5),
            "second" if k % 3 else "first",
            "second",
            models=(EVIL, f"m{k % 3}"),
            category=f"c{k % 2}",
        )
        for k in range(60)
    ]


def test_a_card_says_what_the_data_are(tmp_path: Path) -> None:
    path = write(tmp_path / "data.jsonl", samples())
    split_data(path, out=tmp_path / "splits", shares="train=0.5,dev=0.5")
    card = make_card(path, licences={"data": "CC-BY-4.0"}, split=tmp_path / "splits")
    page, text = card.html(), card.markdown()
    for shown in (page, text):
        assert data_hash(samples()) in shown
        assert "CC-BY-4.0" in shown
        assert "length-label" in shown
        assert "Krippendorff" in shown
    assert "script" not in tags_of(page)
    assert "&lt;script&gt;" in page
    assert "script-src" not in page
    assert "default-src 'none'" in unescape(page)
    assert page.count("<svg") > 5
    assert "<script>" not in text
    assert [section.id for section in card.document.sections] == [
        "sources", "labels", "length", "models", "annotators", "splits", "findings",
    ]  # fmt: skip


def test_a_card_of_unlabelled_single_answers_says_what_is_missing(tmp_path: Path) -> None:
    single = Sample(question="Q", answers=({"text": "a"},))  # type: ignore[arg-type]
    card = make_card(write(tmp_path / "data.jsonl", [single]))
    text = card.markdown()
    for words in ("No pair has a label", "Nobody labelled a pair", "is not stated"):
        assert words in text
    assert card.html()


def test_the_command_writes_both_forms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write(tmp_path / "data.jsonl", samples()))
    page, text = tmp_path / "card.html", tmp_path / "card.md"
    command = ["data", "card", path, "-o", str(page), "-o", str(text), "--licence", "data=MIT"]
    assert main([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["written"] == [str(page), str(text)]
    assert told["licences"] == {"data": "MIT"}
    assert page.read_text().startswith("<!doctype html>")
    assert main(["data", "card", path]) == 0
    assert capsys.readouterr().out.startswith("# Data card: data.jsonl")


def test_mistakes_are_told(tmp_path: Path) -> None:
    path = write(tmp_path / "data.jsonl", samples())
    with pytest.raises(InputError, match="NAME=LICENCE"):
        read_licences(["MIT"])
    with pytest.raises(InputError, match="no folder that"):
        make_card(path, split=tmp_path)
    with pytest.raises(InputError, match=r"end it in \.html"):
        write_card(make_card(path, near=None), [tmp_path / "card.pdf"])
