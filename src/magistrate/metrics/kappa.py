"""Agreement beyond chance: Cohen's and Fleiss' kappa, Krippendorff's alpha.

All are 1 for perfect agreement and about 0 for agreement by chance; below 0 there is less of it
than chance would give. Where everyone says one class alone, chance explains everything and none
of them is defined: they are NaN then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

Weights = Literal["none", "linear", "quadratic"]
Level = Literal["nominal", "ordinal", "interval"]


def cohen(table: Floats, weights: Weights = "none") -> Floats:
    """Return Cohen's kappa of two raters (Cohen 1960; weighted: Cohen 1968).

    ``1 - sum(w * observed) / sum(w * expected)``, where ``w`` is 0 on the diagonal and off it 1,
    the distance of the classes, or its square; expected are the products of the margins.

    Args:
        table: Shape (..., k, k): counts, one rater's class in rows and the other's in columns;
            for weights other than ``none`` the classes are in their sequence.
        weights: How much a disagreement counts.

    Returns:
        Shape (...), in [-1, 1], NaN where it is not defined.
    """
    import numpy as np

    places = np.arange(table.shape[-1])
    distance = np.abs(places[:, None] - places[None, :])
    power = {"none": 0, "linear": 1, "quadratic": 2}[weights]
    weight = np.where(distance > 0, distance.astype(float) ** power, 0.0)
    total = table.sum((-2, -1))
    expected = table.sum(-1)[..., :, None] * table.sum(-2)[..., None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (weight * table).sum((-2, -1)) * total
        return np.asarray(1 - observed / (weight * expected).sum((-2, -1)))


def cohen_of(one: ArrayLike, other: ArrayLike, weights: Weights = "none") -> float:
    """Return Cohen's kappa of two columns of classes.

    Args:
        one: Shape (n,), integers.
        other: Shape (n,), integers.
        weights: As :func:`cohen`; the classes are in the sequence of their numbers.
    """
    import numpy as np

    classes, codes = np.unique(np.concatenate([one, other]), return_inverse=True)
    k, n = len(classes), len(codes) // 2
    if not n:
        return float("nan")
    cells = codes[:n] * k + codes[n:]
    table = np.bincount(cells, minlength=k * k).reshape(k, k)
    return float(cohen(table.astype(np.float64), weights))


def fleiss(counts: ArrayLike) -> float:
    """Return Fleiss' kappa of any number of raters (Fleiss 1971, equations 1 to 7).

    Args:
        counts: Shape (n, k): how many raters gave each sample each class. Every sample has equally
            many ratings, two or more.

    Raises:
        ValueError: Samples have different numbers of ratings, or fewer than two.
    """
    import numpy as np

    table = np.asarray(counts, dtype=np.float64)
    if not len(table):
        return float("nan")
    raters = table.sum(1)
    if (raters != raters[0]).any() or raters[0] < 2:
        raise ValueError(
            f"Fleiss' kappa needs equally many ratings of each sample, two or more; found "
            f"{raters.min():g} to {raters.max():g}; Krippendorff's alpha takes any number"
        )
    m = raters[0]
    observed = ((table**2).sum() - m * len(table)) / (len(table) * m * (m - 1))
    chance = float(((table.sum(0) / table.sum()) ** 2).sum())
    return float((observed - chance) / (1 - chance)) if chance < 1 else float("nan")


def krippendorff(values: ArrayLike, level: Level = "nominal") -> float:
    """Return Krippendorff's alpha of any number of raters, with gaps (Krippendorff 2011).

    ``1 - D_o / D_e``: the mean squared distance of two ratings of one sample, over that of any two
    ratings. The distance is 0 or 1 (nominal), the difference (interval), or the number of ratings
    that lie between (ordinal, half of both ends). Samples with fewer than two ratings count for
    nothing.

    Args:
        values: Shape (n, raters): a rating per sample and rater, NaN for none.
        level: What a distance means.
    """
    import numpy as np

    ratings = np.asarray(values, dtype=np.float64)
    there = ~np.isnan(ratings)
    pairable = there.sum(1) >= 2
    ratings, there = ratings[pairable], there[pairable]
    if not len(ratings):
        return float("nan")
    classes, codes = np.unique(ratings[there], return_inverse=True)
    k = len(classes)
    samples = np.nonzero(there)[0]
    counts = np.bincount(samples * k + codes, minlength=len(ratings) * k).reshape(-1, k)
    coincidences = _coincidences(counts)
    margins = coincidences.sum(0)
    distance = _squared_distance(classes, margins, level)
    total = margins.sum()
    expected = margins @ distance @ margins / (total - 1)
    return float(1 - (coincidences * distance).sum() / expected) if expected > 0 else float("nan")


def _coincidences(counts: NDArray[np.int64]) -> Floats:
    """Return how often two ratings of one sample are of two classes; shape (k, k).

    A sample of m ratings gives m * (m - 1) ordered pairs, each of weight 1 / (m - 1).
    """
    import numpy as np

    weight = 1.0 / (counts.sum(1) - 1)
    pairs = (counts * weight[:, None]).T @ counts
    result: Floats = pairs - np.diag(weight @ counts)
    return result


def _squared_distance(classes: Floats, margins: Floats, level: Level) -> Floats:
    import numpy as np

    if level == "nominal":
        return 1.0 - np.eye(len(classes))
    if level == "interval":
        return np.asarray((classes[:, None] - classes[None, :]) ** 2)
    middle = np.cumsum(margins) - margins / 2
    return np.asarray((middle[:, None] - middle[None, :]) ** 2)
