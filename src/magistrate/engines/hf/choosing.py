"""Chooses how a model is run over prompts: packed where that gives what the plain way gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from magistrate.engines.exact import VerdictTree
from magistrate.engines.hf.passes import PackedPasses, Passes, PlainPasses
from magistrate.engines.hf.writing import Writer

KNOWN_LAYERS = {"full_attention", "sliding_attention", "attention", None}
_EXACT_TOLERANCE, _ROUGH_TOLERANCE = 1e-3, 0.25
"""Mean difference of log-probabilities, in fp32 and below."""

_READ_APART = 8
"""Packed prompts are read a few at a time, whatever the size of the batch that writes."""


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
            if index not in found:
                return plain
            if _distance(logits, found[index]) > _tolerance(model.dtype):
                return plain
    return PackedPasses(model, 1 if _reads_longest(model.config) else budget)


def choose_writer(
    model: Any,
    decode: Callable[[list[int]], str],
    passes: Passes,
    sample: Sequence[int],
    *,
    budget: int,
    rows: int,
) -> Writer:
    """Return what lets a model write; prompts are packed where that gives what padding gives.

    Args:
        model: A decoder of transformers.
        decode: Returns the text of some tokens.
        passes: How it is run over prompts.
        sample: Some 40 ordinary tokens to try it with.
        budget: Most tokens of a pass.
        rows: Most replies written at once.
    """
    # What recurrent layers make of padding at the front cannot be masked.
    rows = 1 if getattr(model, "_is_stateful", False) else rows
    padded = Writer(model, decode, budget=budget, rows=rows)
    if not isinstance(passes, PackedPasses):
        return padded
    packed = Writer(model, decode, budget=budget * _READ_APART, rows=rows, prefill=passes.prefill)
    prompts = [sample, sample[: len(sample) // 2]]
    try:
        distance = _distance(padded.begin_twice(prompts), packed.begin_twice(prompts))
    except Exception:  # some models keep in their cache what their attention never sees
        return padded
    return packed if distance <= _tolerance(model.dtype) else padded


def _tolerance(dtype: Any) -> float:
    return _EXACT_TOLERANCE if dtype == torch.float32 else _ROUGH_TOLERANCE


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
