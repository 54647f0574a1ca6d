"""A small Llama decoder in plain torch: packed for training, cached for sampling.

Only what SmolLM2 needs: RMSNorm, rotary positions, grouped-query attention, a gated SiLU
feed-forward. Readings of different lengths are laid end to end, so no work is spent on padding;
only attention is computed reading by reading. Norms and softmax run in fp32, products in the
dtype of the weights.

Letters in shapes: T tokens of all readings, B readings, d width, h heads, f feed-forward width.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as fn

HEAD = 64


def fast_dtype() -> torch.dtype:
    """bf16 where the processor multiplies it in hardware, else fp32, which is then far faster."""
    try:
        flags = set(Path("/proc/cpuinfo").read_text("ascii", errors="replace").split())
    except OSError:
        return torch.float32
    return torch.bfloat16 if flags & {"avx512_bf16", "amx_bf16"} else torch.float32


@dataclass(frozen=True)
class Config:
    """Sizes of the decoder, as ``config.json`` of the base folder gives them."""

    layers: int
    width: int
    heads: int
    kv_heads: int
    ffn: int
    vocab: int
    rope_theta: float
    eps: float


def rope_table(length: int, theta: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines of the rotary angles, each [length, 64], in fp32."""
    inverse = theta ** (-torch.arange(0, HEAD, 2, dtype=torch.float64) / HEAD)
    angle = torch.arange(length, dtype=torch.float64)[:, None] * inverse[None]
    angle = torch.cat([angle, angle], dim=1)
    return angle.cos().float(), angle.sin().float()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Apply rotary positions to ``x`` [..., h, 64]; ``cos`` and ``sin`` broadcast over h."""
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-b, a], dim=-1) * sin


class Take(torch.autograd.Function):
    """Select rows, with a backward pass that is a selection too.

    The plain backward of indexing adds rows one by one, which is slow on a CPU. Between packed
    and padded rows each row that matters has one counterpart, so its gradient is just fetched.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, there: Tensor, back: Tensor, dead: Tensor | None) -> Tensor:
        """Rows ``there`` of ``x``; ``back`` are the rows of the result that give them back."""
        ctx.back, ctx.dead = back, dead
        return x.index_select(0, there)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:  # type: ignore[override]
        """Fetch the gradient of every row; rows of padding get none."""
        out = grad.index_select(0, ctx.back)
        if ctx.dead is not None:
            out[ctx.dead] = 0
        return out, None, None, None


