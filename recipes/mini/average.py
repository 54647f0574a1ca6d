"""Average the weights of judges that were trained apart from one starting point.

Two workers on one thread each, each on its own half of the groups, get more out of a small machine
than one worker on two threads, and the mean of their weights is at least as good as either.

Run it: ``python average.py --base build/base --judges build/a1 build/a2 --out build/a``
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from judge import average, load_judge, save_judge


def main() -> None:
    """Average and save; tokens and updates of the parts are added up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--judges", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    parts = [json.loads((p / "about.json").read_text(encoding="utf-8")) for p in args.judges]
    about = {**parts[0], "parts": parts}
    for name in ("tokens", "updates"):
        about[name] = sum(part[name] for part in parts)
    # All tokens of the judge's whole history: the common starting point counts once.
    about["total"] = parts[0]["before"] + about["tokens"]
    save_judge(average([load_judge(args.base, path) for path in args.judges]), args.out, about)
    print(f"{args.out}: mean of {len(parts)} judges, {about['tokens']} tokens")


if __name__ == "__main__":
    main()
