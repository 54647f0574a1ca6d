"""Lines without marks, with a band for the interval, on an axis that fits them."""

from __future__ import annotations

import math

from magistrate.report.html.blocks import Trend, Trends
from magistrate.report.html.markup import Element, element
from magistrate.report.html.plots.scale import ticks

_WIDTH, _HEIGHT = 560.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 18.0, 14.0, 44.0


def draw_trends(plot: Trends) -> Element:
    """Return the key and the plot."""
    key = element("p", class_="key")
    for line in plot.lines:
        stroke = element(
            "svg",
            element("line", x1=0, x2=22, y1=7, y2=7, class_=_class(line)),
            width="22",
            height="14",
            aria_hidden="true",
            class_=f"tone-{line.tone}",
        )
        key.append(element("span", stroke, f" {line.name}"))
    height = _TOP + _HEIGHT + _BOTTOM
    drawing = element("svg", viewBox=f"0 0 {_WIDTH:.0f} {height:.0f}", class_="curve")
    axis = _Axis(plot.low, plot.high)
    _vertical_axis(drawing, plot, axis)
    _horizontal_axis(drawing, plot)
    for line in plot.lines:
        drawing.append(_line(line, axis))
    return element("div", key, drawing, class_="curve-box")


class _Axis:
    """The vertical axis: from a round number below the least to one above the most."""

    def __init__(self, low: float, high: float) -> None:
        step = _step(low, high)
        self.low = max(0.0, math.floor(low / step + 1e-9) * step)
        self.high = min(1.0, math.ceil(high / step - 1e-9) * step)
        if self.high <= self.low:
            self.low, self.high = max(0.0, self.low - step), min(1.0, self.high + step)

    def y(self, value: float) -> float:
        return _TOP + (self.high - value) / (self.high - self.low) * _HEIGHT


def _step(low: float, high: float) -> float:
    found = ticks(low, high) if high > low else []
    return found[1] - found[0] if len(found) > 1 else 0.1


def _vertical_axis(drawing: Element, plot: Trends, axis: _Axis) -> None:
    for tick in ticks(axis.low, axis.high):
        y = axis.y(tick)
        text = f"{100 * tick:.4g} %"
        drawing.append(element("line", x1=_x(0), x2=_x(1), y1=y, y2=y, class_="grid"))
        drawing.append(
            element("text", text, x=_LEFT - 8, y=y + 4, text_anchor="end", class_="tick")
        )
    middle = _TOP + _HEIGHT / 2
    drawing.append(
        element(
            "text",
            plot.y_axis,
            x="13",
            y=middle,
            text_anchor="middle",
            transform=f"rotate(-90 13 {middle:.0f})",
            class_="axis-text",
        )
    )


def _horizontal_axis(drawing: Element, plot: Trends) -> None:
    bottom = _TOP + _HEIGHT
    drawing.append(element("line", x1=_x(0), x2=_x(1), y1=bottom, y2=bottom, class_="axis-line"))
    for place, text in plot.ticks:
        drawing.append(
            element("text", text, x=_x(place), y=bottom + 16, text_anchor="middle", class_="tick")
        )
    drawing.append(
        element(
            "text",
            plot.x_axis,
            x=_x(0.5),
            y=bottom + 36,
            text_anchor="middle",
            class_="axis-text",
        )
    )


def _line(line: Trend, axis: _Axis) -> Element:
    group = element("g", class_=f"tone-{line.tone}")
    if len(line.band) > 1:
        edges = [(band.x, band.high) for band in line.band]
        edges += [(band.x, band.low) for band in reversed(line.band)]
        group.append(element("polygon", points=_path(edges, axis), class_="band"))
    group.append(element("polyline", points=_path(line.points, axis), class_=_class(line)))
    for (place, value), tip in zip(line.points, line.tips, strict=False):
        spot = element("circle", cx=_x(place), cy=axis.y(value), r="9", class_="reach")
        group.append(element("g", element("title", tip), spot, class_="hot"))
    return group


def _path(points: tuple[tuple[float, float], ...] | list[tuple[float, float]], axis: _Axis) -> str:
    return " ".join(f"{_x(place):.1f},{axis.y(value):.1f}" for place, value in points)


def _class(line: Trend) -> str:
    return "trend dashed" if line.dashed else "trend"


def _x(place: float) -> float:
    return _LEFT + place * (_WIDTH - _LEFT - _RIGHT)
