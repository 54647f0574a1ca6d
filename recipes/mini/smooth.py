"""Even out channels before 8-bit products: a few large ones cost all others their precision.

In a product ``y = x W^T`` with one scale a token, a channel of ``x`` that is a hundred times as
large as the rest leaves the rest a few steps of the 255. Dividing channel j of ``x`` by s_j and
multiplying column j of ``W`` by it changes nothing in exact arithmetic and moves part of the range
into the weights, whose scales are fixed::

    s_j = max|x_j| ** a / max|W_j| ** (1 - a)

as in SmoothQuant (arXiv 2211.10438, equation 4). The division costs nothing: it goes into what
makes ``x``, which is a norm's weight, the value rows, or the up rows.
"""

from __future__ import annotations

import torch
from judge import Judge
from layout import Reading
from llama import HEAD, cut_blocks
from torch import Tensor
from torch.nn import functional as fn

Maxima = list[dict[str, Tensor]]
"""For each layer: the largest absolute value of each input channel of each product."""


@torch.no_grad()
def input_maxima(judge: Judge, readings: list[Reading]) -> Maxima:
    """Run readings through the decoder and note how large each channel gets."""
    readings = sorted(readings, key=lambda reading: -len(reading.ids))
    lengths = [len(reading.ids) for reading in readings]
    decoder = judge.decoder
    c = decoder.c
    cos, sin = decoder.angles(torch.cat([torch.arange(n) for n in lengths]))
    blocks = cut_blocks(lengths, decoder.embed.dtype)
    x = fn.embedding(torch.tensor([t for r in readings for t in r.ids]), decoder.embed)
    found: Maxima = []
    for layer in decoder.layers:
        normed = fn.rms_norm(x, (c.width,), layer.norm1, c.eps)
        q, k, v = layer.project(x, cos, sin)
        attended = torch.cat([block.attend(q, k, v) for block in blocks])
        middle = x + fn.linear(attended, layer.out)
        second = fn.rms_norm(middle, (c.width,), layer.norm2, c.eps)
        gate, up = fn.linear(second, layer.gate_up).chunk(2, dim=-1)
        inputs = {"qkv": normed, "out": attended, "gate_up": second, "down": fn.silu(gate) * up}
        found.append({name: value.abs().amax(0) for name, value in inputs.items()})
        x = layer.finish(x, attended)
    return found


@torch.no_grad()
def smooth(judge: Judge, maxima: Maxima, share: float = 0.5) -> None:
    """Rescale the weights in place; scores stay what they were up to rounding.

    Args:
        judge: fp32 weights.
        maxima: What :func:`input_maxima` found.
        share: ``a`` of the formula: how much of the range moves into the weights.
    """
    c = judge.decoder.c
    heads, kv = c.heads, c.kv_heads

    def factors(largest: Tensor, weight: Tensor) -> Tensor:
        columns = weight.abs().amax(0).clamp(min=1e-5)
        return (largest.clamp(min=1e-5) ** share / columns ** (1 - share)).clamp(1e-3, 1e3)

    for layer, largest in zip(judge.decoder.layers, maxima, strict=True):
        # Several query heads share the values of one key head, so they share its factors too.
        by_head = largest["out"].view(kv, heads // kv, HEAD).amax(1)
        columns = layer.out.abs().amax(0).view(kv, heads // kv, HEAD).amax(1).clamp(min=1e-5)
        s = (by_head.clamp(min=1e-5) ** share / columns ** (1 - share)).clamp(1e-3, 1e3)
        layer.qkv[(heads + kv) * HEAD :] /= s.flatten()[:, None]
        layer.out *= s[:, None].expand(kv, heads // kv, HEAD).reshape(1, -1)
        s = factors(largest["down"], layer.down)
        layer.gate_up[c.ffn :] /= s[:, None]
        layer.down *= s
        for norm, product in (("norm1", "qkv"), ("norm2", "gate_up")):
            weight = getattr(layer, product)
            s = factors(largest[product], weight)
            getattr(layer, norm).div_(s)
            weight *= s
