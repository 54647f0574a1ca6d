"""Stored decisions of several judges put side by side: which decision is about which pair.

    read = read_tiers("runs/cheap", "gpt4-scores.jsonl", labels="testset.json")
    read.tiers

Pairs are found by their text, also with the answers exchanged; where a file has no texts, by the
file's own id; and only where there is nothing else, by row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING

from magistrate.cascade.tiers import Tiers
from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.formats.confidences import read_confidences, split_key
from magistrate.metrics.columns import NOTHING
from magistrate.metrics.confidence import (
    SOURCES,
    Signals,
    available,
    confidence,
    source_named,
)
from magistrate.metrics.learned import NAME as LEARNED
from magistrate.metrics.learned import learned_confidence
from magistrate.records import Record
from magistrate.report.cascade_column import NOT_THERE, How, JudgeColumn, Place
from magistrate.report.judged import (
    AnyPath,
    bad_of_all,
    for_each,
)
from magistrate.report.text import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

STORED = "stored"
"""The confidence that a judge's decisions have: calibrated where the judge is."""

BY = "by:"
"""Begins a confidence that another judge tells: ``by:RUN`` is the probability that it gives to what
the judge decided."""

NO_SOURCE = "none"


class JudgeFacts(Record):
    """One judge of a cascade: where its decisions are from, and how they were joined."""

    judge: str
    source: str
    format: str
    confidence: str
    """Source of its confidence, or the file that lists it; ``none`` where it has none."""
    is_probability: bool
    """Whether that is a probability that the decision is right."""
    decisions: int
    """Pairs of the first judge's that it has a decision of that is ``ok``."""
    joined: dict[How, int]
    """Pairs found in its file, by what told so; empty for the first judge."""
    missing: int
    """Pairs of the first judge's that are not in its file."""
    price: float | None
    """US dollars a decision, as given; None where costs are as measured."""


@dataclass(frozen=True, slots=True)
class ReadTiers:
    """Several judges over the pairs of the first."""

    tiers: Tiers
    judges: tuple[JudgeFacts, ...]
    signals: tuple[Signals, ...]
    """Of each judge, over the pairs of the first; pairs that it lacks have none."""
    notices: tuple[Notice, ...] = ()
    bad: tuple[BadRow, ...] = ()
    bad_rows: int = 0
    pair_ids: tuple[str | None, ...] = ()
    """Of each pair, equal for equal texts in either order of the answers; None without texts."""


def read_tiers(
    *paths: AnyPath,
    labels: AnyPath | None = None,
    confidence_sources: str | Sequence[str] | None = None,
    prices: Mapping[str, float] | None = None,
    judge: str | Sequence[str] | None = None,
    format: str | Sequence[str] | None = None,  # noqa: A002
) -> ReadTiers:
    """Read two judges or more over the same pairs.

    Args:
        paths: A run folder or file for each judge, the cheapest first. The pairs are the first's.
        labels: A file of labels, where they do not come with the judgments.
        confidence_sources: Name of a source (:data:`magistrate.metrics.confidence.SOURCES`,
            ``learned``, ``stored``), a file of confidences in the sequence of the judge's file, or
            ``by:`` and another judge's run or file; one for all or one for each. By default what
            the decisions have, else the score gap.
        prices: US dollars a decision, by a judge's name, instead of what was measured.
        judge: Whose judgments to take from a file of several; one for all or one for each.
        format: Name of a file's format; one for all or one for each.

    Raises:
        InputError: A file cannot be read; a judge but the last has no confidence; a name is wrong;
            or two judges have no pair in common.
        RunError: A folder is not a run, or is damaged.
    """
    import numpy as np

    if len(paths) < 2:
        raise InputError(
            "a cascade needs two judges or more over the same pairs, the cheapest first; give a "
            "run folder or a file for each"
        )
    columns = _read(paths, labels, judge, format)
    places = [column.places() for column in columns]
    sources = for_each(confidence_sources, len(paths), "--confidence")
    gold = _gold(columns, places)
    questions = _questions(columns, places)
    names = _unlike([column.judged.judge for column in columns], columns)
    told = [
        _confidence(
            _Asked(column, where, columns[0], labels, gold, questions),
            source,
            is_last=column is columns[-1],
        )
        for column, where, source in zip(columns, places, sources, strict=True)
    ]
    paid = _prices(prices or {}, names, columns)
    costs = [
        column.costs(where) if price is None else np.full(len(gold), price)
        for column, where, price in zip(columns, places, paid, strict=True)
    ]
    tiers = Tiers(
        names=names,
        said=np.stack([c.said(w) for c, w in zip(columns, places, strict=True)], axis=1),
        confidence=np.stack([one.values for one in told], axis=1),
        cost=np.stack(costs, axis=1),
        question=questions,
        gold=gold if (np.abs(gold.astype(int)) <= 1).any() else None,
    )
    facts = [
        _facts(*one)
        for one in zip(
            columns, names, told, places, (tiers.said != NOTHING).sum(0), paid, strict=True
        )
    ]
    bad, bad_rows = bad_of_all([(c.judged.bad, c.judged.bad_rows) for c in columns])
    said = [notice for column in columns for notice in column.judged.notices]
    return ReadTiers(
        tiers=tiers,
        judges=tuple(facts),
        signals=tuple(c.signals(w) for c, w in zip(columns, places, strict=True)),
        notices=tuple(dict.fromkeys((*said, *_notices(tiers)))),
        bad=bad,
        bad_rows=bad_rows,
        pair_ids=tuple(columns[0].pair_ids),
    )


