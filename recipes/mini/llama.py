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

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

HEAD = 64


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
        y = F.linear(F.rms_norm(x, (c.width,), self.norm1, c.eps), self.qkv)
        y = y.view(*x.shape[:-1], c.heads + 2 * c.kv_heads, HEAD)
        qk, v = y.split([c.heads + c.kv_heads, c.kv_heads], dim=-2)
        q, k = rotate(qk, cos, sin).split([c.heads, c.kv_heads], dim=-2)
        return q, k, v

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Add the attention output and the feed-forward to the residual stream ``x`` [..., d]."""
        x = x + F.linear(attended, self.out)
        gate, up = F.linear(
            F.rms_norm(x, (self.c.width,), self.norm2, self.c.eps), self.gate_up
        ).chunk(2, dim=-1)
        return x + F.linear(F.silu(gate) * up, self.down)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, lengths: list[int]) -> Tensor:
        """Run the layer over packed readings ``x`` [T, d]; causal within each reading."""
        q, k, v = self.project(x, cos, sin)
        parts = []
        for qi, ki, vi in zip(
            q.transpose(0, 1).split(lengths, 1),
            k.transpose(0, 1).split(lengths, 1),
            v.transpose(0, 1).split(lengths, 1),
            strict=True,
        ):
            y = F.scaled_dot_product_attention(
                qi[None], ki[None], vi[None], is_causal=True, enable_gqa=True
            )
            parts.append(y[0].transpose(0, 1).flatten(1))
        return self.finish(x, torch.cat(parts))


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
        """Hidden states [T, d] of packed readings ``ids`` [T] with the given lengths."""
        positions = torch.cat([torch.arange(n) for n in lengths])
        cos, sin = self.angles(positions)
        x = F.embedding(ids, self.embed)
        for layer in self.layers:
            x = layer(x, cos, sin, lengths)
        return F.rms_norm(x, (self.c.width,), self.norm, self.c.eps)


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
