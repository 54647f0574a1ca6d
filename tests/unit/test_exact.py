"""The tree of verdicts: what is asked of a model, and how the answers add up."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from magistrate.engines.exact import (
    LOWEST_LOGPROB,
    VerdictTree,
    build_tree,
    verdict_texts,
)
from magistrate.errors import EngineError
from magistrate.messages import Choices

GRADES = tuple(map(str, range(1, 11)))


class Toy:
    """A language model over a small vocabulary: every history has its own distribution."""

    def __init__(self, vocabulary: Sequence[str], seed: int = 0) -> None:
        self.vocabulary = list(vocabulary)
        self.seed = seed

    def next(self, history: tuple[int, ...]) -> np.ndarray:
        logits = np.random.default_rng([self.seed, *history]).normal(size=len(self.vocabulary))
        return np.exp(logits) / np.exp(logits).sum()

    def probability(self, path: Sequence[int]) -> float:
        found = 1.0
        for place, token in enumerate(path):
            found *= self.next(tuple(path[:place]))[token]
        return found

    def encode(self, text: str) -> tuple[int, ...]:
        """Take the longest token each time."""
        path = []
        while text:
            piece = max((t for t in self.vocabulary if text.startswith(t)), key=len)
            path.append(self.vocabulary.index(piece))
            text = text[len(piece) :]
        return tuple(path)

    def answer(self, tree: VerdictTree) -> list[float]:
        histories: list[tuple[int, ...]] = []
        for token, parent in zip(tree.tokens, tree.parents, strict=True):
            histories.append((*(histories[parent] if parent >= 0 else ()), token))
        found = []
        for ask in tree.asks:
            share = self.next(histories[ask.after] if ask.after >= 0 else ())
            total = sum(share[token] for token in ask.tokens)
            found.append(math.log(1 - total if ask.none_of else total))
        return found

    def distribution(self, texts: Sequence[str]) -> tuple[float, ...]:
        tree = build_tree(texts, [self.encode(text) for text in texts], lambda: self.vocabulary)
        return tree.combine(self.answer(tree))


DIGITS = Toy([*"0123456789", " ", "\n", ",", "x"])
WHOLE = Toy([*"0123456789", "10", " ", " 1", " 10", "\n", "00", "01"], seed=5)


def brute_force(model: Toy, text: str, longer: Sequence[str]) -> float:
    """Go through every next token, and the one after it, behind the verdict's own path."""
    path = model.encode(text)
    rest = 0.0
    for token, share in enumerate(model.next(path)):
        said = text + model.vocabulary[token]
        if not any(said.startswith(other) for other in longer):
            rest += share
    return math.log(model.probability(path) * rest)


@pytest.mark.parametrize("model", [DIGITS, WHOLE], ids=["digits", "whole"])
@pytest.mark.parametrize("count", [1, 2])
def test_grades_equal_brute_force(model: Toy, count: int) -> None:
    texts = verdict_texts(Choices(GRADES, " ", count))
    found = model.distribution(texts)
    for text, logprob in zip(texts, found, strict=True):
        longer = [other for other in texts if other != text and other.startswith(text)]
        assert logprob == pytest.approx(brute_force(model, text, longer), abs=1e-9)


def test_grades_of_a_hundred_equal_brute_force() -> None:
    texts = verdict_texts(Choices(tuple(map(str, range(101)))))
    for text, logprob in zip(texts, DIGITS.distribution(texts), strict=True):
        longer = [other for other in texts if other != text and other.startswith(text)]
        assert logprob == pytest.approx(brute_force(DIGITS, text, longer), abs=1e-9)


def test_probabilities_of_single_grades_and_of_all_else_add_up_to_one() -> None:
    texts = verdict_texts(Choices(GRADES))
    found = sum(map(math.exp, DIGITS.distribution(texts)))
    # "1" and "10" together are all that begins with the token "1".
    begins = sum(DIGITS.next(())[DIGITS.vocabulary.index(digit)] for digit in "123456789")
    assert found == pytest.approx(begins, abs=1e-12)


def test_a_longer_verdict_of_several_tokens_is_taken_off() -> None:
    model = Toy(["good", " ", "e", "n", "o", "u", "g", "h", "."], seed=3)
    short, long = model.distribution(["good", "good enough"])
    assert long == pytest.approx(math.log(model.probability(model.encode("good enough"))))
    expected = model.probability(model.encode("good")) - model.probability(
        model.encode("good enough")
    )
    assert short == pytest.approx(math.log(expected))


def test_of_nested_longer_verdicts_only_the_first_is_taken_off() -> None:
    model = Toy(["a", "b", "c", "d", "x"], seed=4)
    texts = ["a", "abc", "abcd"]
    found = model.distribution(texts)
    whole = [model.probability(model.encode(text)) for text in texts]
    assert found[0] == pytest.approx(math.log(whole[0] - whole[1]))
    assert found[1] == pytest.approx(math.log(whole[1] - whole[2]))
    assert found[2] == pytest.approx(math.log(whole[2]))


def test_labels_need_no_token_after_the_prompt() -> None:
    texts = verdict_texts(Choices(("A", "B", "tie")))
    tree = build_tree(texts, [(1,), (2,), (3,)], lambda: pytest.fail("not needed"))
    assert tree.tokens == ()
    assert [ask.after for ask in tree.asks] == [-1, -1, -1]
    assert tree.combine([-1.0, -2.0, -3.0]) == (-1.0, -2.0, -3.0)


def test_the_tree_of_two_grades_is_small() -> None:
    texts = verdict_texts(Choices(GRADES, " ", 2))
    tree = build_tree(texts, [DIGITS.encode(text) for text in texts], lambda: DIGITS.vocabulary)
    assert len(tree.tokens) == 30  # 10 grades (11 tokens less none), 10 blanks, 10 times "1"
    assert tree.longest == 5
    assert all(parent < node for node, parent in enumerate(tree.parents))
    assert max(tree.depths) == 3


def test_the_last_place_varies_fastest() -> None:
    texts = verdict_texts(Choices(("1", "2", "3"), ", ", 3))
    assert texts == tuple(", ".join(row) for row in itertools.product("123", repeat=3))


def test_a_probability_of_nothing_is_a_number() -> None:
    tree = build_tree(["1", "10"], [(1,), (1, 0)], lambda: ["0", "1"])
    found = tree.combine([-math.inf] * len(tree.asks))
    assert found == (LOWEST_LOGPROB, LOWEST_LOGPROB)


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        (Choices(()), "no verdict"),
        (Choices(("1",), count=0), "no verdict"),
        (Choices(GRADES, " ", 5), "100,000 verdicts are too many"),
        (Choices(("1", "11"), "", 2), "cannot be told apart"),
        (Choices(("", "1")), "cannot be told apart"),
    ],
)
def test_verdicts_that_cannot_be_are_refused(choices: Choices, says: str) -> None:
    with pytest.raises(EngineError, match=says):
        verdict_texts(choices)


def test_verdicts_with_the_same_tokens_are_refused() -> None:
    with pytest.raises(EngineError, match="writes two of the verdicts alike"):
        build_tree(["a", "A"], [(1,), (1,)], list)
