"""Memory and time of converting a large file to each format.

    python benchmarks/converting.py --size-mb 276

writes a synthetic file of pairs (the one of ``benchmarks/reading.py``), converts it with
``magistrate convert``, a process for each format, and prints the largest resident size of each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from reading import write_pairs

TARGETS = ("parquet", "csv", "samples", "judgelm", "preference")


def convert(source: Path, to: str, folder: Path) -> tuple[float, float, int]:
    """Convert once; return peak MB (as ``wait4`` tells it), CPU seconds and rows written."""
    command = [sys.executable, "-m", "magistrate", "convert", str(source), str(folder / to)]
    process = subprocess.Popen(
        [*command, "--to", to, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    report = json.loads(process.stdout.read())
    _, _, usage = os.wait4(process.pid, 0)
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime, report["written"]


def main() -> None:
    """Write the file, convert it, print a table, remove the files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size-mb", type=float, default=276)
    parser.add_argument("--to", nargs="+", default=["parquet"], choices=TARGETS)
    parser.add_argument("--folder", type=Path, help="where to write the files (temporary)")
    args = parser.parse_args()
    print("| to | rows | peak MB | CPU s |")
    print("|---|---:|---:|---:|")
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = Path(name)
        source = folder / "pairs.jsonl"
        write_pairs(source, args.size_mb, "jsonl")
        for to in args.to:
            peak, seconds, rows = convert(source, to, folder)
            print(f"| {to} | {rows:,} | {peak:.0f} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
