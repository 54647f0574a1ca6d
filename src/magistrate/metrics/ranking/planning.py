"""Which pairs to judge next, so that judgments are spent where ranks are uncertain.

* ``all``: every two models equally often;
* ``baseline``: every model against one, equally often;
* ``swiss``: where the next judgment says most about ranks, as a Swiss tournament pairs players of
  like strength. The loss is the number of wrongly ordered pairs of models to be expected *after*
  the planned judgments. What was judged already gives each gap a normal distribution of mean ``g``
  and variance ``v`` (Davidson's model, Laplace's approximation); the planned judgments, whose
  outcomes are not known yet, will leave a variance ``w``. The chance that the order seen then is
  wrong is

      2 T(|g| / sqrt(v), sqrt(w / (v - w)))

  with Owen's T (Owen 1956): two normal variables of mean g, the true gap and its later estimate, of
  different sign. Step by step the pair is taken whose judgments lower the sum most; the effect of
  judging a pair on all variances is a rank-one update with the Fisher information of a battle.

Whatever the scheme, a pair's judgments are spread over questions, and different pairs begin with
different questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from magistrate.metrics.draws import SEED
from magistrate.metrics.ranking.battles import Battles
from magistrate.metrics.ranking.counts import Pairs, cells_of, counts_of
from magistrate.metrics.ranking.davidson import chances, covariance, fit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Floats = NDArray[np.float64]

Scheme = Literal["all", "baseline", "swiss"]
SCHEMES: tuple[Scheme, ...] = ("all", "baseline", "swiss")

_STEPS = 100
"""The budget is given out in so many steps; the errors are recomputed after each."""
_MOST_CANDIDATES = 100
"""Pairs that are tried in a step: those that are most likely in the wrong order."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Pairs of answers that could be judged; every array has one entry per pair of answers."""

    models: tuple[str, ...]
    low: Integers
    """Shape (n,): the model of lower place."""
    high: Integers
    question: Integers
    """Shape (n,): the question, from 0."""
    done: NDArray[np.bool_]
    """Shape (n,): judged already."""


def plan(
    candidates: Candidates,
    scheme: Scheme,
    budget: int,
    *,
    baseline: str | None = None,
    played: Battles | None = None,
    seed: int = SEED,
) -> Integers:
    """Choose the pairs of answers to judge.

    Args:
        candidates: What could be judged.
        scheme: How to choose.
        budget: How many to choose; fewer are chosen where fewer are left.
        baseline: The model of the scheme ``baseline``.
        played: What was judged already, for ``swiss``; models are matched by name.
        seed: Equal seeds give equal plans.

    Returns:
        Places of the chosen candidates, in the sequence in which they are best judged: a part of a
        plan from its start is itself a plan.

    Raises:
        ValueError: The baseline is not among the models, or is missing.
    """
    import numpy as np

    open_to_judge = ~candidates.done
    if scheme == "baseline":
        if baseline is None or baseline not in candidates.models:
            raise ValueError(f"the baseline '{baseline}' is not among the models")
        place = candidates.models.index(baseline)
        open_to_judge &= (candidates.low == place) | (candidates.high == place)
    chosen = np.flatnonzero(open_to_judge)
    turn = _turns(candidates, chosen, seed)
    if scheme != "swiss":
        noise = np.random.default_rng(seed).random(len(chosen))
        return chosen[np.lexsort((noise, turn))][:budget]
    return _swiss(candidates, chosen[np.argsort(turn, kind="stable")], budget, played)


def _turns(candidates: Candidates, chosen: Integers, seed: int) -> Integers:
    """Return for each chosen candidate when its pair of models comes to its question."""
    import numpy as np

    rng = np.random.default_rng(seed)
    k = len(candidates.models)
    questions = int(candidates.question.max(initial=-1)) + 1
    place = rng.permutation(questions)[candidates.question[chosen]]
    pair = candidates.low[chosen] * k + candidates.high[chosen]
    # Each pair begins elsewhere in the shuffled questions.
    begin = rng.integers(max(1, questions), size=k * k)
    shifted = (place - begin[pair]) % max(1, questions)
    sequence = np.lexsort((shifted, pair))
    starts = np.flatnonzero(np.diff(pair[sequence], prepend=-1))
    turn = np.empty(len(chosen), dtype=np.int64)
    sizes = np.diff(np.append(starts, len(chosen)))
    turn[sequence] = np.arange(len(chosen)) - np.repeat(starts, sizes)
    return turn


