"""What several annotators' votes say together: models of how good each annotator is.

All functions take votes on pairs as arrays and return a distribution over the outcomes (first, tie,
second; always in this sequence) per pair. A pair without any vote has NaN.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from magistrate.errors import MissingExtraError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.int8]
    Floats = NDArray[np.float64]

NO_VOTE = -1
OUTCOMES = ("first", "tie", "second")

FOLDS = 5
_ITERATIONS = 200


@dataclass(frozen=True, slots=True)
class Merged:
    """Distributions over the outcomes, and what they were made with."""

    shares: Floats
    """Shape (n, 3), rows sum to 1; NaN where nobody voted."""
    skill: Floats
    """Shape (annotators,): the estimated probability that an annotator is right; NaN where the
    rule estimates none, or could not."""
    weights: Floats
    """Shape (annotators,): what a vote counts."""


def mean_of(votes: Floats) -> Merged:
    """Return the mean of the votes, all annotators alike.

    Args:
        votes: Shape (n, annotators, 3): each annotator's distribution over the outcomes; NaN where
            it did not vote.
    """
    import numpy as np

    annotators = votes.shape[1]
    voted = ~np.isnan(votes[:, :, 0])
    count = voted.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(voted[:, :, None], votes, 0.0).sum(1) / count[:, None]
    return Merged(shares, np.full(annotators, np.nan), np.ones(annotators))


def weighted_by_agreement(
    votes: Floats, gold: Codes, clusters: NDArray[np.uint64], *, seed: int = 0
) -> Merged:
    """Weigh annotators by how often they agree with gold labels, estimated by cross-fitting.

    The model: an annotator is right with probability a, and wrong in either way alike. Then the
    log-odds of an outcome are the sum of ``w = log(a (K - 1) / (1 - a))`` over those who chose it,
    K being the number of outcomes: the weights of the optimal weighted vote (Nitzan and Paroush
    1982, for K = 2). An annotator who is worse than chance counts for nothing. A vote that is a
    distribution counts in its shares.

    ``a`` is ``(right + 1) / (n + 2)``, counted on pairs with a gold label **of other questions**
    than the pair's own: questions are divided into :data:`FOLDS` parts, and each part is merged
    with weights from the others. So what a pair's label becomes does not depend on how well the
    annotators did on that very pair. An annotator who could not be measured counts as the best of
    those who could; where there is no gold at all, everybody counts alike.

    Args:
        votes: Shape (n, annotators, 3), NaN where an annotator did not vote.
        gold: Shape (n, annotators): what each annotator is measured by, as places in
            :data:`OUTCOMES`; :data:`NO_VOTE` where there is nothing to measure by. (For a human
            that is what other humans said.)
        clusters: Shape (n,): pairs of one question share a value.
        seed: Another seed divides the questions otherwise.

    Returns:
        The merged votes; ``skill`` and ``weights`` as all gold labels together give them.
    """
    import numpy as np

    voted = ~np.isnan(votes[:, :, 0])
    with np.errstate(invalid="ignore"):
        chosen = np.where(voted, np.argmax(np.nan_to_num(votes), axis=2), NO_VOTE)
    seen = np.unique(np.concatenate([chosen[voted], gold[gold != NO_VOTE]])).astype(np.int64)
    outcomes = max(2, len(seen))
    measured = voted & (gold != NO_VOTE)
    right = (chosen == gold) & measured
    folds = _folds(clusters, seed)
    shares = np.full((len(votes), 3), np.nan)
    for fold in range(FOLDS):
        inside = folds == fold
        _, weights = _log_odds(right[~inside].sum(0), measured[~inside].sum(0), outcomes)
        shares[inside] = _posterior(votes[inside], weights, seen)
    shares[~voted.any(1)] = np.nan
    skill, weights = _log_odds(right.sum(0), measured.sum(0), outcomes)
    return Merged(shares, skill, weights)


def dawid_skene(votes: Codes) -> Merged:
    """Estimate every annotator's confusions and the true outcomes together (Dawid and Skene 1979).

    Expectation-maximisation from the majority vote, by crowd-kit. It needs no gold label, but
    several annotators: of two it can only follow the one or the other.

    Args:
        votes: Shape (n, annotators): places in :data:`OUTCOMES`, :data:`NO_VOTE` for none.

    Raises:
        MissingExtraError: crowd-kit is not installed.
    """
    import numpy as np

    shares = np.full((len(votes), 3), np.nan)
    skill = np.full(votes.shape[1], np.nan)
    rows, columns = np.nonzero(votes != NO_VOTE)
    if len(rows):
        proba, errors = _fitted(rows, columns, votes[rows, columns])
        places = proba.index.to_numpy().astype(np.int64)
        shares[places] = 0.0
        for outcome in proba.columns:
            shares[places, int(outcome)] = proba[outcome].to_numpy()
        priors = proba.mean(axis=0)
        for column in errors.index.get_level_values("worker").unique():
            table = errors.xs(column, level="worker")
            skill[int(column)] = sum(
                float(priors[k]) * float(table.loc[k, k]) for k in priors.index if k in table.index
            )
    return Merged(shares, skill, np.full(votes.shape[1], np.nan))


def _fitted(rows: NDArray[np.intp], columns: NDArray[np.intp], said: Codes) -> tuple[Any, Any]:
    """Return crowd-kit's table of outcomes by pair, and its tables of errors by annotator."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pandas as pd
            from crowdkit.aggregation import DawidSkene

            table = pd.DataFrame({"task": rows, "worker": columns, "label": said})
            model = DawidSkene(n_iter=_ITERATIONS)
            proba = model.fit_predict_proba(table)
            errors = model.errors_
    except ImportError as error:
        raise MissingExtraError("the rule 'dawid-skene'", "crowd", "crowd-kit") from error
    return proba, errors


def _folds(clusters: NDArray[np.uint64], seed: int) -> NDArray[np.int64]:
    """Divide questions into parts of nearly equal size; shape (n,)."""
    import numpy as np

    questions, which = np.unique(clusters, return_inverse=True)
    parts = np.arange(len(questions)) % FOLDS
    np.random.default_rng(seed).shuffle(parts)
    result: NDArray[np.int64] = parts[which]
    return result


def _log_odds(
    right: NDArray[np.int64], measured: NDArray[np.int64], outcomes: int
) -> tuple[Floats, Floats]:
    """Return each annotator's estimated accuracy, and the weight that follows."""
    import numpy as np

    accuracy = (right + 1) / (measured + 2)
    weights = np.log(accuracy * (outcomes - 1) / (1 - accuracy))
    known = measured > 0
    weights = np.where(known, weights, weights[known].max() if known.any() else 1.0)
    return np.where(known, accuracy, np.nan), np.maximum(weights, 0.0)


def _posterior(votes: Floats, weights: Floats, seen: NDArray[np.int64]) -> Floats:
    """Return the outcomes' probabilities from weighted votes; outcomes never seen have none."""
    import numpy as np

    odds = (np.nan_to_num(votes) * weights[None, :, None]).sum(1)
    odds -= odds[:, seen].max(1, keepdims=True) if len(seen) else 0.0
    likely = np.zeros_like(odds)
    likely[:, seen] = np.exp(odds[:, seen])
    total = likely.sum(1, keepdims=True)
    return np.asarray(np.divide(likely, total, out=np.full_like(likely, np.nan), where=total > 0))
