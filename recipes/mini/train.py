"""Train the judge: Bradley-Terry on groups, with one length term for all of them.

The logit of "answer i beats answer j" is ``r_i - r_j + lambda * (l_i - l_j)``: r is the score the
decoder gives, l = log(1 + characters) and lambda one number, learned too. It is the score that
ships, so the decoder must learn to overcome the length term where the longer answer is the worse
one; with a lambda per source it need not.

Batches are mixed from the sources by fixed shares of tokens. Weights are bf16 where the processor
is fast with it; the optimizer keeps fp32 masters, so that small updates are not lost. Every
``--every`` tokens the development split is scored, a line is added to ``curve.csv`` and the weights
are saved: ``--start`` goes on from them.

Run it: ``python train.py --base build/base --groups build/groups/permissive.jsonl --out build/a``
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
from curve import Curve
from items import Item, Mixture, load_items
from judge import Judge, load_judge, new_judge, save_judge
from layout import Layout
from llama import Layer, fast_dtype
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional as fn


class Masters:
    """AdamW on fp32 copies of the trained weights."""

    def __init__(self, judge: Judge, slope: nn.Parameter, rate: float) -> None:
        self.live = [p for p in judge.decoder.parameters() if p.requires_grad]
        self.master = [nn.Parameter(p.detach().float().clone()) for p in self.live]
        self.other: list[nn.Parameter] = [judge.head, slope]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": self.master, "peak": rate, "weight_decay": 0.01},
                {"params": [judge.head], "peak": 10 * rate, "weight_decay": 0.0},
                {"params": [slope], "peak": 20 * rate, "weight_decay": 0.0},
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
    judge: Judge, batch: list[Item], slope: Tensor
) -> tuple[Tensor, dict[str, list[float]]]:
    """Mean loss of one batch, each group by its readings, and the losses of groups by source."""
    readings = [reading for item in batch for reading in item.readings]
    order = sorted(range(len(readings)), key=lambda i: -len(readings[i].ids))
    ids = torch.tensor([t for i in order for t in readings[i].ids])
    raw = judge(ids, [len(readings[i].ids) for i in order])
    scores = torch.zeros(len(order)).index_copy(0, torch.tensor(order), raw)
    total, start = scores.new_zeros(()), 0
    seen: dict[str, list[float]] = defaultdict(list)
    for item in batch:
        n = len(item.readings)
        r = scores[start : start + n]
        length = torch.tensor([reading.log_length for reading in item.readings])
        start += n
        i, j = (torch.tensor([pair[k] for pair in item.pairs]) for k in (0, 1))
        p, w = (torch.tensor([pair[k] for pair in item.pairs]) for k in (2, 3))
        logit = r[i] - r[j] + slope * (length[i] - length[j])
        each = fn.binary_cross_entropy_with_logits(logit, p, reduction="none")
        loss = (each * w).sum() / w.sum()
        # A small pull to zero keeps scores of different questions on one scale.
        total = total + n * (loss + 0.002 * r.square().mean())
        seen[item.source].append(float(loss.detach()))
    return total / len(readings), seen


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
    parser.add_argument("--minutes", type=float, default=1e9, help="cool early to end by then")
    parser.add_argument("--batch", type=int, default=4096, help="tokens of one update")
    parser.add_argument("--window", type=int, default=384, help="longest reading")
    parser.add_argument("--rate", type=float, default=3e-4)
    parser.add_argument("--cool", type=float, default=0.4, help="share of the run that cools")
    parser.add_argument("--last", type=float, default=0.0, help="share of the peak rate at the end")
    parser.add_argument("--warm", type=float, default=0.05)
    parser.add_argument("--slope", type=float, default=0.9563, help="length coefficient at first")
    parser.add_argument("--share", nargs="+", required=True, help="SOURCE=N: its part of tokens")
    parser.add_argument("--every", type=float, default=3e5, help="tokens between two checks")
    parser.add_argument("--watch", type=Path, nargs="+", help="groups to check on, else --groups")
    parser.add_argument("--compile", action="store_true", help="needs a C++ compiler")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    """Train and save; deterministic under the seed on one kind of CPU, unless minutes end it."""
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    layout = Layout(Tokenizer.from_file(str(args.base / "tokenizer.json")), args.window)
    shares = {k.replace("_", " "): float(v) for k, v in (x.split("=") for x in args.share)}
    shares = {name.replace("seed tasks", "seed_tasks"): share for name, share in shares.items()}
    mixture = Mixture(load_items(args.groups, layout, "train", shares), shares, args.seed)
    judge = load_judge(args.base, args.start) if args.start else new_judge(args.base, args.layers)
    before = 0
    if args.start:
        about_start = json.loads((args.start / "about.json").read_text(encoding="utf-8"))
        before, args.slope = about_start["total"], about_start.get("slope", args.slope)
    judge.decoder.to(fast_dtype())
    if args.compile:  # fuses norms, rotations and gates: a quarter less time
        for name in ("project", "finish"):
            setattr(Layer, name, torch.compile(getattr(Layer, name), dynamic=True))
    judge.decoder.embed.requires_grad_(False)
    for k, layer in enumerate(judge.decoder.layers):
        layer.requires_grad_(k >= args.frozen)
    slope = nn.Parameter(torch.tensor([float(args.slope)]))
    masters = Masters(judge, slope, args.rate)
    curve = Curve(args.out, load_items(args.watch or args.groups, layout, "dev"), before)
    done, updates, checked, begun = 0, 0, 0, time.time()
    losses: dict[str, list[float]] = defaultdict(list)

    def about() -> dict[str, Any]:
        settings = {k: str(v) if isinstance(v, Path) else v for k, v in vars(args).items()}
        settings |= {k: [p.name for p in vars(args)[k] or ()] for k in ("groups", "watch")}
        counts = {"tokens": done, "before": before, "total": before + done, "updates": updates}
        seconds = round(time.time() - begun)
        return {"settings": settings, "slope": float(slope.detach()), "seconds": seconds, **counts}

    def check() -> None:
        # Into one file: the end of the run has the means of all losses since the last check.
        means = {name: sum(v) / len(v) for name, v in losses.items()}
        losses.clear()
        print(curve.add(judge, float(slope.detach()), done, time.time() - begun, means), flush=True)
        save_judge(judge, args.out / f"at-{before + done}", about())

    check()
    share = 0.0
    while share < 1.0:
        batch = mixture.batch(args.batch)
        loss, seen = loss_of(judge, batch, slope)
        loss.backward()
        done += sum(len(reading.ids) for item in batch for reading in item.readings)
        share = max(done / args.tokens, (time.time() - begun) / 60 / args.minutes)
        scale = rate_scale(min(share, 0.999), args.warm, args.cool)
        norm = masters.step(max(scale, args.last if share > args.warm else 0.0))
        updates += 1
        for name, values in seen.items():
            losses[name] += values
        if updates % 10 == 0:
            pace = done / (time.time() - begun)
            print(
                f"{updates} {share:.1%} {pace:.0f} tok/s norm {norm:.2f} loss {float(loss):.3f} "
                f"length {float(slope.detach()):.3f}",
                flush=True,
            )
        if done - checked >= args.every and share < 0.97:
            checked = done
            check()
    check()
    save_judge(judge, args.out, about())
    print(f"{done} tokens, {updates} updates, {time.time() - begun:.0f} s")


if __name__ == "__main__":
    main()
