"""Print every published figure beside ours: ``make goldens``.

    python tests/golden/goldens.py

The folder of public data is ``MAGISTRATE_DATA`` (by default ``../shared/data``). Exit code 1 when a
figure is not exact, 2 when there is no data.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from figures import check, goldens


def main() -> int:
    """Compare all figures and print them."""
    repository = Path(__file__).resolve().parents[2]
    data = Path(os.environ.get("MAGISTRATE_DATA", repository / ".." / "shared" / "data")).resolve()
    if not data.is_dir():
        print(f"no public data at {data}; set MAGISTRATE_DATA to its folder", file=sys.stderr)
        return 2
    total = exact = 0
    for golden in goldens():
        print(f"{golden.name}\n  published: {golden.source}")
        for figure in check(golden, data):
            total += 1
            exact += figure.exact
            word = "exact" if figure.exact else f"difference {figure.difference:+.6g}"
            ours = f"{figure.ours:.6f}".rstrip("0").rstrip(".")
            print(f"  {figure.figure:<46} {figure.published:>20} {ours:>14}  {word}")
        print()
    print(f"{exact} of {total} figures exact")
    return 0 if exact == total else 1


if __name__ == "__main__":
    sys.exit(main())
