"""Whether a label can be guessed without reading: by place, by length, by model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from magistrate.data.checks.collected import Collected
from magistrate.data.checks.findings import Finding, Severity
from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING, SPLIT, Named, PairColumns
from magistrate.metrics.correlation import correlate
from magistrate.metrics.intervals import NO_RATE, Rate, mean_of_points, proportion
from magistrate.report.html.blocks import rate_words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ENOUGH = 20
"""Decisive pairs, or answers of a model, below which nothing is said of always and never."""
FEW = 10
"""Labelled pairs below which nothing is said of one label for all."""
ALWAYS = 0.99
ALONE = 0.95
"""Share of the labels from which on one of them stands alone."""
MODELS_TOLD = 200


@dataclass(frozen=True)
class Limits:
    """From where on a check warns; shares of decisive pairs, in [0.5, 1].

    Raises:
        InputError: One is outside.
    """

    position: float = 0.55
    """Share of the likelier place."""
    length: float = 0.65
    """Share that the longer (or the shorter) answer wins."""

    def __post_init__(self) -> None:
        """Check."""
        for name in ("position", "length"):
            value = getattr(self, name)
            if not 0.5 <= value <= 1:
                raise InputError(
                    f"the {name} limit is {value:g}; needed: a share from 0.5 (warn always) to 1"
                )


@dataclass(frozen=True)
class Labelled:
    """The labels of pairs as arrays."""

    columns: PairColumns
    label: NDArray[np.int64]
    """Shape (pairs,): as :attr:`Collected.label_of`."""
    decisive: NDArray[np.bool_]
    """Shape (pairs,): labelled first or second."""

    @property
    def labelled(self) -> int:
        """Pairs with a label."""
        import numpy as np

        return int(np.isin(self.label, (1, 0, -1)).sum())


def labelled(data: Collected) -> Labelled:
    """Return the labels of the pairs."""
    import numpy as np

    columns = data.pair_columns()
    label = np.array(data.label_of, dtype=np.int64)[columns.row]
    return Labelled(columns, label, np.abs(label) == 1)


def balance(data: Collected, limits: Limits) -> Iterator[Finding]:
    """Yield what is to be said of labels, places, lengths and models."""
    pairs = labelled(data)
    yield from _labels(data, pairs)
    yield from _position(pairs, limits)
    yield from _length(pairs, limits)
    yield from _models(pairs)


def _labels(data: Collected, pairs: Labelled) -> Iterator[Finding]:
    n = pairs.labelled
    if not n and not data.scores:
        return
    counts = {name: int((pairs.label == code).sum()) for name, code in _CODES.items()}
    rare = [name for name in ("first", "second") if n >= ENOUGH and counts[name] < 0.05 * n]
    alone = next((k for k in _OUTCOMES if n >= FEW and counts[k] >= ALONE * n), None)
    shares = ", ".join(f"{counts[k]:,} {k}" for k in _OUTCOMES)
    says = f"labels: {shares}" if n else "there are scores, and no labels of pairs"
    if counts["no majority"]:
        says += f", {counts['no majority']:,} without a majority"
    yield Finding(
        check="label-balance",
        severity="warning" if rare or alone else "note",
        count=n,
        says=says,
        do=_of_labels(alone, rare),
        values={
            **counts,
            "scores": {
                name: {f"{score:g}": count for score, count in sorted(found.items())}
                for name, found in sorted(data.scores.items())[:MODELS_TOLD]
            },
        },
    )


def _of_labels(alone: str | None, rare: list[str]) -> str:
    if alone == "tie":
        return (
            f"{ALONE:.0%} or more are ties: see whether the annotators can tell answers apart at "
            f"all (a teacher with a favourite place ties with itself); a judge learns nothing else"
        )
    if alone or rare:
        return "exchange the answers of a random half (`train` does so in every epoch)"
    return ""


_OUTCOMES = ("first", "tie", "second")
_CODES = {"first": 1, "tie": 0, "second": -1, "no majority": SPLIT, "unlabelled": NOTHING}


def _position(pairs: Labelled, limits: Limits) -> Iterator[Finding]:
    from scipy.stats import binomtest

    n = int(pairs.decisive.sum())
    if not n:
        return
    first = int((pairs.label == 1).sum())
    rate = proportion(first, n)
    p = float(binomtest(first, n, 0.5).pvalue)
    share = first / n
    likelier = max(share, 1 - share)
    severity: Severity = "note"
    if n >= ENOUGH and likelier >= ALWAYS:
        severity = "error"
    elif p < 0.05 and likelier >= limits.position:
        severity = "warning"
    yield Finding(
        check="position-balance",
        severity=severity,
        count=n,
        says=f"the first answer is labelled better in {rate_words(rate)} decisive pairs "
        f"(binomial test against one half: p = {p:.2g})",
        do=_of_position(severity),
        values={"first": _values(rate), "p_value": p, "limit": limits.position},
    )


def _of_position(severity: Severity) -> str:
    if severity == "error":
        return (
            "the label is the place: exchange the answers of a random half before training "
            "(`train` does by default); a judge measured on these files as they are looks perfect "
            "by always saying the same"
        )
    if severity == "warning":
        return "exchange the answers of a random half, or train with --swap 0.5"
    return ""


def _length(pairs: Labelled, limits: Limits) -> Iterator[Finding]:
    import numpy as np

    lengths = pairs.columns.lengths
    told = pairs.decisive & (lengths[:, 0] != lengths[:, 1])
    if not told.any():
        return
    gap = np.log1p(lengths[told, 0]) - np.log1p(lengths[told, 1])
    label = pairs.label[told]
    clusters = pairs.columns.question[told]
    rate = mean_of_points((np.sign(gap) == label).astype(float), clusters)
    correlation = correlate(gap, label.astype(float), clusters).pearson
    share = rate.value or 0.0
    over = max(share, 1 - share) >= limits.length and int(told.sum()) >= ENOUGH
    which = "longer" if share >= 0.5 else "shorter"
    yield Finding(
        check="length-label",
        severity="warning" if over else "note",
        count=int(told.sum()),
        says=f"the longer answer is labelled better in {rate_words(rate)} decisive pairs of "
        f"unequal length" + _correlation_words(correlation),
        do=f"a judge can learn 'the {which} wins' instead of reading: balance by length, and "
        f"measure on a set where length does not help (LLMBar)"
        if over
        else "",
        values={
            "longer_wins": _values(rate),
            "correlation": _values(correlation),
            "limit": limits.length,
            "equal_lengths": int((pairs.decisive & (lengths[:, 0] == lengths[:, 1])).sum()),
        },
    )


def _correlation_words(correlation: Rate) -> str:
    if correlation.value is None:
        return ""
    words = rate_words(correlation, "number")
    return f"; correlation of the label with the difference of log lengths {words}"


@dataclass(frozen=True)
class ModelRow:
    """One model among the pairs."""

    model: str
    first: int
    """Pairs in which it stands first."""
    second: int
    wins: Rate
    """Of its decisive pairs."""


def model_rows(pairs: Labelled) -> list[ModelRow]:
    """Return every named model with its places and wins, the most frequent first."""
    import numpy as np

    columns = pairs.columns
    names = sorted({*columns.first_model.names, *columns.second_model.names} - {""})
    first = _codes(columns.first_model, names)
    second = _codes(columns.second_model, names)
    same = first == second  # a model against itself wins and loses at once
    k = len(names) + 1
    firsts, seconds = np.bincount(first, minlength=k), np.bincount(second, minlength=k)
    told = pairs.decisive & ~same
    won = np.bincount(np.where(pairs.label == 1, first, second)[told], minlength=k)
    met = np.bincount(first[told], minlength=k) + np.bincount(second[told], minlength=k)
    rows = [
        ModelRow(
            name,
            int(firsts[place]),
            int(seconds[place]),
            proportion(int(won[place]), int(met[place])) if met[place] else NO_RATE,
        )
        for place, name in enumerate(names)
    ]
    return sorted(rows, key=lambda row: (-(row.first + row.second), row.model))


def _codes(named: Named, names: list[str]) -> NDArray[np.int64]:
    """Return a column's places in ``names``; the place after the last for no name."""
    import numpy as np

    places = {name: place for place, name in enumerate(names)}
    table = np.array([places.get(name, len(names)) for name in named.names] or [0])
    codes: NDArray[np.int64] = table[named.codes]
    return codes


