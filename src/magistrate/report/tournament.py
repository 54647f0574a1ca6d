"""Planning a tournament: files of answers, and perhaps runs, in; pairs that are worth judging out.

import magistrate as mg

plan = mg.plan_pairs("a.jsonl", "b.jsonl", "c.jsonl", out="pairs.jsonl", budget=500)
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from os import PathLike, fspath
from typing import TYPE_CHECKING

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.formats.reading import SampleReader, read_samples
from magistrate.formats.source import STDIN, keep_inputs
from magistrate.formats.writers import write_samples
from magistrate.metrics.compact import question_cluster
from magistrate.metrics.ranking.battles import UNKNOWN, BattleCollector, Battles, same_answers
from magistrate.metrics.ranking.planning import SCHEMES, Candidates, Scheme, plan
from magistrate.records import Record, Sample
from magistrate.report.judged import Reading, read_judged
from magistrate.store.run import Run

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AnyPath = str | PathLike[str]


class PlannedPair(Record):
    """How often two models are to meet."""

    first: str
    second: str
    judged: int
    """Pairs of their answers that were judged already."""
    planned: int
    left: int
    """Pairs of their answers that are neither judged nor planned."""


class Plan(Record):
    """Pairs written for judging."""

    scheme: Scheme
    output: str
    """The file of pairs, for ``magistrate judge``."""
    models: tuple[str, ...]
    questions: int
    candidates: int
    """All pairs of answers that there are."""
    judged: int
    """Of these, judged already in the runs."""
    planned: int
    """Pairs written."""
    budget: int | None
    pairs: tuple[PlannedPair, ...]
    """Every two models."""
    unnamed: int
    """Pairs left out since an answer names no model."""
    bad: tuple[BadRow, ...]
    bad_count: int
    notices: tuple[Notice, ...]


def plan_pairs(
    *answers: AnyPath,
    out: AnyPath,
    scheme: Scheme = "swiss",
    budget: int | None = None,
    baseline: str | None = None,
    runs: Sequence[AnyPath | Run] = (),
    questions: AnyPath | None = None,
    format: str | None = None,  # noqa: A002
    seed: int = 0,
) -> Plan:
    """Choose which answers to compare and write them as pairs.

    Args:
        answers: Files of answers, one per model, joined by id or by question; or files of samples
            with several answers each. They are read twice.
        out: File to write, as :func:`magistrate.write_samples`.
        scheme: ``all``, ``baseline`` or ``swiss``; see :mod:`magistrate.metrics.ranking.planning`.
        budget: How many pairs at most; all there are by default (``swiss`` needs one).
        baseline: The model that all others meet, for ``baseline``.
        runs: What was judged already: it is not planned again, and tells ``swiss`` which ranks are
            uncertain.
        questions: File of questions, for answers that name their questions by id only.
        format: Format of the answers, instead of recognising it.
        seed: Equal seeds give equal plans.

    Raises:
        InputError: A file cannot be read; there are no pairs of named models; the scheme needs a
            budget or a baseline that is not there.
        RunError: A folder is not a run, or is damaged.
    """
    _check(answers, scheme, budget, baseline)
    keep_inputs((*answers, *(() if questions is None else (questions,))), out)
    played = _Played()
    for run in runs:
        read_judged(run.path if isinstance(run, Run) else run, visit=played.add)
    pool = _Pool(played.seen)
    reader = _reader(answers, questions, format)
    for sample in _pairs(reader):
        pool.add(sample)
    candidates = pool.candidates()
    if not len(candidates.low):
        raise InputError(_nothing(answers, pool))
    if baseline is not None and baseline not in candidates.models:
        raise InputError(
            f"no answers of the baseline '{baseline}'; models: {', '.join(candidates.models)}"
        )
    chosen = plan(
        candidates,
        scheme,
        len(candidates.low) if budget is None else budget,
        baseline=baseline,
        played=played.battles(),
        seed=seed,
    )
    write_samples(_written(_reader(answers, questions, format), chosen, candidates), fspath(out))
    return _as_plan(scheme, fspath(out), budget, candidates, chosen, pool, reader)


def _check(
    answers: Sequence[AnyPath], scheme: Scheme, budget: int | None, baseline: str | None
) -> None:
    if scheme not in SCHEMES:
        raise InputError(f"no scheme '{scheme}'; known: {', '.join(SCHEMES)}")
    if any(fspath(path) == STDIN for path in answers):
        raise InputError("answers are read twice, so they cannot come from standard input")
    if scheme == "swiss" and budget is None:
        raise InputError("the scheme swiss spends a budget: say how many pairs (--budget)")
    if scheme == "baseline" and baseline is None:
        raise InputError("the scheme baseline needs the model that all others meet (--baseline)")
    if budget is not None and budget < 1:
        raise InputError(f"the budget is {budget}; needed: 1 pair or more")


def _reader(
    answers: Sequence[AnyPath],
    questions: AnyPath | None,
    format: str | None,  # noqa: A002
) -> SampleReader:
    return read_samples(
        *answers,
        questions=questions,
        format=format,
        join="pairs" if len(answers) > 1 else None,
    )


def _pairs(samples: SampleReader) -> Iterator[Sample]:
    """Yield every two answers of every sample."""
    for sample in samples:
        if len(sample.answers) == 2:
            yield sample
            continue
        for first, second in combinations(sample.answers, 2):
            # What annotators said of all answers is not what they would say of two.
            yield sample.model_copy(update={"answers": (first, second), "gold": ()})


class _Played:
    """What runs have judged."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self._collector = BattleCollector()

    def add(self, reading: Reading) -> None:
        sample, _, decision = reading
        self._collector.add(sample, decision)
        if decision is None or decision.status != "ok":
            return
        question = question_cluster(sample)
        for first, second in combinations(sample.answers, 2):
            self.seen.add(same_answers(question, first, second))
        self.seen.discard(UNKNOWN)

    def battles(self) -> Battles:
        return self._collector.result()


