"""Take the trained weights back out of a judge folder's int8 ONNX file, to train on from them.

Layers that training leaves as they are come from the base model; the others are the integers times
their scales, so the first step starts within half a quantisation step of the earlier weights.

Run it: ``python start.py --base build/base --onnx first.onnx --frozen 8 --out build/first``
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from judge import new_judge, save_judge
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor

PRODUCTS = ("qkv", "out", "gate_up", "down")


def read_weights(path: Path) -> tuple[dict[str, NDArray[np.float32]], list[NDArray[np.float32]]]:
    """Dequantised products by name, and the norms in the sequence in which the graph uses them."""
    model = onnx.load(str(path))
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    products = {
        name.removesuffix(".s"): (found[name.removesuffix(".s")] * scale).T
        for name, scale in found.items()
        if name.startswith("layers.") and name.endswith(".s")
    }
    width = found["head"].shape[0]
    norms = [v for name, v in found.items() if name[0] == "c" and v.shape == (width,)]
    return {**products, "head": found["head"][:, 0]}, norms


def main() -> None:
    """Write a folder that ``train.py --start`` reads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--onnx", type=Path, required=True)
    parser.add_argument("--frozen", type=int, default=8, help="layers that are the base model's")
    parser.add_argument("--tokens", type=int, required=True, help="what it was trained on so far")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    products, norms = read_weights(args.onnx)
    layers = (len(norms) - 1) // 2
    judge = new_judge(args.base, layers)

    def put(target: Tensor, value: NDArray[np.float32]) -> None:
        with torch.no_grad():
            target.copy_(torch.from_numpy(np.ascontiguousarray(value)))

    for k, layer in enumerate(judge.decoder.layers):
        if k < args.frozen:
            continue
        for name in PRODUCTS:
            put(getattr(layer, name), products[f"layers.{k}.{name}"])
        put(layer.get_parameter("norm1"), norms[2 * k])
        put(layer.get_parameter("norm2"), norms[2 * k + 1])
    put(judge.decoder.norm, norms[-1])
    put(judge.head, products["head"])
    save_judge(judge, args.out, {"total": args.tokens})
    print(f"{args.out}: {layers} layers, {args.tokens} tokens so far")


if __name__ == "__main__":
    main()
