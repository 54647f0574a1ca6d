"""Exact distributions over verdicts: which token probabilities are needed, and how they add up.

A verdict is a text such as ``8 9``; a model writes it as a path of tokens. All paths together form
a tree that starts at the end of the prompt, and next to a prompt it is small: all 100 pairs of
grades from 1 to 10 share 30 tokens. A model reads it in the same pass as the prompt, or right
behind it. Nothing is sampled.

The probability of a verdict is that of its path, times that of *not going on to a longer verdict*:
``1`` says nothing yet while ``10`` is possible. How the text could go on is asked of the whole
vocabulary, so it makes no difference whether the model would write ``10`` as one token or two.

Pure functions; no model, no tokenizer.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from magistrate.errors import EngineError
from magistrate.messages import Choices

MOST_VERDICTS = 10_000
"""More would take longer to read than a long prompt."""

LOWEST_LOGPROB = -690.0
"""Stands for the logarithm of 0, which cannot be stored; ``exp`` of it is about 1e-300."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A question to the model: how probable is it that the next token is one of these?"""

    after: int
    """Index of the tree's token after which it is asked; -1 for the end of the prompt."""
    tokens: tuple[int, ...]
    none_of: bool = False
    """Asks for any token but these."""


@dataclass(frozen=True, slots=True)
class VerdictTree:
    """What has to be read and asked to know the probability of every verdict.

    Attributes:
        tokens: The N tokens to read after the prompt, each after its parent.
        parents: Index [N] of the token before each; -1 for the end of the prompt.
        asks: The A questions.
        paths: For each of the V verdicts the questions whose log-probabilities add up to its own.
        longer: For each verdict the ways to a longer one that ``paths`` did not rule out, each a
            sequence of questions; their probabilities are taken off.
    """

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    asks: tuple[Ask, ...]
    paths: tuple[tuple[int, ...], ...]
    longer: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def depths(self) -> tuple[int, ...]:
        """How many tokens stand between the prompt and each token [N]."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
        return tuple(depths)

    @property
    def longest(self) -> int:
        """Most tokens that a verdict has; the room that must be left after the prompt."""
        return max(map(len, self.paths))

    def combine(self, answers: Sequence[float]) -> tuple[float, ...]:
        """Return the log-probability of each verdict [V].

        Args:
            answers: Log-probabilities [A] that the model gave to the questions.
        """
        found = []
        for path, longer in zip(self.paths, self.longer, strict=True):
            total = math.fsum(answers[i] for i in path)
            if longer:
                rest = math.exp(total) - math.fsum(
                    math.exp(math.fsum(answers[i] for i in way)) for way in longer
                )
                total = math.log(rest) if rest > 0 else LOWEST_LOGPROB
            found.append(max(total, LOWEST_LOGPROB))
        return tuple(found)


def verdict_texts(choices: Choices) -> tuple[str, ...]:
    """Return every verdict as text; the last place varies fastest.

    >>> verdict_texts(Choices(("1", "2"), count=2))
    ('1 1', '1 2', '2 1', '2 2')

    Raises:
        EngineError: There are too many, none, or two that read alike.
    """
    if not choices.options or choices.count < 1:
        raise EngineError("there is no verdict to choose from; give at least one option")
    if choices.total > MOST_VERDICTS:
        raise EngineError(
            f"{choices.total:,} verdicts are too many to compute all (most: {MOST_VERDICTS:,}); "
            f"show fewer answers at once, or let the judge write (mode reason)"
        )
    texts = tuple(
        choices.separator.join(options)
        for options in itertools.product(choices.options, repeat=choices.count)
    )
    if len(set(texts)) < len(texts) or "" in texts:
        raise EngineError(
            f"the verdicts of {list(choices.options)} with separator {choices.separator!r} "
            f"cannot be told apart; give a separator that no option holds, and no empty option"
        )
    return texts


def build_tree(
    texts: Sequence[str],
    paths: Sequence[Sequence[int]],
    vocabulary: Callable[[], Sequence[str]],
) -> VerdictTree:
    """Return the tree of verdicts.

    Args:
        texts: What each of the V verdicts says.
        paths: The tokens that a model would write for it, at least one.
        vocabulary: Returns what each token of the model adds to a text; called only where one
            verdict is the beginning of another.

    Raises:
        EngineError: Two verdicts have the same tokens.
    """
    if len({tuple(path) for path in paths}) < len(paths):
        raise EngineError("the model's tokenizer writes two of the verdicts alike")
    builder = _Builder()
    goes_on = _longer_texts(texts)
    openings = _Openings(vocabulary)
    steps: list[list[int]] = []
    ways: list[tuple[tuple[int, ...], ...]] = []
    for text, path, longer in zip(texts, paths, goes_on, strict=True):
        step = builder.walk(-1, path)
        around: set[tuple[int, ...]] = set()
        if longer:
            end = builder.node(path)
            direct = openings.of(tuple(texts[i][len(text) :] for i in longer))
            if direct:
                step.append(builder.ask(Ask(end, direct, none_of=True)))
            around = _ways_around(path, [paths[i] for i in longer], frozenset(direct))
            ways.append(
                tuple((*builder.walk(-1, path), *builder.walk(end, way)) for way in sorted(around))
            )
        else:
            ways.append(())
        steps.append(step)
    return builder.tree(steps, ways)


class _Builder:
    """Grows the tree and collects the questions, each once."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[int, int], int] = {}
        self._asks: dict[Ask, int] = {}

    def ask(self, ask: Ask) -> int:
        """Return the index of a question."""
        return self._asks.setdefault(ask, len(self._asks))

    def step(self, parent: int, token: int) -> int:
        """Return the node of a token after its parent."""
        return self._nodes.setdefault((parent, token), len(self._nodes))

    def node(self, path: Sequence[int]) -> int:
        """Return the node at the end of a path."""
        at = -1
        for token in path:
            at = self.step(at, token)
        return at

    def walk(self, start: int, path: Sequence[int]) -> list[int]:
        """Return the questions along a path; its last token is asked for and need not be read."""
        questions, at = [], start
        for place, token in enumerate(path):
            questions.append(self.ask(Ask(at, (token,))))
            if place < len(path) - 1:
                at = self.step(at, token)
        return questions

    def tree(
        self, steps: Sequence[Sequence[int]], ways: Sequence[tuple[tuple[int, ...], ...]]
    ) -> VerdictTree:
        """Return what was grown."""
        return VerdictTree(
            tokens=tuple(token for _, token in self._nodes),
            parents=tuple(parent for parent, _ in self._nodes),
            asks=tuple(self._asks),
            paths=tuple(map(tuple, steps)),
            longer=tuple(ways),
        )


