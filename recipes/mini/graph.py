"""Write the judge as an ONNX graph by hand: a few fused operators a layer, quantised weights.

Writing the graph directly keeps it small and stable, with no tracing exporter in between. The
weights of the products and the embedding are stored as int8; norms, softmax and the residual
stream stay fp32.

Shapes: B readings, L the longest of them, d width. Inputs are ``ids`` [B, L] int64, padded at the
end with anything, and ``lengths`` [B] int64; the output is ``score`` [B] fp32.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from judge import Judge
from llama import HEAD, rope_table
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

MS = "com.microsoft"
FloatArray = NDArray[np.float32]


class Builder:
    """Collects nodes and weights of one graph."""

    def __init__(self, kind: str, block: int) -> None:
        self.kind, self.block = kind, block
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.count = 0

    def const(self, value: NDArray[Any], name: str | None = None) -> str:
        """Add a weight; return its name."""
        name = name or f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def op(
        self, kind: str, inputs: list[str], outs: int = 1, domain: str = "", **attrs: Any
    ) -> Any:
        """Add a node; return the name of its output, or the list of names when several."""
        self.count += 1
        names = [f"{kind}_{self.count}_{k}" for k in range(outs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attrs))
        return names[0] if outs == 1 else names

    def product(self, x: str, weight: FloatArray, name: str) -> str:
        """``x`` [..., k] times ``weight`` [n, k] transposed, quantised as the kind says."""
        n, k = weight.shape
        if self.kind == "fp32":
            return str(self.op("MatMul", [x, self.const(weight.T, name)]))
        if self.kind == "int8":
            return self.integer_product(x, weight, name)
        bits = {"block8": 8, "block4": 4}[self.kind]
        packed, scales, zeros = quantise_blocks(weight, bits, self.block)
        parts = [x, self.const(packed, name), self.const(scales, name + ".s")]
        if zeros is not None:
            parts.append(self.const(zeros, name + ".z"))
        return str(
            self.op(
                "MatMulNBits", parts, domain=MS, N=n, K=k, bits=bits, block_size=self.block,
                accuracy_level=4,
            )
        )  # fmt: skip

    def integer_product(self, x: str, weight: FloatArray, name: str) -> str:
        """8-bit integers on both sides, with one scale a token and one an output.

        A scale for each token keeps a token with huge values from costing the others their
        precision, and keeps the score of a reading free of what else is in the batch.
        """
        scale = (np.maximum(np.abs(weight).max(1), 1e-9) / 127).astype(np.float32)
        rows = np.clip(np.round(weight / scale[:, None]), -127, 127).astype(np.int8)
        largest = self.op("ReduceMax", [self.op("Abs", [x]), "minus one"], keepdims=1)
        largest = self.op("Max", [largest, "tiny"])
        bytes_ = self.op("QuantizeLinear", [self.op("Div", [x, largest]), "step", "middle"])
        parts = [bytes_, self.const(rows.T, name), "step", self.const(scale, name + ".s"), "middle"]
        y = self.op("MatMulIntegerToFloat", parts, domain=MS)
        return str(self.op("Mul", [y, largest]))


def quantise_blocks(
    weight: FloatArray, bits: int, block: int
) -> tuple[NDArray[np.uint8], FloatArray, NDArray[np.uint8] | None]:
    """Quantise [n, k] by blocks along k: symmetric for 8 bits, with zero points for 4.

    Returns:
        Packed weights [n, k / block, block * bits / 8], scales [n, k / block], and for 4 bits
        zero points [n, ceil(k / block / 2)], two a byte.
    """
    n, k = weight.shape
    w = weight.reshape(n, k // block, block).astype(np.float64)
    if bits == 8:
        scale = np.maximum(np.abs(w).max(2, keepdims=True), 1e-9) / 127
        q = np.clip(np.round(w / scale) + 128, 1, 255).astype(np.uint8)
        return q, scale[..., 0].astype(np.float32), None
    low, high = np.minimum(w.min(2, keepdims=True), 0), np.maximum(w.max(2, keepdims=True), 0)
    scale = np.maximum(high - low, 1e-9) / 15
    zero = np.clip(np.round(-low / scale), 0, 15)
    q = np.clip(np.round(w / scale) + zero, 0, 15).astype(np.uint8)
    packed = q[..., 0::2] | (q[..., 1::2] << 4)
    z = zero[..., 0].astype(np.uint8)
    if z.shape[1] % 2:
        z = np.concatenate([z, np.zeros((n, 1), np.uint8)], 1)
    return packed, scale[..., 0].astype(np.float32), z[:, 0::2] | (z[:, 1::2] << 4)


def build_graph(
    judge: Judge, kind: str, block: int = 64, max_tokens: int = 1024
) -> onnx.ModelProto:
    """The judge as an ONNX model.

    Args:
        judge: Trained weights, fp32.
        kind: ``fp32``; ``int8`` (integers on both sides, a scale per token and per output);
            ``block8`` or ``block4`` (8- or 4-bit weights by blocks).
        block: For the latter two: values that share a scale, along the input of a product.
        max_tokens: Length of the rotary tables.
    """
    c = judge.decoder.c
    state = {k: v.detach().float().numpy() for k, v in judge.decoder.state_dict().items()}
    g = Builder(kind, block)
    g.const(np.array([1], np.int64), "one")
    if kind == "int8":
        g.const(np.array([-1], np.int64), "minus one")
        g.const(np.array(1e-9, np.float32), "tiny")
        g.const(np.array(1 / 127, np.float32), "step")
        g.const(np.array(128, np.uint8), "middle")
    embed = state["embed"]
    if kind == "fp32":
        x = g.op("Gather", [g.const(embed, "embed"), "ids"])
    else:
        scale = (np.maximum(np.abs(embed).max(1, keepdims=True), 1e-9) / 127).astype(np.float32)
        q = np.round(embed / scale).astype(np.int8)
        rows = g.op("Gather", [g.const(q, "embed"), "ids"])
        scales = g.op("Gather", [g.const(scale, "embed.s"), "ids"])
        x = g.op("Mul", [g.op("Cast", [rows], to=TensorProto.FLOAT), scales])
    last = g.op("Sub", ["lengths", "one"])
    seqlens = g.op("Cast", [last], to=TensorProto.INT32)
    width = g.op("Gather", [g.op("Shape", ["ids"]), g.const(np.array(1, np.int64))])
    total = g.op("Cast", [width], to=TensorProto.INT32)
    where = g.op("Unsqueeze", [last, "one"])
    cos, sin = (t[:, : HEAD // 2].numpy() for t in rope_table(max_tokens, c.rope_theta))
    cos, sin = g.const(cos, "cos"), g.const(sin, "sin")
    kv_sizes = g.const(np.array([c.heads * HEAD, c.kv_heads * HEAD, c.kv_heads * HEAD], np.int64))
    ffn_sizes = g.const(np.array([c.ffn, c.ffn], np.int64))
    branch = ""
    for i in range(c.layers):
        p = f"layers.{i}."
        x, y = norm(g, x, branch, state[p + "norm1"], c.eps)
        q, k, v = g.op("Split", [g.product(y, state[p + "qkv"], p + "qkv"), kv_sizes], 3, axis=-1)
        y, _, _ = g.op(
            "GroupQueryAttention", [q, k, v, "", "", seqlens, total, cos, sin], 3, MS,
            num_heads=c.heads, kv_num_heads=c.kv_heads, do_rotary=1, scale=HEAD**-0.5,
        )  # fmt: skip
        if i == c.layers - 1:  # only the last token of each reading is wanted from here on
            x, y = (g.op("GatherND", [t, where], batch_dims=1) for t in (x, y))
        x, y = norm(g, x, g.product(y, state[p + "out"], p + "out"), state[p + "norm2"], c.eps)
        gate_up = g.product(y, state[p + "gate_up"], p + "gate_up")
        gate, up = g.op("Split", [gate_up, ffn_sizes], 2, axis=-1)
        gate = g.op("QuickGelu", [gate], domain=MS, alpha=1.0)
        branch = g.product(g.op("Mul", [gate, up]), state[p + "down"], p + "down")
    _, y = norm(g, x, branch, state["norm"], c.eps)
    head = judge.head.detach().float().numpy()[:, None]
    score = g.op("Squeeze", [g.op("MatMul", [y, g.const(head, "head")]), "one"])
    g.nodes.append(helper.make_node("Identity", [score], ["score"]))
    graph = helper.make_graph(
        g.nodes,
        "judge",
        [
            helper.make_tensor_value_info("ids", TensorProto.INT64, ["B", "L"]),
            helper.make_tensor_value_info("lengths", TensorProto.INT64, ["B"]),
        ],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["B"])],
        g.weights,
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="magistrate")


def norm(g: Builder, x: str, branch: str, weight: FloatArray, eps: float) -> tuple[str, str]:
    """RMSNorm of ``x + branch``; returns the sum and its norm. No branch: of ``x`` alone."""
    scale = g.const(weight)
    if not branch:
        y = g.op("SimplifiedLayerNormalization", [x, scale], epsilon=eps, axis=-1, stash_type=1)
        return x, str(y)
    outs = g.op("SkipSimplifiedLayerNormalization", [x, branch, scale], 4, MS, epsilon=eps)
    return outs[3], outs[0]


def save_graph(model: onnx.ModelProto, path: Path) -> None:
    """Write one self-contained ONNX file."""
    path.write_bytes(model.SerializeToString(deterministic=True))
