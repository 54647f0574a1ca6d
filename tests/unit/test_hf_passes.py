"""Packed passes give what whole prompts give, on models of many makes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import hf_help
import pytest
from hf_help import tiny_model, torch

from magistrate.engines.exact import Ask, VerdictTree
from magistrate.engines.hf.choosing import choose_passes, choose_writer
from magistrate.engines.hf.forest import grow_forest, make_batches
from magistrate.engines.hf.passes import PackedPasses, PlainPasses

TREE = VerdictTree(
    tokens=(7, 8, 9, 7, 9),
    parents=(-1, -1, 1, 2, -1),
    asks=(Ask(-1, (7,)),),
    paths=((0,),),
    longer=((),),
)

MAKES: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen2": {},
    "qwen3": {},
    "mistral": {"sliding_window": 6},
    "gemma2": {"sliding_window": 6, "query_pre_attn_scalar": 8},
    "gemma3_text": {"sliding_window": 6, "query_pre_attn_scalar": 8},
    "phi3": {"pad_token_id": 0},
    "olmo2": {},
    "granite": {},
    "gpt2": {"n_positions": 512},
    "gpt_neox": {"num_key_value_heads": 4},
    "gpt_oss": {"sliding_window": 6, "num_local_experts": 4, "num_experts_per_tok": 2},
    "mixtral": {"num_local_experts": 4},
}
"""Architectures that can be packed, with layers that see only some tokens, bent scores, sinks."""


def some_prompts(seed: int = 0, count: int = 9) -> list[list[int]]:
    """Return prompts of which some share much, some little, two are equal, one begins another."""
    draw = random.Random(seed)
    trunk = [draw.randrange(10, 400) for _ in range(24)]
    prompts: list[list[int]] = []
    branch: list[int] = []
    for place in range(count):
        if place % 3 == 0:
            branch = [draw.randrange(10, 400) for _ in range(20)]
        rest = [draw.randrange(10, 400) for _ in range(draw.randrange(1, 30))]
        prompts.append([*trunk, *branch, *rest])
    return [*prompts, list(prompts[3]), prompts[4][:42], [5, 6, 7]]


def logits_of(passes: Any, prompts: Sequence[Sequence[int]]) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for result in passes.run(prompts, TREE):
        assert result.error is None
        for index, logits in zip(result.prompts, result.logits, strict=True):
            assert index not in found
            found[index] = logits
    assert sorted(found) == list(range(len(prompts)))
    return found


def brute_force(model: Any, prompt: Sequence[int]) -> Any:
    """Read each way of the tree by itself, unpadded."""
    rows = []
    for node in range(-1, len(TREE.tokens)):
        way: list[int] = []
        while node >= 0:
            way.insert(0, TREE.tokens[node])
            node = TREE.parents[node]
        with torch.inference_mode():
            rows.append(model(torch.tensor([[*prompt, *way]]), use_cache=False).logits[0, -1])
    return torch.stack(rows)


@pytest.mark.parametrize("make", MAKES)
def test_packed_passes_equal_whole_prompts(make: str) -> None:
    model = tiny_model(make, **MAKES[make])
    prompts = some_prompts()
    packed = logits_of(PackedPasses(model, budget=90), prompts)
    for index, prompt in enumerate(prompts):
        expected = brute_force(model, prompt)
        assert torch.allclose(packed[index], expected, atol=2e-4), make


@pytest.mark.parametrize("make", ["llama", "qwen3", "mistral"])
def test_packed_passes_in_bf16_are_as_near_as_the_precision_allows(make: str) -> None:
    model = tiny_model(make, **MAKES[make])
    prompts = some_prompts()
    exact = [brute_force(model, prompt).log_softmax(-1) for prompt in prompts]
    model = model.to(torch.bfloat16)
    whole = [brute_force(model, prompt).float().log_softmax(-1) for prompt in prompts]
    packed = logits_of(PackedPasses(model, budget=90), prompts)
    for index, expected in enumerate(exact):
        rounding = (whole[index] - expected).abs().max()
        ours = (packed[index].float().log_softmax(-1) - expected).abs().max()
        assert ours <= 2 * rounding + 1e-2, (make, index)


@pytest.mark.parametrize("make", ["llama", "bloom", "opt"])
def test_plain_passes_equal_whole_prompts(make: str) -> None:
    changes: dict[str, Any] = {"n_head": 4} if make == "bloom" else {}
    if make == "opt":
        changes = {"ffn_dim": 48, "word_embed_proj_dim": 32}
    model = tiny_model(make, **changes)
    prompts = some_prompts(count=5)
    plain = logits_of(PlainPasses(model, budget=120), prompts)
    for index, prompt in enumerate(prompts):
        assert torch.allclose(plain[index], brute_force(model, prompt), atol=2e-4)


def test_sharing_changes_nothing_but_the_work() -> None:
    model = tiny_model()
    prompts = some_prompts(seed=3)
    shared = logits_of(PackedPasses(model, budget=100), prompts)
    alone = logits_of(PackedPasses(model, budget=100, share=False), prompts)
    for index in range(len(prompts)):
        assert torch.allclose(shared[index], alone[index], atol=1e-4)
    forest = grow_forest(prompts)
    computed = sum(
        sum(result.computed) for result in PackedPasses(model, budget=100).run(prompts, TREE)
    )
    assert computed == sum(len(stretch.ids) for stretch in forest.stretches)
    assert computed < 0.7 * sum(map(len, prompts))


def test_every_stretch_is_computed_once_whatever_the_batches() -> None:
    prompts = some_prompts(seed=5, count=14)
    forest = grow_forest(prompts)
    batches = make_batches(forest, 80, len(TREE.tokens))
    assert len(batches) > 3
    computed = [stretch for batch in batches for stretch in batch.stretches]
    assert sorted(computed) == list(range(len(forest.stretches)))


def test_models_that_can_be_packed_are() -> None:
    sample = list(range(20, 60))
    for make in ("llama", "gemma2", "gpt2", "gpt_oss"):
        model = tiny_model(make, **MAKES[make])
        assert isinstance(choose_passes(model, 500, sample), PackedPasses), make


def test_a_model_with_another_kind_of_positions_is_read_the_plain_way() -> None:
    # Bloom's attention is its own: it never asks for ours.
    assert isinstance(
        choose_passes(tiny_model("bloom", n_head=4), 500, list(range(20, 60))), PlainPasses
    )


def test_a_model_whose_packed_pass_is_wrong_is_read_the_plain_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tiny_model()
    forward = model.forward

    def without_positions(*args: Any, **given: Any) -> Any:
        given.pop("position_ids", None)
        return forward(*args, **given)

    monkeypatch.setattr(model, "forward", without_positions)
    assert isinstance(choose_passes(model, 500, list(range(20, 60))), PlainPasses)


@pytest.mark.parametrize(
    ("make", "changes", "packs", "prefills"),
    [
        ("llama", {}, True, True),
        ("gemma2", MAKES["gemma2"], True, True),
        # In newer releases it keeps something else in its cache than its attention sees.
        ("deepseek_v3", hf_help.DEEPSEEK, True, None),
        ("bloom", {"n_head": 4}, False, False),
        ("mamba", {"state_size": 8}, False, False),
    ],
)
def test_prompts_are_packed_for_writing_where_that_is_right(
    make: str, changes: dict[str, Any], packs: bool, prefills: bool | None
) -> None:
    model = tiny_model(make, **changes)
    sample = list(range(20, 60))
    passes = choose_passes(model, 500, sample)
    assert isinstance(passes, PackedPasses) == packs
    writer = choose_writer(model, str, passes, sample, budget=500, rows=8)
    assert prefills is None or (writer._prefill is not None) == prefills
    assert writer._rows == (1 if make == "mamba" else 8)


class Cramped:
    """A model with room for so many tokens, and for no more."""

    def __init__(self, model: Any, room: int) -> None:
        self._model = model
        self._room = room
        self.config = model.config
        self.device = model.device
        self.set_attn_implementation = model.set_attn_implementation
        self.passes = 0

    def forward(self, input_ids: Any, position_ids: Any, **given: Any) -> Any:
        self.passes += 1
        if input_ids.numel() > self._room:
            raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ...")
        return self._model(input_ids=input_ids, position_ids=position_ids, **given)

    __call__ = forward


@pytest.mark.parametrize("kind", [PackedPasses, PlainPasses])
def test_passes_are_made_smaller_when_memory_runs_out(kind: type) -> None:
    model = tiny_model()
    prompts = some_prompts()
    cramped = Cramped(model, 130)
    found = logits_of(kind(cramped, 2000), prompts)
    assert cramped.passes > 3
    for index, prompt in enumerate(prompts):
        assert torch.allclose(found[index], brute_force(model, prompt), atol=2e-4)


@pytest.mark.parametrize("kind", [PackedPasses, PlainPasses])
def test_a_prompt_that_never_fits_fails_alone(kind: type) -> None:
    draw = random.Random(1)
    prompts = [[draw.randrange(400) for _ in range(size)] for size in (30, 90, 40, 91)]
    errors = {}
    for result in kind(Cramped(tiny_model(), 70), 2000).run(prompts, TREE):
        for index in result.prompts:
            errors[index] = result.error
    assert sorted(errors) == [0, 1, 2, 3]
    assert errors[0] is None
    assert errors[2] is None
    assert "can't allocate" in (errors[1] or "")
    assert "can't allocate" in (errors[3] or "")


def test_other_failures_are_not_taken_for_a_lack_of_memory() -> None:
    model = Cramped(tiny_model(), 0)
    model.forward = None  # type: ignore[method-assign,assignment]

    class Broken(Cramped):
        def __call__(self, *args: Any, **given: Any) -> Any:
            raise RuntimeError("shapes do not fit")

    with pytest.raises(RuntimeError, match="shapes"):
        list(PackedPasses(Broken(tiny_model(), 9), 100).run([[1, 2]], TREE))


def test_the_model_is_left_as_it_was() -> None:
    model = tiny_model()
    before = model.config._attn_implementation
    logits_of(PackedPasses(model, 100), some_prompts())
    assert model.config._attn_implementation == before
