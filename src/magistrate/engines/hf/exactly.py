"""Log-probabilities that a model gives to the questions of a tree of verdicts."""

from __future__ import annotations

from typing import Any

import torch

from magistrate.engines.exact import VerdictTree


class TreeReader:
    """Reads the answers to a tree's questions off a model's logits."""

    def __init__(self, tree: VerdictTree, device: Any) -> None:
        """Sort the questions: for one token each, and for none of some."""
        self._count = len(tree.asks)
        single = [
            (i, ask.after + 1, ask.tokens[0])
            for i, ask in enumerate(tree.asks)
            if len(ask.tokens) == 1 and not ask.none_of
        ]
        self._single = [torch.tensor(column, device=device) for column in zip(*single, strict=True)]
        grouped: dict[tuple[tuple[int, ...], bool], list[tuple[int, int]]] = {}
        for i, ask in enumerate(tree.asks):
            if len(ask.tokens) > 1 or ask.none_of:
                grouped.setdefault((ask.tokens, ask.none_of), []).append((i, ask.after + 1))
        self._several = [
            (
                torch.tensor(tokens, device=device),
                none_of,
                *(torch.tensor(column, device=device) for column in zip(*places, strict=True)),
            )
            for (tokens, none_of), places in grouped.items()
        ]

    def read(self, logits: Any) -> list[float]:
        """Return the log-probability of each question [A].

        Args:
            logits: After the prompt and after each of the tree's N tokens [1 + N, vocabulary].
        """
        with torch.inference_mode():
            logits = logits.float()
            totals = logits.logsumexp(1)
            found = totals.new_empty(self._count)
            if self._single:
                asks, rows, tokens = self._single
                found[asks] = logits[rows, tokens] - totals[rows]
            for tokens, none_of, asks, rows in self._several:
                some = logits[rows]
                if none_of:
                    some[:, tokens] = -torch.inf
                else:
                    some = some[:, tokens]
                found[asks] = some.logsumexp(1) - totals[rows]
            answers: list[float] = found.double().tolist()
        return answers
