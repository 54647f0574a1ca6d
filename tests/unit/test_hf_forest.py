"""Prompts that begin alike share what they have in common; every stretch is computed once."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from magistrate.engines.hf.forest import SHORTEST_SHARED, grow_forest, make_batches

# Few kinds of tokens and long runs, so that prompts share long beginnings.
RUN = st.tuples(st.integers(0, 1), st.integers(1, 24)).map(lambda run: [run[0]] * run[1])
PROMPT = st.lists(RUN, min_size=1, max_size=6).map(lambda runs: [t for run in runs for t in run])
PROMPTS = st.lists(PROMPT, min_size=1, max_size=12)


@given(PROMPTS)
def test_chains_spell_the_prompts(prompts: list[list[int]]) -> None:
    forest = grow_forest(prompts)
    for prompt, end in zip(prompts, forest.ends, strict=True):
        chain = [forest.stretches[index] for index in forest.chain(end)]
        assert [token for stretch in chain for token in stretch.ids] == prompt
        place = 0
        for stretch in chain:
            assert stretch.start == place
            place += len(stretch.ids)


@given(PROMPTS)
def test_parents_come_first_and_equal_prompts_end_alike(prompts: list[list[int]]) -> None:
    forest = grow_forest(prompts)
    assert all(stretch.parent < index for index, stretch in enumerate(forest.stretches))
    assert all(stretch.ids for stretch in forest.stretches)
    for one, end in zip(prompts, forest.ends, strict=True):
        for other, other_end in zip(prompts, forest.ends, strict=True):
            assert (one == other) == (end == other_end)


@given(PROMPTS)
def test_what_two_prompts_have_in_common_is_shared(prompts: list[list[int]]) -> None:
    forest = grow_forest(prompts)
    ordered = sorted(range(len(prompts)), key=lambda i: prompts[i])
    for one, other in itertools.pairwise(ordered):
        common = 0
        for a, b in zip(prompts[one], prompts[other], strict=False):
            if a != b:
                break
            common += 1
        shared = set(forest.chain(forest.ends[one])) & set(forest.chain(forest.ends[other]))
        tokens = sum(len(forest.stretches[index].ids) for index in shared)
        assert common - SHORTEST_SHARED < tokens <= common


@given(PROMPTS, st.integers(1, 200), st.integers(0, 30))
def test_batches_compute_every_stretch_once(
    prompts: list[list[int]], budget: int, extra: int
) -> None:
    forest = grow_forest(prompts)
    batches = make_batches(forest, budget, extra)
    computed = [stretch for batch in batches for stretch in batch.stretches]
    assert sorted(computed) == list(range(len(forest.stretches)))
    answered = [prompt for batch in batches for prompt in batch.prompts]
    assert sorted(answered) == list(range(len(prompts)))
    before: set[int] = set()
    for batch in batches:
        assert set(batch.given) <= before
        here = before | set(batch.stretches)
        for prompt in batch.prompts:
            assert set(forest.chain(forest.ends[prompt])) <= here
            assert forest.ends[prompt] in batch.stretches
        tokens = sum(len(forest.stretches[index].ids) for index in batch.stretches)
        ends = {forest.ends[prompt] for prompt in batch.prompts}
        assert len(ends) == 1 or tokens + extra * len(ends) <= budget
        before = here


def test_without_sharing_each_prompt_is_a_stretch() -> None:
    prompts = [[1] * 40, [1] * 40 + [2], [1] * 40]
    forest = grow_forest(prompts, share=False)
    assert len(forest.stretches) == 3
    assert all(stretch.parent == -1 for stretch in forest.stretches)


def test_both_orders_share_instruction_and_question() -> None:
    own, question = list(range(100)), list(range(200, 230))
    first, second = list(range(300, 350)), list(range(400, 450))
    forest = grow_forest([own + question + first + second, own + question + second + first])
    assert [len(stretch.ids) for stretch in forest.stretches] == [130, 100, 100]


def test_all_pairs_of_a_tournament_share_their_first_answer() -> None:
    own = list(range(100))
    answers = [[1000 + 50 * i + place for place in range(50)] for i in range(6)]
    prompts = [own + a + b for a in answers for b in answers if a != b]
    forest = grow_forest(prompts)
    tokens = sum(len(stretch.ids) for stretch in forest.stretches)
    assert tokens == 100 + 6 * 50 + 30 * 50
    assert tokens < 0.4 * sum(map(len, prompts))