def _read(
    paths: Sequence[AnyPath],
    labels: AnyPath | None,
    judge: str | Sequence[str] | None,
    format: str | Sequence[str] | None,  # noqa: A002
) -> list[JudgeColumn]:
    names = for_each(judge, len(paths), "--judge")
    formats = for_each(format, len(paths), "--format")
    columns: list[JudgeColumn] = []
    for path, name, form in zip(paths, names, formats, strict=True):
        column = JudgeColumn(fspath(path), columns[0] if columns else None)
        column.read(labels, name, form)
        columns.append(column)
    return columns


def _notices(tiers: Tiers) -> list[Notice]:
    """Say where the order in which pairs are passed on is chance alone."""
    import numpy as np

    found = []
    for tier, name in enumerate(tiers.names[:-1]):
        known = tiers.sure[np.isfinite(tiers.sure[:, tier]), tier]
        if len(known) and known.min() == known.max():
            message = (
                f"{name} is as sure of one pair as of any other, so what it passes on is left to "
                f"chance; choose another --confidence"
            )
            found.append(Notice(kind="constant-confidence", message=message))
    return found


@dataclass(frozen=True, slots=True)
class _Told:
    name: str
    values: Floats
    is_probability: bool


def _facts(
    column: JudgeColumn, name: str, told: _Told, where: Place, decisions: int, price: float | None
) -> JudgeFacts:
    return JudgeFacts(
        judge=name,
        source=column.judged.source,
        format=column.judged.format,
        confidence=told.name,
        is_probability=told.is_probability,
        decisions=int(decisions),
        joined=dict(column.matched),
        missing=int((where.at == NOT_THERE).sum()),
        price=price,
    )


def _questions(columns: Sequence[JudgeColumn], places: Sequence[Place]) -> NDArray[np.uint64]:
    """Return the questions' clusters, from the first judge whose file has texts."""
    import numpy as np

    best = next((place for place, c in enumerate(columns) if c.judged.has_texts), 0)
    found = columns[best].aligned(columns[best].judged.pairs.question, places[best], 0)
    # Pairs that this judge lacks go by the first judge's question.
    own = columns[0].judged.pairs.question
    return np.where(places[best].at == NOT_THERE, own, found).astype(np.uint64)


