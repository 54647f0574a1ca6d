"""The head that classifies: one reading of both answers, then first, second or tie.

Learned by cross-entropy with the label, or with a teacher's probabilities where they are asked for
(``data.soft``): the loss of a reading is minus the sum of p(label) * log q(label).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import torch

from magistrate.prompts.classifier import LABELS, ClassifierFamily
from magistrate.train.encoding import Unfit, encode_pair_class
from magistrate.train.head import Batch, Losses, PartLoss
from magistrate.train.head_prompts import classifier_family
from magistrate.train.heads import NumberHead, Read

if TYPE_CHECKING:
    from magistrate.prompts.base import Family
    from magistrate.train.examples import Example
    from magistrate.train.recipe import HeadName


class ClassifyHead(NumberHead):
    """Trains a model to say which of two answers is better."""

    name: HeadName = "classify"
    outputs = len(LABELS)

    def losses(self, model: Any, batch: Batch) -> Losses:
        """Return the cross-entropy, summed over the pass."""
        logs = torch.log_softmax(self.outputs_for(model, batch), dim=-1)
        loss = -(batch["targets"] * logs).sum()
        return Losses(loss, {"verdict": PartLoss(loss.detach(), batch["items"])})

    def _make_family(self, tokenizer: Any) -> Family:
        judge = self._recipe.judge
        return classifier_family(judge.name, judge.family, tokenizer)

    def _with_verdict(self, verdict: Mapping[str, float]) -> Family:
        family = cast(ClassifierFamily, self.family)
        return ClassifierFamily.from_sections(
            family.name, family.section.model_dump(mode="json"), verdict
        )

    def _encode(self, example: Example) -> Read | Unfit:
        found = encode_pair_class(
            example,
            cast(ClassifierFamily, self.family),
            self.slots,
            self._max_tokens,
            soft=self._recipe.data.soft,
        )
        if isinstance(found, Unfit):
            return found
        return Read((found.ids,), found.probabilities, found.cut)

    def _learned(self, items: Sequence[Read]) -> dict[str, Any]:
        return {"targets": torch.tensor([item.learned for item in items])}
