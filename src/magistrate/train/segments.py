"""Samples behind one another in one row: attention in which each sees itself alone.

What the inference engine does without gradients (:mod:`magistrate.engines.hf.attention`) is done
here with them. The plan travels through the model's own keyword arguments, so that it is there too
when activations are computed a second time, in whatever thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from transformers import AttentionInterface

from magistrate.engines.hf.attention import Part, Plan, attend, following
from magistrate.engines.hf.choosing import KNOWN_LAYERS

NAME = "magistrate_segments"
_ARGUMENT = "magistrate_plan"
_BEFORE: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""The attention that a model had before it was switched."""

_TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 0.25, torch.float16: 0.25}


def attend_in_segments(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    magistrate_plan: Plan | None = None,
    **others: Any,
) -> tuple[Any, None]:
    """Attend as the plan among the arguments says; shapes as in ``engines.hf.attention.attend``."""
    if magistrate_plan is None:
        raise ValueError(f"attention '{NAME}' needs the argument {_ARGUMENT}; see one_text")
    with following(magistrate_plan):
        return attend(module, query, key, value, attention_mask, **others)


AttentionInterface.register(NAME, attend_in_segments)


def arguments_of(lengths: Sequence[int], device: Any) -> dict[str, Any]:
    """Return what a model is called with, beside the ids, for a row of so long segments."""
    parts = []
    start = 0
    for length in lengths:
        positions = torch.arange(length, device=device)
        parts.append(
            Part(
                rows=(start, start + length),
                before=(),
                given=(),
                inner=None,
                positions=positions,
                places=positions,
            )
        )
        start += length
    places = torch.cat([part.positions for part in parts])[None]
    return {"position_ids": places, _ARGUMENT: Plan(parts, {}, {})}


def try_segments(model: Any, sample: Sequence[int]) -> bool:
    """Switch a model to segments where that gives what one text at a time gives.

    Args:
        model: A model of transformers, not yet wrapped.
        sample: Some 20 ordinary tokens to try it with.

    Returns:
        Whether it was switched; otherwise the model is as before.
    """
    text = model.config.get_text_config()
    before = model.config._attn_implementation
    kinds = set(getattr(text, "layer_types", None) or [None])
    if not kinds <= KNOWN_LAYERS or getattr(text, "attention_chunk_size", None):
        return False
    device = next(model.parameters()).device
    texts = [list(sample), list(sample)[: len(sample) // 2], list(reversed(sample))]
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            apart = [
                model(input_ids=torch.tensor([ids], device=device), use_cache=False).logits[0]
                for ids in texts
            ]
            model.set_attn_implementation(NAME)
            row = torch.tensor([[token for ids in texts for token in ids]], device=device)
            packed = model(
                input_ids=row, use_cache=False, **arguments_of(list(map(len, texts)), device)
            ).logits[0]
        distance = (torch.cat(apart).float() - packed.float()).abs().mean(-1).max()
        fits = bool(distance <= _TOLERANCE.get(model.dtype, 0.0))
    except Exception:  # whatever a model's code says of an argument that it does not expect
        fits = False
    finally:
        model.train(was_training)
    if fits:
        _BEFORE[model] = before
    else:
        model.set_attn_implementation(before)
    return fits


@contextmanager
def one_text(model: Any) -> Iterator[None]:
    """Let a model read texts as it did before it was switched to segments, if it was."""
    before = _BEFORE.get(model)
    if before is not None:
        model.set_attn_implementation(before)
    try:
        yield
    finally:
        if before is not None:
            model.set_attn_implementation(NAME)
