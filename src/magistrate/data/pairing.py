"""``magistrate data pairs``: answers in, balanced pairs out, so many for each question.

This draws data to label and to train on. ``magistrate pairs`` plans battles for a ranking: it
spends a budget where the next judgment says most about ranks, and leaves questions out.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, TypeAlias

from magistrate.errors import InputError
from magistrate.formats.base import BadRow, Notice
from magistrate.formats.join import default_models, merge_answers
from magistrate.formats.reading import read_samples
from magistrate.formats.source import keep_inputs
from magistrate.formats.writers import write_samples
from magistrate.ids import content_id
from magistrate.metrics.draws import SEED
from magistrate.records import Record, Sample, Turn

AnyPath = str | PathLike[str]
Difficulty: TypeAlias = Literal["near", "far"]

DIFFICULTIES: tuple[Difficulty, ...] = ("near", "far")


class ModelPairs(Record):
    """How often a model stands in the pairs, and where."""

    model: str
    pairs: int
    first: int
    second: int


class MeetingCount(Record):
    """How often two models meet."""

    first: str
    second: str
    pairs: int
    difficulty: Difficulty | None
    """Whether their strengths are near each other or far apart; None where they are not known."""


class PairsDrawn(Record):
    """Pairs written, and how balanced they are."""

    output: str
    pairs: int
    questions: int
    """Questions with a pair at least."""
    per_question: int
    short: int
    """Questions with fewer pairs than wanted, as there are no more."""
    models: tuple[ModelPairs, ...]
    meetings: tuple[MeetingCount, ...]
    difficulty: dict[Difficulty, int] | None
    """Pairs by difficulty; None where strengths are not known."""
    against: str | None
    identical: int
    """Candidates left out since both answers are the same."""
    empty: int
    """Candidates left out since both answers are empty."""
    alone: int
    """Questions that one model alone answered."""
    duplicates: int
    """Second answers of a model to a question; the first is used."""
    seed: int
    bad: tuple[BadRow, ...]
    bad_count: int
    notices: tuple[Notice, ...]


def draw_pairs(
    *answers: AnyPath,
    out: AnyPath,
    per_question: int = 1,
    against: str | None = None,
    strengths: Mapping[str, float] | None = None,
    questions: AnyPath | None = None,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    strict: bool = False,
    seed: int = SEED,
) -> PairsDrawn:
    """Draw pairs of answers, each question's own, and write them as samples.

    Every model stands in as many pairs as any other, every two models meet as often as any others
    and each model is as often first as second, as far as the answers there are allow.

    Args:
        answers: Files of answers, one per model; or of samples with several answers each.
        out: File to write, in magistrate's own format.
        per_question: Pairs for each question, as far as there are.
        against: A model that stands in every pair.
        strengths: Strength of each model on any scale: then half of the pairs, as nearly as may
            be, are of models near each other and half of models far apart (split at the median
            distance of all two models).
        questions: File of questions, for answers that name their questions by id only.
        format: Format of the answers.
        columns: Our field name to the file's column name.
        strict: Stop at the first bad row.
        seed: Equal seeds draw equally.

    Raises:
        InputError: A file cannot be read, there is nothing to pair, or a model is not there.
    """
    keep_inputs(answers, out)
    if per_question < 1:
        raise InputError(f"{per_question} pairs for each question are wanted; needed: 1 or more")
    pool = _Pool()
    for path, model in zip(answers, default_models([fspath(p) for p in answers]), strict=True):
        pool.read(path, model, questions, format, columns, strict=strict)
    models = sorted({name for group in pool.groups.values() for name in group})
    _check(models, against, strengths, answers)
    drawer = _Drawer(models, against, _near_and_far(models, strengths), seed)
    pairs = list(drawer.draw(pool, per_question))
    if not pairs:
        raise InputError(
            "not one pair could be drawn: "
            f"{drawer.alone:,} questions have answers of one model alone, {drawer.identical:,} "
            f"pairs have equal answers, {drawer.empty:,} are empty on both sides"
        )
    write_samples(pairs, fspath(out), to="samples")
    return _as_report(fspath(out), pairs, drawer, pool, per_question, against, seed)


def read_strengths(path: AnyPath) -> dict[str, float]:
    """Return strengths by model from a JSON file.

    Takes an object from model to number, or what ``magistrate rank --json`` prints (its first
    ranking).

    Raises:
        InputError: It is neither.
    """
    try:
        value = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{fspath(path)} cannot be read as JSON: {error}") from error
    found = value
    if isinstance(value, dict) and isinstance(value.get("rankings"), list) and value["rankings"]:
        with suppress(AttributeError, KeyError, TypeError):
            models = value["rankings"][0]["models"]
            found = {row["model"]: row["strength"]["value"] for row in models}
    if (
        not isinstance(found, dict)
        or not found
        or not all(
            isinstance(k, str) and isinstance(v, int | float) and not isinstance(v, bool)
            for k, v in found.items()
        )
    ):
        raise InputError(
            f"{fspath(path)} has no strengths; needed: an object such as "
            f'{{"alder": 7.5, "birch": 4}}, or what magistrate rank --json prints'
        )
    return {name: float(number) for name, number in found.items()}


@dataclass(slots=True)
class _Pool:
    """The answers by question, in the sequence of the files."""

    groups: dict[str, dict[str, Sample]] = field(default_factory=dict)
    """Question to model to a sample of one answer."""
    duplicates: int = 0
    bad: list[BadRow] = field(default_factory=list)
    bad_count: int = 0
    notices: list[Notice] = field(default_factory=list)

    def read(
        self,
        path: AnyPath,
        model: str,
        questions: AnyPath | None,
        format: str | None,  # noqa: A002
        columns: Mapping[str, str] | None,
        *,
        strict: bool,
    ) -> None:
        reader = read_samples(
            path, questions=questions, format=format, columns=columns, join="off", strict=strict
        )
        for sample in reader:
            several = len(sample.answers) > 1
            group = self.groups.setdefault(_question_key(sample), {})
            for place, answer in enumerate(sample.answers):
                name = answer.model or (f"answer {place + 1}" if several else model)
                if name in group:
                    self.duplicates += 1
                    continue
                update: dict[str, Any] = {
                    "answers": (answer.model_copy(update={"model": name}),),
                    # What annotators said of all answers is not what they would say of one.
                    "gold": () if several else sample.gold,
                }
                group[name] = sample.model_copy(update=update)
        self.bad += reader.bad
        self.bad_count += reader.bad_count
        self.notices += reader.notices


class _Drawer:
    """Draws pairs question by question, always the one that balances best."""

    def __init__(
        self,
        models: Sequence[str],
        against: str | None,
        difficulty: Mapping[tuple[str, str], Difficulty],
        seed: int,
    ) -> None:
        import numpy as np

        self.against, self.difficulty = against, difficulty
        self.of_model: Counter[str] = Counter()
        self.met: Counter[tuple[str, str]] = Counter()
        self.first: Counter[str] = Counter()
        self.first_of: Counter[tuple[str, str]] = Counter()
        self.kinds: Counter[Difficulty] = Counter()
        self.identical = self.empty = self.alone = self.short = self.questions = 0
        self._random = np.random.default_rng(seed)

    def draw(self, pool: _Pool, per_question: int) -> Iterator[Sample]:
        """Yield the pairs in the sequence of the questions, drawn in a random one."""
        groups = list(pool.groups.values())
        drawn: dict[int, list[Sample]] = {}
        for place in self._random.permutation(len(groups)).tolist():
            drawn[place] = self._of_question(groups[place], per_question)
        for place in range(len(groups)):
            yield from drawn[place]

    def _of_question(self, group: Mapping[str, Sample], number: int) -> list[Sample]:
        candidates = list(self._candidates(group))
        if not candidates:
            self.alone += len(group) < 2
            return []
        self.questions += 1
        self.short += len(candidates) < number
        chosen: list[Sample] = []
        while candidates and len(chosen) < number:
            noise = self._random.random(len(candidates))
            best = min(range(len(candidates)), key=lambda i: (*self._cost(candidates[i]), noise[i]))
            chosen.append(self._take(candidates.pop(best), group))
        return chosen

    def _candidates(self, group: Mapping[str, Sample]) -> Iterator[tuple[str, str]]:
        for pair in combinations(sorted(group), 2):
            if self.against is not None and self.against not in pair:
                continue
            texts = [_whole(group[name]) for name in pair]
            if not any(texts):
                self.empty += 1
            elif texts[0] == texts[1]:
                self.identical += 1
            else:
                yield pair

    def _cost(self, pair: tuple[str, str]) -> tuple[int, int, int]:
        """Return what a pair would add to imbalance: by difficulty, by model, by meeting."""
        kind = self.difficulty.get(pair)
        others = [name for name in pair if name != self.against]
        return (
            self.kinds[kind] if kind else 0,
            sum(self.of_model[name] for name in others),
            self.met[pair],
        )

    def _take(self, pair: tuple[str, str], group: Mapping[str, Sample]) -> Sample:
        shown = self._shown(pair)
        self.met[pair] += 1
        self.of_model.update(pair)
        self.first[shown[0]] += 1
        self.first_of[shown] += 1
        kind = self.difficulty.get(pair)
        sample = merge_answers([group[name] for name in shown], shown)
        if kind is None:
            return sample
        self.kinds[kind] += 1
        return sample.model_copy(update={"meta": {**sample.meta, "difficulty": kind}})

    def _shown(self, pair: tuple[str, str]) -> tuple[str, str]:
        """Put first whoever was first less often: against the other one, then in all."""
        swapped = (pair[1], pair[0])
        between = self.first_of[pair] - self.first_of[swapped]
        lead = [2 * self.first[name] - self.of_model[name] for name in pair]
        ahead = between or lead[0] - lead[1] or (1 if self._random.random() < 0.5 else -1)
        return swapped if ahead > 0 else pair


def _question_key(sample: Sample) -> str:
    asked = sample.question
    text = asked if isinstance(asked, str) else [[turn.role, turn.text] for turn in asked]
    later = [turn.text for turn in sample.answers[0].turns if turn.role == "user"]
    return content_id([text, later])


def _whole(sample: Sample) -> str:
    """Return an answer with all its turns, without blanks around it."""
    answer = sample.answers[0]
    turns: Sequence[Turn] = answer.turns
    texts = [turn.text for turn in turns if turn.role == "assistant"] or [answer.text]
    return "\n\n".join(texts).strip()


def _near_and_far(
    models: Sequence[str], strengths: Mapping[str, float] | None
) -> dict[tuple[str, str], Difficulty]:
    """Split all two models at the median distance of their strengths."""
    if strengths is None:
        return {}
    gaps = {pair: abs(strengths[pair[0]] - strengths[pair[1]]) for pair in combinations(models, 2)}
    ordered = sorted(gaps, key=lambda pair: (gaps[pair], pair))
    near = set(ordered[: (len(ordered) + 1) // 2])
    return {pair: "near" if pair in near else "far" for pair in gaps}


def _check(
    models: Sequence[str],
    against: str | None,
    strengths: Mapping[str, float] | None,
    answers: Sequence[AnyPath],
) -> None:
    if len(models) < 2:
        raise InputError(
            f"{', '.join(fspath(p) for p in answers)}: answers of {len(models)} model, not two"
        )
    if against is not None and against not in models:
        raise InputError(f"no answers of '{against}'; models: {', '.join(models)}")
    if strengths is not None and (missing := [name for name in models if name not in strengths]):
        raise InputError(
            f"no strength is given for {', '.join(missing)}; given: {', '.join(sorted(strengths))}"
        )


def _as_report(
    out: str,
    pairs: Sequence[Sample],
    drawer: _Drawer,
    pool: _Pool,
    per_question: int,
    against: str | None,
    seed: int,
) -> PairsDrawn:
    seconds: defaultdict[str, int] = defaultdict(int)
    for (_, second), number in drawer.first_of.items():
        seconds[second] += number
    return PairsDrawn(
        output=out,
        pairs=len(pairs),
        questions=drawer.questions,
        per_question=per_question,
        short=drawer.short,
        models=tuple(
            ModelPairs(model=name, pairs=number, first=drawer.first[name], second=seconds[name])
            for name, number in sorted(drawer.of_model.items())
        ),
        meetings=tuple(
            MeetingCount(
                first=pair[0],
                second=pair[1],
                pairs=number,
                difficulty=drawer.difficulty.get(pair),
            )
            for pair, number in sorted(drawer.met.items())
        ),
        difficulty=(
            {kind: drawer.kinds[kind] for kind in DIFFICULTIES} if drawer.difficulty else None
        ),
        against=against,
        identical=drawer.identical,
        empty=drawer.empty,
        alone=drawer.alone,
        duplicates=pool.duplicates,
        seed=seed,
        bad=tuple(pool.bad[:1000]),
        bad_count=pool.bad_count,
        notices=tuple(pool.notices),
    )
