"""One label from several annotators, by a named rule, and how far they disagree."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Literal, get_args

from magistrate.data.annotator_models import (
    NO_VOTE,
    OUTCOMES,
    Merged,
    dawid_skene,
    mean_of,
    weighted_by_agreement,
)
from magistrate.metrics.compact import question_cluster
from magistrate.metrics.gold import annotator_vote
from magistrate.records import Gold, Preference, Probabilities, Sample

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.int8]
    Floats = NDArray[np.float64]

MergeRule = Literal["mean", "agreement", "dawid-skene"]
MERGE_RULES: tuple[MergeRule, ...] = get_args(MergeRule)

MERGED = "merged:"
"""What the name of an annotator begins with whose labels were merged from those of others."""

FEWEST_FOR_DAWID_SKENE = 3


def is_merged(gold: Gold) -> bool:
    """Whether a label was merged from others."""
    return (gold.annotator or "").startswith(MERGED)


def shares_of(gold: Gold) -> tuple[float, float, float] | None:
    """Return a label of a pair as a distribution over first, tie, second; None if it says nothing.

    A soft label is taken as it is, a half being as much for either side; others are certain.

    >>> shares_of(Gold(preference="tie")), shares_of(Gold(probability_second=0.25))
    ((0.0, 1.0, 0.0), (0.75, 0.0, 0.25))
    """
    if gold.probability_second is not None and gold.preference != "tie":
        return (1 - gold.probability_second, 0.0, gold.probability_second)
    vote = annotator_vote(gold)
    if vote is None:
        return None
    return (float(vote == "first"), float(vote == "tie"), float(vote == "second"))


class Ballots:
    """The votes of all annotators on the pairs among some samples, a column an annotator."""

    def __init__(self, samples: int) -> None:
        """Begin without votes.

        Args:
            samples: How many samples there are.
        """
        self.samples = samples
        self.humans: set[str] = set()
        """Columns by which the others are measured."""
        self._votes: dict[str, tuple[array[int], array[float]]] = {}
        self._clusters = array("Q", bytes(8 * samples))

    def add(
        self,
        row: int,
        sample: Sample,
        column: str,
        shares: Sequence[float] | None,
        *,
        is_human: bool = False,
    ) -> None:
        """Add what an annotator said of a sample; nothing for a sample that is no pair.

        Args:
            row: Place of the sample, from 0.
            sample: The sample.
            column: The annotator.
            shares: Distribution over first, tie, second.
            is_human: Whether the annotator's word counts as gold.
        """
        if shares is None or len(sample.answers) != 2:
            return
        rows, values = self._votes.setdefault(column, (array("q"), array("d")))
        rows.append(row)
        values.extend(shares)
        if is_human:
            self.humans.add(column)
        self._clusters[row] = question_cluster(sample)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in the sequence in which they first voted."""
        return tuple(self._votes)

    @property
    def clusters(self) -> NDArray[np.uint64]:
        """Shape (samples,): pairs of one question share a value; 0 where nobody voted."""
        import numpy as np

        return np.array(self._clusters, dtype=np.uint64)

    def shares(self, columns: Sequence[str]) -> Floats:
        """Return votes as distributions, shape (samples, columns, 3); NaN where there is none."""
        import numpy as np

        shares = np.full((self.samples, len(columns), 3), np.nan)
        for place, column in enumerate(columns):
            if column in self._votes:
                rows, values = self._votes[column]
                shares[np.array(rows), place] = np.array(values).reshape(-1, 3)
        return shares

    def codes(self, columns: Sequence[str]) -> Codes:
        """Return votes as places in :data:`OUTCOMES`, shape (samples, columns)."""
        return codes_of(self.shares(columns))


def codes_of(shares: Floats) -> Codes:
    """Return the likeliest outcome of each distribution, as :class:`Probabilities` tells it.

    Args:
        shares: Shape (..., 3), NaN for none.

    Returns:
        Shape (...): places in :data:`OUTCOMES`; :data:`NO_VOTE` for none.
    """
    import numpy as np

    first, tie, second = (shares[..., k] for k in range(3))
    with np.errstate(invalid="ignore"):
        codes = np.full(first.shape, 1, dtype=np.int8)
        codes[(first > second) & (first >= tie)] = 0
        codes[(second > first) & (second >= tie)] = 2
    codes[np.isnan(first)] = NO_VOTE
    return codes


