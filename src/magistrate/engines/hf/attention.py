"""Attention over packed prompts: stretches behind one another in one row, without padding.

Each stretch reads itself, causally, and all of what comes before it in its prompt: stretches of the
same row, and stretches of earlier passes whose keys and values were kept. Nothing else in the row
is there for it. The function stands in for a model's own attention through transformers'
``AttentionInterface``; what it must do is in the plan of the current pass.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from transformers import AttentionInterface

NAME = "magistrate_packed"

KeyValues: TypeAlias = dict[int, tuple[Any, Any]]
"""Keys and values [1, heads, tokens, size] by layer."""


@dataclass(slots=True)
class Part:
    """Tokens of the row that attend alike.

    Attributes:
        rows: First token, and the one after the last.
        before: Ranges of the row that come before in the same prompt.
        given: Kept stretches that come before those.
        inner: Which tokens [n, n] see which among themselves; None for those before each.
        positions: Place [n] of each token in its prompt.
        places: Place of every token seen: what is given, what comes before, the part itself.
    """

    rows: tuple[int, int]
    before: tuple[tuple[int, int], ...]
    given: tuple[int, ...]
    inner: Any
    positions: Any
    places: Any
    masks: dict[int | None, Any] = field(default_factory=dict)

    def mask(self, window: int | None, dtype: Any, *, plain: bool = True) -> Any:
        """Return the mask [n, all seen] to add; None where plain causal attention is meant.

        Args:
            window: How far back a token of this layer sees, in tokens; None for all the way.
            dtype: Of the mask.
            plain: Whether None may stand for plain causal attention; the same in all calls.
        """
        if window is not None and int(self.places.max()) < window:
            window = None
        if window not in self.masks:
            self.masks[window] = self._make_mask(window, dtype, plain)
        return self.masks[window]

    def _make_mask(self, window: int | None, dtype: Any, plain: bool) -> Any:
        count, seen = len(self.positions), len(self.places)
        if plain and window is None and self.inner is None and seen == count:
            return None
        allowed = torch.ones(count, seen, dtype=torch.bool, device=self.positions.device)
        inner = self.inner
        allowed[:, seen - count :] = allowed[:, seen - count :].tril() if inner is None else inner
        if window is not None:
            allowed &= self.positions[:, None] - self.places[None, :] < window
        mask = torch.zeros(count, seen, dtype=dtype, device=self.positions.device)
        return mask.masked_fill_(~allowed, -torch.inf)


@dataclass(slots=True)
class Plan:
    """What the attention of one pass does.

    Attributes:
        parts: They cover the row.
        given: Keys and values of kept stretches.
        keep: Stretches to be kept, with their ranges of the row.
        kept: Filled in: their keys and values.
    """

    parts: list[Part]
    given: dict[int, KeyValues]
    keep: dict[int, tuple[int, int]]
    kept: dict[int, KeyValues] = field(default_factory=dict)


_current = threading.local()


@contextmanager
def following(plan: Plan) -> Iterator[None]:
    """Let all attention in this thread follow a plan."""
    _current.plan = plan
    try:
        yield
    finally:
        _current.plan = None


def attend(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Any = None,
    **others: Any,
) -> tuple[Any, None]:
    """Attend as the plan says.

    Args:
        module: The layer's attention, for its index.
        query: Queries [1, heads, tokens, size].
        key: Keys [1, heads / groups, tokens, size]; values likewise.
        value: See ``key``.
        attention_mask: Not used: the plan has the masks.
        scaling: Factor of the scores; one over the root of the size when None.
        dropout: Not used: nothing is trained here.
        sliding_window: How far back this layer sees; None for all the way.
        softcap: Scores are bent to lie within plus and minus this.
        s_aux: A score [heads] that takes its share and gives nothing (attention sink).
        others: Not used.

    Returns:
        Outputs [1, tokens, heads, size], and no weights.
    """
    plan: Plan = _current.plan
    layer: int = module.layer_idx
    for stretch, (start, end) in plan.keep.items():
        # Copies: a view would keep the whole pass in memory.
        pair = (key[:, :, start:end].clone(), value[:, :, start:end].clone())
        plan.kept.setdefault(stretch, {})[layer] = pair
    heads, groups = key.shape[1], query.shape[1] // key.shape[1]
    output = query.new_empty((1, query.shape[1], query.shape[2], value.shape[3]))
    by_products = query.dtype == torch.bfloat16 and query.device.type == "cpu"
    for part in plan.parts:
        start, end = part.rows
        seen = [plan.given[stretch][layer] for stretch in part.given]
        seen += [(key[:, :, a:b], value[:, :, a:b]) for a, b in (*part.before, part.rows)]
        # Heads that share keys stand side by side: [heads, groups, tokens, size], without copies.
        keys, values = (
            (torch.cat(found, dim=2) if len(found) > 1 else found[0])[0, :, None].expand(
                -1, groups, -1, -1
            )
            for found in zip(*seen, strict=True)
        )
        queries = query[0, :, start:end].reshape(heads, groups, end - start, query.shape[3])
        if softcap is None and s_aux is None and by_products:
            mask = part.mask(sliding_window, torch.float32, plain=False)
            output[0, :, start:end] = _by_products(queries, keys, values, mask, scaling)
            continue
        mask = part.mask(sliding_window, query.dtype)
        if softcap is None and s_aux is None:
            found = torch.nn.functional.scaled_dot_product_attention(
                queries, keys, values, attn_mask=mask, is_causal=mask is None, scale=scaling
            )
        else:
            sinks = None if s_aux is None else s_aux.reshape(heads, groups, 1, 1)
            found = _step_by_step(queries, keys, values, mask, scaling, softcap, sinks)
        output[0, :, start:end] = found.flatten(0, 1)
    return output.transpose(1, 2).contiguous(), None


def _by_products(queries: Any, keys: Any, values: Any, mask: Any, scaling: float | None) -> Any:
    """Attend by two products of matrices, for all groups of a head in one.

    On processors torch's fused attention takes 2.3 times as long in bf16 (benchmarks/RESULTS.md).

    Returns:
        Outputs [heads times groups, tokens, size].
    """
    heads, groups, count, size = queries.shape
    rows = (queries * (scaling or size**-0.5)).reshape(heads, groups * count, size)
    scores = torch.bmm(rows, keys[:, 0].transpose(1, 2)).view(heads, groups, count, -1)
    weights = torch.softmax(scores + mask, dim=3).to(values.dtype)
    found = torch.bmm(weights.view(heads, groups * count, -1), values[:, 0])
    return found.view(heads * groups, count, -1)


def _step_by_step(
    queries: Any,
    keys: Any,
    values: Any,
    mask: Any,
    scaling: float | None,
    softcap: float | None,
    sinks: Any,
) -> Any:
    """Attend with what the fast function does not know."""
    scores = queries @ keys.transpose(2, 3) * (scaling or queries.shape[3] ** -0.5)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if mask is None:
        count = scores.shape[2]
        ahead = torch.ones(count, count, dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(ahead, -torch.inf)
    else:
        scores = scores + mask
    if sinks is not None:
        sinks = sinks.expand(-1, -1, scores.shape[2], 1).to(scores.dtype)
        scores = torch.cat([scores, sinks], dim=3)
    weights = torch.softmax(scores, dim=3, dtype=torch.float32).to(queries.dtype)
    if sinks is not None:
        weights = weights[..., :-1]
    return weights @ values


AttentionInterface.register(NAME, attend)
