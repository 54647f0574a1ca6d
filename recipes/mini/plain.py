"""Write the judge for OpenVINO, to compare runtimes; nothing that ships needs it.

OpenVINO cannot read the fused operators of ``graph.py``, so it gets the same network traced from
torch: ``ids`` [B, L] and ``lengths`` [B] in, ``score`` [B] out, in fp16 files that run as fp32, and
the same with 8-bit weights.

Run it: ``pip install openvino==2026.4.1 nncf``, then
``python plain.py --base build/base --judge build/permissive-trained --out build/openvino``
"""

from __future__ import annotations

import argparse
from pathlib import Path

import nncf
import openvino
import torch
from judge import Judge, load_judge
from torch import Tensor, nn
from torch.nn import functional as fn


class Padded(nn.Module):
    """The judge over padded readings; padding comes last, so the causal mask hides it."""

    def __init__(self, judge: Judge) -> None:
        super().__init__()
        self.judge = judge

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Scores [B]."""
        decoder = self.judge.decoder
        c = decoder.c
        batch, width = ids.shape
        cos, sin = decoder.angles(torch.arange(width)[None])
        x = fn.embedding(ids, decoder.embed)
        for layer in decoder.layers:
            q, k, v = (y.transpose(1, 2) for y in layer.project(x, cos, sin))
            k, v = (y.repeat_interleave(c.heads // c.kv_heads, 1) for y in (k, v))
            y = fn.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = layer.finish(x, y.transpose(1, 2).reshape(batch, width, -1))
        last = x[torch.arange(batch), lengths - 1]
        return fn.linear(fn.rms_norm(last, (c.width,), decoder.norm, c.eps), self.judge.head)


def main() -> None:
    """Write both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--judge", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    module = Padded(load_judge(args.base, args.judge)).eval()
    example = (torch.randint(3, 1000, (2, 40)), torch.tensor([40, 30]))
    shapes = [openvino.PartialShape([-1, -1]), openvino.PartialShape([-1])]
    with torch.no_grad():
        model = openvino.convert_model(module, example_input=example, input=shapes)
    for port, name in zip(model.inputs, ("ids", "lengths"), strict=True):
        port.get_tensor().set_names({name})
    model.outputs[0].get_tensor().set_names({"score"})
    openvino.save_model(model, args.out / "plain.xml")
    small = nncf.compress_weights(model, mode=nncf.CompressWeightsMode.INT8_SYM)
    openvino.save_model(small, args.out / "plain8.xml")


if __name__ == "__main__":
    main()