def gold_by_annotator(codes: Codes, humans: Sequence[bool]) -> Codes:
    """Return what each annotator is measured by: the majority of the humans, other than itself.

    Args:
        codes: Shape (n, annotators).
        humans: Which annotators are human.

    Returns:
        Shape (n, annotators); :data:`NO_VOTE` where there is no human, or no majority.
    """
    import numpy as np

    human = np.array(humans, dtype=bool)
    counts = np.stack([((codes == k) & human[None, :]).sum(1) for k in range(3)], axis=1)
    gold = np.full(codes.shape, NO_VOTE, dtype=np.int8)
    everybody = _leading(counts)
    for column in range(codes.shape[1]):
        if not human[column]:
            gold[:, column] = everybody
            continue
        own = np.stack([codes[:, column] == k for k in range(3)], axis=1)
        gold[:, column] = _leading(counts - own)
    return gold


def _leading(counts: NDArray[np.int64]) -> Codes:
    import numpy as np

    top = counts.max(1)
    is_alone = (top > 0) & ((counts == top[:, None]).sum(1) == 1)
    return np.where(is_alone, counts.argmax(1), NO_VOTE).astype(np.int8)


def merge_votes(ballots: Ballots, columns: Sequence[str], rule: MergeRule, *, seed: int) -> Merged:
    """Merge the votes of some annotators by a rule.

    Args:
        ballots: All votes.
        columns: Whose votes are merged.
        rule: ``mean``: the mean of their distributions. ``agreement`` and ``dawid-skene``: see
            :func:`weighted_by_agreement` and :func:`dawid_skene`.
        seed: Of the parts of the cross-fitting.

    Raises:
        MissingExtraError: The rule needs a package that is not installed.
    """
    shares = ballots.shares(columns)
    if rule == "mean":
        return mean_of(shares)
    if rule == "dawid-skene":
        return dawid_skene(codes_of(shares))
    names = [*columns, *sorted(ballots.humans - set(columns))]
    gold = gold_by_annotator(ballots.codes(names), [name in ballots.humans for name in names])
    return weighted_by_agreement(shares, gold[:, : len(columns)], ballots.clusters, seed=seed)


@dataclass(frozen=True, slots=True)
class Label:
    """One annotator's label of one sample, on its way to a merged one."""

    column: str
    gold: Gold
    scale: tuple[float, float] | None = None
    """Of its scores."""
    is_teacher: bool = True


def merged_gold(
    labels: Sequence[Label],
    shares: Sequence[float] | None,
    rule: MergeRule,
    skill_of: Callable[[str], float],
) -> Gold | None:
    """Return one label from the labels of one sample; None if none of them says anything.

    Preference and soft label are those of ``shares``. Scores are the mean of the teachers' who have
    the scale of the first that gave any; where that mean contradicts the preference, of those among
    them who say the same; where there are none, there are no scores. Reasons are those of the most
    skilled annotator that says the same. Of other samples than pairs scores and ranks are averaged.

    Args:
        labels: What annotators said; those of one merge only.
        shares: The merged distribution over first, tie, second; None where the sample is no pair,
            or nobody voted.
        rule: What it was merged by.
        skill_of: The estimated skill of an annotator.
    """
    preference, probability = None, None
    if shares is not None and not math.isnan(shares[0]):
        first, tie, second = (min(1.0, max(0.0, float(share))) for share in shares)
        preference = Probabilities(first=first, tie=tie, second=second).preference
        probability = min(1.0, second + tie / 2)
    same = [label for label in labels if annotator_vote(label.gold) == preference]
    scores = consistent_scores(_mean_scores(labels), preference) or consistent_scores(
        _mean_scores(same), preference
    )
    ranking = _mean_ranking([label.gold.ranking for label in labels if label.gold.ranking])
    if preference is None and scores is None and ranking is None:
        return None
    ways = {label.gold.with_reference for label in labels if label.is_teacher}
    name = rule if preference is not None else "mean"
    return Gold(
        annotator=f"{MERGED}{name}",
        preference=preference,
        probability_second=probability,
        scores=scores,
        ranking=ranking,
        reasons=_reasons(labels, preference, ranking, skill_of),
        with_reference=next(iter(ways)) if len(ways) == 1 else None,
    )


