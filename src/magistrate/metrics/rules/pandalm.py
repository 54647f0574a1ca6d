"""PandaLM's rule (arXiv 2306.05087): unreadable is a tie; macro averages over three classes.

The annotators' majority is the truth. Its published figures come out only when the verdicts that
its files call ``garbage`` count as ties; neither leaving them out nor counting them wrong does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from magistrate.metrics.classification import accuracy, averaged, confusion
from magistrate.metrics.columns import NOTHING, PairColumns
from magistrate.metrics.rules.base import RuleResult, Value, labelled

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Codes = NDArray[np.integer]

NAME = "pandalm"


def pandalm(pairs: PairColumns) -> RuleResult:
    """Return accuracy and macro precision, recall and F1, and wins, losses, ties per two models.

    Raises:
        InputError: No pair is labelled.
    """
    chosen = labelled(pairs, NAME)
    said = with_ties(chosen.said)
    counts = confusion(chosen.gold, said).astype(float)
    precision, recall, f1 = averaged(counts, "macro")
    return RuleResult(
        rule=NAME,
        source="PandaLM (arXiv 2306.05087), README of its repository",
        n=len(chosen),
        not_ok=int((chosen.said == NOTHING).sum()),
        not_ok_counts_as="a tie",
        values={
            "accuracy": 100 * float(accuracy(counts)),
            "precision": 100 * float(precision),
            "recall": 100 * float(recall),
            "f1": 100 * float(f1),
        },
        categories={
            f"{first} vs {second}": {**counts_of("human", human), **counts_of("judge", judge)}
            for (first, second), human, judge in _win_tables(chosen, said)
        },
        notes=("precision, recall and f1 are macro averages over first, tie and second",),
    )


def with_ties(said: Codes) -> Codes:
    """Return outcomes with a tie where there is none."""
    import numpy as np

    result: Codes = np.where(said == NOTHING, 0, said)
    return result


def counts_of(who: str, counts: tuple[int, int, int]) -> dict[str, Value]:
    """Return wins, losses and ties of the first model of two under stable keys."""
    return dict(zip((f"{who}_win", f"{who}_lose", f"{who}_tie"), counts, strict=True))


def win_table(pairs: PairColumns, outcomes: Codes, first: str, second: str) -> tuple[int, int, int]:
    """Return (wins, losses, ties) of one model against another, in whichever places they stand.

    Args:
        pairs: The pairs.
        outcomes: Shape (n,): 1 the first answer of the pair is better, 0 tie, -1 the second.
        first: Whose wins are counted.
        second: Against whom.
    """
    as_named = pairs.first_model.where(first) & pairs.second_model.where(second)
    turned = pairs.first_model.where(second) & pairs.second_model.where(first)
    wins = (as_named & (outcomes == 1)) | (turned & (outcomes == -1))
    losses = (as_named & (outcomes == -1)) | (turned & (outcomes == 1))
    ties = (as_named | turned) & (outcomes == 0)
    return int(wins.sum()), int(losses.sum()), int(ties.sum())


def _win_tables(
    pairs: PairColumns, said: Codes
) -> list[tuple[tuple[str, str], tuple[int, int, int], tuple[int, int, int]]]:
    """Return every two models with their counts by the annotators and by the judge."""
    named = {
        (pairs.first_model.names[a], pairs.second_model.names[b])
        for a, b in set(zip(pairs.first_model.codes, pairs.second_model.codes, strict=True))
    }
    couples = sorted({(min(two), max(two)) for two in named if all(two) and two[0] != two[1]})
    return [
        (two, win_table(pairs, pairs.gold, *two), win_table(pairs, said, *two)) for two in couples
    ]
