"""Importing keeps every character: our templates say just what the peer's own call would."""

from __future__ import annotations

import string
from collections.abc import Mapping

import jinja2
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from magistrate.errors import FamilyError
from magistrate.messages import Part
from magistrate.prompts.importing import toml
from magistrate.prompts.importing.python_texts import read_python
from magistrate.prompts.importing.wording import Field, Notation, read_wording, to_jinja
from magistrate.prompts.template import MessageTemplate, Template

NAMES = ("question", "answer_1", "answer_2", "reference")
# Everything that some notation, Jinja or a file could change, beside any other character.
SHARP = ("{", "}", "{{", "}}", "{%", "%}", "{#", "#}", "%", "%%", "%s", "#", "-", "+", "\n", "\r",
         "\r\n", "\t", "  ", "\\", "'", '"', '"""', "{question}", "{{ question }}", "{0}", "raw",
         "endraw", "\x00", "\x0b", "\x85", "\u2028", "é", "😀")  # fmt: skip
MARKS = "\ufdd0\ufdd1\ufdd2\ufdd3"
"""Characters that templates may not hold."""

TEXT = st.lists(
    st.one_of(
        st.sampled_from(SHARP),
        st.text(st.characters(exclude_categories=("Cs",), exclude_characters=MARKS), max_size=5),
    ),
    max_size=6,
).map("".join)  # fmt: skip
PIECES = st.lists(st.one_of(TEXT, st.sampled_from(NAMES).map(Field)), max_size=8)
VALUES = st.fixed_dictionaries(dict.fromkeys(NAMES, TEXT))


def ours(text: str, notation: Notation, values: Mapping[str, str]) -> str:
    """Import a wording and fill it with data, as a family does."""
    source = to_jinja(read_wording(text, notation), {name: f"{{{{ {name} }}}}" for name in NAMES})
    template = Template("imported", [MessageTemplate("user", source, "here")])
    parts = {name: Part(value, name) for name, value in values.items()}
    (message,) = template.render(parts, sample="it")
    assert all(part.text == values[part.slot] for part in message.parts if part.slot)
    return message.text


def doubled(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


@given(pieces=PIECES, values=VALUES)
@settings(max_examples=300, deadline=None)
def test_str_format(pieces: list[str | Field], values: dict[str, str]) -> None:
    peers = "".join(
        f"{{{piece.name}}}" if isinstance(piece, Field) else doubled(piece) for piece in pieces
    )
    assert ours(peers, "format", values) == peers.format(**values)


@given(text=TEXT, values=VALUES)
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_as_str_format_reads_it_or_not_at_all(
    text: str, values: dict[str, str]
) -> None:
    try:
        wanted = text.format("zero", **values)
        plain = all(
            not spec and not conversion and (name is None or name in NAMES)
            for _, name, spec, conversion in string.Formatter().parse(text)
        )
    except (ValueError, IndexError, KeyError, AttributeError):
        return
    if plain:
        assert ours(text, "format", values) == wanted


@given(pieces=PIECES, values=VALUES)
@settings(max_examples=200, deadline=None)
def test_percent(pieces: list[str | Field], values: dict[str, str]) -> None:
    peers = "".join(
        f"%({piece.name})s" if isinstance(piece, Field) else piece.replace("%", "%%")
        for piece in pieces
    )
    assert ours(peers, "percent", values) == peers % values


@given(pieces=PIECES, values=VALUES)
@settings(max_examples=200, deadline=None)
def test_replacing_names_in_braces(pieces: list[str | Field], values: dict[str, str]) -> None:
    # An opening brace with a name and a closing one would be a place of its own.
    kept = [p if isinstance(p, Field) else p.replace("{", "{ ").replace("}", " }") for p in pieces]
    peers = "".join(f"{{{p.name}}}" if isinstance(p, Field) else p for p in kept)
    wanted = "".join(values[p.name] if isinstance(p, Field) else p for p in kept)
    assert ours(peers, "braces", values) == wanted


@given(text=TEXT, values=VALUES)
@settings(max_examples=300, deadline=None)
def test_jinja_templates_of_plain_names(text: str, values: dict[str, str]) -> None:
    try:
        read_wording(text, "jinja")
    except FamilyError:
        assume(False)
    wanted = jinja2.Environment().from_string(text).render(values)
    assert ours(text, "jinja", values) == wanted


@given(pieces=PIECES, values=VALUES)
@settings(max_examples=150, deadline=None)
def test_python_constants_and_fstrings(pieces: list[str | Field], values: dict[str, str]) -> None:
    def quoted(piece: str) -> str:
        return doubled(repr(piece)[1:-1]).replace("'", "\\x27")

    inside = "".join(
        f"{{{piece.name}}}" if isinstance(piece, Field) else quoted(piece) for piece in pieces
    )
    source = f"def ask({', '.join(NAMES)}):\n    return f'{inside}'\n"
    assume("\\x27\\" not in source)
    space: dict[str, object] = {}
    try:
        exec(source, space)  # our own text, to compare with
    except SyntaxError:
        assume(False)
    texts = {name: text for name, text, _ in read_python(source)}
    wanted = space["ask"](**values)  # type: ignore[operator]
    if "ask.return" not in texts:
        assert wanted == ""
        return
    source_of_ours = to_jinja(texts["ask.return"], {name: f"{{{{ {name} }}}}" for name in NAMES})
    template = Template("imported", [MessageTemplate("user", source_of_ours, "here")])
    parts = {name: Part(value, name) for name, value in values.items()}
    (message,) = template.render(parts, sample="it")
    assert message.text == wanted


@given(
    table=st.dictionaries(
        st.text('abc_-.é "', min_size=1, max_size=4),
        st.one_of(
            st.text(st.characters(exclude_categories=("Cs",)), max_size=8),
            st.integers(-(2**53), 2**53),
            st.floats(allow_nan=False, allow_infinity=False),
            st.booleans(),
            st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=4), max_size=3),
        ),
        max_size=5,
    )
)
def test_what_is_written_as_toml_is_read_back(table: dict[str, object]) -> None:
    import tomllib

    document = {**table, "rows": [table, table], "inner": {"deeper": table}}
    assert tomllib.loads(toml.dumps(document)) == document


def test_toml_refuses_what_it_has_no_form_for() -> None:
    for value in (float("nan"), float("inf"), object(), b"x"):
        with pytest.raises(TypeError):
            toml.dumps({"a": value})
