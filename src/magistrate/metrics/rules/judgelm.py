"""JudgeLM's rule (arXiv 2310.17631, its ``eval_model_judgement.py``).

Pairs whose label cannot be read are dropped. A prediction that cannot be read stays **as a tie**.
Precision, recall and F1 are macro averages over the outcomes that occur in labels or predictions.
Consistency and biases compare the two orders, ties by unreadable predictions included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.metrics.classification import accuracy, averaged, confusion
from magistrate.metrics.columns import NOTHING, PairColumns
from magistrate.metrics.rules.base import RuleResult, Value, labelled
from magistrate.metrics.rules.pandalm import with_ties

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.integer]

NAME = "judgelm"
_BIAS_KEYS = (
    "consistency",
    "perfer_after_rate",
    "perfer_before_rate",
    "delta_bias",
    "total_bias",
)
"""JudgeLM's own spelling; 'before' is the answer shown first."""


def judgelm(pairs: PairColumns) -> RuleResult:
    """Return agreement, macro precision, recall and F1, and the biases of the two orders.

    The verdict with the answers as given is what is compared with the labels.

    Raises:
        InputError: No pair is labelled.
    """
    chosen = labelled(pairs, NAME)
    given, swapped = with_ties(chosen.as_given), with_ties(chosen.swapped)
    counts = confusion(chosen.gold, given).astype(float)
    precision, recall, f1 = averaged(counts, "macro")
    both = bool((chosen.swapped != NOTHING).any())
    missing = chosen.as_given == NOTHING
    return RuleResult(
        rule=NAME,
        source="JudgeLM (arXiv 2310.17631), llm_judge/eval_model_judgement.py",
        n=len(chosen),
        not_ok=int((missing | (chosen.swapped == NOTHING) if both else missing).sum()),
        not_ok_counts_as="a tie (a label that cannot be read drops the pair)",
        values={
            "agreement": 100 * float(accuracy(counts)),
            "precision": 100 * float(precision),
            "recall": 100 * float(recall),
            "f1": 100 * float(f1),
            **(_biases(given, swapped) if both else dict.fromkeys(_BIAS_KEYS)),
            "total_num": len(chosen),
        },
        notes=() if both else ("there are no readings in the other order, so no consistency",),
    )


def _biases(given: Codes, swapped: Codes) -> dict[str, Value]:
    shift = given.astype(int) - swapped.astype(int)
    before, after = (100 * float((way).mean()) for way in (shift > 0, shift < 0))
    values = (100 * float((shift == 0).mean()), after, before, abs(before - after), before + after)
    return dict(zip(_BIAS_KEYS, values, strict=True))
