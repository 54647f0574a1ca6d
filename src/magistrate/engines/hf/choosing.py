"""Chooses how a model is run over prompts: packed where that gives what the plain way gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from magistrate.engines.exact import VerdictTree
from magistrate.engines.hf.passes import PackedPasses, Passes, PlainPasses

KNOWN_LAYERS = {"full_attention", "sliding_attention", "attention", None}
_TOLERANCE = {torch.float32: 1e-3}
_ROUGH_TOLERANCE = 0.25


def choose_passes(model: Any, budget: int, sample: Sequence[int]) -> Passes:
    """Return the fast way to run a model where it gives what the plain way gives.

    Args:
        model: A decoder of transformers.
        budget: Most tokens of a pass.
        sample: Some 40 ordinary tokens to try it with.
    """
    plain = PlainPasses(model, budget)
    if not _may_pack(model.config):
        return plain
    half = len(sample) // 2
    prompts = [list(sample), [*sample[:half], *reversed(sample[half:])], list(sample[: half + 2])]
    # Two branches and a second level: mistakes of masks and positions show.
    tree = VerdictTree((sample[0], sample[1], sample[2]), (-1, -1, 1), (), ((0,),), ((),))
    packed = PackedPasses(model, len(sample) + half)
    try:
        found = {
            index: logits
            for result in packed.run(prompts, tree)
            for index, logits in zip(result.prompts, result.logits, strict=True)
        }
    except Exception:  # whatever a model's code says of attention that it does not expect
        return plain
    for result in plain.run(prompts, tree):
        for index, logits in zip(result.prompts, result.logits, strict=True):
            if index not in found or _distance(logits, found[index]) > _TOLERANCE.get(
                logits.dtype, _ROUGH_TOLERANCE
            ):
                return plain
    return PackedPasses(model, 1 if _reads_longest(model.config) else budget)


def _distance(one: Any, other: Any) -> float:
    """Return the largest mean difference of log-probabilities over the rows."""
    difference = one.float().log_softmax(-1) - other.float().log_softmax(-1)
    return float(difference.abs().mean(-1).max())


def _may_pack(config: Any) -> bool:
    """Whether all layers are of kinds whose attention is known."""
    text = config.get_text_config()
    if getattr(text, "attention_chunk_size", None):
        return False
    return set(getattr(text, "layer_types", None) or [None]) <= KNOWN_LAYERS


def _reads_longest(config: Any) -> bool:
    """Whether positions are read otherwise when the longest prompt of a pass is long."""
    parameters = getattr(config.get_text_config(), "rope_parameters", None) or {}
    nested = [parameters, *(each for each in parameters.values() if isinstance(each, dict))]
    return any(each.get("rope_type") in ("dynamic", "longrope") for each in nested)