class _Openings:
    """Finds the tokens with which a text would go on in a given way."""

    def __init__(self, vocabulary: Callable[[], Sequence[str]]) -> None:
        self._vocabulary = vocabulary
        self._known: dict[tuple[str, ...], tuple[int, ...]] = {}

    def of(self, rests: tuple[str, ...]) -> tuple[int, ...]:
        """Return the tokens that write all of some rest, whatever follows in the same token."""
        if rests not in self._known:
            self._known[rests] = tuple(
                token for token, text in enumerate(self._vocabulary()) if text.startswith(rests)
            )
        return self._known[rests]


def _longer_texts(texts: Sequence[str]) -> list[list[int]]:
    """Return for each text the indices of the texts that begin with it and are longer."""
    order = sorted(range(len(texts)), key=lambda i: texts[i])
    ordered = [texts[i] for i in order]
    found: list[list[int]] = []
    for text in texts:
        place = bisect_left(ordered, text) + 1
        longer = []
        while place < len(ordered) and ordered[place].startswith(text):
            longer.append(order[place])
            place += 1
        found.append(longer)
    return found


def _ways_around(
    path: Sequence[int], longer: Sequence[Sequence[int]], direct: frozenset[int]
) -> set[tuple[int, ...]]:
    """Return how longer verdicts go on in several tokens; what runs through another is left out."""
    size = len(path)
    ways = {
        tuple(other[size:])
        for other in longer
        if len(other) > size and list(other[:size]) == list(path) and other[size] not in direct
    }
    return {way for way in ways if not any(way[:cut] in ways for cut in range(1, len(way)))}