def consistent_scores(
    scores: tuple[float, ...] | None, preference: Preference | None
) -> tuple[float, ...] | None:
    """Return the scores, unless they say another outcome than the preference.

    Orders that disagree may have a mean of scores on one side and equally many votes on either:
    who learns from such a label would learn the one or the other by chance.
    """
    if scores is None or preference is None or len(scores) != 2:
        return scores
    return scores if annotator_vote(Gold(scores=scores)) == preference else None


def _mean_scores(labels: Sequence[Label]) -> tuple[float, ...] | None:
    scores = _scores_of_one_scale(labels)
    return tuple(fmean(column) for column in zip(*scores, strict=True)) if scores else None


def _scores_of_one_scale(labels: Sequence[Label]) -> list[tuple[float, ...]]:
    """Return the teachers' scores that have the scale of the first of them."""
    found: list[tuple[float, ...]] = []
    leading: Label | None = None
    for label in labels:
        if label.gold.scores is None or not label.is_teacher:
            continue
        leading = leading or label
        if label is leading or (leading.scale is not None and label.scale == leading.scale):
            found.append(label.gold.scores)
    return found


def _mean_ranking(rankings: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Rank by the mean of the ranks; equal means share the better rank."""
    if not rankings:
        return None
    means = [fmean(column) for column in zip(*rankings, strict=True)]
    return tuple(1 + sum(other < own for other in means) for own in means)


def _reasons(
    labels: Sequence[Label],
    preference: Preference | None,
    ranking: tuple[int, ...] | None,
    skill_of: Callable[[str], float],
) -> str | None:
    fitting = [
        label
        for label in labels
        if label.gold.reasons
        and (preference is None or annotator_vote(label.gold) == preference)
        and (ranking is None or label.gold.ranking == ranking)
    ]
    if not fitting:
        return None

    def known_skill(label: Label) -> float:
        skill = skill_of(label.column)
        return 0.0 if math.isnan(skill) else skill

    return max(fitting, key=known_skill).gold.reasons


def disagreement(labels: Sequence[Label], consistent: Sequence[bool | None]) -> dict[str, object]:
    """Return how far the annotators of one sample disagree.

    Args:
        labels: What teachers and humans said.
        consistent: Of each teacher that labelled it, whether both orders gave one outcome.

    Returns:
        ``votes``: how many annotators gave each outcome. ``entropy``: of these shares, in bits, 0
        to 1.585. ``scores``: standard deviation of the teachers' scores (of a pair: of their
        differences of scores), of those that have the scale of the first. ``orders``: how many
        teachers gave another outcome in the other order. ``reference``: whether a teacher gave
        another outcome with the reference than without. What cannot be told is None.
    """
    votes = [vote for label in labels if (vote := annotator_vote(label.gold)) is not None]
    counts = {outcome: sum(vote == outcome for vote in votes) for outcome in OUTCOMES}
    known = [one for one in consistent if one is not None]
    return {
        "votes": counts if votes else None,
        "entropy": _entropy(list(counts.values())) if votes else None,
        "scores": _spread(labels),
        "orders": known.count(False) if known else None,
        "reference": _reference_matters(labels),
    }


def _entropy(counts: Sequence[int]) -> float:
    total = sum(counts)
    shares = [count / total for count in counts if count]
    return abs(sum(share * math.log2(share) for share in shares))


def _spread(labels: Sequence[Label]) -> float | None:
    scores = _scores_of_one_scale(labels)
    if len(scores) < 2:
        return None
    if len(scores[0]) == 2:
        return pstdev(one[0] - one[1] for one in scores)
    return fmean(pstdev(column) for column in zip(*scores, strict=True))


def _reference_matters(labels: Sequence[Label]) -> bool | None:
    by_name: dict[str | None, dict[bool, Preference | None]] = {}
    for label in labels:
        if label.is_teacher and label.gold.with_reference is not None:
            vote = annotator_vote(label.gold)
            by_name.setdefault(label.gold.annotator, {})[label.gold.with_reference] = vote
    both = [votes for votes in by_name.values() if len(votes) == 2]
    return any(votes[True] != votes[False] for votes in both) if both else None
