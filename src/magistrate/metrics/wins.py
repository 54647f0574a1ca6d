"""Who wins: wins, ties, losses and win rate per model, from decisions.

Only decisions of status ``ok`` count; the others are left out of ``n``, never turned into ties.

* Two answers: the decision's preference is one comparison for each of the two models.
* Three and more: every pair of answers is one comparison, by the ranking (or, without one, by the
  scores); samples of one question are drawn together in the interval.
* One answer: no comparison; the model's mean score.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations

from magistrate.metrics.compact import PREFERENCE_CODES, question_cluster, sign
from magistrate.metrics.intervals import Rate, mean_of_points, mean_of_scores
from magistrate.records import Decision, Record, Sample

_ORDINALS = ("first", "second", "third")


class ModelResult(Record):
    """What a run says of one model."""

    model: str
    """The model's name; ``first answer``, ``second answer``, ... where the input names none."""
    wins: int
    ties: int
    losses: int
    win_rate: Rate
    """(wins + ties / 2) / comparisons."""
    mean_score: Rate | None = None
    """Mean of the judge's scores, on the judge's own scale; None for judges that give none."""


@dataclass(slots=True)
class _Column:
    """One value and one question per entry."""

    values: array[float] = field(default_factory=lambda: array("d"))
    clusters: array[int] = field(default_factory=lambda: array("Q"))

    def add(self, value: float, cluster: int) -> None:
        self.values.append(value)
        self.clusters.append(cluster)


@dataclass(slots=True)
class _Tally:
    points: _Column = field(default_factory=_Column)
    scores: _Column = field(default_factory=_Column)


class WinCounter:
    """Counts wins over a stream of samples and their decisions."""

    def __init__(self) -> None:
        self._tallies: dict[str, _Tally] = {}

    def add(self, sample: Sample, decision: Decision) -> None:
        """Count one decision; nothing is counted unless its status is ``ok``."""
        if decision.status != "ok":
            return
        names = answer_names(sample)
        cluster = question_cluster(sample)
        for first, second, outcome in _comparisons(decision, len(names)):
            self._tally(names[first]).points.add((1 + outcome) / 2, cluster)
            self._tally(names[second]).points.add((1 - outcome) / 2, cluster)
        if decision.scores is not None:
            for name, score in zip(names, decision.scores, strict=True):
                self._tally(name).scores.add(score, cluster)

    def result(self) -> tuple[ModelResult, ...]:
        """Return the models, best first: by win rate, then mean score, then name."""
        results = [_result(name, tally) for name, tally in self._tallies.items()]
        return tuple(sorted(results, key=_place))

    def _tally(self, name: str) -> _Tally:
        if name not in self._tallies:
            self._tallies[name] = _Tally()
        return self._tallies[name]


def count_wins(judged: Iterable[tuple[Sample, Decision]]) -> tuple[ModelResult, ...]:
    """Return wins, ties, losses and win rate per model, best model first."""
    counter = WinCounter()
    for sample, decision in judged:
        counter.add(sample, decision)
    return counter.result()


def answer_names(sample: Sample) -> tuple[str, ...]:
    """Return a name per answer: its model, or its place where the input names no model.

    Answers of one sample by the same model are told apart by their place.

    >>> from magistrate.records import Answer, Sample
    >>> answer_names(Sample(question="?", answers=(Answer(text="a"), Answer(text="b", model="m"))))
    ('first answer', 'm')
    """
    models = [answer.model for answer in sample.answers]
    return tuple(
        _place_name(place)
        if not model
        else f"{model} ({_place_name(place)})"
        if models.count(model) > 1
        else model
        for place, model in enumerate(models)
    )


def _place_name(place: int) -> str:
    if place < len(_ORDINALS):
        return f"{_ORDINALS[place]} answer"
    return f"answer {place + 1}"


def _comparisons(decision: Decision, answers: int) -> Iterator[tuple[int, int, int]]:
    """Yield (answer, answer, 1 / 0 / -1 for the first of the two winning, tying, losing)."""
    if answers == 2 and decision.preference is not None:
        yield 0, 1, PREFERENCE_CODES[decision.preference]
        return
    for first, second in combinations(range(answers), 2):
        if decision.ranking is not None:
            yield first, second, sign(decision.ranking[second] - decision.ranking[first])
        elif decision.scores is not None:
            yield first, second, sign(decision.scores[first] - decision.scores[second])


def _result(name: str, tally: _Tally) -> ModelResult:
    points = tally.points.values
    wins, losses = points.count(1.0), points.count(0.0)
    scores = tally.scores
    return ModelResult(
        model=name,
        wins=wins,
        ties=len(points) - wins - losses,
        losses=losses,
        win_rate=mean_of_points(points, tally.points.clusters),
        mean_score=mean_of_scores(scores.values, scores.clusters) if scores.values else None,
    )


def _place(result: ModelResult) -> tuple[float, float, str]:
    """Return the sort key: higher rates first, models without one last."""
    rate = result.win_rate.value
    score = result.mean_score.value if result.mean_score is not None else None
    return (1.0 if rate is None else -rate, 0.0 if score is None else -score, result.model)
