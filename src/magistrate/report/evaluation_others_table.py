"""Judges of single answers and of rankings on the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType

from magistrate.report.table import NOTHING, facts_table, percent, rate_text
from magistrate.report.text import counted, harmless

if TYPE_CHECKING:
    from magistrate.metrics.thresholds import BinaryResult
    from magistrate.report.evaluation_others import (
        PartOfSingles,
        RankedEvaluation,
        SingleEvaluation,
    )


def singles_parts(found: SingleEvaluation) -> Iterator[RenderableType]:
    """Yield the tables of a judge of single answers."""
    from magistrate.report.evaluation_table import number_cells, titled_table

    yield facts_table(_single_facts(found))
    if found.correlations is not None:
        yield titled_table(
            f"Correlation with the gold scores of {counted(found.gold_scores, 'answer')}",
            ("", "", "95 %"),
            (
                (name, *number_cells(getattr(found.correlations, key)))
                for name, key in (
                    ("Pearson's r", "pearson"),
                    ("Spearman's rho", "spearman"),
                    ("Kendall's tau-b", "kendall"),
                )
            ),
        )
    if found.binary is not None:
        yield facts_table(_binary_facts(found.binary))
    if len(found.models) > 1 or found.models[0].part != "(none)":
        yield _parts_table("By model", found.models)
    for name, parts in found.breakdowns.items():
        if name != "model":
            yield _parts_table(f"By {name}", parts)


def ranked_parts(found: RankedEvaluation) -> Iterator[RenderableType]:
    """Yield the tables of a judge of rankings."""
    from magistrate.report.evaluation_table import number_cells, titled_table

    facts = [("not ok", f"{rate_text(found.not_ok)} of {counted(found.not_ok.n, 'ranking')}")]
    if found.gold:
        facts += [
            ("with gold ranks", f"{found.gold:,}"),
            ("its best is a best one", rate_text(found.best_is_best)),
            (
                "pairs of answers alike",
                f"{rate_text(found.pairs_agree)} (n = {found.pairs_agree.n:,})",
            ),
        ]
    yield facts_table(facts)
    yield titled_table(
        "Ranks (1 is best) and mean of 10 / rank",
        ("model", "n", "mean rank", "95 %", "10 / rank", "95 %"),
        (
            (m.model, f"{m.samples:,}", *number_cells(m.order), *number_cells(m.score))
            for m in found.models
        ),
    )


def _single_facts(found: SingleEvaluation) -> Iterator[tuple[str, str]]:
    yield "not ok", f"{rate_text(found.not_ok)} of {counted(found.not_ok.n, 'answer')}"
    if found.pending:
        yield "not judged yet", counted(found.pending, "answer")
    mean = found.mean_score
    if mean.value is not None:
        yield "mean score", _scored(mean.value, mean.low, mean.high)
    gap = found.difference
    if gap is not None and gap.value is not None:
        yield "score minus gold score", _scored(gap.value, gap.low, gap.high)


def _binary_facts(found: BinaryResult) -> Iterator[tuple[str, str]]:
    yield (
        "labels",
        (
            f"'{harmless(found.positive)}' {found.positives:,} of {found.n:,}; a higher score "
            f"should go with it (--good-label says otherwise)"
        ),
    )
    yield "AUROC", rate_text(found.auroc)
    yield "right, threshold from other questions", rate_text(found.cross_validated)
    yield "right, more frequent label", rate_text(found.majority_class)
    tuned = found.tuned_on_test
    if tuned.accuracy is not None and tuned.macro_f1 is not None:
        yield (
            "right, threshold tuned on the test set",
            (
                f"{percent(tuned.accuracy)} (macro F1 {percent(tuned.macro_f1)}; as in arXiv "
                f"2403.02839, flatters)"
            ),
        )


def _parts_table(title: str, parts: Sequence[PartOfSingles]) -> RenderableType:
    from magistrate.report.evaluation_table import number_cells, titled_table

    return titled_table(
        f"{title} (total: sum of the scores)",
        ("", "answers", "not ok", "mean score", "95 %", "total", "mean gold"),
        (
            (
                part.part,
                f"{part.samples:,}",
                percent(part.not_ok.value),
                *number_cells(part.mean_score),
                NOTHING if part.total_score is None else f"{part.total_score:,.1f}",
                number_cells(part.mean_gold_score)[0],
            )
            for part in parts
        ),
    )


def _scored(value: float, low: float | None, high: float | None) -> str:
    bounds = "" if low is None or high is None else f" [{low:.3f}, {high:.3f}]"
    return f"{value:.3f}{bounds}"