class _Pool:
    """The pairs of answers that there are."""

    def __init__(self, seen: set[int]) -> None:
        self.unnamed = 0
        self._seen = seen
        self._models: dict[str, int] = {}
        self._questions: dict[int, int] = {}
        self._codes = array("q")

    def add(self, sample: Sample) -> None:
        first, second = sample.answers
        if not first.model or not second.model or first.model == second.model:
            self.unnamed += 1
            # A place is kept, so that places stay those of the file.
            self._codes.extend((0, 0, 0, 1))
            return
        cluster = question_cluster(sample)
        question = self._questions.setdefault(cluster, len(self._questions))
        names = first.model, second.model
        low, high = sorted(self._models.setdefault(name, len(self._models)) for name in names)
        done = same_answers(cluster, first, second) in self._seen
        self._codes.extend((low, high, question, done))

    def candidates(self) -> Candidates:
        """Return all, in the sequence of the files; those that cannot be used count as done."""
        import numpy as np

        codes = np.array(self._codes, dtype=np.int64).reshape(-1, 4)
        if not self._models:
            codes = codes[:0]
        return Candidates(
            models=tuple(self._models),
            low=codes[:, 0],
            high=codes[:, 1],
            question=codes[:, 2],
            done=codes[:, 3].astype(bool),
        )


def _written(
    reader: SampleReader, chosen: NDArray[np.int64], candidates: Candidates
) -> Iterator[Sample]:
    """Yield the chosen pairs, each model as often first as second."""
    import numpy as np

    wanted = np.zeros(len(candidates.low), dtype=bool)
    wanted[chosen] = True
    turns: Counter[tuple[str | None, ...]] = Counter()
    for place, sample in enumerate(_pairs(reader)):
        if not wanted[place]:
            continue
        names = tuple(sorted(answer.model or "" for answer in sample.answers))
        turns[names] += 1
        if turns[names] % 2 or sample.gold:
            yield sample
        else:
            yield sample.model_copy(update={"answers": sample.answers[::-1]})


def _as_plan(
    scheme: Scheme,
    output: str,
    budget: int | None,
    candidates: Candidates,
    chosen: NDArray[np.int64],
    pool: _Pool,
    reader: SampleReader,
) -> Plan:
    import numpy as np

    k = len(candidates.models)
    code = candidates.low * k + candidates.high
    usable = candidates.low != candidates.high
    every = np.bincount(code[usable], minlength=k * k)
    judged = np.bincount(code[usable & candidates.done], minlength=k * k)
    planned = np.bincount(code[chosen], minlength=k * k)
    names = candidates.models
    return Plan(
        scheme=scheme,
        output=output,
        models=names,
        questions=int(candidates.question.max()) + 1,
        candidates=int(usable.sum()),
        judged=int(judged.sum()),
        planned=len(chosen),
        budget=budget,
        pairs=tuple(
            PlannedPair(
                first=names[c // k],
                second=names[c % k],
                judged=int(judged[c]),
                planned=int(planned[c]),
                left=int(every[c] - judged[c] - planned[c]),
            )
            for c in np.flatnonzero(every).tolist()
        ),
        unnamed=pool.unnamed,
        bad=tuple(reader.bad),
        bad_count=reader.bad_count,
        notices=tuple(reader.notices),
    )


def _nothing(answers: Sequence[AnyPath], pool: _Pool) -> str:
    named = ", ".join(fspath(path) for path in answers)
    if pool.unnamed:
        return (
            f"{named}: {pool.unnamed:,} pairs, but none of two named models; planning needs to "
            f"know who wrote which answer"
        )
    return (
        f"{named}: nothing to pair; give two files of answers or more, one per model, or a file of "
        f"samples with several answers each"
    )
