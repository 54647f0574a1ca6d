"""Plots as HTML and SVG that need no script: a module per shape, and one that chooses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.report.html.blocks import Curve, Intervals, Matrix, Plot, Shares, Trends
from magistrate.report.html.plots.curve import draw_curve
from magistrate.report.html.plots.intervals import draw_intervals
from magistrate.report.html.plots.matrix import draw_matrix
from magistrate.report.html.plots.shares import draw_shares
from magistrate.report.html.plots.trends import draw_trends

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["draw"]


def draw(plot: Plot, title: str, said: str) -> Markup:
    """Return a plot as markup.

    Args:
        plot: What to draw.
        title: Names it.
        said: What it shows in words. Both are its text alternative.
    """
    from markupsafe import Markup

    from magistrate.report.html.markup import text_of

    match plot:
        case Intervals():
            drawn = draw_intervals(plot)
        case Curve():
            drawn = draw_curve(plot)
        case Shares():
            drawn = draw_shares(plot)
        case Trends():
            drawn = draw_trends(plot)
        case Matrix():
            # A table already: its cells are read out, so it needs no other words.
            return Markup(text_of(draw_matrix(plot, title)))  # noqa: S704 (escaped by ElementTree)
    drawn.set("role", "img")
    drawn.set("aria-label", f"{title}. {said}")
    return Markup(text_of(drawn))  # noqa: S704 (escaped by ElementTree)
