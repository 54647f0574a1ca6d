"""Nothing of the data becomes markup, a link, a script or a hidden character in a report."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import itertools
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from report_help import ATTACKS, Node, hostile_samples, judgments_of, parse, stored

import magistrate as mg
from magistrate.report.html.page import content_policy
from magistrate.report.html.tables import csv_text, markdown_table
from magistrate.report.html.texts import pieces, seen

# fmt: off
TAGS = frozenset({
    "html", "head", "meta", "title", "style", "body", "a", "header", "h1", "h2", "h3", "h4", "p",
    "div", "fieldset", "legend", "label", "input", "button", "nav", "ol", "li", "main", "section",
    "article", "dl", "dt", "dd", "b", "i", "span", "figure", "figcaption", "details", "summary",
    "table", "caption", "thead", "tbody", "tr", "th", "td", "br", "wbr", "ul", "script", "svg", "g",
    "line", "rect", "path", "circle", "polyline", "text", "select", "option", "output", "bdi",
})
# fmt: on
"""Elements that the report's own template and plots make."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("hostile")
    samples = hostile_samples()
    judgments = [
        judgment.model_copy(update={"reasons": ATTACKS[k % len(ATTACKS)]})
        for k, judgment in enumerate(judgments_of(samples))
    ]
    said, labels = stored(folder, samples, judgments)
    report = mg.write_report(
        said,
        labels=labels,
        out=[folder / "report.html", folder / "report.md"],
        csv=folder / "csv",
        samples=100,
    )
    return {path.name: path.read_bytes().decode("utf-8") for path in report.files}


@pytest.fixture(scope="module")
def page(written: dict[str, str]) -> Node:
    return parse(written["report.html"])


def test_only_elements_of_the_report_itself_are_in_the_page(page: Node) -> None:
    assert {node.tag for node in page.walk()} - {""} <= TAGS
    assert len(page.all("script")) == 1
    assert len(page.all("style")) == 1
    assert len(page.all("title")) - len(page.all("svg")) <= len(page.all("g")) * 2


def test_no_attribute_runs_loads_or_styles_anything(page: Node) -> None:
    for node in page.walk():
        for name, value in node.attributes.items():
            assert not name.startswith("on"), (node.tag, name)
            assert name not in {"style", "src", "srcdoc", "action", "formaction", "xlink:href"}
            if name == "href":
                assert value.startswith("#")
    policy = page.all("meta")[1].attributes
    assert policy["http-equiv"] == "Content-Security-Policy"
    assert policy["content"].startswith("default-src 'none';")


def test_the_policy_names_the_style_and_the_script_that_are_there(page: Node) -> None:
    (style,), (script,) = page.all("style"), page.all("script")
    policy = page.all("meta")[1].attributes["content"]
    assert policy == content_policy(style.text, script.text)
    for text in (style.text, script.text):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
        assert not re.search(
            r"https?:|//[a-z]|@import|url\(|eval\(|innerHTML|document\.write", text
        )
    assert "unsafe" not in policy


def test_attacks_are_shown_as_the_text_that_they_are(page: Node) -> None:
    cards = page.all("article", "card")
    assert cards
    shown = {node.text for card in cards for node in card.all("div", "passage")}
    for attack in ATTACKS[:9]:
        assert attack in shown
    assert any(text.startswith("U+") for text in (n.text for n in page.all("span", "control")))


def test_no_hidden_character_is_in_the_page(written: dict[str, str]) -> None:
    for name, text in written.items():
        assert not re.search(
            r"[\u202a-\u202e\u2066-\u2069\u200b\x00\x07\x1b\ud800\U000e0041]", text
        ), name
    assert "U+202E" in written["report.html"]
    assert "U+D800" in written["report.html"]


def test_markdown_shows_attacks_between_fences_and_nowhere_else(written: dict[str, str]) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(written["report.md"])
    kinds = {token.type for one in tokens for token in (one, *(one.children or ()))}
    assert not kinds & {"html_block", "html_inline", "link_open", "image", "code_block", "hr"}
    fences = [token for token in tokens if token.type == "fence"]
    assert {token.info for token in fences} == {"text"}
    shown = [token.content.removesuffix("\n") for token in fences]
    for attack in (*ATTACKS[:9], *ATTACKS[11:14]):
        assert attack in shown
    assert any(text.startswith("right ‹U+202E›ot") for text in shown)
    assert "x" * 500 in shown
    assert max(map(len, shown)) <= 1_000 + 100
    headings = [
        after.content for one, after in itertools.pairwise(tokens) if one.type == "heading_open"
    ]
    assert "heading" not in headings


def without_fences(text: str) -> str:
    """Return Markdown without its fenced blocks, which a parser finds."""
    lines = text.split("\n")
    for token in MarkdownIt("commonmark").parse(text):
        if token.type == "fence" and token.map is not None:
            start, end = token.map
            lines[start:end] = [""] * (end - start)
    return "\n".join(lines)


def test_markdown_holds_no_markup_of_the_data(written: dict[str, str]) -> None:
    text = without_fences(written["report.md"])
    unescaped = re.sub(r"\\[\\`*_\[\]<>|#~&]", "", text)
    assert not re.search(r"<[a-z/!]", unescaped)
    assert "](javascript" not in unescaped
    for block in re.findall(r"(?:^\|.*\n)+", unescaped, re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1, block


def test_csv_files_are_tables_without_formulas(written: dict[str, str]) -> None:
    files = {name: text for name, text in written.items() if name.endswith(".csv")}
    assert len(files) > 5
    for name, text in files.items():
        rows = list(csv.reader(io.StringIO(text)))
        assert len({len(row) for row in rows}) == 1, name
        assert not any(re.match(r"[=@+]|-\D", cell) for row in rows for cell in row), name


def test_long_texts_are_shortened_and_it_is_said(page: Node) -> None:
    notes = [node.text for node in page.all("p", "left-out")]
    assert "6,000 more characters of the question not shown" in notes
    assert all(len(node.text) <= 4_500 for node in page.all("div", "passage"))


@pytest.mark.parametrize("joined", ["👩\u200d🔬", "می\u200cخواهم", "naïve 中文 \U0001f600\ufe0f"])
def test_scripts_and_emoji_that_need_joiners_stay_whole(joined: str) -> None:
    assert seen(joined) == joined
    assert list(pieces(joined)) == [(joined, False)]


def test_a_bidirectional_override_is_named_in_tables_too(tmp_path: Path) -> None:
    from magistrate.report.html.blocks import Column, Table

    table = Table("t", "c", (Column("a|b"), Column("n")), (("x\u202ey", 1), ("=1+1", -2)))
    assert "x‹U+202E›y" in markdown_table(table)
    assert csv_text(table) == "a|b,n\nx‹U+202E›y,1\n'=1+1,-2\n"
