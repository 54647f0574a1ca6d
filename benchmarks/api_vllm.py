r"""Throughput of the API engine on a real server, beside that of vLLM's own load tool.

    .venv-vllm/bin/pip install pandas  # the load tool reads its prompts with it
    .venv-vllm/bin/python benchmarks/api_vllm.py --model FOLDER \
        --pairs ../shared/data/pandalm/testset-v1.json

starts ``vllm serve`` on the loopback without a prefix cache, and sends it the same real prompts of
the family ``pair``, as one message of the user's each, by turns with ``vllm bench serve`` and with
the engine, as many at once and with the same limit of tokens. Prints requests a second of each, the
median of the rounds, and the ratio.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from engines import read_samples, requests_of

from magistrate.engines.table import open_engine
from magistrate.messages import Message, Part, Request, Sampling

SERVER = [sys.executable, "-m", "vllm.entrypoints.openai.api_server"]
_CALL_LOAD_TOOL = """
from vllm.benchmarks.serve import add_cli_args, main
from vllm.utils.argparse_utils import FlexibleArgumentParser

parser = FlexibleArgumentParser()
add_cli_args(parser)
main(parser.parse_args())
"""
LOAD_TOOL = [sys.executable, "-c", _CALL_LOAD_TOOL]
"""``vllm serve`` and ``vllm bench serve``. The command ``vllm`` itself fails in the build for
processors, where it asks for the version of a package named ``vllm``."""

START_SECONDS = 1200


def start(model: str, dtype: str, log: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start the server; return it, and where it listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    call = [*SERVER, "--model", model, "--host", "127.0.0.1", "--port", str(port)]
    call += ["--served-model-name", "judge", "--dtype", dtype, "--max-model-len", "2048"]
    call += ["--kv-cache-memory-bytes", str(1 << 30), "--no-enable-prefix-caching"]
    with log.open("wb") as out:
        server = subprocess.Popen(call, stdout=out, stderr=out)
    base = f"http://127.0.0.1:{port}"
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{base}/health", timeout=5):
                return server, base
        except OSError:
            time.sleep(1)
    server.kill()
    raise SystemExit(f"vllm serve did not start:\n{log.read_text('utf-8', 'replace')[-3000:]}")


def load_tool(base: str, model: str, prompts: Path, count: int, args: argparse.Namespace) -> float:
    """Return the requests a second that vLLM's own tool reaches."""
    result = prompts.with_name("result.json")
    call = [*LOAD_TOOL, "--backend", "openai-chat", "--base-url", base]
    call += ["--endpoint", "/v1/chat/completions", "--served-model-name", "judge"]
    call += ["--model", model, "--dataset-name", "custom", "--dataset-path", str(prompts)]
    call += ["--skip-chat-template", "--custom-output-len", str(args.tokens), "--disable-shuffle"]
    call += ["--max-concurrency", str(args.concurrency), "--num-prompts", str(count)]
    call += ["--temperature", "0", "--disable-tqdm", "--save-result"]
    call += ["--result-dir", str(result.parent), "--result-filename", result.name]
    subprocess.run(call, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    found = json.loads(result.read_text("utf-8"))
    assert found["completed"] == count, found["completed"]
    return float(found["request_throughput"])


def our_engine(base: str, requests: list[Request], concurrency: int) -> float:
    """Return the requests a second that the engine reaches."""
    engine = open_engine(
        "openai", "judge", f"{base}/v1", {"max_concurrency": str(concurrency), "max_retries": "0"}
    )
    begun = time.perf_counter()
    for completion in engine.complete(requests):
        assert completion.error is None, completion.error
    seconds = time.perf_counter() - begun
    engine.close()
    return len(requests) / seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", required=True, help="a folder")
    parser.add_argument("--pairs", type=Path, required=True, help="PandaLM's testset-v1.json")
    parser.add_argument("--count", type=int, default=32, help="prompts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=16, help="most tokens of a reply")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--dtype", default="float32")
    args = parser.parse_args()
    texts = [
        "\n\n".join(message.text for message in request.messages)
        for request in requests_of(read_samples(args.pairs, args.count), [(0, 1)])
    ]
    sampling = Sampling(max_tokens=args.tokens)
    requests = [
        Request(str(i), (Message("user", (Part(text),)),), sampling) for i, text in enumerate(texts)
    ]
    with tempfile.TemporaryDirectory() as folder:
        prompts = Path(folder, "prompts.jsonl")
        prompts.write_text("".join(json.dumps({"prompt": text}) + "\n" for text in texts))
        server, base = start(args.model, args.dtype, Path(folder, "log"))
        try:
            our_engine(base, requests[: args.concurrency], args.concurrency)  # warms the server
            theirs, ours = [], []
            for _ in range(args.rounds):
                theirs.append(load_tool(base, args.model, prompts, len(texts), args))
                ours.append(our_engine(base, requests, args.concurrency))
        finally:
            server.terminate()
            server.wait()
    one, two = statistics.median(theirs), statistics.median(ours)
    ratio = statistics.median(b / a for a, b in zip(theirs, ours, strict=True))
    print(f"{len(texts)} prompts, {args.concurrency} at once, {args.rounds} rounds, {args.dtype}\n")
    print("| client | requests/s |\n|---|---:|")
    print(f"| vllm bench serve | {one:.2f} |\n| this engine | {two:.2f} |")
    print(f"\n{100 * ratio:.0f} % of the load tool's throughput, by rounds")


if __name__ == "__main__":
    main()
