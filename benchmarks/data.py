"""100,000 pairs through ``data check`` and ``data split``: seconds, processor seconds, memory.

    python benchmarks/data.py [--pairs 100000] [--data DIR] [--texts 4000]

The pairs are made of real text: sentences of the questions and answers in the public data folder,
drawn anew, with as many sentences an answer as real answers have; 2 % of the questions are planted
near-duplicates (a word changed), 1 % of the rows repeat others with the answers exchanged. Both
commands run as processes of their own with a test set to look for leaks in. Beside them: the same
MinHash signatures and look-ups through datasketch, on some of the texts, a text at a time, as
text-dedup and others do it; and through this package on the same texts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import magistrate as mg
from magistrate.data.checks.near import Nearness, near_pairs
from magistrate.data.checks.texts import normalised

SOURCES = (
    "auto-j/test/testdata_pairwise.jsonl",
    "alpaca_eval/results/vicuna-13b/alpaca_eval_gpt4/annotations.json",
    "alpaca_eval/results/gpt4/alpaca_eval_gpt4/annotations.json",
    "judgebench/data/*.jsonl",
    "llmbar/LLMBar/Natural/dataset.json",
)
TEST_SET = "pandalm/testset-v1.json"


def real_texts(data: Path) -> tuple[list[str], list[str], list[int]]:
    """Return sentences of questions, sentences of answers, and sentences an answer."""
    questions: list[str] = []
    answers: list[str] = []
    counts: list[int] = []
    for pattern in SOURCES:
        for path in sorted(data.glob(pattern)):
            for sample in mg.read_samples(path):
                questions += sentences(sample.question_text)
                for answer in sample.answers:
                    parts = sentences(answer.text)
                    answers += parts
                    counts.append(max(1, len(parts)))
    return questions, answers, counts


def sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?])\s+|\n+", text) if 10 < len(part) < 400]


def make(path: Path, data: Path, pairs: int) -> None:
    rng = random.Random(0)
    questions, answers, counts = real_texts(data)
    asked: list[str] = []
    rows: list[dict[str, str]] = []
    with path.open("w", encoding="utf-8") as file:
        for number in range(pairs):
            draw = rng.random()
            if rows and draw < 0.01:
                row = dict(rng.choice(rows))
                row["answer1"], row["answer2"] = row["answer2"], row["answer1"]
            else:
                if asked and draw < 0.5:
                    question = rng.choice(asked)
                elif asked and draw < 0.52:
                    question = rng.choice(asked) + f" (part {number})"
                else:
                    question = " ".join(rng.sample(questions, rng.randint(1, 4)))
                if len(asked) < 60_000:
                    asked.append(question)
                row = {
                    "question": question,
                    "answer1": " ".join(rng.choices(answers, k=rng.choice(counts))),
                    "answer2": " ".join(rng.choices(answers, k=rng.choice(counts))),
                    "model1": f"model {rng.randrange(20)}",
                    "model2": f"model {rng.randrange(20)}",
                    "label": rng.choice(("1", "2", "tie")),
                }
                if len(rows) < 20_000:
                    rows.append(row)
            file.write(json.dumps(row) + "\n")


def run(arguments: list[str]) -> tuple[float, float, float]:
    """Run a command; return seconds, processor seconds and peak memory in MiB."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "magistrate", *arguments], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed")
    took = time.perf_counter() - begin
    told = json.loads(out)
    for finding in told.get("findings", ()):
        print(f"    {finding['severity']:8} {finding['check']:26} {finding['count']:8,}")
    for part in told.get("splits", ()):
        print(f"    {part['name']:8} {part['samples']:8,}")
    return took, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def beside_datasketch(path: Path, count: int) -> None:
    try:
        from datasketch import MinHash, MinHashLSH
    except ImportError:
        print("datasketch is not installed: nothing to compare with")
        return
    texts: dict[str, None] = {}
    with path.open(encoding="utf-8") as file:
        for line in file:
            texts.setdefault(normalised(json.loads(line)["answer1"]))
            if len(texts) == count:
                break
    nearness = Nearness()
    known = list(texts)
    near_pairs(known[:50], nearness)
    begin = time.process_time()
    ours = near_pairs(known, nearness)
    own = time.process_time() - begin
    begin = time.process_time()
    index = MinHashLSH(num_perm=128, params=(nearness.bands, nearness.rows))
    found = 0
    for number, text in enumerate(known):
        signature = MinHash(num_perm=128)
        length = nearness.shingle
        signature.update_batch(
            {text[k : k + length].encode() for k in range(len(text) - length + 1)}
        )
        found += len(index.query(signature))
        index.insert(number, signature)
    theirs = time.process_time() - begin
    print(f"near-duplicates among {len(known):,} answers, processor seconds")
    print(f"  this package {own:7.2f} ({len(ours)} pairs, compared exactly)")
    print(f"  datasketch   {theirs:7.2f} ({found} candidates, not compared), {theirs / own:.0f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("MAGISTRATE_DATA", ".")))
    parser.add_argument("--texts", type=int, default=4_000, help="answers for datasketch")
    parser.add_argument("--work", type=Path, help="folder that keeps the made pairs")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work = args.work or Path(temporary)
        pairs = work / f"pairs-{args.pairs}.jsonl"
        if not pairs.exists():
            make(pairs, args.data, args.pairs)
        print(f"{args.pairs:,} pairs, {pairs.stat().st_size / 2**20:.0f} MiB")
        against = ["--against", str(args.data / TEST_SET)]
        out = ["-o", str(Path(temporary) / "splits")]
        for name, more in (("check", []), ("split", out)):
            print(f"  data {name}")
            seconds, cpu, peak = run(["data", name, str(pairs), *against, *more, "--json", "-q"])
            print(f"  data {name}: {seconds:.1f} s, {cpu:.1f} processor s, peak {peak:,.0f} MiB")
        beside_datasketch(pairs, args.texts)


if __name__ == "__main__":
    main()
