"""What the probes found, as a table: an effect a row, then what each means and what helps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from magistrate.probes.records import Effect, ProbeReport
from magistrate.report.json_view import rate_json
from magistrate.report.layout import CLOSE_GAP, WIDE_GAP, LaidColumn, Layout, Layouts
from magistrate.report.table import NOTHING, percent
from magistrate.report.text import counted, dollars, harmless
from magistrate.report.wrap import Wrapped

_DIFFERENCES = frozenset({"win points", "agreement", "flips"})
_TOLD = frozenset({"self", "perturbed"})
"""Probes whose observations are told in words too."""
_HEADERS = ("n", "not ok", "detectable")


def probes_table(report: ProbeReport) -> RenderableType:
    """Return the report: heading, effects, what they mean, fixes, and how to read it."""
    parts: list[RenderableType] = [_heading(report), _effects(report)]
    for title, lines in (
        ("What the effects mean", list(_meanings(report))),
        ("What helps", list(_fixes(report))),
        ("Not measured", list(_missing(report))),
    ):
        if lines:
            body = Group(*(Padding(Wrapped(line), (0, 0, 0, 2)) for line in lines))
            parts.append(Group(Text(title, style="bold"), body))
    parts.append(Wrapped(_how_to_read(report)))
    return Group(*[part for one in parts for part in (Text(""), one)][1:])


def finding_text(effect: Effect) -> str:
    """Return what is to be held of an effect, with what could have been found.

    >>> finding_text(Effect(probe="p", name="n", measure="m", means="", detectable=0.04,
    ...     finding="none found"))
    'none found (could have seen 4 points)'
    """
    if effect.finding == "none found" and effect.detectable is not None:
        return f"none found (could have seen {100 * effect.detectable:.0f} points)"
    if effect.finding == "too few to tell" and effect.p is not None and effect.p < 0.05:
        return "too few to tell (a hint)"
    if effect.finding == "too few to tell" and effect.detectable is not None:
        return f"too few to tell (sees from {100 * effect.detectable:.0f} points)"
    return effect.finding


def value_text(effect: Effect) -> str:
    """Return an effect with its interval: points for differences, else a share or correlation."""
    if effect.value is None:
        return NOTHING
    if effect.measure == "correlation":
        return f"{effect.value:+.2f}{_bounds(effect, 1, 2)}"
    if _is_difference(effect):
        return f"{100 * effect.value:+.1f}{_bounds(effect, 100, 1)}"
    return f"{100 * effect.value:.1f} %{_bounds(effect, 100, 1)}"


def report_json(report: ProbeReport) -> dict[str, Any]:
    """Return the report under its stable keys."""
    fields = report.model_dump(mode="json", exclude={"effects"})
    return {**fields, "effects": [_effect_json(effect) for effect in report.effects]}


def _effect_json(effect: Effect) -> dict[str, Any]:
    fields = effect.model_dump(mode="json", exclude={"not_ok", "probability"})
    return {
        **fields,
        "not_ok": rate_json(effect.not_ok),
        "probability": rate_json(effect.probability),
    }


def _is_difference(effect: Effect) -> bool:
    return effect.measure in _DIFFERENCES | {"accuracy"} and (
        effect.p is not None or effect.measure == "win points"
    )


def _bounds(effect: Effect, scale: float, decimals: int) -> str:
    if effect.low is None or effect.high is None:
        return ""
    return f" [{scale * effect.low:.{decimals}f}, {scale * effect.high:.{decimals}f}]"


def _heading(report: ProbeReport) -> Wrapped:
    names = ("standard input" if name == "-" else harmless(name) for name in report.inputs)
    files = ", ".join(names) or "Python"
    used = [counted(report.pairs, "pair")] if report.pairs or not report.others else []
    if report.others:
        used.append(f"{counted(report.others, 'question')} of several answers")
    left = f"; {counted(report.left_out, 'sample')} left out" if report.left_out else ""
    return Wrapped(
        Text.assemble(
            (harmless(report.judge), "bold"),
            f" probed on {' and '.join(used)} from {files}{left}: "
            f"{counted(report.readings, 'reading')}, {dollars(report.cost)}",
        )
    )


def _effects(report: ProbeReport) -> Layouts:
    """Return an effect a row; with less room findings in a word, then intervals below."""
    shown = [effect for effect in report.effects if effect.finding != "not measured"]
    lines: list[RenderableType] = []
    for effect in shown:
        facts = ", ".join(
            f"{head} {cell}"
            for head, cell in zip(_HEADERS, _cells(effect), strict=True)
            if cell != NOTHING
        )
        measured = "; ".join(part for part in (value_text(effect), facts) if part)
        lines.append(Wrapped(_name(effect)))
        if effect.value is not None:
            lines.append(Padding(Wrapped(measured), (0, 0, 0, 2)))
        lines.append(Padding(Wrapped(finding_text(effect)), (0, 0, 0, 2)))
    layouts = (
        _layout(shown, [finding_text(effect) for effect in shown]),
        _layout(shown, [effect.finding for effect in shown]),
        _layout(shown, [effect.finding for effect in shown], below=True),
    )
    return Layouts(layouts, Group(*lines))


def _layout(effects: Sequence[Effect], findings: Sequence[str], *, below: bool = False) -> Layout:
    values = [value_text(effect) for effect in effects]
    header = "effect [95 % interval]"
    if below:
        values = [value.replace(" [", "\n[") for value in values]
        header = "effect\n[95 % interval]"
    facts = [_cells(effect) for effect in effects]
    columns = (
        LaidColumn("probe", tuple(map(_name, effects)), breaks=below),
        LaidColumn(header, tuple(values), right=True),
        *(
            LaidColumn(head, tuple(one[place] for one in facts), right=True)
            for place, head in enumerate(_HEADERS)
        ),
        LaidColumn("finding", tuple(findings)),
    )
    bold = frozenset(n for n, effect in enumerate(effects) if effect.finding == "bias")
    return Layout(columns, CLOSE_GAP if below else WIDE_GAP, bold)


def _name(effect: Effect) -> str:
    return harmless(f"{effect.probe}: {effect.name}")


def _cells(effect: Effect) -> list[str]:
    seen = NOTHING if effect.detectable is None else f"{100 * effect.detectable:.1f}"
    return [f"{effect.n:,}" if effect.n else NOTHING, percent(effect.not_ok.value), seen]


def _meanings(report: ProbeReport) -> Iterator[str]:
    for effect in report.effects:
        told = effect.probe in _TOLD or effect.measure == "win rate"
        if effect.value is None or (effect.p is None and not told):
            continue
        text = f"{effect.probe}: {harmless(effect.name)}: {harmless(effect.means)}"
        known = effect.probability
        if known.value is not None and known.low is not None and known.high is not None:
            text += (
                f" (by its probabilities {100 * known.value:+.1f} "
                f"[{100 * known.low:.1f}, {100 * known.high:.1f}])"
            )
        yield text


def _fixes(report: ProbeReport) -> Iterator[str]:
    seen: dict[str, list[str]] = {}
    for effect in report.effects:
        if effect.finding == "bias" and effect.fix:
            seen.setdefault(effect.fix, []).append(f"{effect.probe} ({effect.name})")
    for fix, effects in seen.items():
        yield f"{harmless(', '.join(effects))}: {fix}"


def _missing(report: ProbeReport) -> Iterator[str]:
    for effect in report.effects:
        if effect.finding in ("not measured", "by construction") and effect.value is None:
            yield f"{effect.probe}: {harmless(effect.name)}: {harmless(effect.means)}"


def _how_to_read(report: ProbeReport) -> str:
    if not report.tests:
        return "No effect was tested: what is shown, if anything, is observed or by construction."
    return (
        f"Effects are points of a hundred. A bias: q below {report.level:g}; q is p corrected over "
        f"{counted(report.tests, 'effect')} by {report.correction} (false discovery rate). "
        f"'Detectable' is the smallest effect found in 80 of 100 such audits; where nothing is "
        f"found and it is above {100 * report.matters:g}, there are too few to tell. A hint would "
        f"be a bias but for the correction."
    )
