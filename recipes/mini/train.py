"""Train the judge: Bradley-Terry on groups, with length explained away source by source.

The logit of "answer i beats answer j" is ``r_i - r_j + lambda_s * (l_i - l_j)``: r is the score
the decoder gives, l the log of the answer's tokens and lambda_s one number per source. What length
alone explains in a source is explained by lambda_s, so the decoder is left with the rest. After
training one lambda is chosen on the development split and becomes part of the score.

Weights are bf16 where the processor is fast with it; the optimizer keeps fp32 masters, so that
small updates are not lost.

Run it: ``python train.py --base build/base --groups build/groups/permissive.jsonl --out build/a``
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from judge import Judge, load_judge, new_judge, pack, save_judge
from layout import Layout, Reading
from leaks import read_rows
from llama import Layer, fast_dtype
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as fn

# How often a group of a source is visited per epoch, and the weight of its readings.
VISITS = {"fastchat": 2, "prometheus": 2, "alpaca": 2}
WEIGHT = {"t0": 0.5, "ukp": 0.6, "errors": 0.5}
MOST_ANSWERS = 10  # of one group in one visit


@dataclass
class Item:
    """A group ready for training: readings and pairs (i, j, p, weight)."""

    source: str
    readings: list[Reading]
    pairs: list[tuple[int, int, float, float]]


def load_items(paths: list[Path], layout: Layout, split: str) -> list[Item]:
    """Read and tokenize the groups of one split."""
    items = []
    for path in paths:
        for row in read_rows(path):
            if row["split"] == split:
                readings = [layout.read(row["question"], answer) for answer in row["answers"]]
                pairs = [(i, j, p, w) for i, j, p, w, _ in row["pairs"]]
                items.append(Item(row["source"], readings, pairs))
    return items


def visits(items: list[Item], rng: random.Random, tokens: int) -> list[Item]:
    """One epoch: shuffled visits, large groups cut into random parts of a few answers each."""
    out = []
    for item in items:
        for _ in range(VISITS.get(item.source, 1)):
            order = list(range(len(item.readings)))
            rng.shuffle(order)
            if item.source == "alpaca":
                order = order[:6]  # every visit another part of the 17 answers
            lengths = [len(reading.ids) for reading in item.readings]
            parts = [
                part[k : k + MOST_ANSWERS]
                for part in pack(order, lengths, tokens)
                for k in range(0, len(part), MOST_ANSWERS)
            ]
            for part in parts:
                place = {i: k for k, i in enumerate(part)}
                pairs = [
                    (place[i], place[j], p, w)
                    for i, j, p, w in item.pairs
                    if i in place and j in place
                ]
                if pairs:
                    out.append(Item(item.source, [item.readings[i] for i in part], pairs))
    rng.shuffle(out)
    return out


def batches(epoch: list[Item], tokens: int) -> list[list[Item]]:
    """Groups of one forward pass each: about ``tokens`` tokens."""
    sizes = [sum(len(reading.ids) for reading in item.readings) for item in epoch]
    return [[epoch[i] for i in batch] for batch in pack(list(range(len(epoch))), sizes, tokens)]


class Masters:
    """AdamW on fp32 copies of the trained weights."""

    def __init__(self, judge: Judge, slopes: nn.Parameter, rate: float) -> None:
        self.live = [p for p in judge.decoder.parameters() if p.requires_grad]
        self.master = [nn.Parameter(p.detach().float().clone()) for p in self.live]
        self.other: list[nn.Parameter] = [judge.head, slopes]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": self.master, "peak": rate, "weight_decay": 0.01},
                {"params": [judge.head], "peak": 10 * rate, "weight_decay": 0.0},
                {"params": [slopes], "peak": 100 * rate, "weight_decay": 0.0},
            ],
            lr=rate,
            betas=(0.9, 0.98),
            fused=True,
        )

    def step(self, scale: float) -> float:
        """Apply one update at ``scale`` times the peak rates; return the gradient's norm."""
        for live, master in zip(self.live, self.master, strict=True):
            master.grad = None if live.grad is None else live.grad.float()
            live.grad = None
        norm = nn.utils.clip_grad_norm_([*self.master, *self.other], 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = scale * group["peak"]
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            for live, master in zip(self.live, self.master, strict=True):
                live.copy_(master)
        return float(norm)


def loss_of(
    judge: Judge, batch: list[Item], slopes: Tensor, index: dict[str, int]
) -> tuple[Tensor, dict[str, list[float]]]:
    """Weighted mean loss of one batch and, by source, the loss and hits of each group."""
    readings = [(reading, k) for k, item in enumerate(batch) for reading in item.readings]
    order = sorted(range(len(readings)), key=lambda i: -len(readings[i][0].ids))
    ids = torch.tensor([t for i in order for t in readings[i][0].ids])
    raw = judge(ids, [len(readings[i][0].ids) for i in order])
    scores = torch.zeros(len(order)).index_copy(0, torch.tensor(order), raw)
    total, weights, start = scores.new_zeros(()), 0.0, 0
    seen: dict[str, list[float]] = defaultdict(list)
    for item in batch:
        n = len(item.readings)
        r = scores[start : start + n]
        length = torch.tensor([reading.log_length for reading in item.readings])
        start += n
        i, j = (torch.tensor([pair[k] for pair in item.pairs]) for k in (0, 1))
        p, w = (torch.tensor([pair[k] for pair in item.pairs]) for k in (2, 3))
        logit = r[i] - r[j] + slopes[index[item.source]] * (length[i] - length[j])
        each = fn.binary_cross_entropy_with_logits(logit, p, reduction="none")
        loss = (each * w).sum() / w.sum()
        share = n * WEIGHT.get(item.source, 1.0)
        # A small pull to zero keeps scores of different questions on one scale.
        total = total + share * (loss + 0.002 * r.square().mean())
        weights += share
        seen[item.source].append(float(loss.detach()))
    return total / weights, seen


def rate_scale(done: float, warm: float, cool: float) -> float:
    """Share of the peak rate at a share ``done`` of training: up, flat, then down to nothing."""
    if done < warm:
        return done / warm
    return min(1.0, (1.0 - done) / cool)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--groups", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="continue from this judge")
    parser.add_argument("--layers", type=int, default=16)
    parser.add_argument("--frozen", type=int, default=8, help="layers at the input left as is")
    parser.add_argument("--tokens", type=float, default=1.6e6, help="tokens to train on")
    parser.add_argument("--batch", type=int, default=4096, help="tokens of one forward pass")
    parser.add_argument("--passes", type=int, default=1, help="forward passes per update")
    parser.add_argument("--window", type=int, default=384, help="longest reading")
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--cool", type=float, default=0.4, help="share of the run that cools")
    parser.add_argument("--warm", type=float, default=0.05)
    parser.add_argument("--compile", action="store_true", help="needs a C++ compiler")
    parser.add_argument("--visits", nargs="*", default=[], help="SOURCE=N: visits an epoch")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    VISITS.update({name: int(count) for name, count in (v.split("=") for v in args.visits)})
    return args


def main() -> None:
    """Train and save; deterministic under the seed on one kind of CPU."""
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    layout = Layout(Tokenizer.from_file(str(args.base / "tokenizer.json")), args.window)
    items = load_items(args.groups, layout, "train")
    index = {name: k for k, name in enumerate(sorted({item.source for item in items}))}
    judge = load_judge(args.base, args.start) if args.start else new_judge(args.base, args.layers)
    before = 0
    if args.start:
        before = json.loads((args.start / "about.json").read_text(encoding="utf-8"))["total"]
    judge.decoder.to(fast_dtype())
    if args.compile:  # fuses norms, rotations and gates: a quarter less time
        for name in ("project", "finish"):
            setattr(Layer, name, torch.compile(getattr(Layer, name), dynamic=True))
    judge.decoder.embed.requires_grad_(False)
    for k, layer in enumerate(judge.decoder.layers):
        layer.requires_grad_(k >= args.frozen)
    slopes = nn.Parameter(torch.full((len(index),), 0.3))
    masters = Masters(judge, slopes, args.rate)
    queue: list[list[Item]] = []
    done, epochs, updates, begun = 0, 0, 0, time.time()
    losses: dict[str, list[float]] = defaultdict(list)

    def about() -> dict[str, Any]:
        settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
        settings["groups"] = [path.name for path in args.groups]
        named = {name: float(slopes.detach()[k]) for name, k in index.items()}
        counts = {"tokens": done, "before": before, "total": before + done, "updates": updates}
        return {"settings": settings, "slopes": named, **counts}

    while done < args.tokens:
        for _ in range(args.passes):
            if not queue:
                queue = batches(visits(items, rng, args.batch), args.batch)
                epochs += 1
            batch = queue.pop()
            loss, seen = loss_of(judge, batch, slopes, index)
            (loss / args.passes).backward()
            done += sum(len(reading.ids) for item in batch for reading in item.readings)
            for name, values in seen.items():
                losses[name] += values
        share = done / args.tokens
        norm = masters.step(rate_scale(min(share, 0.999), args.warm, args.cool))
        updates += 1
        if updates % 5 == 0:
            text = " ".join(f"{n} {sum(v) / len(v):.3f}" for n, v in sorted(losses.items()))
            losses.clear()
            pace = done / (time.time() - begun)
            print(
                f"{updates} epoch {epochs} {share:.1%} {pace:.0f} tok/s norm {norm:.2f} | {text} | "
                + " ".join(f"{n} {float(slopes.detach()[k]):+.2f}" for n, k in index.items()),
                flush=True,
            )
    save_judge(judge, args.out, about())
    print(f"{done} tokens, {updates} updates, {time.time() - begun:.0f} s")


if __name__ == "__main__":
    main()
