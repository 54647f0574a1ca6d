"""Elements of HTML and SVG, built as a tree: what is text can never become markup."""

from __future__ import annotations

from xml.etree import ElementTree as ET

Element = ET.Element


def element(tag: str, *children: Element | str | None, **attributes: str | float | None) -> Element:
    """Return an element.

    Args:
        tag: Its name.
        children: Elements and texts in sequence; None is left out.
        attributes: ``class_`` stands for ``class``, an underscore within for a hyphen; None is
            left out.

    >>> text_of(element("p", "a < b", class_="x"))
    '<p class="x">a &lt; b</p>'
    """
    made = Element(tag)
    for name, value in attributes.items():
        if value is not None:
            made.set(name.rstrip("_").replace("_", "-"), plain(value))
    last: Element | None = None
    for child in children:
        if isinstance(child, Element):
            made.append(child)
            last = child
        elif child:
            if last is None:
                made.text = (made.text or "") + child
            else:
                last.tail = (last.tail or "") + child
    return made


def breaking(text: str) -> list[Element | str]:
    """Return a name with places where it may break: after ``/``, ``:``, ``_`` and ``=``.

    >>> "".join(part if isinstance(part, str) else "|" for part in breaking("a/b:c"))
    'a/|b:|c'
    """
    parts: list[Element | str] = []
    start = 0
    for place, character in enumerate(text[:-1], 1):
        if character in "/:_=":
            parts += [text[start:place], Element("wbr")]
            start = place
    return [*parts, text[start:]]


def plain(value: str | float) -> str:
    """Return an attribute's value; coordinates get two decimals at most."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def percent_of(place: float) -> str:
    """Return a place in [0, 1] as a percentage of the width, which SVG scales by itself."""
    return f"{plain(100.0 * place)}%"


def text_of(made: Element) -> str:
    """Return an element as HTML."""
    return ET.tostring(made, encoding="unicode", method="html")


def marker(tone: str, x: float | str, y: float | str) -> Element:
    """Return the shape of a tone at a place: people square, rules hollow, all others round.

    The shape sits in an ``svg`` of its own, so that its place may be in percentages.
    """
    if tone == "people":
        shape = element("rect", x="-5", y="-5", width="10", height="10")
    elif tone == "rule":
        shape = element("path", d="M0-6L6 0L0 6L-6 0Z")
    else:
        shape = element("circle", r="5.5")
    shape.set("class", "dot")
    return element("svg", shape, x=x, y=y, overflow="visible", class_=f"mark tone-{tone}")
