"""Let the base model itself answer questions: licence-clean answers that are mostly worse.

SmolLM2-135M is a far weaker writer than the models whose answers it is compared with, and weaker
still at a high temperature, so "strong writer against weak writer" pairs can be made without any
model whose terms forbid it. Sampling is batched over a static key-value cache.

Run it: ``python sample.py --base build/base --questions q.jsonl --out s.jsonl``
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch
from llama import Decoder, fast_dtype, load_decoder
from tokenizers import Tokenizer
from torch import Tensor
from torch.nn import functional as fn

START, END = 1, 2  # ids of the control tokens that open and close a turn
TOP = 100  # candidates a token


class Cache:
    """Keys and values of one batch: two tensors [B, kv, capacity, 64] a layer."""

    def __init__(self, model: Decoder, batch: int, capacity: int) -> None:
        shape = (batch, model.c.kv_heads, capacity, 64)
        dtype = model.embed.dtype
        self.keys = [torch.zeros(shape, dtype=dtype) for _ in model.layers]
        self.values = [torch.zeros(shape, dtype=dtype) for _ in model.layers]

    def keep(self, rows: Tensor) -> None:
        """Drop every batch row not listed."""
        self.keys = [k[rows] for k in self.keys]
        self.values = [v[rows] for v in self.values]


def step(model: Decoder, cache: Cache, ids: Tensor, start: int, pad: Tensor) -> Tensor:
    """Feed ``ids`` [B, n] at columns ``start`` to ``start + n``; return the last logits [B, vocab].

    Args:
        model: The decoder.
        cache: Filled up to column ``start``.
        ids: Left-padded in the first call (start 0), one column a call afterwards.
        start: The first column that this call writes.
        pad: Left padding of each row, [B]; padded columns are never attended to.
    """
    batch, n = ids.shape
    c = model.c
    columns = torch.arange(start, start + n)
    cos, sin = model.angles((columns[None] - pad[:, None]).clamp(min=0))
    past = torch.arange(start + n)
    seen = (past[None, None] <= columns[None, :, None]) & (past[None, None] >= pad[:, None, None])
    # A row that is all padding still needs one column, or its softmax is undefined.
    seen |= past[None, None] == columns[None, :, None]
    bias = torch.zeros(seen.shape, dtype=model.embed.dtype).masked_fill(~seen, float("-inf"))
    groups = c.heads // c.kv_heads
    bias = bias[:, None, None]
    x = fn.embedding(ids, model.embed)
    for i, layer in enumerate(model.layers):
        q, k, v = layer.project(x, cos, sin)
        cache.keys[i][:, :, start : start + n] = k.transpose(1, 2)
        cache.values[i][:, :, start : start + n] = v.transpose(1, 2)
        keys = cache.keys[i][:, :, None, : start + n]
        values = cache.values[i][:, :, None, : start + n]
        q = q.view(batch, n, c.kv_heads, groups, 64).permute(0, 2, 3, 1, 4) * 0.125
        if n == 1:  # fold the query group into rows: one product per kv head
            weights = (q.squeeze(3) @ keys.squeeze(2).transpose(-1, -2)) + bias.squeeze(3)
            y = (weights.softmax(-1) @ values.squeeze(2)).reshape(batch, 1, -1)
        else:
            weights = q @ keys.transpose(-1, -2) + bias
            y = (weights.softmax(-1) @ values).permute(0, 3, 1, 2, 4).reshape(batch, n, -1)
        x = layer.finish(x, y)
    last = fn.rms_norm(x[:, -1], (c.width,), model.norm, c.eps)
    return fn.linear(last, model.embed).float()


@torch.no_grad()
def answer(
    model: Decoder, prompts: list[list[int]], heat: list[float], new: int, seed: int
) -> list[list[int]]:
    """Sample one continuation per prompt.

    Args:
        model: The decoder.
        prompts: Token ids.
        heat: Temperature per prompt; 0 takes the most probable token.
        new: At most this many tokens each.
        seed: Of the sampling noise.

    Returns:
        Token ids without the end token; shorter than ``new`` when the model ended by itself.
    """
    generator = torch.Generator().manual_seed(seed)
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(p)) + p for p in prompts])
    pad = torch.tensor([width - len(p) for p in prompts])
    temperature = torch.tensor(heat)[:, None]
    cache = Cache(model, len(prompts), width + new)
    alive = torch.arange(len(prompts))
    out: list[list[int]] = [[] for _ in prompts]
    logits = step(model, cache, ids, 0, pad)
    for t in range(new):
        # Noise over the whole vocabulary would cost as much as the model itself.
        likely, candidates = logits.topk(TOP, dim=-1)
        noise = -torch.log(-torch.log(torch.rand(likely.shape, generator=generator) + 1e-9) + 1e-9)
        choice = (likely + temperature * noise).argmax(-1, keepdim=True)
        token = candidates.gather(1, choice)[:, 0]
        for row, value in zip(alive.tolist(), token.tolist(), strict=True):
            if value > END:
                out[row].append(value)
        going = (token > END).nonzero()[:, 0]
        if len(going) == 0 or t == new - 1:
            break
        if len(going) < len(alive):
            alive, pad, temperature, token = (v[going] for v in (alive, pad, temperature, token))
            cache.keep(going)
        logits = step(model, cache, token[:, None], width + t, pad)
    return out


def main() -> None:
    """Answer every question of a JSON Lines file (id, question, temperature, prefix)."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--questions", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--batch", type=int, default=96)
    parser.add_argument("--batches", type=int, help="stop after this many batches")
    parser.add_argument("--new", type=int, default=144)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    tok = Tokenizer.from_file(str(args.base / "tokenizer.json"))
    model = load_decoder(args.base).to(fast_dtype())
    rows = [json.loads(line) for line in args.questions.open(encoding="utf-8")]

    def prompt(row: dict[str, str]) -> list[int]:
        user = tok.encode("user\n" + row["question"]).ids
        prefix = tok.encode("assistant\n" + row.get("prefix", "")).ids
        return [START, *user, END, *tok.encode("\n").ids, START, *prefix]

    prompts = [prompt(row) for row in rows]
    order = sorted(range(len(rows)), key=lambda i: len(prompts[i]))
    # Batches in a shuffled order, so that an interrupted run still covers every length.
    batches = [order[i : i + args.batch] for i in range(0, len(order), args.batch)]
    shuffle = torch.randperm(len(batches), generator=torch.Generator().manual_seed(args.seed))
    begun, tokens = time.time(), 0
    unfinished = args.out.with_suffix(".part")
    with unfinished.open("w", encoding="utf-8") as sink:
        for n, b in enumerate(shuffle.tolist()[: args.batches]):
            batch = batches[b]
            heat = [float(rows[i]["temperature"]) for i in batch]
            done = answer(model, [prompts[i] for i in batch], heat, args.new, args.seed + b)
            for i, ids in zip(batch, done, strict=True):
                record = {**rows[i], "answer": tok.decode(ids), "ended": len(ids) < args.new}
                sink.write(json.dumps(record, ensure_ascii=False) + "\n")
            sink.flush()
            tokens += sum(map(len, done))
            rate = tokens / (time.time() - begun)
            print(f"batch {n + 1}/{len(batches)}: {tokens} tokens, {rate:.0f} tokens/s", flush=True)
    unfinished.rename(args.out)


if __name__ == "__main__":
    main()
