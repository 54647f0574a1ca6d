"""Strengths with style held constant.

Davidson's model with covariates: the gap of two models' strengths is increased by ``beta . x``,
where x is how the two answers differ in length and markdown
(:func:`magistrate.metrics.ranking.style.style_differences`). A strength then says how often a model
would win if both answers looked alike, and ``beta`` what a look is worth to the judge. Chatbot
Arena fits the same covariates, there with ties as half wins.

Intervals come from the cluster-robust covariance ("sandwich"; Liang & Zeger 1986) with questions
as clusters, times clusters / (clusters - 1): the covariates differ from battle to battle, so
battles cannot be added up to resample them cheaply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from magistrate.metrics.ranking.battles import Battles
from magistrate.metrics.ranking.davidson import PRECISION, chances
from magistrate.metrics.ranking.style import style_differences

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST_STEPS = 100
_ENOUGH = 1e-9
_LONGEST_STEP = 3.0


@dataclass(frozen=True, slots=True)
class StyledFit:
    """Strengths and the worth of style, in natural units."""

    strength: Floats
    """Shape (models,), mean about 0."""
    style: Floats
    """Shape (features,): per standard deviation of the feature's difference."""
    log_tie: float
    """Minus infinity without ties."""
    covariance: Floats
    """Shape (models + features, models + features): of strengths, then style."""
    converged: bool


def fit_styled(battles: Battles) -> StyledFit:
    """Fit strengths and style together.

    Args:
        battles: With :attr:`Battles.style`.

    Raises:
        ValueError: The battles carry no style.
    """
    import numpy as np

    if battles.style is None:
        raise ValueError("collect the battles with style=True")
    model = _Model(battles, style_differences(battles.style))
    values = np.zeros(model.size)
    height, converged = model.height(values), False
    for _ in range(_MOST_STEPS):
        slope, information = model.slope(values), model.information(values)
        step = np.linalg.solve(information, slope)
        step *= min(1.0, _LONGEST_STEP / max(np.abs(step).max(), 1e-300))
        while (reached := model.height(values + step)) < height - 1e-9 * (1 + abs(height)):
            step /= 2
        values, height = values + step, reached
        if np.abs(step).max() < _ENOUGH:
            converged = True
            break
    k, features = len(battles.models), model.features
    return StyledFit(
        strength=values[:k],
        style=values[k : k + features],
        log_tie=float(values[-1]) if model.ties else -np.inf,
        covariance=model.robust_covariance(values)[: k + features, : k + features],
        converged=converged,
    )


class _Model:
    """The posterior over strengths, then style, then (with ties) log nu."""

    def __init__(self, battles: Battles, apart: Floats) -> None:
        self._battles, self._apart = battles, apart
        self._k, self.features = len(battles.models), apart.shape[1]
        self.ties = bool((battles.outcome == 0).any())
        self.size = self._k + self.features + self.ties

    def _gap(self, values: Floats) -> Floats:
        strength, battles = values[: self._k], self._battles
        style = values[self._k : self._k + self.features]
        gap: Floats = strength[battles.first] - strength[battles.second] + self._apart @ style
        return gap

    def _chances(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        return chances(self._gap(values), self._log_tie(values))

    def _log_tie(self, values: Floats) -> float:
        return float(values[-1]) if self.ties else float("-inf")

    def height(self, values: Floats) -> float:
        """Return the log posterior up to a constant."""
        import numpy as np

        gap, log_tie, battles = self._gap(values), self._log_tie(values), self._battles
        half = np.abs(gap / 2)
        top = np.maximum(half, log_tie)
        scale = top + np.log(np.exp(half - top) + np.exp(log_tie - top) + np.exp(-half - top))
        said = battles.outcome * gap / 2 - scale
        if self.ties:
            said = said + (battles.outcome == 0) * log_tie
        return float(battles.weight @ said - PRECISION / 2 * values @ values)

    def _scores(self, values: Floats) -> tuple[Floats, Floats]:
        """Return each battle's derivative by its gap and by log nu, shape (n,) each."""
        battles = self._battles
        win, tie, loss = self._chances(values)
        by_gap: Floats = battles.weight * (battles.outcome - (win - loss)) / 2
        by_tie: Floats = battles.weight * ((battles.outcome == 0) - tie)
        return by_gap, by_tie

    def slope(self, values: Floats) -> Floats:
        """Return the first derivative, shape (size,)."""
        by_gap, by_tie = self._scores(values)
        slope = -PRECISION * values
        slope[: self._k] += self._by_model(by_gap)
        slope[self._k : self._k + self.features] += by_gap @ self._apart
        if self.ties:
            slope[-1] += by_tie.sum()
        return slope

    def information(self, values: Floats) -> Floats:
        """Return the negative second derivative, shape (size, size)."""
        import numpy as np

        k, battles, apart = self._k, self._battles, self._apart
        win, tie, loss = self._chances(values)
        curve = battles.weight * ((win + loss) - np.square(win - loss)) / 4
        matrix = np.zeros((self.size, self.size))
        cells = np.bincount(battles.first * k + battles.second, curve, k * k).reshape(k, k)
        met = cells + cells.T
        matrix[:k, :k] = np.diag(met.sum(axis=1)) - met
        style = slice(k, k + self.features)
        for place, column in enumerate(apart.T, start=k):
            matrix[:k, place] = self._by_model(curve * column)
        matrix[style, :k] = matrix[:k, style].T
        matrix[style, style] = (apart * curve[:, None]).T @ apart
        if self.ties:
            cross = -battles.weight * tie * (win - loss) / 2
            matrix[:k, -1] = self._by_model(cross)
            matrix[style, -1] = cross @ apart
            matrix[-1, :-1] = matrix[:-1, -1]
            matrix[-1, -1] = battles.weight @ (tie * (1 - tie))
        matrix[np.diag_indices(self.size)] += PRECISION
        return matrix

    def _by_model(self, by_gap: Floats) -> Floats:
        import numpy as np

        first, second = self._battles.first, self._battles.second
        lead: Floats = (
            np.bincount(first, by_gap, self._k) - np.bincount(second, by_gap, self._k)
        ).astype(np.float64)
        return lead

    def robust_covariance(self, values: Floats) -> Floats:
        """Return the sandwich covariance over questions, shape (size, size)."""
        import numpy as np
        from scipy.sparse import coo_array

        by_gap, by_tie = self._scores(values)
        battles, n = self._battles, len(self._battles)
        names, question = np.unique(battles.question, return_inverse=True)
        columns = [battles.first, battles.second]
        entries = [by_gap, -by_gap]
        for place in range(self.features):
            columns.append(np.full(n, self._k + place))
            entries.append(by_gap * self._apart[:, place])
        if self.ties:
            columns.append(np.full(n, self.size - 1))
            entries.append(by_tie)
        scores = coo_array(
            (np.concatenate(entries), (np.tile(question, len(columns)), np.concatenate(columns))),
            shape=(len(names), self.size),
        ).tocsr()
        middle = (scores.T @ scores).toarray() * len(names) / max(1, len(names) - 1)
        inverse = np.linalg.inv(self.information(values))
        covariance: Floats = inverse @ middle @ inverse
        return covariance
