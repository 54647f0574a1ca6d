"""JudgeBench's rule (arXiv 2410.12784, its ``run_judge.py``).

Each order that agrees with the label scores 1, each that says the opposite -1, a tie or an
unreadable verdict 0; a pair is correct when the sum is above 0. Categories go by the source of the
question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.metrics.columns import NOTHING, PairColumns
from magistrate.metrics.rules.base import RuleResult, Value, labelled, percent
from magistrate.metrics.rules.pandalm import with_ties

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]

NAME = "judgebench"
CATEGORIES = {
    "mmlu-pro": "knowledge",
    "livebench-reasoning": "reasoning",
    "livebench-math": "math",
    "livecodebench": "coding",
}
"""Beginning of the source to JudgeBench's category."""


def judgebench(pairs: PairColumns) -> RuleResult:
    """Return the share correct, overall and in JudgeBench's four categories.

    Raises:
        InputError: No pair has a label that prefers an answer.
    """
    chosen = labelled(pairs, NAME, ties=False)
    given, swapped = with_ties(chosen.as_given), with_ties(chosen.swapped)
    correct = chosen.gold * (given + swapped) > 0
    missing = (chosen.as_given == NOTHING) | (chosen.swapped == NOTHING)
    return RuleResult(
        rule=NAME,
        source="JudgeBench (arXiv 2410.12784), run_judge.py",
        n=len(chosen),
        not_ok=int(missing.sum()),
        not_ok_counts_as="a vote for neither side",
        values={"overall": percent(correct)},
        categories=_categories(chosen, correct),
    )


def _categories(pairs: PairColumns, correct: Bools) -> dict[str, dict[str, Value]]:
    import numpy as np

    found: dict[str, dict[str, Value]] = {}
    for prefix, name in CATEGORIES.items():
        codes = [k for k, source in enumerate(pairs.category.names) if source.startswith(prefix)]
        chosen = np.isin(pairs.category.codes, codes)
        if chosen.any():
            found[name] = {"n": int(chosen.sum()), "overall": percent(correct[chosen])}
    return found
