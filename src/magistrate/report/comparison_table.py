"""A comparison of judges on the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from magistrate.metrics.intervals import Rate
from magistrate.metrics.multiplicity import HOLM
from magistrate.metrics.paired import PairedDifference
from magistrate.report.comparison import Compared, Comparison
from magistrate.report.json_view import rate_json
from magistrate.report.table import (
    NOTHING,
    facts_table,
    interval,
    laid_table,
    percent,
    rate_text,
)
from magistrate.report.text import counted, harmless
from magistrate.report.wrap import Wrapped

Json = dict[str, Any]

_SHOWN_MODELS = 10
_CLASSES = ("first answer", "tie", "second answer")


def comparison_table(comparison: Comparison) -> RenderableType:
    """Return the conclusions, then the judges, then every two of them in full."""
    parts: list[RenderableType] = [_judges(comparison)]
    for compared in comparison.pairs:
        parts += [Text(""), *_compared(compared)]
    if len(comparison.pairs) > 1:
        parts += [
            Text(""),
            Wrapped(
                f"p-values of the {len(comparison.pairs)} comparisons are corrected together "
                f"({comparison.correction})."
            ),
        ]
    return Group(*parts)


def _judges(comparison: Comparison) -> RenderableType:
    return laid_table(
        ("judge", "pairs", "labelled", "not ok", "95 %"),
        (
            (
                harmless(judge.name),
                f"{judge.pairs:,}",
                f"{judge.labelled:,}",
                percent(judge.not_ok.value),
                interval(judge.not_ok),
            )
            for judge in comparison.judges
        ),
    )


def _compared(compared: Compared) -> Iterator[RenderableType]:
    first, second = harmless(compared.first), harmless(compared.second)
    yield Wrapped(Text.assemble((first, "bold"), " (A) and ", (second, "bold"), " (B)"))
    yield Wrapped(harmless(compared.conclusion))
    yield facts_table(_facts(compared))
    rows = [
        (name, found, found.p)
        for name, found in (
            ("agreement, decisive pairs", compared.result.decisive),
            ("agreement, all, tie as a class", compared.result.three_class),
            ("consistency", compared.result.consistency),
        )
        if found is not None
    ]
    models = [
        (f"win rate of {harmless(model.model)}", model.difference, model.p_adjusted)
        for model in compared.result.models[:_SHOWN_MODELS]
    ]
    if rows or models:
        yield laid_table(
            ("", "n", "A", "B", "A − B", "95 %", "only A", "only B", "p", "test"),
            (_difference(name, found, p) for name, found, p in rows + models),
            words=("test",),
        )
        yield Wrapped("only A, only B: samples on which that judge scores more than the other")
    if len(compared.result.models) > 1:
        yield Wrapped(f"p-values of the win rates are corrected together ({HOLM}).")
    more = len(compared.result.models) - _SHOWN_MODELS
    if more > 0:
        yield Text(f"and {counted(more, 'more model')}; --json has them all")


def _difference(name: str, found: PairedDifference, p: float | None) -> tuple[str, ...]:
    return (
        name,
        f"{found.n:,}",
        percent(found.first),
        percent(found.second),
        *_points(found.difference),
        f"{found.only_first:,}",
        f"{found.only_second:,}",
        p_text(p),
        found.test,
    )


def _points(rate: Rate) -> tuple[str, str]:
    """Return a difference in percentage points, and its interval."""
    if rate.value is None:
        return NOTHING, ""
    value = f"{100 * rate.value:+.1f}"
    if rate.low is None or rate.high is None:
        return value, ""
    return value, f"[{100 * rate.low:+.1f}, {100 * rate.high:+.1f}]"


def p_text(p: float | None) -> str:
    """Return a p-value with two digits."""
    if p is None:
        return NOTHING
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"


def _facts(compared: Compared) -> Iterator[tuple[str, str]]:
    result = compared.result
    matched = {"id": "text, models and id", "text": "text", "source id": "the file's id"}
    yield (
        "pairs",
        (
            f"{compared.common:,} in common (matched by {matched[compared.joined_by]}), "
            f"{result.n:,} with both ok"
        ),
    )
    alone = [
        f"{count:,} only {harmless(name)} was given"
        for name, count in (
            (compared.first, compared.only_first),
            (compared.second, compared.only_second),
        )
        if count
    ]
    if alone:
        yield "different inputs", "; ".join(alone)
    failed = [
        f"{count:,} of {harmless(name)}"
        for name, count in (
            (compared.first, compared.first_not_ok),
            (compared.second, compared.second_not_ok),
        )
        if count
    ]
    if failed:
        yield "left out, not ok", ", ".join(failed)
    if compared.labels_differ:
        yield "labels differ", f"on {counted(compared.labels_differ, 'pair')}, taken as unlabelled"
    verdicts = result.verdicts
    yield (
        "same verdict",
        (
            f"{rate_text(verdicts.same)}; reversed {verdicts.reversed:,}, "
            f"tie with one alone {verdicts.ties:,}"
        ),
    )
    kappa = verdicts.kappa
    if kappa.value is not None:
        bounds = "" if kappa.low is None else f" [{kappa.low:.2f}, {kappa.high:.2f}]"
        yield "kappa", f"{kappa.value:.2f}{bounds}"
    differ = [
        f"{one} / {other} {verdicts.table[i][j]:,}"
        for i, one in enumerate(_CLASSES)
        for j, other in enumerate(_CLASSES)
        if i != j and verdicts.table[i][j]
    ]
    if differ:
        yield "A says / B says", ", ".join(differ)


def comparison_json(comparison: Comparison) -> Json:
    """Return a comparison under its stable keys."""
    return {
        "judges": [
            judge.model_dump(mode="json", exclude={"not_ok"}) | {"not_ok": rate_json(judge.not_ok)}
            for judge in comparison.judges
        ],
        "labels": comparison.labels,
        "correction": comparison.correction,
        "comparisons": [_compared_json(compared) for compared in comparison.pairs],
        **comparison.model_dump(mode="json", include={"bad", "bad_rows", "notices"}),
    }


def _compared_json(compared: Compared) -> Json:
    result = compared.result
    verdicts = result.verdicts
    return {
        **compared.model_dump(mode="json", exclude={"result"}),
        "n": result.n,
        "verdicts": {
            "table": [list(row) for row in verdicts.table],
            "same": rate_json(verdicts.same),
            "kappa": rate_json(verdicts.kappa),
            "reversed": verdicts.reversed,
            "ties": verdicts.ties,
        },
        "decisive": paired_json(result.decisive),
        "three_class": paired_json(result.three_class),
        "smallest_difference": result.smallest_difference,
        "consistency": paired_json(result.consistency),
        "models": [
            {
                "model": model.model,
                "p_adjusted": model.p_adjusted,
                **(paired_json(model.difference) or {}),
            }
            for model in result.models
        ],
    }


def paired_json(found: PairedDifference | None) -> Json | None:
    """Return a paired difference under its stable keys."""
    if found is None:
        return None
    return found.model_dump(mode="json", exclude={"difference"}) | {
        "difference": rate_json(found.difference)
    }
