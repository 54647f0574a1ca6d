"""Win rates as if both answers were equally long, as AlpacaEval 2 defines them.

Dubois, Galambosi, Liang & Hashimoto 2024 (arXiv 2404.04475, section 3) predict the judge's
preference for a model over the baseline on instruction x by a logistic regression,

    logit p = theta_m + phi_m * tanh((length_m - length_b) / s) + gamma_m * difficulty_x,

where s is the standard deviation of the length difference over the model's instructions; the
length-controlled win rate is the mean over instructions of p with the length term set to 0.

What is fitted here, and how it differs from AlpacaEval's own leaderboard:

* **difficulty** comes from a file of AlpacaEval's that was estimated from all models of its
  leaderboard. Here it is estimated from the models given: a term per instruction that they share,
  with ``gamma`` 1 and a normal prior of standard deviation 1. From **one** model it cannot be told
  from chance, so the term is left out, and the win rate is the logistic of theta.
* **phi** can hardly be found from one model whose answers are nearly all shorter (or longer) than
  the baseline's. AlpacaEval adds annotations of two manipulated baselines (weight 0.2), which are
  not at hand, and an L1 penalty chosen by cross-validation. Here phi has a normal prior with the
  mean and standard deviation of the coefficients that AlpacaEval publishes for the first 133 models
  of its leaderboard (1.66 and 0.31; judge: GPT-4 Turbo, baseline: GPT-4 Turbo). A judge that cares
  less for length is believed once there are enough judgments to say so.

So values are near the leaderboard's and not equal to them; models of one fit are comparable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from magistrate.metrics.draws import SEED
from magistrate.metrics.intervals import Rate
from magistrate.metrics.resampling import Bootstrap
from magistrate.records import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 200
LENGTH_EFFECT = 1.66
LENGTH_EFFECT_SPREAD = 0.31
"""Mean and standard deviation of phi on AlpacaEval's leaderboard."""
_THETA_SPREAD = 10.0
_DIFFICULTY_SPREAD = 1.0

_MOST_STEPS = 50
_ENOUGH = 1e-7


class LengthControlled(Record):
    """A model's win rate over the baseline, raw and with lengths held equal."""

    model: str
    n: int
    win_rate: float
    """Mean preference for the model, in [0, 1]."""
    controlled: Rate
    """The same as if both answers were equally long; bootstrap interval over instructions."""
    length_effect: float
    """phi: above 0 where the judge is drawn to the longer answer."""
    difficulty: bool
    """Whether a term per instruction was fitted, which takes two models or more."""
    converged: bool


