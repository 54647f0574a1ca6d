r"""Text with places to fill, read from whichever notation a peer uses, written as our templates.

Every notation is read into the same pieces; whatever is no place is kept to the character. The way
back is a template of ours that prints just these characters:

>>> pieces = read_wording("{{'score': {score}}}\n", "format")
>>> pieces
("{'score': ", Field(name='score'), '}\n')
>>> to_jinja(("a {", Field("score"), "} {%"), {"score": "{{ answer }}"})
'a {{ "{" }}{{ answer }}} {{ "{" }}%'
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from magistrate.errors import FamilyError

Notation: TypeAlias = Literal["literal", "format", "braces", "percent", "jinja"]
"""How places are written.

``literal``: there are none. ``format``: as for ``str.format``, ``{name}`` with ``{{`` for a brace.
``braces``: ``{name}``, every other brace stands for itself. ``percent``: ``%s``, ``%(name)s`` and
``%%``. ``jinja``: ``{{ name }}``.
"""

NOTATIONS: tuple[Notation, ...] = get_args(Notation)


@dataclass(frozen=True, slots=True)
class Field:
    """A place to fill."""

    name: str
    """As the peer calls it; for places without a name their number from 0."""


Wording: TypeAlias = tuple[str | Field, ...]
"""Text and places in turn; no two texts stand beside each other, and none is empty."""

_NAME_IN_BRACES = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PERCENT = re.compile(r"%(?:\(([^()]*)\)s|(s)|(%))|(%)")
_NEEDS_CARE = re.compile(r"\{(?=[{%#\r]|\Z)|\r")


def read_wording(text: str, notation: Notation) -> Wording:
    r"""Read the places of a text.

    Raises:
        FamilyError: The text is not of this notation, or uses more of it than plain places.

    >>> read_wording("{a} {0} {}", "braces")
    (Field(name='a'), ' {0} {}')
    >>> read_wording("100%% of %s and %s", "percent")
    ('100% of ', Field(name='0'), ' and ', Field(name='1'))
    >>> read_wording("Q: {{ q }}\n\n", "jinja")
    ('Q: ', Field(name='q'), '\n')
    """
    return joined(_READERS[notation](text))


def joined(pieces: Iterable[str | Field]) -> Wording:
    """Return pieces with neighbouring texts joined and empty ones left out."""
    result: list[str | Field] = []
    for piece in pieces:
        if isinstance(piece, str) and result and isinstance(result[-1], str):
            result[-1] += piece
        elif piece != "":
            result.append(piece)
    return tuple(result)


def field_names(wording: Wording) -> tuple[str, ...]:
    """Return the names of the places in the sequence of their first appearance."""
    return tuple(dict.fromkeys(piece.name for piece in wording if isinstance(piece, Field)))


def filled(wording: Wording, values: Mapping[str, Wording]) -> Wording:
    """Return the wording with some places filled by other wordings."""
    pieces: list[str | Field] = []
    for piece in wording:
        if isinstance(piece, Field) and piece.name in values:
            pieces.extend(values[piece.name])
        else:
            pieces.append(piece)
    return joined(pieces)


def plain_text(wording: Wording) -> str | None:
    """Return the text of a wording without places; None where it has some."""
    if any(isinstance(piece, Field) for piece in wording):
        return None
    return "".join(piece for piece in wording if isinstance(piece, str))


def to_jinja(wording: Wording, fill: Mapping[str, str]) -> str:
    """Write the wording as a template that prints its texts to the character.

    Args:
        wording: Text and places.
        fill: For every place the piece of template that fills it.

    Raises:
        KeyError: A place is not in ``fill``.
    """
    return "".join(
        fill[piece.name] if isinstance(piece, Field) else _NEEDS_CARE.sub(_printed, piece)
        for piece in wording
    )


def _printed(found: re.Match[str]) -> str:
    """Return an expression that prints a character Jinja would take for its own, or change."""
    return '{{ "{" }}' if found[0] == "{" else '{{ "\\r" }}'


def _read_literal(text: str) -> Iterable[str | Field]:
    return (text,)


def _read_format(text: str) -> Iterable[str | Field]:
    pieces: list[str | Field] = []
    unnamed = 0
    try:
        parsed = list(string.Formatter().parse(text))
    except ValueError as error:
        raise FamilyError(f"not a text for str.format: {error}") from error
    for literal, name, spec, conversion in parsed:
        pieces.append(literal)
        if name is None:
            continue
        if spec or conversion:
            raise FamilyError(
                f"the place '{{{name}}}' has a format of its own; only plain places can be filled"
            )
        if not name:
            name, unnamed = str(unnamed), unnamed + 1
        pieces.append(Field(name))
    return pieces


def _read_braces(text: str) -> Iterable[str | Field]:
    return (
        Field(piece) if place % 2 else piece
        for place, piece in enumerate(_NAME_IN_BRACES.split(text))
    )


def _read_percent(text: str) -> Iterable[str | Field]:
    pieces: list[str | Field] = []
    end = unnamed = 0
    for found in _PERCENT.finditer(text):
        pieces.append(text[end : found.start()])
        end = found.end()
        named, bare, escaped, other = found.groups()
        if other:
            shown = text[found.start() : found.start() + 6]
            raise FamilyError(f"not a text for the % operator: '{shown}' is no place")
        if escaped:
            pieces.append("%")
        elif bare:
            pieces.append(Field(str(unnamed)))
            unnamed += 1
        else:
            pieces.append(Field(named))
    return (*pieces, text[end:])


def _read_jinja(text: str) -> Iterable[str | Field]:
    """Read a template that prints plain names, as Jinja's default settings render it."""
    import jinja2
    from jinja2 import nodes

    try:
        tree = jinja2.Environment(autoescape=False).parse(text)  # noqa: S701 - parsed, never run
    except (jinja2.TemplateSyntaxError, RecursionError) as error:
        raise FamilyError(f"not a Jinja2 template: {error}") from error
    pieces: list[str | Field] = []
    for output in tree.body:
        if not isinstance(output, nodes.Output):
            raise FamilyError(
                f"line {output.lineno} of the template does more than print a name; write such a "
                f"template by hand (docs/families.md)"
            )
        for node in output.nodes:
            if isinstance(node, nodes.TemplateData):
                pieces.append(node.data)
            elif isinstance(node, nodes.Name):
                pieces.append(Field(node.name))
            else:
                raise FamilyError(
                    f"line {node.lineno} of the template prints more than a name; write such a "
                    f"template by hand (docs/families.md)"
                )
    return pieces


_READERS: Mapping[Notation, Callable[[str], Iterable[str | Field]]] = {
    "literal": _read_literal,
    "format": _read_format,
    "braces": _read_braces,
    "percent": _read_percent,
    "jinja": _read_jinja,
}