def _swiss(
    candidates: Candidates, by_turn: Integers, budget: int, played: Battles | None
) -> Integers:
    """Choose step by step the pairs that lower the expected number of wrongly ordered ones."""
    import numpy as np

    k = len(candidates.models)
    code = candidates.low[by_turn] * k + candidates.high[by_turn]
    found, pair = np.unique(code, return_inverse=True)
    waiting = [by_turn[pair == p] for p in range(len(found))]
    taken = np.zeros(len(found), dtype=np.int64)
    left = np.array([len(each) for each in waiting])
    budget = min(budget, int(left.sum()))
    state = _State.of(candidates.models, found // k, found % k, played)
    step = max(1, budget // _STEPS)
    chosen: list[Integers] = []
    spent = 0
    while spent < budget:
        many = np.minimum(left - taken, min(step, budget - spent))
        best = state.best(many)
        amount = int(many[best])
        chosen.append(waiting[best][taken[best] : taken[best] + amount])
        taken[best] += amount
        spent += amount
        state.judge(best, amount)
    return np.concatenate(chosen) if chosen else np.empty(0, dtype=np.int64)


class _State:
    """Gaps of all pairs and the covariance of strengths, as judgments come in."""

    def __init__(
        self, low: Integers, high: Integers, strength: Floats, cover: Floats, log_tie: float
    ) -> None:
        import numpy as np

        self._low, self._high, self._cover = low, high, cover
        gap = strength[low] - strength[high]
        win, _, loss = chances(gap, log_tie)
        self._information = (win + loss - np.square(win - loss)) / 4
        self._all_low, self._all_high = np.triu_indices(len(strength), 1)
        every_gap = np.abs(strength[self._all_low] - strength[self._all_high])
        self._before = self._variance(self._all_low, self._all_high)
        self._ratio = every_gap / np.sqrt(self._before)
        self._gap = np.abs(gap)

    @classmethod
    def of(
        cls, models: Sequence[str], low: Integers, high: Integers, played: Battles | None
    ) -> _State:
        """Begin with what was judged already."""
        import numpy as np

        k = len(models)
        counts, pairs = np.zeros((0, 3)), Pairs(k, np.empty(0, int), np.empty(0, int))
        if played is not None and len(played):
            known = _as_models(played, models)
            pairs, cells = cells_of(known)
            counts = counts_of(pairs, cells, known.weight)
        found = fit(pairs, counts)
        tie = float(found.log_tie[0])
        return cls(low, high, found.strength[0], covariance(pairs, counts, found), tie)

    def best(self, many: Integers) -> int:
        """Return the pair whose ``many`` judgments would lower the loss most."""
        import numpy as np
        from scipy.special import ndtr

        own = self._variance(self._low, self._high)
        doubt = np.where(many > 0, ndtr(-self._gap / np.sqrt(own)), -1.0)
        tried = np.argsort(-doubt, kind="stable")[:_MOST_CANDIDATES]
        tried = tried[many[tried] > 0]
        cover = self._cover
        column = cover[:, self._low[tried]] - cover[:, self._high[tried]]
        shared = column[self._all_low] - column[self._all_high]
        weight = self._information[tried] * many[tried]
        gain = weight / (1 + weight * own[tried])
        after = self._variance(self._all_low, self._all_high)[:, None] - gain * shared**2
        return int(tried[int(np.argmin(self._loss(after)))])

    def _loss(self, after: Floats) -> Floats:
        """Return the expected number of wrongly ordered pairs.

        Args:
            after: Shape (pairs, plans): the variance of each gap that a plan leaves.
        """
        import numpy as np
        from scipy.special import owens_t

        before = self._before[:, None]
        left = np.clip(after, 1e-12, before)
        learnt = np.maximum(before - left, 1e-12)
        loss: Floats = 2 * owens_t(self._ratio[:, None], np.sqrt(left / learnt)).sum(axis=0)
        return loss

    def judge(self, pair: int, many: int) -> None:
        """Take it as judged so often."""
        low, high = self._low[pair], self._high[pair]
        column = self._cover[:, low] - self._cover[:, high]
        weight = self._information[pair] * many
        own = column[low] - column[high]
        self._cover = self._cover - (weight / (1 + weight * own)) * column[:, None] * column[None]

    def _variance(self, low: Integers, high: Integers) -> Floats:
        cover = self._cover
        variance: Floats = cover[low, low] + cover[high, high] - 2 * cover[low, high]
        return variance


def _as_models(battles: Battles, models: Sequence[str]) -> Battles:
    """Return the battles between the given models, with the models' own places."""
    import dataclasses

    import numpy as np

    place = {name: k for k, name in enumerate(models)}
    code = np.array([place.get(name, -1) for name in battles.models])
    there = (code[battles.first] >= 0) & (code[battles.second] >= 0)
    kept = battles.take(there)
    return dataclasses.replace(
        kept, models=tuple(models), first=code[kept.first], second=code[kept.second]
    )
