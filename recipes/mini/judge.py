"""The judge itself: a truncated decoder and a linear head that gives one score a reading."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from layout import Reading
from llama import Decoder, load_decoder
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional as fn


class Judge(nn.Module):
    """Scores packed readings; the difference of two scores is a Bradley-Terry logit."""

    def __init__(self, decoder: Decoder) -> None:
        super().__init__()
        self.decoder = decoder
        self.head = nn.Parameter(torch.zeros(decoder.c.width))

    def forward(self, ids: Tensor, lengths: list[int]) -> Tensor:
        """Scores [B] in fp32 of readings ``ids`` [T], longest first."""
        hidden = self.decoder(ids, lengths)
        last = torch.tensor(lengths).cumsum(0) - 1
        return fn.linear(hidden[last].float(), self.head.float())


def new_judge(base: Path, layers: int) -> Judge:
    """A judge from the first ``layers`` layers of the base model, head zero, fp32."""
    return Judge(load_decoder(base, layers))


def save_judge(judge: Judge, folder: Path, about: dict[str, object]) -> None:
    """Write all weights but the embedding, which training never changes, in bf16."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {
        name: tensor.detach().to(torch.bfloat16).contiguous().clone()
        for name, tensor in judge.state_dict().items()
        if name != "decoder.embed"
    }
    save_file(state, str(folder / "judge.safetensors"))
    about = {**about, "layers": judge.decoder.c.layers}
    (folder / "about.json").write_text(json.dumps(about, indent=1), encoding="utf-8")


def load_judge(base: Path, folder: Path) -> Judge:
    """Read a judge that ``save_judge`` wrote; fp32."""
    about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
    judge = new_judge(base, int(about["layers"]))
    state = load_file(str(folder / "judge.safetensors"))
    missing, unknown = judge.load_state_dict(
        {name: tensor.float() for name, tensor in state.items()}, strict=False
    )
    if unknown or missing != ["decoder.embed"]:
        raise ValueError(f"weights in {folder} do not fit: {missing} {unknown}")
    return judge


def pack(order: list[int], lengths: list[int], budget: int) -> list[list[int]]:
    """Cut an order of readings into batches of at most ``budget`` tokens, at least one reading."""
    batches: list[list[int]] = []
    room = 0
    for i in order:
        if not batches or lengths[i] > room:
            batches.append([])
            room = budget
        batches[-1].append(i)
        room -= lengths[i]
    return batches


@torch.no_grad()
def score_all(judge: Judge, readings: list[Reading], budget: int = 4096) -> NDArray[np.float64]:
    """Scores [n] of any number of readings, batched by length."""
    lengths = [len(reading.ids) for reading in readings]
    order = sorted(range(len(readings)), key=lambda i: -lengths[i])
    scores = np.zeros(len(readings))
    for batch in pack(order, lengths, budget):
        ids = torch.tensor([t for i in batch for t in readings[i].ids])
        scores[batch] = judge(ids, [lengths[i] for i in batch]).double().numpy()
    return scores