class Block:
    """Neighbouring packed readings of similar length, padded for attention only.

    Args:
        start: First packed row of the block.
        lengths: Lengths of its readings.
        dtype: Of the mask.
    """

    def __init__(self, start: int, lengths: list[int], dtype: torch.dtype) -> None:
        self.readings, self.width = len(lengths), max(lengths)
        self.start, self.stop = start, start + sum(lengths)
        row = torch.arange(self.width)
        n = torch.tensor(lengths)[:, None]
        first = torch.tensor([0, *lengths[:-1]]).cumsum(0)[:, None]
        real = row[None] < n
        # Padding repeats a reading's last row. It comes after every real row, so the causal mask
        # alone keeps it from being attended to.
        self.pad = (first + torch.minimum(row[None], n - 1)).flatten()
        self.unpad = real.flatten().nonzero()[:, 0]
        self.dead = (~real).flatten()
        mask = torch.full((self.width, self.width), float("-inf"), dtype=dtype).triu(1)
        self.mask = mask[None, None]

    def attend(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Attention output [rows of the block, h * 64] from packed projections [T, heads, 64]."""
        heads, kv = q.shape[1], k.shape[1]
        rep, b, n = heads // kv, self.readings, self.width

        def padded(y: Tensor) -> Tensor:
            part = y[self.start : self.stop].flatten(1)
            return Take.apply(part, self.pad, self.unpad, None).view(b, n, -1, HEAD)

        # Query heads of one key head are folded into rows: one product a key head.
        qp = (padded(q) * HEAD**-0.5).view(b, n, kv, rep, HEAD).permute(0, 2, 3, 1, 4)
        qp = qp.reshape(b * kv, rep * n, HEAD)
        kp = padded(k).permute(0, 2, 3, 1).reshape(b * kv, HEAD, n)
        vp = padded(v).transpose(1, 2).reshape(b * kv, n, HEAD)
        weights = torch.bmm(qp, kp).view(b * kv, rep, n, n).add_(self.mask).softmax(-1)
        y = torch.bmm(weights.view(b * kv, rep * n, n), vp).view(b, kv, rep, n, HEAD)
        y = y.permute(0, 3, 1, 2, 4).reshape(b * n, heads * HEAD)
        return Take.apply(y, self.unpad, self.pad, self.dead)


def cut_blocks(lengths: list[int], dtype: torch.dtype, fill: float = 0.8) -> list[Block]:
    """Cut packed readings, longest first, into blocks that are at least ``fill`` full."""
    blocks, start, first = [], 0, 0
    for i in range(1, len(lengths) + 1):
        if i == len(lengths) or lengths[i] < fill * lengths[first]:
            blocks.append(Block(start, lengths[first:i], dtype))
            start, first = start + sum(lengths[first:i]), i
    return blocks


class Layer(nn.Module):
    """One decoder layer with fused q, k, v and fused gate and up projections."""

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.c = c
        rows = (c.heads + 2 * c.kv_heads) * HEAD
        self.qkv = nn.Parameter(torch.empty(rows, c.width))
        self.out = nn.Parameter(torch.empty(c.width, c.heads * HEAD))
        self.gate_up = nn.Parameter(torch.empty(2 * c.ffn, c.width))
        self.down = nn.Parameter(torch.empty(c.width, c.ffn))
        self.norm1 = nn.Parameter(torch.empty(c.width))
        self.norm2 = nn.Parameter(torch.empty(c.width))

    def project(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [..., h, 64], keys and values [..., kv, 64] of ``x`` [..., d]."""
        c = self.c
        y = fn.linear(fn.rms_norm(x, (c.width,), self.norm1, c.eps), self.qkv)
        y = y.view(*x.shape[:-1], c.heads + 2 * c.kv_heads, HEAD)
        qk, v = y.split([c.heads + c.kv_heads, c.kv_heads], dim=-2)
        q, k = rotate(qk, cos, sin).split([c.heads, c.kv_heads], dim=-2)
        return q, k, v

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Add the attention output and the feed-forward to the residual stream ``x`` [..., d]."""
        x = x + fn.linear(attended, self.out)
        gate, up = fn.linear(
            fn.rms_norm(x, (self.c.width,), self.norm2, self.c.eps), self.gate_up
        ).chunk(2, dim=-1)
        return x + fn.linear(fn.silu(gate) * up, self.down)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, blocks: list[Block]) -> Tensor:
        """Run the layer over packed readings ``x`` [T, d]; causal within each reading."""
        q, k, v = self.project(x, cos, sin)
        return self.finish(x, torch.cat([block.attend(q, k, v) for block in blocks]))


class Decoder(nn.Module):
    """The first ``layers`` layers of the base model and its embedding."""

    def __init__(self, c: Config) -> None:
        super().__init__()
        self.c = c
        self.embed = nn.Parameter(torch.empty(c.vocab, c.width))
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.layers))
        self.norm = nn.Parameter(torch.empty(c.width))
        cos, sin = rope_table(2048, c.rope_theta)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)

    def angles(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Rotary tables of ``positions`` [...], each [..., 1, 64] in the dtype of the weights."""
        dtype = self.embed.dtype
        cos, sin = self.get_buffer("cos"), self.get_buffer("sin")
        return cos[positions].unsqueeze(-2).to(dtype), sin[positions].unsqueeze(-2).to(dtype)

    def forward(self, ids: Tensor, lengths: list[int]) -> Tensor:
        """Hidden states [T, d] of packed readings ``ids`` [T] with the given lengths.

        Give the longest readings first: attention is padded block by block.
        """
        positions = torch.cat([torch.arange(n) for n in lengths])
        cos, sin = self.angles(positions)
        blocks = cut_blocks(lengths, self.embed.dtype)
        x = fn.embedding(ids, self.embed)
        for layer in self.layers:
            x = layer(x, cos, sin, blocks)
        return fn.rms_norm(x, (self.c.width,), self.norm, self.c.eps)


def load_decoder(folder: Path, layers: int | None = None) -> Decoder:
    """Load the base model in fp32.

    Args:
        folder: What ``base.py`` wrote.
        layers: Keep only this many layers from the input side; all when None.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["layers"] = layers or config["layers"]
    model = Decoder(Config(**config))
    state = load_file(str(folder / "base.safetensors"))
    model.load_state_dict({name: state[name] for name in model.state_dict()})
    return model
