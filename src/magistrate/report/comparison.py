"""Judges compared on the samples that they share: which is better, by how much, is it noise.

import magistrate as mg

print(mg.compare("runs/mini", "runs/strong", labels="gold.jsonl"))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.metrics.columns import NOTHING, PENDING, PairColumns
from magistrate.metrics.intervals import Rate, proportion
from magistrate.metrics.multiplicity import HOLM, holm
from magistrate.metrics.paired import PairedDifference
from magistrate.metrics.two_judges import JudgesCompared, compare_judges
from magistrate.records import STATUSES, Record, Sample
from magistrate.report.judged import Judged, Reading, bad_of_all, for_each, read_judged
from magistrate.store.run import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

Source = str | PathLike[str] | Run
Joined = Literal["id", "text", "source id"]

SIGNIFICANT = 0.05
_EQUAL = 1e-9
"""Shares that differ less differ by rounding alone."""


class ComparedJudge(Record):
    """One of the judges compared."""

    name: str
    """Its name; with its source in brackets where two judges have one name."""
    source: str
    pairs: int
    labelled: int
    """Pairs with a label, before the judges are put side by side."""
    pending: int
    """Pairs that are not judged yet."""
    not_ok: Rate
    """Share of the judged pairs without an ``ok`` decision."""
    others: int
    """Samples that are no pairs; they are not compared."""


class Compared(Record):
    """Two of the judges on the pairs that both judged."""

    first: str
    second: str
    joined_by: Joined
    """What told that two pairs are the same: id (text, models and the file's id), text, or the
    file's id."""
    common: int
    """Pairs that both were given."""
    only_first: int
    """Pairs that the second was not given."""
    only_second: int
    first_not_ok: int
    """Common pairs that are not ``ok`` (or not judged yet) with the first judge."""
    second_not_ok: int
    labels_differ: int
    """Common pairs whose labels contradict each other; they count as unlabelled."""
    result: JudgesCompared
    p_adjusted: float | None
    """The p of the decisive pairs, corrected over all pairs of judges; None without labels."""
    conclusion: str
    """The finding in a sentence."""


class Comparison(Record):
    """Several judges compared. ``str()`` gives the tables as plain text."""

    judges: tuple[ComparedJudge, ...]
    pairs: tuple[Compared, ...]
    """Every two of the judges."""
    labels: str | None
    """The file of labels; None when labels came with the judgments, or there are none."""
    correction: str
    """How ``p_adjusted`` was corrected."""
    bad: tuple[BadRow, ...] = ()
    """Rows of the judgments and of the labels that could not be used (the first 1,000)."""
    bad_rows: int = 0
    notices: tuple[Notice, ...] = ()

    def __str__(self) -> str:
        """Return the comparison as plain tables, 100 columns wide at most."""
        from magistrate.report.comparison_table import comparison_table
        from magistrate.report.table import plain_text

        return plain_text(comparison_table(self), width=100)


def compare(
    *sources: Source,
    labels: str | PathLike[str] | None = None,
    judge: str | Sequence[str] | None = None,
    format: str | Sequence[str] | None = None,  # noqa: A002
) -> Comparison:
    """Compare judges pair by pair on what they judged in common.

    Args:
        sources: Two or more: run folders, files of other tools' judgments, opened runs.
        labels: A file of labels, for sources that have none or other ones.
        judge: Whose judgments to take from files that hold those of several: one name for all
            sources, or one for each. The same file may be given twice.
        format: Name of the files' format, instead of finding it out; one for all or one for each.

    Raises:
        InputError: Fewer than two sources, one that cannot be read, two that have not one pair
            in common, or not as many judges or formats as sources.
        RunError: A folder is not a run, or is damaged.
    """
    if len(sources) < 2:
        raise InputError("a comparison needs two judges; name two runs or files of judgments")
    judges = for_each(judge, len(sources), "--judge")
    formats = for_each(format, len(sources), "--format")
    keyed = [
        _Keyed(source, labels, *named)
        for source, *named in zip(sources, judges, formats, strict=True)
    ]
    judged = [one.judged for one in keyed]
    names = _names(judged)
    found = [
        _compared(names[i], names[j], keyed[i], keyed[j])
        for i, j in combinations(range(len(judged)), 2)
    ]
    bad, bad_rows = bad_of_all((one.bad, one.bad_rows) for one in judged)
    return Comparison(
        judges=tuple(_judge(name, one) for name, one in zip(names, keyed, strict=True)),
        pairs=_corrected(found),
        labels=None if labels is None else str(labels),
        correction=HOLM if len(found) > 1 else "none (one comparison)",
        bad=bad,
        bad_rows=bad_rows,
        notices=tuple(dict.fromkeys(notice for one in judged for notice in one.notices)),
    )


def _names(judged: Iterable[Judged]) -> list[str]:
    all_judged = list(judged)
    seen = Counter(one.judge for one in all_judged)
    return [
        f"{one.judge} ({one.source})" if seen[one.judge] > 1 else one.judge for one in all_judged
    ]


def _judge(name: str, keyed: _Keyed) -> ComparedJudge:
    judged, pairs = keyed.judged, keyed.pairs
    decided = int((pairs.status != PENDING).sum())
    return ComparedJudge(
        name=name,
        source=judged.source,
        pairs=len(pairs),
        labelled=int((pairs.gold != NOTHING).sum()),
        pending=len(pairs) - decided,
        not_ok=proportion(decided - int((pairs.status == STATUSES.index("ok")).sum()), decided),
        others=keyed.others,
    )


class _Keyed:
    """The pairs of a judge under each name by which they can be found again."""

    def __init__(
        self,
        source: Source,
        labels: str | PathLike[str] | None,
        judge: str | None,
        format: str | None,  # noqa: A002
    ) -> None:
        self.others = 0
        self._ids: list[str | None] = []
        self._texts: list[str | None] = []
        self._source_ids: list[str | None] = []
        path = source.path if isinstance(source, Run) else source
        self.judged: Judged = read_judged(
            path, labels=labels, judge=judge, format=format, visit=self._look_at
        )
        self.pairs = self.judged.pairs
        self.keys: dict[Joined, dict[Any, int]] = {
            "id": _numbered(self._ids),
            "text": _numbered(self._texts),
            "source id": _numbered(self._source_ids),
        }

    def _look_at(self, reading: Reading) -> None:
        sample = reading[0]
        if len(sample.answers) != 2:
            self.others += 1
            return
        self._ids.append(sample.id)
        self._texts.append(_text_key(sample))
        self._source_ids.append(sample.source_id)


def _text_key(sample: Sample) -> str | None:
    """Return the hash of a sample's text; None where the answers are not known."""
    return sample.text_id if any(answer.text for answer in sample.answers) else None


def _numbered(keys: Iterable[str | None]) -> dict[Any, int]:
    """Return the place of every key; a repeated key is told apart by how often it came before."""
    seen: Counter[str] = Counter()
    places: dict[Any, int] = {}
    for place, key in enumerate(keys):
        if key is not None:
            places[key, seen[key]] = place
            seen[key] += 1
    return places


def _compared(first: str, second: str, one: _Keyed, other: _Keyed) -> Compared:
    joined_by, mine, theirs = _joined(one, other)
    if not len(mine):
        raise InputError(_nothing_in_common(first, second, one, other))
    left, right = one.pairs.take(mine), other.pairs.take(theirs)
    left, right, differ = _same_labels(left, right)
    result = compare_judges(left, right)
    return Compared(
        first=first,
        second=second,
        joined_by=joined_by,
        common=len(left),
        only_first=len(one.pairs) - len(left),
        only_second=len(other.pairs) - len(right),
        first_not_ok=int((~left.ok).sum()),
        second_not_ok=int((~right.ok).sum()),
        labels_differ=differ,
        result=result,
        p_adjusted=None if result.decisive is None else result.decisive.p,
        conclusion="",
    )


def _joined(one: _Keyed, other: _Keyed) -> tuple[Joined, Places, Places]:
    """Match pairs by the strictest of the three keys that matches as many as any."""
    import numpy as np

    best: tuple[Joined, list[Any]] = ("id", [])
    for name in one.keys:
        common = [key for key in one.keys[name] if key in other.keys[name]]
        if len(common) > len(best[1]):
            best = name, common
    name, common = best
    mine = np.array([one.keys[name][key] for key in common], dtype=np.int64)
    theirs = np.array([other.keys[name][key] for key in common], dtype=np.int64)
    sequence = np.argsort(mine)
    return name, mine[sequence], theirs[sequence]


def _same_labels(first: PairColumns, second: PairColumns) -> tuple[PairColumns, PairColumns, int]:
    """Give both judges the labels, models and questions that either knows."""
    import numpy as np

    known, theirs = first.gold != NOTHING, second.gold != NOTHING
    gold = np.where(known, first.gold, second.gold)
    differ = known & theirs & (first.gold != second.gold)
    gold[differ] = NOTHING
    named = first if len(first.first_model.names) >= len(second.first_model.names) else second
    first, second = (
        replace(
            judge,
            gold=gold,
            question=first.question,
            first_model=named.first_model,
            second_model=named.second_model,
        )
        for judge in (first, second)
    )
    return first, second, int(differ.sum())


def _nothing_in_common(first: str, second: str, one: _Keyed, other: _Keyed) -> str:
    if not len(one.pairs) or not len(other.pairs):
        empty = one if not len(one.pairs) else other
        return (
            f"{empty.judged.source} holds no pairs ({empty.others:,} samples of other "
            f"kinds); only judges of pairs are compared"
        )
    inputs = [", ".join(keyed.judged.inputs) or keyed.judged.source for keyed in (one, other)]
    return (
        f"{first} and {second} have not one pair in common, neither by text nor by id: "
        f"{one.judged.source} judged {len(one.pairs):,} pairs of {inputs[0]}, "
        f"{other.judged.source} {len(other.pairs):,} of {inputs[1]}; compare judges of the same "
        f"input"
    )


def _corrected(found: list[Compared]) -> tuple[Compared, ...]:
    tested = [one.p_adjusted for one in found if one.p_adjusted is not None]
    adjusted = iter(holm(tested))
    result = []
    for one in found:
        p = next(adjusted) if one.p_adjusted is not None else None
        with_p = one.model_copy(update={"p_adjusted": p})
        result.append(with_p.model_copy(update={"conclusion": conclusion(with_p)}))
    return tuple(result)


def conclusion(compared: Compared) -> str:
    """Return what a comparison shows, in a sentence or two."""
    found = compared.result.decisive
    if found is None or found.difference.value is None or not found.n:
        return _without_labels(compared)
    if not found.only_first + found.only_second:
        return (
            f"On all {found.n:,} decisive labelled pairs the two are right and wrong alike: no "
            f"difference was seen."
        )
    return f"{_said_of_decisive(compared, found)}{_left_out(compared)}"


def _said_of_decisive(compared: Compared, found: PairedDifference) -> str:
    assert found.first is not None
    assert found.second is not None
    first, second = compared.first, compared.second
    high, low = max(found.first, found.second), min(found.first, found.second)
    p = compared.p_adjusted if compared.p_adjusted is not None else 1.0
    said = f"p = {p:.2g}" if p >= 1e-4 else "p < 0.0001"
    could = compared.result.smallest_difference
    power = (
        f"a true difference of {100 * could:.1f} points would have been seen in 80 % of such "
        f"comparisons"
        if could is not None
        else "so few pairs could hardly show any difference"
    )
    if high - low < _EQUAL:
        return (
            f"{first} and {second} are right equally often, {100 * high:.1f} % of {found.n:,} "
            f"decisive pairs, if not on the same ones; {power}."
        )
    shares = f"{100 * high:.1f} % against {100 * low:.1f} % on {found.n:,} decisive pairs"
    if p >= SIGNIFICANT:
        return (
            f"{first} and {second} cannot be told apart: {shares} ({said}); such a gap may be "
            f"noise, and {power}."
        )
    better, worse = (first, second) if found.first > found.second else (second, first)
    return (
        f"{better} agrees more with the labels than {worse}: {shares} ({said}); unlikely to be "
        f"noise.{_over_all(compared)}"
    )


def _over_all(compared: Compared) -> str:
    """Say it where all pairs, ties among them, do not show what the decisive ones do."""
    found = compared.result.three_class
    if found is None or found.p is None or found.p < SIGNIFICANT:
        return ""
    return f" Over all {found.n:,} labelled pairs, tie as a class, it may be (p = {found.p:.2g})."


def _left_out(compared: Compared) -> str:
    count = compared.common - compared.result.n
    if not count:
        return ""
    are = "is" if count == 1 else "are"
    return f" {count:,} of {compared.common:,} pairs {are} left out, not ok with one or both."


def _without_labels(compared: Compared) -> str:
    verdicts = compared.result.verdicts
    if verdicts.same.value is None:
        return "Not one pair has an ok decision of both judges: there is nothing to compare."
    kappa = verdicts.kappa.value
    beyond = "" if kappa is None else f" (kappa {kappa:.2f})"
    moved = [
        model for model in compared.result.models
        if model.p_adjusted is not None and model.p_adjusted < SIGNIFICANT
    ]  # fmt: skip
    lean = (
        f"; they disagree on the win rate of {', '.join(model.model for model in moved)}"
        if moved
        else "; no win rate differs by more than noise"
    )
    same = f"the two say the same of {100 * verdicts.same.value:.1f} %"
    return f"Without labels nobody is right: {same} of {verdicts.n:,} pairs{beyond}{lean}."
