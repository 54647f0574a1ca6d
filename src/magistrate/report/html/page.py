"""The report as one HTML page: no network, nothing that runs but its own script.

All text of the data passes through the template's escaping or the element builder; the page's
content security policy names its one style and its one script by hash, and lets nothing else run
or load, even if a text should slip through.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from magistrate.report.html.blocks import Curve, Figure, Intervals, Matrix, Shares
from magistrate.report.html.plots import draw
from magistrate.report.html.tables import html_table
from magistrate.report.html.texts import pieces

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from magistrate.report.html.cards import Passage
    from magistrate.report.html.contents import Contents

_NARROW = 4
"""Columns of a matrix that leaves room for words beside it."""

WHYS = (
    ("opposite", "each prefers another answer"),
    ("tie", "one of them says tie"),
    ("orders", "contradicting orders"),
)


def render_page(report: Contents) -> str:
    """Return the page; UTF-8 can hold all of it."""
    from markupsafe import Markup

    style, script = _file("style.css"), _file("script.js")
    environment = _environment()
    environment.globals.update(
        draw_figure=lambda figure: _figure(environment, figure), passage=_passage, whys=WHYS
    )
    return environment.get_template("page.html.j2").render(
        report=report,
        # Our own files, which hold no end of a style or script.
        style=Markup(style),  # noqa: S704
        script=Markup(script),  # noqa: S704
        policy=content_policy(style, script),
    )


def render_unscripted(template: str, **values: object) -> str:
    """Return a page with figures and no script; nothing can run on it.

    Args:
        template: Name of a template in this folder.
        values: What it shows.
    """
    from markupsafe import Markup

    style = _file("style.css")
    environment = _environment()
    environment.globals.update(draw_figure=lambda figure: _figure(environment, figure))
    policy = f"default-src 'none'; style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"
    return environment.get_template(template).render(
        style=Markup(style),  # noqa: S704 (our own file)
        policy=policy,
        **values,
    )


def content_policy(style: str, script: str) -> str:
    """Return the policy: nothing loads, and only this style and this script count."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        f"base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _figure(environment: Environment, figure: Figure) -> Markup:
    from markupsafe import Markup

    plot = None if figure.plot is None else draw(figure.plot, figure.title, figure.said)
    # Short figures stay on one page of paper; narrow ones leave room for words beside them.
    rows = (
        sum(len(group.bars) for group in figure.plot.groups)
        if isinstance(figure.plot, Intervals)
        else len(figure.plot.rows)
        if isinstance(figure.plot, Shares)
        else 0
    )
    text = environment.get_template("figure.html.j2").render(
        figure=figure,
        plot=plot,
        table=html_table(figure.table, sortable=figure.table.name != "headline"),
        kind=("small" if rows < 25 and len(figure.table.rows) < 25 else "large")
        + (" beside" if _is_narrow(figure) else ""),
    )
    return Markup(text)  # noqa: S704 (rendered with escaping on)


def _is_narrow(figure: Figure) -> bool:
    plot = figure.plot
    return isinstance(plot, Curve) or (isinstance(plot, Matrix) and len(plot.columns) <= _NARROW)


def _passage(passage: Passage, what: str) -> Markup:
    """Return a text of the data: escaped, hidden characters shown, its direction its own."""
    from markupsafe import Markup

    parts = [
        Markup('<span class="control" title="a character that is not seen">{}</span>').format(part)
        if hidden
        else Markup("{}").format(part)
        for part, hidden in pieces(passage.text)
    ]
    text = Markup('<div class="passage" dir="auto" tabindex="0">{}</div>').format(
        Markup("").join(parts)
    )
    if not passage.left_out:
        return text
    return text + Markup('<p class="left-out">{:,} more characters of {} not shown</p>').format(
        passage.left_out, what
    )


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    return Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@cache
def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
