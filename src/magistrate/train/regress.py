"""The head that scores: one reading per answer, one number each.

``loss.regress = "bradley-terry"`` learns which answer wins (Bradley and Terry 1952; as reward
models do, arXiv 2203.02155): with scores r, the loss of a pair is the cross-entropy of
sigmoid(r1 - r2) with the probability that the first answer is better, where a tie counts half to
either side. Of three answers and more all pairs of the label's ranking count, together as much as
one pair.

``loss.regress = "scores"`` learns the annotator's scores themselves by squared error. Scores are
learned as (score - 5.5) / 4.5, which takes 1 to 10 to -1 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, cast

import torch

from magistrate.prompts.scorer import ScorerFamily
from magistrate.train.encoding import EncodedAnswers, Unfit, encode_scored_answers
from magistrate.train.head import Batch, Losses, PartLoss
from magistrate.train.head_prompts import scorer_family
from magistrate.train.heads import NumberHead, Read

if TYPE_CHECKING:
    from magistrate.prompts.base import Family
    from magistrate.train.examples import Example
    from magistrate.train.recipe import HeadName

MIDDLE, HALF_RANGE = 5.5, 4.5


class RegressHead(NumberHead):
    """Trains a model to score answers."""

    name: HeadName = "regress"
    outputs = 1

    def losses(self, model: Any, batch: Batch) -> Losses:
        """Return the loss of pairs or of scores, summed over the pass."""
        scores = self.outputs_for(model, batch)[:, 0]
        if self._recipe.loss.regress == "scores":
            each = (scores - batch["targets"]) ** 2
        else:
            difference = scores[batch["first"]] - scores[batch["second"]]
            each = torch.nn.functional.binary_cross_entropy_with_logits(
                difference, batch["targets"], reduction="none"
            )
        loss = (each * batch["shares"]).sum()
        return Losses(loss, {"verdict": PartLoss(loss.detach(), batch["items"])})

    def _make_family(self, tokenizer: Any) -> Family:
        judge = self._recipe.judge
        return scorer_family(judge.name, judge.family, tokenizer)

    def _with_verdict(self, verdict: Mapping[str, float]) -> Family:
        family = cast(ScorerFamily, self.family)
        return ScorerFamily.from_sections(
            family.name, family.section.model_dump(mode="json"), verdict
        )

    def _encode(self, example: Example) -> Read | Unfit:
        found = encode_scored_answers(
            example,
            cast(ScorerFamily, self.family),
            self.slots,
            self._max_tokens,
            soft=self._recipe.data.soft,
        )
        if isinstance(found, Unfit):
            return found
        if self._recipe.loss.regress == "scores":
            if found.scores is None:
                return Unfit("its label has no scores, which loss.regress = 'scores' learns")
            targets = tuple((score - MIDDLE) / HALF_RANGE for score in found.scores)
            return Read(found.readings, targets, found.cut)
        pairs = pairs_of(found)
        if not pairs:
            return Unfit("two answers or more are needed for loss.regress = 'bradley-terry'")
        return Read(found.readings, pairs, found.cut)

    def _learned(self, items: Sequence[Read]) -> dict[str, Any]:
        if self._recipe.loss.regress == "scores":
            return {
                "targets": torch.tensor([score for item in items for score in item.learned]),
                "shares": torch.tensor(
                    [1 / len(item.learned) for item in items for _ in item.learned]
                ),
            }
        first, second, targets, shares = [], [], [], []
        start = 0
        for item in items:
            for one, other, probability in item.learned:
                first.append(start + one)
                second.append(start + other)
                targets.append(probability)
                shares.append(1 / len(item.learned))
            start += len(item.readings)
        return {
            "first": torch.tensor(first),
            "second": torch.tensor(second),
            "targets": torch.tensor(targets),
            "shares": torch.tensor(shares),
        }


def pairs_of(found: EncodedAnswers) -> tuple[tuple[int, int, float], ...]:
    """Return pairs of places, each with the probability that the first of it is better."""
    if found.probabilities is not None:
        return ((0, 1, found.probabilities.first + found.probabilities.tie / 2),)
    if found.ranking is None:
        return ()
    ranks = found.ranking
    return tuple(
        (one, other, 0.5 if ranks[one] == ranks[other] else float(ranks[one] < ranks[other]))
        for one, other in combinations(range(len(ranks)), 2)
    )
