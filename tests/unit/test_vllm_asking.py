"""Trees of verdicts asked of vLLM place by place: the answers add up to the same distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from magistrate.engines.exact import VerdictTree, build_tree, verdict_texts
from magistrate.engines.vllm.asking import (
    FINE_REST,
    MOST_IDS,
    Place,
    answers_of,
    coarse_places,
    places_of,
)
from magistrate.messages import Choices

GRADES = tuple(map(str, range(1, 11)))
VOCABULARY = [*"0123456789", " ", "\n", ",", "x"]


class Toy:
    """A language model that tells log-probabilities in single precision, as vLLM does."""

    def __init__(self, favourite: str = "", vocabulary: Sequence[str] = VOCABULARY) -> None:
        self.vocabulary = list(vocabulary)
        self._favourite = favourite
        self.asked: list[Place] = []

    def logits(self, path: Sequence[int]) -> np.ndarray:
        logits = np.random.default_rng([1, *path]).normal(10, size=len(self.vocabulary))
        if self._favourite:
            logits[self.vocabulary.index(self._favourite)] += 14
        return logits

    def exactly(self, path: Sequence[int]) -> np.ndarray:
        logits = self.logits(path)
        return np.asarray(logits - np.log(np.exp(logits).sum()))

    def known(self, place: Place, *, whole: bool = False) -> dict[int, float]:
        self.asked.append(place)
        logits = self.logits(place.path).astype(np.float32)
        found = logits - np.log(np.exp(logits).sum(dtype=np.float32))
        ids = range(len(self.vocabulary)) if whole else place.ids
        return {token: float(found[token]) for token in ids}

    def encode(self, text: str) -> list[int]:
        return [self.vocabulary.index(letter) for letter in text]

    def tree(self, choices: Choices) -> VerdictTree:
        texts = verdict_texts(choices)
        return build_tree(texts, [self.encode(text) for text in texts], lambda: self.vocabulary)

    def brute_force(self, text: str, texts: Sequence[str]) -> float:
        path = self.encode(text)
        total = sum(self.exactly(path[:place])[token] for place, token in enumerate(path))
        rests = tuple(o[len(text) :] for o in texts if o != text and o.startswith(text))
        if rests:
            last = self.exactly(path)
            kept = [i for i, said in enumerate(self.vocabulary) if not said.startswith(rests)]
            total += math.log(np.exp(last[kept]).sum())
        return float(total)


@pytest.mark.parametrize("favourite", ["", "0"], ids=["even", "nearly always goes on to 10"])
@pytest.mark.parametrize("count", [1, 2])
def test_answers_equal_brute_force_in_single_precision(favourite: str, count: int) -> None:
    choices = Choices(GRADES, " ", count)
    model, texts = Toy(favourite), verdict_texts(choices)
    tree = model.tree(choices)
    places = places_of(tree)
    known = {place.node: model.known(place) for place in places}
    coarse = coarse_places(tree, known)
    assert bool(coarse) == bool(favourite)
    whole = {p.node: model.known(p, whole=True) for p in places if p.node in coarse}
    found = tree.combine(answers_of(tree, known, whole))
    expected = [model.brute_force(text, texts) for text in texts]
    assert max(abs(a - b) for a, b in zip(found, expected, strict=True)) < 1e-5
    if favourite:
        rough = tree.combine(answers_of(tree, known, {}))
        assert max(abs(a - b) for a, b in zip(rough, expected, strict=True)) > 1e-4


def test_places_are_asked_once_and_after_those_that_lead_to_them() -> None:
    model = Toy()
    tree = model.tree(Choices(GRADES, " ", 2))
    places = places_of(tree)
    assert len(places) == len({place.path for place in places}) == 1 + len(tree.tokens)
    assert places[0] == Place(-1, (), tuple(range(1, 10)))
    seen: set[tuple[int, ...]] = set()
    for place in places:
        assert not place.path or place.path[:-1] in seen
        seen.add(place.path)
        assert list(place.ids) == sorted(set(place.ids))


def test_more_tokens_than_vllm_tells_apart_are_asked_of_the_whole_vocabulary() -> None:
    vocabulary = [*VOCABULARY, *(f"0{number}" for number in range(MOST_IDS))]
    model = Toy(vocabulary=vocabulary)
    choices = Choices(("1", "10"))
    tree, texts = model.tree(choices), verdict_texts(choices)
    large = [place for place in places_of(tree) if place.needs_all]
    assert [place.path for place in large] == [(1,)]
    known = {p.node: model.known(p) for p in places_of(tree) if not p.needs_all}
    assert coarse_places(tree, known) == set()
    whole = {p.node: model.known(p, whole=True) for p in large}
    found = tree.combine(answers_of(tree, known, whole))
    assert found == pytest.approx([model.brute_force(text, texts) for text in texts], abs=1e-5)


def test_the_threshold_keeps_the_promised_precision() -> None:
    # Log-probabilities near 0 are off by some 1e-6 in single precision.
    assert 2e-6 / FINE_REST < 1e-4
