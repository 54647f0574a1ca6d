"""Speed and memory of reading, beside the standard library's parser and polars on the same file.

    python benchmarks/reading.py --size-mb 1000

writes a synthetic file of pairs, reads it with each reader in turn (a process each, several rounds,
interleaved so that a busy machine slows all alike) and prints the median of the rounds.
Peak memory is the largest resident size of the process (``getrusage``). CPU seconds say more than
MB/s on a machine that does other work at the same time.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

WORDS = (
    *("the", "a", "model", "answer", "says", "that", "water", "boils", "at", "one", "hundred"),
    *("degrees", "when", "pressure", "is", "low"),
)


def write_pairs(path: Path, megabytes: float, kind: str) -> int:
    """Write pairs of about a kilobyte each; return how many."""
    draw = random.Random(1)
    left = int(megabytes * 1e6)
    count = 0
    with path.open("w", encoding="utf-8") as file:
        if kind == "array":
            file.write("[\n")
        if kind == "csv":
            file.write("id,question,answer1,answer2,label,model1,model2,category\n")
        while left > 0:
            row = _pair(draw, count)
            if kind == "csv":
                line = ",".join(f'"{value}"' for value in row.values()) + "\n"
            else:
                line = json.dumps(row, ensure_ascii=False)
                line = (",\n" if count and kind == "array" else "") + line
                line += "" if kind == "array" else "\n"
            file.write(line)
            left -= len(line)
            count += 1
        if kind == "array":
            file.write("\n]\n")
    return count


def _pair(draw: random.Random, number: int) -> dict[str, str | int]:
    return {
        "id": number,
        "question": _text(draw, 30, 60),
        "answer1": _text(draw, 40, 120),
        "answer2": _text(draw, 40, 120),
        "label": draw.choice([1, 2, "tie"]),
        "model1": "alpha",
        "model2": "beta",
        "category": draw.choice(["writing", "maths", "coding"]),
    }


def _text(draw: random.Random, low: int, high: int) -> str:
    return " ".join(draw.choices(WORDS, k=draw.randint(low, high)))


# --- readers: each returns the number of rows ---------------------------------------------------


def read_samples(path: Path) -> int:
    """Read with magistrate, to validated records."""
    import magistrate as mg

    return sum(1 for _ in mg.read_samples(path))


def json_loads(path: Path) -> int:
    """Parse each line with the standard library, to dicts."""
    with path.open(encoding="utf-8") as file:
        return sum(1 for line in file if json.loads(line))


def polars_scan(path: Path) -> int:
    """Scan with polars and touch every text cell, streaming."""
    import polars as pl

    scan = pl.scan_csv if path.suffix == ".csv" else pl.scan_ndjson
    # Labels are numbers and words: without a schema the guess from the first rows may fail.
    schema = dict.fromkeys(
        ("id", "question", "answer1", "answer2", "label", "model1", "model2", "category"), pl.String
    )
    lengths = pl.col("question", "answer1", "answer2").str.len_chars().sum()
    frame = scan(path, schema=schema).select(pl.len(), lengths).collect(engine="streaming")
    return int(frame["len"][0])


READERS: dict[str, Callable[[Path], int]] = {
    "read_samples": read_samples,
    "json_loads": json_loads,
    "polars_scan": polars_scan,
}
LABELS = {
    "read_samples": "magistrate.read_samples",
    "json_loads": "json.loads per line",
    "polars_scan": "polars scan",
}


def child(reader: str, path: Path) -> None:
    """Read once and print rows, seconds and peak memory as JSON."""
    start = time.perf_counter()
    rows = READERS[reader](path)
    seconds = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_SELF)
    cpu = usage.ru_utime + usage.ru_stime
    peak = usage.ru_maxrss / 1024
    print(json.dumps({"rows": rows, "seconds": seconds, "cpu": cpu, "peak_mb": peak}))


def measure(path: Path, readers: list[str], rounds: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the median of each reader over interleaved rounds."""
    runs: dict[str, list[dict[str, float]]] = {reader: [] for reader in readers}
    for _ in range(rounds):
        for reader in readers:
            command = [sys.executable, __file__, "--child", reader, "--path", str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            runs[reader].append(json.loads(done.stdout))
    for reader, found in runs.items():
        yield (
            reader,
            {
                "rows": found[0]["rows"],
                "seconds": statistics.median(run["seconds"] for run in found),
                "cpu": statistics.median(run["cpu"] for run in found),
                "peak_mb": max(run["peak_mb"] for run in found),
            },
        )


def main() -> None:
    """Write the files, measure, print a table, remove the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-mb", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", default=["jsonl"], choices=["jsonl", "array", "csv"])
    parser.add_argument("--folder", type=Path, help="where to write the files (temporary)")
    parser.add_argument("--child", choices=list(READERS), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.child, args.path)
        return
    print("| file | reader | rows | MB/s | rows/s | CPU s | CPU / json.loads | peak MB |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for kind in args.kinds:
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            path = Path(folder) / f"pairs.{'json' if kind == 'array' else kind}"
            write_pairs(path, args.size_mb, kind)
            size = path.stat().st_size / 1e6
            readers = list(READERS) if kind == "jsonl" else ["read_samples"]
            results = dict(measure(path, readers, args.rounds))
            base = results.get("json_loads", {}).get("cpu")
            for reader, result in results.items():
                ratio = f"{result['cpu'] / base:.2f}" if base else ""
                print(
                    f"| {kind}, {size:,.0f} MB | {LABELS[reader]} | {result['rows']:,} "
                    f"| {size / result['seconds']:.0f} | {result['rows'] / result['seconds']:,.0f} "
                    f"| {result['cpu']:.1f} | {ratio} | {result['peak_mb']:.0f} |"
                )
                sys.stdout.flush()


if __name__ == "__main__":
    main()
