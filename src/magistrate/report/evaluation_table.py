"""An evaluation on the terminal: short tables, each with what its numbers mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from magistrate.metrics.classification import AVERAGES, CLASSES
from magistrate.metrics.intervals import Rate
from magistrate.report.evaluation_others_table import ranked_parts, singles_parts
from magistrate.report.evaluation_pairs import FIRST, SECOND
from magistrate.report.rule_table import rule_parts
from magistrate.report.table import NOTHING, facts_table, interval, laid_table, percent, rate_text
from magistrate.report.text import counted, harmless, shortened
from magistrate.report.wrap import Wrapped

if TYPE_CHECKING:
    from magistrate.metrics.annotators import AgainstOne, Annotators
    from magistrate.metrics.classification import Classification
    from magistrate.report.evaluation import Evaluation
    from magistrate.report.evaluation_pairs import PairEvaluation, PartOfPairs
    from magistrate.report.labels import LabelJoin

_LONGEST_NAME = 40
_MOST_ROWS = 60
"""Rows of a breakdown that are shown; the JSON has all."""


def evaluation_table(found: Evaluation) -> RenderableType:
    """Return the whole evaluation as tables one below the other."""
    parts: list[RenderableType] = [_heading(found)]
    if found.labels is not None:
        parts.append(facts_table(_join_rows(found.labels)))
    if found.pairs is not None:
        parts += _pair_parts(found.pairs)
    for truth, rows in found.against.items():
        parts.append(_against(truth, rows))
    if found.singles is not None:
        parts += singles_parts(found.singles)
    if found.ranked is not None:
        parts += ranked_parts(found.ranked)
    if found.rule is not None:
        parts += rule_parts(found.rule)
    return Group(*(part for one in parts for part in (one, Text(""))))


def titled_table(title: str, headers: Sequence[str], rows: Iterable[Sequence[str]]) -> Group:
    """Return a table of :func:`magistrate.report.table.laid_table` under its title."""
    named = ((shortened(harmless(name), _LONGEST_NAME), *cells) for name, *cells in rows)
    return Group(Wrapped(title), laid_table(headers, named, words=("who",)))


def rate_cells(rate: Rate) -> tuple[str, str]:
    """Return a share in percent and its interval."""
    return percent(rate.value), interval(rate)


def number_cells(rate: Rate) -> tuple[str, str]:
    """Return a number such as kappa, or a score, and its interval."""
    if rate.value is None:
        return NOTHING, ""
    return f"{rate.value:.3f}", interval(rate, scale=1.0, decimals=3)


def _heading(found: Evaluation) -> Wrapped:
    sizes = [
        counted(part_size, noun)
        for part_size, noun in (
            (found.pairs.pairs if found.pairs else 0, "pair"),
            (found.singles.samples if found.singles else 0, "single answer"),
            (found.ranked.samples if found.ranked else 0, "ranking"),
        )
        if part_size
    ]
    said = f": {', '.join(sizes) or 'nothing judged'} in {harmless(found.source)} ({found.format})"
    return Wrapped(Text.assemble((harmless(found.judge), "bold"), said))


def _join_rows(join: LabelJoin) -> Iterator[tuple[str, str]]:
    by = ", ".join(f"{n:,} by {how}" for how, n in join.matched.items())
    by = by or "none, so nothing is measured against them"
    yield "labels", f"{harmless(join.file)}: {join.labels:,} labelled samples; matched: {by}"
    for reason, n in join.unmatched.items():
        yield "", f"{counted(n, 'judged sample')} without: {reason}"
    if join.unused:
        yield "", f"{counted(join.unused, 'labelled sample')} of which nothing was judged"


def _pair_parts(pairs: PairEvaluation) -> Iterator[RenderableType]:
    yield facts_table(_pair_facts(pairs))
    if pairs.agreement is not None:
        yield _agreement(pairs.agreement)
        yield _confusion(pairs.agreement)
        yield titled_table(
            "The judge and rules without one, on the same pairs (share right; decisive: pairs "
            "whose annotators prefer an answer, a tie counts half)",
            ("", "all, tie as a class", "95 %", "decisive", "95 %"),
            (
                (row.name, *rate_cells(row.accuracy), *rate_cells(row.decisive))
                for row in pairs.baselines
            ),
        )
    if pairs.annotators is not None and len(pairs.annotators.names) > 1:
        yield from _annotators(pairs)
    if {model.model for model in pairs.models} - {FIRST, SECOND}:
        yield _models(pairs)
    for name, parts in pairs.breakdowns.items():
        yield _breakdown(name, parts)


def _pair_facts(pairs: PairEvaluation) -> Iterator[tuple[str, str]]:
    not_ok = [f"{n:,} {status}" for status, n in pairs.statuses.items() if n and status != "ok"]
    yield (
        "not ok",
        f"{rate_text(pairs.not_ok)} of {pairs.not_ok.n:,} judged"
        + (f": {', '.join(not_ok)}; in no measure below unless said" if not_ok else ""),
    )
    if pairs.pending:
        yield "not judged yet", counted(pairs.pending, "pair")
    yield (
        "labelled",
        f"{pairs.labelled:,}"
        + (
            f", of which {pairs.no_majority:,} without a majority are left out"
            if pairs.no_majority
            else ""
        ),
    )
    yield "says", ", ".join(f"{name} {rate_text(pairs.says[name])}" for name in CLASSES)
    if pairs.agreement is not None:
        yield (
            "labels say",
            ", ".join(f"{name} {percent(pairs.gold[name].value)}" for name in CLASSES),
        )
    yield from _position_facts(pairs)
    if pairs.more_labels is not None:
        yield "to halve the interval", f"{pairs.more_labels:,} more labels"


def _position_facts(pairs: PairEvaluation) -> Iterator[tuple[str, str]]:
    position = pairs.position
    if pairs.reads_alone:
        yield "consistency", "by construction: each answer is read alone, order cannot matter"
    elif position is None:
        yield "consistency", "not measured: no pair has an ok reading in both orders"
    else:
        yield (
            "consistency",
            (
                f"{rate_text(position.consistent)} same outcome in both orders "
                f"(n = {position.pairs:,}; {position.not_ok:,} with one ok reading alone)"
            ),
        )
        yield (
            "position bias",
            (
                f"{percent(position.toward_first.value)} toward the answer shown first, "
                f"{percent(position.toward_second.value)} toward the second; "
                f"delta {rate_text(position.delta_bias)}"
            ),
        )
        yield "prefers the one shown first", rate_text(position.shown_first)


def _agreement(found: Classification) -> Group:
    rows: list[tuple[str, ...]] = [
        ("right, of ok", *rate_cells(found.accuracy), f"{found.accuracy.n:,}"),
        ("right, not ok is wrong", *rate_cells(found.accuracy_of_all), _n(found.accuracy_of_all)),
        ("right where neither says tie", *rate_cells(found.without_ties), _n(found.without_ties)),
        ("right where labels decide", *rate_cells(found.decisive), _n(found.decisive)),
        ("Cohen's kappa", *number_cells(found.kappa), _n(found.kappa)),
        ("kappa, linear weights", *number_cells(found.kappa_linear), _n(found.kappa_linear)),
    ]
    for average in AVERAGES:
        scores = getattr(found, average)
        if average == "micro":
            continue  # equals the share right
        for name in ("precision", "recall", "f1"):
            rate = getattr(scores, name)
            rows.append(
                (f"{name if name != 'f1' else 'F1'}, {average}", *rate_cells(rate), _n(rate))
            )
    return titled_table("Agreement with the labels", ("", "", "95 %", "n"), rows)


def _n(rate: Rate) -> str:
    return f"{rate.n:,}"


def _confusion(found: Classification) -> Group:
    rows = []
    for name, counts in zip(CLASSES, found.confusion, strict=True):
        scores = found.classes[name]
        rows.append(
            (
                f"labelled {name}",
                *(f"{n:,}" for n in counts),
                *(percent(share) for share in (scores.precision, scores.recall, scores.f1)),
            )
        )
    headers = ("", "said first", "said tie", "said second", "not ok", "precision", "recall", "F1")
    return titled_table("Labels against what the judge said", headers, rows)


def _annotators(pairs: PairEvaluation) -> Iterator[RenderableType]:
    people = pairs.annotators
    assert people is not None
    yield facts_table(_people_facts(people))
    if people.between:
        yield titled_table(
            "Between annotators",
            ("", "agreement", "95 %", "kappa", "n"),
            (
                (
                    f"{row.one} – {row.other}",
                    *rate_cells(row.agreement),
                    _kappa(row.kappa),
                    _n(row.agreement),
                )
                for row in people.between
            ),
        )
    if pairs.with_each_annotator:
        yield titled_table(
            "The judge with each annotator",
            ("", "agreement", "95 %", "kappa", "n"),
            (
                (row.annotator, *rate_cells(row.agreement), _kappa(row.kappa), _n(row.agreement))
                for row in pairs.with_each_annotator
            ),
        )


def _people_facts(people: Annotators) -> Iterator[tuple[str, str]]:
    yield "annotators", f"{len(people.names):,}"
    yield "majorities", ", ".join(f"{name} {n:,}" for name, n in people.labels.items())
    yield (
        "unanimous",
        (
            f"{people.unanimous:,} of {people.several:,} with two labels or more; "
            f"{people.three_way:,} three-way disagreements"
        ),
    )
    yield (
        "beyond chance",
        (
            f"Fleiss' kappa {_kappa(people.fleiss)}, Krippendorff's alpha "
            f"{_kappa(people.krippendorff)} (ordinal {_kappa(people.krippendorff_ordinal)})"
        ),
    )


def _kappa(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"


def _against(truth: str, rows: Sequence[AgainstOne]) -> Group:
    return titled_table(
        f"'{shortened(harmless(truth), _LONGEST_NAME)}' taken as the truth, on the "
        f"{counted(rows[0].n, 'pair')} that all judged",
        ("", "who", "agreement", "95 %", "precision", "recall", "F1", "kappa"),
        (
            (
                row.name,
                row.kind,
                *rate_cells(row.agreement),
                *(percent(share) for share in (row.precision, row.recall, row.f1)),
                _kappa(row.kappa),
            )
            for row in rows
        ),
    )


def _models(pairs: PairEvaluation) -> Group:
    scored = any(model.mean_score.n for model in pairs.models)
    headers = ("model", "wins", "ties", "losses", "points", "win rate", "95 %")
    title = "What the judge says of the models (points: wins and half the ties"
    return titled_table(
        f"{title}; total: sum of its scores)" if scored else f"{title})",
        (*headers, "mean score", "total") if scored else headers,
        (
            (
                model.model,
                *(f"{n:,}" for n in (model.wins, model.ties, model.losses)),
                f"{model.points:,g}",
                *rate_cells(model.win_rate),
                *(
                    (number_cells(model.mean_score)[0], f"{model.total_score or 0:,.1f}")
                    if scored
                    else ()
                ),
            )
            for model in pairs.models[:_MOST_ROWS]
        ),
    )


_PART_HEADERS = (
    "",
    "pairs",
    "not ok",
    "labels",
    "right",
    "95 %",
    "decisive",
    "longer wins",
    "same",
)
_PART_WORDS = {"decisive": "right where labels decide", "same": "one outcome in both orders"}


def _breakdown(name: str, parts: Sequence[PartOfPairs]) -> Group:
    rows = [
        (
            part.part,
            f"{part.pairs:,}",
            percent(part.not_ok.value),
            f"{part.labelled:,}",
            *rate_cells(part.accuracy),
            percent(part.decisive.value),
            percent(part.longer_wins.value),
            percent(part.consistent.value),
        )
        for part in parts[:_MOST_ROWS]
    ]
    # What no part has, such as two orders, is no column.
    told = [k for k in range(len(_PART_HEADERS)) if not {row[k] for row in rows} <= {NOTHING, ""}]
    headers = [_PART_HEADERS[k] for k in told]
    meant = "; ".join(f"{word}: {_PART_WORDS[word]}" for word in headers if word in _PART_WORDS)
    title = f"By {name.replace('-', ' ')}" + (" of answers in characters" * (name == "length"))
    title += f" ({meant})" if meant else ""
    if len(parts) > _MOST_ROWS:
        title += f" (the first {_MOST_ROWS} of {len(parts):,}; --json has all)"
    return titled_table(title, headers, ([row[k] for k in told] for row in rows))
