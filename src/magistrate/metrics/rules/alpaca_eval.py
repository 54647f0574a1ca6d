"""AlpacaEval's rule (its leaderboard): how often the second answer beats the first, the baseline.

A preference is 1 (first), 2 (second), 1.5 or 0 (tie), or in between where the annotator weighs its
verdict by probability. Unreadable ones are left out of everything. Length-controlled rates need a
fitted model of many systems and are not part of this rule.
"""

from __future__ import annotations

import math

from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING, PairColumns
from magistrate.metrics.rules.base import RuleResult

NAME = "alpaca-eval"


def alpaca_eval(pairs: PairColumns) -> RuleResult:
    """Return win rates and counts under the keys of AlpacaEval's leaderboard.

    ``win_rate`` is the mean of P(second better) where the judge gives probabilities, else wins plus
    half the draws; ``standard_error`` is the standard error of that mean, both in percent.

    Raises:
        InputError: Not one pair has an ``ok`` decision.
    """
    import numpy as np

    ok = pairs.said != NOTHING
    said = pairs.said[ok].astype(int)
    if not len(said):
        raise InputError(
            f"rule '{NAME}' counts verdicts, and none of the {len(pairs):,} pairs has one"
        )
    soft = pairs.probability[ok]
    discrete = (1 - said) / 2
    weighted = np.where(np.isnan(soft[:, 2]), discrete, soft[:, 2] + soft[:, 1] / 2)
    n = len(said)
    error = float(weighted.std(ddof=1)) / math.sqrt(n) if n > 1 else None
    return RuleResult(
        rule=NAME,
        source="AlpacaEval (leaderboard of its repository)",
        n=len(pairs),
        not_ok=int((~ok).sum()),
        not_ok_counts_as="nothing: left out of all numbers",
        values={
            "win_rate": 100 * float(weighted.mean()),
            "standard_error": None if error is None else 100 * error,
            "n_wins": int((said == -1).sum()),
            "n_wins_base": int((said == 1).sum()),
            "n_draws": int((said == 0).sum()),
            "n_total": n,
            "discrete_win_rate": 100 * float(discrete.mean()),
        },
        notes=(
            "the second answer of each pair is the model, the first the baseline",
            "length-controlled rates are not part of this rule",
        ),
    )