def length_controlled(
    preference: ArrayLike,
    model_length: ArrayLike,
    baseline_length: ArrayLike,
    question: ArrayLike,
    model: ArrayLike | None = None,
    names: tuple[str, ...] = ("model",),
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> tuple[LengthControlled, ...]:
    """Return length-controlled win rates of models over one baseline.

    Args:
        preference: Shape (n,), in [0, 1]: the judge's preference for the model's answer (1 for a
            win, 1/2 for a tie, or a probability).
        model_length: Shape (n,): characters of the model's answer.
        baseline_length: Shape (n,): characters of the baseline's.
        question: Shape (n,), integers: the instruction.
        model: Shape (n,): place of the model in ``names``; one model by default.
        names: The models.
        resamples: Resamples of the intervals; each is a fit.
        seed: Equal seeds give equal intervals.

    Raises:
        ValueError: The arrays differ in length, or a model has no row.
    """
    import numpy as np

    said = np.asarray(preference, dtype=np.float64)
    lengths = np.asarray(model_length, dtype=np.float64) - np.asarray(baseline_length, dtype=float)
    which = np.zeros(len(said), dtype=int) if model is None else np.asarray(model, dtype=int)
    instructions, place = np.unique(np.asarray(question), return_inverse=True)
    if not len(said) == len(lengths) == len(which) == len(place):
        raise ValueError("preference, lengths, question and model need one entry per judgment")
    rows = np.bincount(which, minlength=len(names))
    if not rows.all():
        raise ValueError(f"no judgments of {names[int(np.argmin(rows))]}")
    problem = _Problem(said, _scaled(lengths, which, len(names)), which, place, len(names))
    values, converged = problem.fit(np.ones(len(said)), problem.centre)
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(resamples):
        drawn = np.bincount(rng.integers(len(instructions), size=len(instructions)),
                            minlength=len(instructions))  # fmt: skip
        weights = drawn[place].astype(np.float64)
        draws.append(problem.rates(problem.fit(weights, values)[0], weights))
    estimate = problem.rates(values, np.ones(len(said)))
    columns = np.array(draws).reshape(resamples, len(names))
    return tuple(
        LengthControlled(
            model=name,
            n=int(rows[k]),
            win_rate=float(said[which == k].mean()),
            controlled=_bounded(
                Bootstrap(
                    float(estimate[k]),
                    columns[:, k],
                    int(rows[k]),
                    len(np.unique(place[which == k])),
                ).rate()
            ),
            length_effect=float(values[len(names) + k]),
            difficulty=problem.difficulty,
            converged=converged,
        )
        for k, name in enumerate(names)
    )


def _bounded(rate: Rate) -> Rate:
    """Keep an interval that was stretched for few questions inside [0, 1]."""
    if rate.low is None or rate.high is None:
        return rate
    return rate.model_copy(update={"low": max(0.0, rate.low), "high": min(1.0, rate.high)})


def _scaled(lengths: Floats, which: NDArray[Any], models: int) -> Floats:
    """Return tanh of each length difference in standard deviations of its model's."""
    import numpy as np

    scaled = np.zeros_like(lengths)
    for k in range(models):
        own = which == k
        spread = lengths[own].std()
        if spread > 0:
            scaled[own] = np.tanh(lengths[own] / spread)
    return scaled


class _Problem:
    """The penalised likelihood; values are theta and phi of each model, then difficulties."""

    def __init__(
        self, said: Floats, length: Floats, which: NDArray[Any], place: NDArray[Any], models: int
    ) -> None:
        import numpy as np

        self._said, self._length, self._which, self._place = said, length, which, place
        self._models = models
        self._instructions = int(place.max()) + 1
        self.difficulty = models > 1 and len(place) > self._instructions
        self.size = 2 * models + self.difficulty * self._instructions
        spread = np.full(self.size, _DIFFICULTY_SPREAD)
        spread[:models], spread[models : 2 * models] = _THETA_SPREAD, LENGTH_EFFECT_SPREAD
        self._precision = 1 / np.square(spread)
        self.centre = np.zeros(self.size)
        self.centre[models : 2 * models] = LENGTH_EFFECT

    def fit(self, weights: Floats, start: Floats) -> tuple[Floats, bool]:
        """Return the values of greatest posterior, by Newton's method, and whether it converged."""
        import numpy as np

        values, height = start, self._height(start, weights)
        for _ in range(_MOST_STEPS):
            step = self._step(values, weights)
            while (reached := self._height(values + step, weights)) < height - 1e-9 * abs(height):
                step = step / 2
            values, height = values + step, reached
            if np.abs(step).max() < _ENOUGH:
                return values, True
        return values, False

    def rates(self, values: Floats, weights: Floats) -> Floats:
        """Return every model's win rate without length term, shape (models,)."""
        import numpy as np
        from scipy.special import expit

        chance = expit(self._logit(values, length=False)) * weights
        total = np.bincount(self._which, weights, self._models)
        with np.errstate(invalid="ignore"):
            rates: Floats = np.bincount(self._which, chance, self._models) / total
        return rates

    def _logit(self, values: Floats, *, length: bool) -> Floats:
        logit: Floats = values[self._which]
        if length:
            logit = logit + values[self._models + self._which] * self._length
        if self.difficulty:
            logit = logit + values[2 * self._models + self._place]
        return logit

    def _height(self, values: Floats, weights: Floats) -> float:
        """Return the log posterior up to a constant."""
        import numpy as np

        logit = self._logit(values, length=True)
        likelihood = weights @ (self._said * logit - np.logaddexp(0, logit))
        return float(likelihood - self._precision @ np.square(values - self.centre) / 2)

    def _step(self, values: Floats, weights: Floats) -> Floats:
        """Return Newton's step; difficulties, of which each has its own row, are eliminated."""
        import numpy as np
        from scipy.special import expit

        m, many = self._models, self._instructions
        chance = expit(self._logit(values, length=True))
        off, curve = weights * (self._said - chance), weights * chance * (1 - chance)
        slope = self._precision * (self.centre - values)
        slope[:m] += np.bincount(self._which, off, m)
        slope[m : 2 * m] += np.bincount(self._which, off * self._length, m)
        matrix = np.diag(self._precision[: 2 * m])
        every = np.arange(m)
        cross = np.bincount(self._which, curve * self._length, m)
        matrix[every, every] += np.bincount(self._which, curve, m)
        matrix[every + m, every + m] += np.bincount(self._which, curve * self._length**2, m)
        matrix[every, every + m] = matrix[every + m, every] = cross
        if not self.difficulty:
            return np.asarray(np.linalg.solve(matrix, slope), dtype=np.float64)
        slope[2 * m :] += np.bincount(self._place, off, many)
        own = self._precision[2 * m :] + np.bincount(self._place, curve, many)
        cells = self._which * many + self._place
        shared = np.concatenate(
            [
                np.bincount(cells, curve, m * many).reshape(m, many),
                np.bincount(cells, curve * self._length, m * many).reshape(m, many),
            ]
        )
        reduced = matrix - (shared / own) @ shared.T
        first = np.linalg.solve(reduced, slope[: 2 * m] - shared @ (slope[2 * m :] / own))
        return np.concatenate([first, (slope[2 * m :] - first @ shared) / own])
