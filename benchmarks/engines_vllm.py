r"""vLLM's part of ``benchmarks/engines.py``, which starts this in the environment with vLLM.

    python benchmarks/engines.py ... --vllm .venv-vllm/bin/python

Reads ``write`` or ``read`` on each line of its input, does that with all prompts, and prints how
many tokens were written. ``write`` is vLLM's own offline engine on the prompts as token ids, with
replies up to a line break; ``read`` is the engine ``vllm:`` with exact distributions over verdicts.
The prefix cache is emptied before each, or the second round would find the prompts in it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from engines import LINE, read_samples, requests_of

from magistrate.engines.table import open_engine


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--tokens", type=int, required=True)
    parser.add_argument("--dtype", default="fp32")
    args = parser.parse_args()
    options = {"dtype": args.dtype, "cache_gib": "1", "max_model_len": "2048"}
    engine = open_engine("vllm", args.model, None, options)
    from vllm import SamplingParams

    llm, requests = engine._llm, requests_of(read_samples(args.pairs, args.count), [(0, 1)])
    prompts = [{"prompt_token_ids": list(engine._encoder.encode(r)[0].ids)} for r in requests]
    sampling = SamplingParams(max_tokens=args.tokens, temperature=0, stop=[LINE])

    def write() -> int:
        replies = llm.generate(prompts, sampling, use_tqdm=False)
        return sum(len(reply.outputs[0].token_ids) for reply in replies)

    def read() -> int:
        for completion in engine.complete(requests):
            assert completion.error is None, completion.error
        return 0

    does = {"write": write, "read": read}
    for way in does.values():  # what is compiled at first use does not count
        way()
    print("ready", flush=True)
    for line in sys.stdin:
        llm.reset_prefix_cache()
        print(does[line.strip()](), flush=True)
    engine.close()


if __name__ == "__main__":
    main()