def _gold(columns: Sequence[JudgeColumn], places: Sequence[Place]) -> NDArray[np.int8]:
    """Return the labels that come with the first judge, else with a later one."""
    import numpy as np

    found = columns[0].outcomes(columns[0].judged.pairs.gold, places[0])
    for column, where in zip(columns[1:], places[1:], strict=True):
        found = np.where(found == NOTHING, column.outcomes(column.judged.pairs.gold, where), found)
    return found.astype(np.int8)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A judge whose confidence is asked for, and what is needed to tell it."""

    column: JudgeColumn
    where: Place
    frame: JudgeColumn
    labels: AnyPath | None
    gold: NDArray[np.int8]
    questions: NDArray[np.generic]

    @property
    def stored(self) -> Floats:
        """The confidence of the decisions; shape (n,), NaN where they have none."""
        pairs = self.column.judged.pairs
        found: Floats = self.column.aligned(pairs.confidence, self.where, math.nan)
        return found


def _confidence(asked: _Asked, source: str | None, *, is_last: bool) -> _Told:
    """Return how sure a judge is of each pair of the frame."""
    import numpy as np

    column, signals = asked.column, asked.column.signals(asked.where)
    if source is None:
        found = _by_default(asked, signals)
    elif source == STORED:
        found = _Told(STORED, asked.stored, True)
    elif source == LEARNED:
        found = _learned(asked, signals)
    elif source.startswith(BY):
        found = _by_other(asked, source.removeprefix(BY))
    elif source in SOURCES or not Path(split_key(source)[0]).exists():
        named = source_named(source)
        found = _Told(source, confidence(signals, source), named.is_probability)
    else:
        found = _Told(source, _listed(asked, source), False)
    values: Floats = np.where(asked.where.at == NOT_THERE, np.nan, found.values)
    if np.isfinite(values).any():
        return _Told(found.name, values, found.is_probability)
    if is_last:
        return _Told(NO_SOURCE, values, False)
    there = available(signals)
    raise InputError(
        f"{column.path} does not tell how sure {column.judged.judge} is"
        f"{f' by {source}' if source else ''}, so nothing can be passed on by it; "
        f"it tells: {', '.join(there) or 'nothing'}. Choose one with --confidence, or give a file "
        f"with a number for each of its pairs, or another judge's opinion with --confidence by:RUN"
    )


def _by_default(asked: _Asked, signals: Signals) -> _Told:
    import numpy as np

    if np.isfinite(asked.stored).any():
        return _Told(STORED, asked.stored, True)
    return _Told("score-gap", confidence(signals, "score-gap"), False)


def _by_other(asked: _Asked, path: str) -> _Told:
    """Return which probability another judge gives to what this one decided.

    Of a judge without probabilities: whether it decided the same, and among equals by how sure this
    judge is itself.
    """
    import numpy as np

    other = JudgeColumn(path, asked.frame)
    other.read(asked.labels, None, None)
    signals = other.signals(other.places())
    said = asked.column.said(asked.where)
    known = (said != NOTHING) & (signals.said != NOTHING)
    probability = replace(signals, said=np.where(known, said, NOTHING).astype(np.int8)).of_decision
    if np.isfinite(probability).any():
        return _Told(f"{BY}{other.judged.judge}", probability, True)
    own = np.nan_to_num(asked.stored, nan=0.0)
    values = np.where(known, (said == signals.said) + own, np.nan)
    return _Told(f"{BY}{other.judged.judge}", values, False)


def _learned(asked: _Asked, signals: Signals) -> _Told:
    import numpy as np

    gold = asked.gold
    chosen = np.flatnonzero((signals.said != NOTHING) & (np.abs(gold.astype(int)) <= 1))
    learned = learned_confidence(
        signals.take(chosen), signals.said[chosen] == gold[chosen], asked.questions[chosen]
    )
    if learned is None:
        raise InputError(
            f"a learned confidence of {asked.column.judged.judge} needs 100 labelled decisions, "
            f"ten of them wrong, and two sources or more; take another --confidence"
        )
    values = np.full(len(gold), np.nan)
    values[chosen] = learned[1]
    return _Told(LEARNED, values, True)


def _listed(asked: _Asked, path: str) -> Floats:
    """Return confidences of a file, which follow the rows of the judge's own file."""
    import numpy as np

    values = np.array(read_confidences(path), dtype=np.float64)
    column = asked.column
    pairs = len(column.judged.pairs)
    if len(values) != pairs:
        raise InputError(
            f"{path} has {counted(len(values), 'number')} and {column.path} has "
            f"{counted(pairs, 'pair')}; needed: one for each, in the same sequence"
        )
    found: Floats = column.aligned(values, asked.where, math.nan)
    return found


def _unlike(names: Sequence[str], columns: Sequence[JudgeColumn]) -> tuple[str, ...]:
    """Return names that differ: those that come twice get their file's, or else their place."""
    for more in ((Path(column.path).name for column in columns), range(1, len(columns) + 1)):
        twice = {name for name, times in Counter(names).items() if times > 1}
        names = [
            f"{name} ({word})" if name in twice else name
            for name, word in zip(names, more, strict=True)
        ]
    return tuple(names)


def _prices(
    prices: Mapping[str, float], names: Sequence[str], columns: Sequence[JudgeColumn]
) -> list[float | None]:
    """Return the price of each judge, by its name or the name of its file."""
    known = {key for name, c in zip(names, columns, strict=True) for key in _keys(name, c)}
    for name in prices:
        if name not in known:
            raise InputError(f"--price: no judge '{name}'; there are: {', '.join(names)}")
    return [
        next((prices[key] for key in _keys(name, column) if key in prices), None)
        for name, column in zip(names, columns, strict=True)
    ]


def _keys(name: str, column: JudgeColumn) -> tuple[str, ...]:
    return name, column.judged.judge, column.path, Path(column.path).name
