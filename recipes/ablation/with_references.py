"""Keep the samples that have a reference; with ``--strip``, then take it away.

So judges are measured with and without references on the very same pairs.

Run it: ``python with_references.py pairs-ref.jsonl -o pairs.jsonl``
"""

from __future__ import annotations

import argparse
from pathlib import Path

import magistrate as mg


def main() -> None:
    """Write the samples whose reference passed the checks of ``magistrate data references``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("samples", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--strip", action="store_true", help="write them without their references")
    given = parser.parse_args()
    samples = list(mg.read_samples(given.samples))
    kept = [sample for sample in samples if sample.reference]
    if given.strip:
        kept = [sample.model_copy(update={"reference": None}) for sample in kept]
    mg.write_samples(kept, given.out)
    print(f"{len(kept)} of {len(samples)} pairs have a reference")


if __name__ == "__main__":
    main()
