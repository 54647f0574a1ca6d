"""Whether a judgment says one thing: its outcome against its own probabilities and scores.

How a judge turns scores into an outcome is its own matter, but these hold for all judges:

* of a pair the outcome is the likeliest one, where the judgment holds exact probabilities;
* else the better scored answer wins, or the two tie, and equal scores tie;
* of three answers and more the better rank has the better score, and equal scores share a rank;
* the gap of scores up to which answers tie is one and the same in a whole run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from magistrate.records import Judgment, Probabilities

_ROUNDING = 1e-9
"""Probabilities that differ by less count as equal: they went through sums and back."""


def contradictions(judgment: Judgment) -> Iterator[str]:
    """Yield in words what in a judgment contradicts something else in it."""
    if judgment.status != "ok":
        return  # it has no vote, so nothing can hang on what else it holds
    verdict = (judgment.preference, judgment.scores, judgment.ranking, judgment.probabilities)
    if all(part is None for part in verdict):
        yield "status is ok, and there is no verdict"
    yield from _wrong_numbers(judgment)
    if len(judgment.order) == 2:
        yield from _pair_contradictions(judgment)
    else:
        yield from _ranking_contradictions(judgment)


def _wrong_numbers(judgment: Judgment) -> Iterator[str]:
    answers = len(judgment.order)
    for name in ("scores", "ranking"):
        values = getattr(judgment, name)
        if values is not None and len(values) != answers:
            yield f"there are {len(values)} {name} for {answers} answers"
    if answers != 2:
        for name in ("preference", "probabilities"):
            if getattr(judgment, name) is not None:
                yield f"there is a {name} of a pair, and the answers are {answers}"


def _pair_contradictions(judgment: Judgment) -> Iterator[str]:
    said, shares, scores = judgment.preference, judgment.probabilities, judgment.scores
    if said is None:
        if shares is not None or scores is not None:
            yield "there is no preference, and yet what it is made from"
        return
    if shares is not None and not judgment.approximate:
        if said not in _likeliest(shares):
            yield f"preference is {said}, and the likeliest by its probabilities {_named(shares)}"
    elif shares is not None and said == shares.preference:
        return  # the most frequent of several replies, wherever their mean scores lean
    elif scores is not None and len(scores) == 2:
        first, second = scores
        better = "first" if first > second else "second" if second > first else "tie"
        if said not in (better, "tie"):
            yield f"preference is {said}, and by its scores {first:g} and {second:g} it is {better}"


def _likeliest(shares: Probabilities) -> set[str]:
    """Return the outcomes that may be called the likeliest, rounding allowed for."""
    values = {name: getattr(shares, name) for name in ("first", "tie", "second")}
    most = max(values.values())
    names = {name for name, value in values.items() if value >= most - _ROUNDING}
    # Equal sides without a likelier tie are a tie.
    return names | {"tie"} if {"first", "second"} <= names else names


def _named(shares: Probabilities) -> str:
    return f"{shares.preference} ({shares.first:.3g}, {shares.tie:.3g}, {shares.second:.3g})"


def _ranking_contradictions(judgment: Judgment) -> Iterator[str]:
    ranks, scores = judgment.ranking, judgment.scores
    if ranks is None or scores is None or not len(ranks) == len(scores) == len(judgment.order):
        return
    by_score = sorted(range(len(scores)), key=lambda answer: (-scores[answer], ranks[answer]))
    for better, worse in pairwise(by_score):
        wrong = ranks[better] > ranks[worse]
        if wrong or (scores[better] == scores[worse] and ranks[better] != ranks[worse]):
            yield (
                f"answers {better + 1} and {worse + 1} have ranks {ranks[better]} and "
                f"{ranks[worse]}, and scores {scores[better]:g} and {scores[worse]:g}"
            )
            return


@dataclass(slots=True)
class TieGap:
    """The gap of scores up to which answers tie: one in a run, so every judgment must fit it."""

    tied: float = -math.inf
    """Largest gap that was called a tie so far."""
    tied_line: int = 0
    parted: float = math.inf
    """Smallest gap that was not."""
    parted_line: int = 0

    def add(self, judgment: Judgment, line: int) -> str | None:
        """Take in a judgment; return in words how it contradicts an earlier line, or None."""
        scores = judgment.scores
        shares = judgment.probabilities
        exact = shares is not None and not judgment.approximate
        if judgment.status != "ok" or exact or scores is None:
            return None
        if shares is not None and judgment.preference == shares.preference:
            return None  # perhaps the most frequent of several replies: no gap decided it
        if judgment.preference is None or len(scores) != 2:
            return None
        gap = abs(scores[0] - scores[1])
        is_tie = judgment.preference == "tie"
        if is_tie and gap >= self.parted:
            return (
                f"preference is tie for scores {scores[0]:g} and {scores[1]:g}, and on line "
                f"{self.parted_line} a gap of {self.parted:g} is none"
            )
        if not is_tie and gap <= self.tied:
            return (
                f"preference is {judgment.preference} for scores {scores[0]:g} and "
                f"{scores[1]:g}, and on line {self.tied_line} a gap of {self.tied:g} is a tie"
            )
        if is_tie and gap > self.tied:
            self.tied, self.tied_line = gap, line
        elif not is_tie and gap < self.parted:
            self.parted, self.parted_line = gap, line
        return None
