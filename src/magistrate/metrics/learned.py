"""A learned confidence: a logistic regression over all sources, never fitted on what it speaks of.

    names, values = learned_confidence(signals, right, questions)

Each fold of questions gets its numbers from a regression on the other folds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.metrics.confidence import Signals, available, confidence
from magistrate.metrics.draws import SEED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

NAME = "learned"
DESCRIPTION = "logistic regression over all others, cross-fitted"

LEAST = 100
"""Fewest labelled pairs."""
LEAST_OF_EACH = 10
"""Fewest that are right, and that are wrong."""
FOLDS = 5
_NEARLY_ALL = 0.95
"""A source that is missing on more of the pairs is left out; with it pairs would be lost."""


def fold_of(clusters: ArrayLike, folds: int = FOLDS) -> Integers:
    """Return the fold of each sample, from 0; samples of one question are in one fold.

    Folds depend on the questions alone, not on their sequence.

    Args:
        clusters: Shape (n,); samples of one question share a value.
        folds: How many folds.
    """
    import numpy as np

    names, places = np.unique(np.asarray(clusters), return_inverse=True)
    order = np.random.default_rng(SEED).permutation(len(names))
    found: Integers = (order % folds)[places]
    return found


def learned_confidence(
    signals: Signals, right: ArrayLike, clusters: ArrayLike, *, folds: int = FOLDS
) -> tuple[tuple[str, ...], Floats] | None:
    """Return the sources used, and how probable it is that each decision is right.

    Args:
        signals: Of labelled decisions.
        right: Whether each is right, shape (n,).
        clusters: Shape (n,); samples of one question share a value.
        folds: How many folds of questions.

    Returns:
        None with fewer than two sources, or too few labels. Else values of shape (n,) in [0, 1],
        NaN where a source that is used tells nothing.
    """
    import numpy as np

    good = np.asarray(right, dtype=bool)
    few = min(int(good.sum()), int((~good).sum()))
    questions = np.asarray(clusters)
    if len(good) < LEAST or few < LEAST_OF_EACH or len(np.unique(questions)) < 2 * folds:
        return None
    columns = {name: confidence(signals, name) for name in available(signals)}
    known = {
        name: values
        for name, values in columns.items()
        if np.isfinite(values).mean() >= _NEARLY_ALL and np.nanstd(values) > 0
    }
    if len(known) < 2:
        return None
    table = np.stack(list(known.values()), axis=1)
    whole = np.isfinite(table).all(axis=1)
    found = np.full(len(good), np.nan)
    fold = fold_of(questions, folds)
    for number in range(folds):
        out, rest = whole & (fold == number), whole & (fold != number)
        found[out] = _fit_and_tell(table[rest], good[rest], table[out])
    return tuple(known), found


def _fit_and_tell(features: Floats, right: NDArray[np.bool_], asked: Floats) -> Floats:
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    if right.all() or not right.any() or not len(asked):
        return np.full(len(asked), float(right.mean()) if len(right) else np.nan)
    centre, spread = features.mean(axis=0), features.std(axis=0)
    spread[spread == 0] = 1
    model = LogisticRegression(max_iter=1_000).fit((features - centre) / spread, right)
    told: Floats = model.predict_proba((asked - centre) / spread)[:, 1]
    return told
