"""The questions of a tree of verdicts as requests to vLLM, and its answers put together.

vLLM tells the log-probabilities of chosen tokens after a prompt. So each place in the tree becomes
a prompt of its own: the judge's prompt and the tokens that lead there, of which vLLM has all but
the last few in its prefix cache. One token is written after each, and not used.

The probability of *any token but these* is 1 less theirs. Where little is left, the difference
of two numbers near 1 would be coarse; then the whole vocabulary is asked for, and the rest summed.
Pure functions; no vLLM.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from magistrate.engines.exact import LOWEST_LOGPROB, Ask, VerdictTree

MOST_IDS = 128
"""Tokens that vLLM takes in one request (``MAX_LOGPROB_TOKEN_IDS``); for more than these it is
asked for the whole vocabulary."""

FINE_REST = 0.05
"""A rest below this is summed instead of taken from 1: with fp32's 1e-6 it would be coarser than
1e-4."""

Known: TypeAlias = Mapping[int, float]
"""Log-probabilities of tokens at one place of the tree."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place of the tree at which something is asked.

    Attributes:
        node: Index of the token after which it is asked; -1 for the end of the prompt.
        path: The tokens from the end of the prompt to there.
        ids: Tokens whose log-probabilities are asked for, in ascending sequence.
    """

    node: int
    path: tuple[int, ...]
    ids: tuple[int, ...]

    @property
    def needs_all(self) -> bool:
        """Whether there are more tokens than vLLM tells apart."""
        return len(self.ids) > MOST_IDS


def places_of(tree: VerdictTree) -> list[Place]:
    """Return where something is asked, each place once and after those that lead to it."""
    paths: dict[int, tuple[int, ...]] = {-1: ()}
    for node, (token, parent) in enumerate(zip(tree.tokens, tree.parents, strict=True)):
        paths[node] = (*paths[parent], token)
    asked: dict[int, set[int]] = {}
    for ask in tree.asks:
        asked.setdefault(ask.after, set()).update(ask.tokens)
    return [
        Place(node, paths[node], tuple(sorted(asked[node])))
        for node in sorted(asked, key=lambda node: (len(paths[node]), node))
    ]


def coarse_places(tree: VerdictTree, known: Mapping[int, Known]) -> set[int]:
    """Return the nodes at which a rest is too small to be taken from 1.

    Args:
        tree: The tree.
        known: For each node, or for some, the log-probabilities of the tokens asked for.
    """
    return {
        ask.after
        for ask in tree.asks
        if ask.none_of
        and ask.after in known
        and 1 - _share(ask.tokens, known[ask.after]) < FINE_REST
    }


def answers_of(
    tree: VerdictTree, known: Mapping[int, Known], whole: Mapping[int, Known]
) -> list[float]:
    """Return the log-probability of each question [A].

    Args:
        tree: The tree.
        known: For each node the log-probabilities of the tokens asked for.
        whole: For some nodes those of the whole vocabulary.
    """
    return [_answer(ask, known, whole) for ask in tree.asks]


def _answer(ask: Ask, known: Mapping[int, Known], whole: Mapping[int, Known]) -> float:
    if ask.none_of and ask.after in whole:
        these = set(ask.tokens)
        return _log(
            math.fsum(math.exp(v) for token, v in whole[ask.after].items() if token not in these)
        )
    found = whole[ask.after] if ask.after in whole else known[ask.after]
    if len(ask.tokens) == 1 and not ask.none_of:
        return max(found[ask.tokens[0]], LOWEST_LOGPROB)
    share = _share(ask.tokens, found)
    return _log(1 - share if ask.none_of else share)


def _share(tokens: Sequence[int], known: Known) -> float:
    return math.fsum(math.exp(known[token]) for token in tokens)


def _log(share: float) -> float:
    return math.log(share) if share > 0 else LOWEST_LOGPROB
