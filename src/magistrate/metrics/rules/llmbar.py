"""LLMBar's rule (arXiv 2310.07641, the ``statistics.json`` of its evaluators).

No winner counts as wrong, and no winner in both orders counts as equal. ``correct_average`` is the
paper's Acc., ``equal`` its Agr.

The ``kappa_*`` entries are reproduced **with the fault** of the released code: it compares labels
written 1 and 2 with predictions of which everything but "1" became 0. So ``kappa_False``,
``kappa_True`` and ``kappa_average`` mean nothing, and ``kappa_agreement`` is the kappa of "the
winner is 1" in the two orders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.metrics.annotators import number
from magistrate.metrics.columns import NOTHING, PairColumns
from magistrate.metrics.kappa import cohen_of
from magistrate.metrics.rules.base import RuleResult, Value, labelled, need_both_orders, percent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.integer]

NAME = "llmbar"


def llmbar(pairs: PairColumns) -> RuleResult:
    """Return the entries of LLMBar's ``statistics.json``; a said tie counts as wrong.

    Raises:
        InputError: No pair has a label that prefers an answer, or there is but one order.
    """
    chosen = labelled(pairs, NAME, ties=False)
    need_both_orders(chosen, NAME)
    given, swapped, gold = chosen.as_given, chosen.swapped, chosen.gold
    correct = given == gold, swapped == gold
    shares = [percent(hits) for hits in correct]
    return RuleResult(
        rule=NAME,
        source="LLMBar (arXiv 2310.07641), statistics.json of its evaluators",
        n=len(chosen),
        not_ok=int(((given == NOTHING) | (swapped == NOTHING)).sum()),
        not_ok_counts_as="wrong; two such readings of one pair count as equal",
        values={
            "correct_False": shares[0],
            "correct_True": shares[1],
            "correct_average": sum(shares) / 2,
            "correct_both": percent(correct[0] & correct[1]),
            "equal": percent(given == swapped),
            **_kappas(gold, given, swapped),
        },
        notes=(
            "kappa_* repeat a fault of LLMBar's code: labels are 1 and 2, predictions 1 and 0",
            "of them kappa_agreement alone means something",
        ),
    )


def _kappas(gold: Codes, given: Codes, swapped: Codes) -> dict[str, Value]:
    import numpy as np

    labels = np.where(gold == 1, 1, 2)
    first = [(said == 1).astype(int) for said in (given, swapped)]
    kappas = [number(cohen_of(labels, said)) for said in first]
    both = [kappa for kappa in kappas if kappa is not None]
    return {
        "kappa_False": kappas[0],
        "kappa_True": kappas[1],
        "kappa_average": sum(both) / 2 if len(both) == 2 else None,
        "kappa_agreement": number(cohen_of(*first)),
    }
