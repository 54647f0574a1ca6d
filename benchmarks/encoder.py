r"""Which runtime and precision the encoder engine should use: size, load, speed, agreement.

    python benchmarks/encoder.py --models fp32.onnx int8.onnx plain.xml \
        --tokenizer tokenizer.json --pairs ../shared/data/pandalm/testset-v1.json

ONNX files are run by ONNX Runtime, as the engine sets it up, and OpenVINO's own files (``.xml``,
from ``recipes/mini/plain.py``) by OpenVINO.
The runs are interleaved, several rounds over the same batches, and the median of the rounds is
printed as a ratio to the first model: a busy machine slows all alike. Agreement is the share of
pairs on which the sign of the score difference is that of the first model (make it float32).
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from magistrate.engines.encoder import SAFE_KERNELS, has_vnni, make_batches

Run = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
BUDGET, MAX_TOKENS = 2048, 1024
START, END = 1, 2


@dataclass
class Candidate:
    """One model on one runtime, and what was measured of it."""

    name: str
    size: float
    load: float
    run: Run
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    scores: NDArray[np.float32] | None = None


def cpu_seconds() -> float:
    """Processor time of this process so far, all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def open_onnxruntime(path: Path, threads: int) -> Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if not has_vnni():
        options.add_session_config_entry(*SAFE_KERNELS)
    session = onnxruntime.InferenceSession(
        path.read_bytes(), options, providers=["CPUExecutionProvider"]
    )

    def run(ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.asarray(session.run(["score"], {"ids": ids, "lengths": lengths})[0])

    return run


def open_openvino(path: Path, threads: int) -> Run:
    import openvino

    core = openvino.Core()
    model = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_NUM_THREADS": threads})

    def run(ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.asarray(model({"ids": ids, "lengths": lengths})["score"])

    return run


def open_candidates(paths: list[Path], threads: int) -> list[Candidate]:
    """Load every model with the runtime of its kind of file."""
    runtimes: dict[str, tuple[str, Callable[[Path, int], Run]]] = {
        ".onnx": ("onnxruntime", open_onnxruntime),
        ".xml": ("openvino", open_openvino),
    }
    found = []
    for path in paths:
        name, opener = runtimes[path.suffix]
        begun = time.perf_counter()
        run = opener(path, threads)
        load = time.perf_counter() - begun
        weights = path.with_suffix(".bin") if name == "openvino" else path
        found.append(Candidate(f"{path.stem} {name}", weights.stat().st_size / 1e6, load, run))
    return found


def readings(tokenizer: Tokenizer, path: Path, count: int) -> list[list[int]]:
    """Token ids of the answers of the first ``count`` PandaLM pairs, two readings a pair."""
    out = []
    user, assistant = (tokenizer.encode(f"{word}\n").ids for word in ("user", "assistant"))
    for row in json.loads(path.read_text("utf-8"))[:count]:
        question = tokenizer.encode(f"{row['instruction']}\n\n{row['input']}".strip()).ids[:400]
        for name in ("response1", "response2"):
            answer = tokenizer.encode(str(row[name]).strip() or "(no response)").ids[:600]
            head = [START, *user, *question, END, *tokenizer.encode("\n").ids, START, *assistant]
            out.append([*head, *answer, END])
    return out


def score_all(run: Run, texts: list[list[int]]) -> NDArray[np.float32]:
    """Scores of all readings, in batches of similar length."""
    scores = np.zeros(len(texts), np.float32)
    for batch in make_batches([len(ids) for ids in texts], BUDGET):
        lengths = np.array([len(texts[i]) for i in batch], np.int64)
        ids = np.zeros((len(batch), int(lengths.max())), np.int64)
        for row, i in zip(ids, batch, strict=True):
            row[: len(texts[i])] = texts[i]
        scores[batch] = run(ids, lengths)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--models", type=Path, nargs="+", required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--count", type=int, default=60, help="pairs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    spec: dict[str, Any] = json.loads(args.tokenizer.read_text("utf-8"))
    tokenizer = Tokenizer.from_str(json.dumps({**spec, "added_tokens": []}))
    texts = readings(tokenizer, args.pairs, args.count)
    tokens = sum(map(len, texts))
    candidates = open_candidates(args.models, args.threads)
    for _ in range(args.rounds):
        for candidate in candidates:
            cpu, wall = cpu_seconds(), time.perf_counter()
            candidate.scores = score_all(candidate.run, texts)
            candidate.wall.append(time.perf_counter() - wall)
            candidate.cpu.append(cpu_seconds() - cpu)
    first = candidates[0]
    assert first.scores is not None
    print(f"{len(texts) // 2} pairs, {tokens} tokens, {args.rounds} rounds, {args.threads} threads")
    print("| model and runtime | MB | load s | pairs/s | speed | cpu | agreement | largest error |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for c in candidates:
        assert c.scores is not None
        wall, cpu = statistics.median(c.wall), statistics.median(c.cpu)
        speed = statistics.median(first.wall) / wall
        work = cpu / statistics.median(first.cpu)
        base = first.scores[::2] - first.scores[1::2]
        same = np.sign(c.scores[::2] - c.scores[1::2]) == np.sign(base)
        error = float(np.abs(c.scores - first.scores).max())
        print(
            f"| {c.name} | {c.size:.1f} | {c.load:.2f} | {len(texts) / 2 / wall:.1f} "
            f"| {speed:.2f}x | {work:.2f}x | {100 * same.mean():.1f} % | {error:.3f} |"
        )


if __name__ == "__main__":
    main()
