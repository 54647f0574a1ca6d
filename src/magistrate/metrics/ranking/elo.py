"""Elo ratings, averaged over sequences.

Elo's update (Elo 1978) after a battle: ``rating += K * (points - expected)``, where points are 1,
1/2 or 0 and ``expected = 1 / (1 + 10 ** ((opponent - rating) / 400))``. It is made for players who
change; models do not, so the sequence of battles should not matter, but does. Hence many shuffled
sequences, drawn from a seed, and their mean. Bradley-Terry is the better answer to the same
question: prefer it unless you need Elo's own numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.metrics.draws import SEED
from magistrate.metrics.ranking.battles import Battles

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

K_FACTOR = 4.0
"""As Chatbot Arena used: small, so that the last battles do not decide."""
START = 1_000.0
SHUFFLES = 100
_SHUFFLES_A_RESAMPLE = 5
_STEPS_HELD = 5_000_000
"""Bound on battles times sequences that are played side by side."""
_MOST_UPDATES = 200_000_000
"""Bound on battles times sequences; with more battles there are fewer resamples."""


def elo_ratings(
    battles: Battles, *, k: float = K_FACTOR, shuffles: int = SHUFFLES, seed: int = SEED
) -> Floats:
    """Return the mean rating of every model over shuffled sequences, shape (models,).

    Args:
        battles: The battles; one of weight w moves ratings by w times as much.
        k: The update's size in points.
        shuffles: How many sequences.
        seed: Equal seeds give equal ratings.
    """
    return ratings_of(battles, points_moved(battles, k=k, shuffles=shuffles, seed=seed))


def ratings_of(battles: Battles, moved: Floats) -> Floats:
    """Return ratings, shape (models,), of what :func:`points_moved` returned."""
    import numpy as np

    models = len(battles.models)
    gained = np.bincount(battles.first, moved, models)
    lost = np.bincount(battles.second, moved, models)
    return (START + gained - lost).astype(np.float64)


def points_moved(
    battles: Battles, *, k: float = K_FACTOR, shuffles: int = SHUFFLES, seed: int = SEED
) -> Floats:
    """Return by how many points each battle raised its first model, mean over sequences.

    Args:
        battles: As in :func:`elo_ratings`, like the other arguments.
        k: The update's size in points.
        shuffles: How many sequences.
        seed: Equal seeds give equal points.

    Returns:
        Shape (n,); the second model lost as much.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    every = np.arange(len(battles))
    sequences = np.stack([rng.permutation(every) for _ in range(shuffles)], axis=1)
    moved = np.zeros(len(battles) + 1)
    _play(battles, sequences, k, moved)
    mean: Floats = moved[:-1] / shuffles
    return mean


def resampled_elo(
    battles: Battles, resamples: int, *, k: float = K_FACTOR, seed: int = SEED
) -> Floats:
    """Return ratings of resamples of whole questions, shape (some, models).

    There are ``resamples``, or fewer (50 at least) where there are very many battles. Each is the
    mean over a few sequences of its own.
    """
    import numpy as np

    rng = np.random.default_rng(seed + 1)
    affordable = _MOST_UPDATES // (max(1, len(battles)) * _SHUFFLES_A_RESAMPLE)
    count = min(resamples, max(50, affordable))
    together = max(1, _STEPS_HELD // (max(1, len(battles)) * _SHUFFLES_A_RESAMPLE))
    by_question = np.argsort(battles.question, kind="stable")
    _, sizes = np.unique(battles.question, return_counts=True)
    ratings = []
    for start in range(0, count, together):
        drawn = [
            _battles_of_drawn(by_question, sizes, rng) for _ in range(min(together, count - start))
        ]
        # Resamples differ in length; what pads the shorter ones is a battle that moves nothing.
        padded = np.full((max(map(len, drawn)), len(drawn)), len(battles))
        for lane, taken in enumerate(drawn):
            padded[: len(taken), lane] = taken
        sequences = rng.permuted(np.repeat(padded, _SHUFFLES_A_RESAMPLE, axis=1), axis=0)
        played = _play(battles, sequences, k)
        ratings.append(played.reshape(len(drawn), _SHUFFLES_A_RESAMPLE, -1).mean(axis=1))
    return np.concatenate(ratings)


def _battles_of_drawn(
    by_question: NDArray[np.int64], sizes: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw as many questions as there are, and return all their battles."""
    import numpy as np

    drawn = rng.integers(len(sizes), size=len(sizes))
    lengths, begins = sizes[drawn], (np.cumsum(sizes) - sizes)[drawn]
    inside = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    taken: NDArray[np.int64] = by_question[np.repeat(begins, lengths) + inside]
    return taken


def _play(
    battles: Battles, sequences: NDArray[np.int64], k: float, moved: Floats | None = None
) -> Floats:
    """Return the ratings after each sequence, shape (sequences, models).

    Args:
        battles: The battles.
        sequences: Shape (steps, sequences): which battle each sequence plays at each step; the
            number of battles stands for none.
        k: The update's size in points.
        moved: Shape (n + 1,): here the points that each battle moves are added.
    """
    import numpy as np

    count, models = sequences.shape[1], len(battles.models)
    ratings = np.full(count * models, START)
    lanes = np.arange(count) * models
    points = np.append((1 + battles.outcome) / 2, 0.5)
    size = np.append(k * battles.weight, 0.0)
    first, second = np.append(battles.first, 0), np.append(battles.second, 0)
    for battle in sequences:
        one, other = lanes + first[battle], lanes + second[battle]
        expected = 1 / (1 + 10 ** ((ratings[other] - ratings[one]) / 400))
        gain = size[battle] * (points[battle] - expected)
        ratings[one] += gain
        ratings[other] -= gain
        if moved is not None:
            np.add.at(moved, battle, gain)
    return ratings.reshape(count, models)