def _models(pairs: Labelled) -> Iterator[Finding]:
    rows = model_rows(pairs)
    if not rows:
        return
    told = {
        row.model: {"first": row.first, "second": row.second, "wins": _values(row.wins)}
        for row in rows[:MODELS_TOLD]
    }
    yield from _always_in_place(pairs, rows)
    for word, share in (("wins", 1.0), ("loses", 0.0)):
        always = [
            row.model
            for row in rows
            if row.wins.n >= ENOUGH and abs((row.wins.value or 0.0) - share) <= 1 - ALWAYS
        ]
        if always:
            yield Finding(
                check=f"model-always-{word}",
                severity="warning",
                count=len(always),
                says=f"a model that always {word}: {', '.join(always[:10])}",
                do="a judge can learn to know the model by its style; add pairs in which it "
                f"{'loses' if word == 'wins' else 'wins'}, or weigh such pairs less",
                values={"models": always},
            )
    yield Finding(
        check="models",
        severity="note",
        count=len(rows),
        says=f"{len(rows):,} models; the most frequent: "
        + ", ".join(f"{row.model} ({row.first + row.second:,})" for row in rows[:5]),
        values={"models": told},
    )


def _always_in_place(pairs: Labelled, rows: list[ModelRow]) -> Iterator[Finding]:
    for word, other in (("first", "second"), ("second", "first")):
        always = [
            row.model
            for row in rows
            if row.first + row.second >= ENOUGH
            and getattr(row, word) >= ALWAYS * (row.first + row.second)
        ]
        # Where one model meets all others it stands on one side and they on the other.
        total = len(pairs.columns)
        whole = [row.model for row in rows if getattr(row, word) >= ALWAYS * total]
        if whole or (always and word == "first"):
            named = whole or always
            says = f"always {word}: {', '.join(named[:10])}"
            if whole:
                says += f" (in {'all' if len(whole) == 1 else 'nearly all'} pairs of the files)"
            yield Finding(
                check=f"model-always-{word}",
                severity="warning",
                count=len(named),
                says=f"a model that stands {says}",
                do=f"place and model cannot be told apart: exchange the answers of a random half, "
                f"so that it stands {other} as often",
                values={"models": named},
            )


def _values(rate: Rate) -> dict[str, Any]:
    return rate.model_dump()
