"""The ablation's table in Markdown, out of what ``magistrate evaluate`` and ``compare`` printed.

What was not run yet has no row. Intervals are 95 %, as those commands give them: where pairs share
questions a bootstrap over questions.

Run it: ``python table.py --results build/ablation/results --judges build/ablation/judges
--out build/ablation/table.md``
"""

from __future__ import annotations

import argparse
import json
import tomllib
from pathlib import Path
from typing import Any

MEASURED = {
    "Vicuna-bench, GPT-4's labels: the place predicts the label": {
        "vicuna-base": "not trained",
        "vicuna-none": "trained",
        "vicuna-swap": "+ swap",
    },
    "PandaLM, people's labels, no reference shown": {
        "base.without": "not trained",
        "none.without": "trained",
        "swap.without": "+ swap",
        "reference.without": "+ swap + reference",
        "drop.without": "+ swap + reference + drop",
    },
    "PandaLM, people's labels, reference shown": {
        "none.with": "trained",
        "swap.with": "+ swap",
        "reference.with": "+ swap + reference",
        "drop.with": "+ swap + reference + drop",
    },
    "PandaLM, how many samples (+ swap)": {
        "part-4.without": "a quarter",
        "part-2.without": "a half",
        "swap.without": "all",
    },
    "PandaLM, what comes first (+ swap)": {
        "scores-first": "scores first",
        "reasons-first": "reasons first",
    },
}
COMPARED = {
    "vicuna-swap-vicuna-none": "Vicuna-bench: + swap against none",
    "swap.without-none.without": "PandaLM, not shown: + swap against none",
    "swap.with-none.with": "reference shown: + swap against none",
    "reference.with-swap.with": "reference shown: + reference against + swap",
    "drop.with-swap.with": "reference shown: + drop against + swap",
    "drop.with-reference.with": "reference shown: + drop against + reference",
    "reference.without-swap.without": "not shown: + reference against + swap",
    "drop.without-swap.without": "not shown: + drop against + swap",
    "drop.without-reference.without": "not shown: + drop against + reference",
    "reasons-first-scores-first": "reasons first against scores first",
    "swap.without-part-4.without": "all samples against a quarter",
    "swap.without-part-2.without": "all samples against a half",
}
JUDGE_OF = {"scores-first": "swap"}
HEADING = (
    "| judge | learned from | pairs | agreement | as three classes | consistency "
    "| toward first | toward second | not ok |"
)


def main() -> None:
    """Write the table of all results that are there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--judges", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    lines: list[str] = []
    for title, judges in MEASURED.items():
        found = {name: read(given.results / f"{name}.json") for name in judges}
        measured = {name: one for name, one in found.items() if one is not None}
        if not measured:
            continue
        lines += [f"**{title}**", "", HEADING, "|---|---:|---:" + "|---" * 5 + "|---:|"]
        for name, one in measured.items():
            size = samples_of(given.judges / JUDGE_OF.get(name, name.partition(".")[0]))
            lines.append(row(judges[name], size, one["pairs"]))
        lines += [baseline(next(iter(measured.values()))["pairs"]), ""]
    lines += differences(given.results)
    given.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read(path: Path) -> Any:
    """Return what a command printed as JSON; None where it has not run."""
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def samples_of(judge: Path) -> str:
    """Return how many samples a judge learned from, as its folder says."""
    file = judge / "judge.toml"
    if not file.exists():
        return "0"
    return str(tomllib.loads(file.read_text("utf-8"))["made"]["training_samples"])


def row(title: str, size: str, pairs: dict[str, Any]) -> str:
    """Return a judge's row."""
    agreement, position = pairs["agreement"] or {}, pairs["position"] or {}
    cells = [
        title,
        size,
        str(pairs["pairs"]),
        rate(agreement.get("decisive")),
        rate(agreement.get("accuracy")),
        *(rate(position.get(name)) for name in ("consistent", "toward_first", "toward_second")),
        f"{pairs['not_ok']['value']:.1%}",
    ]
    return "| " + " | ".join(cells) + " |"


def baseline(pairs: dict[str, Any]) -> str:
    """Return the row of the rule that the longer answer wins, on the same pairs."""
    longer = next(one for one in pairs["baselines"] if one["name"] == "longer wins")
    cells = ["*the longer answer*", "", str(pairs["pairs"]), rate(longer["decisive"])]
    return "| " + " | ".join([*cells, rate(longer["accuracy"]), "", "", "", ""]) + " |"


def rate(found: dict[str, Any] | None) -> str:
    """Return a rate with its interval, in percent."""
    if found is None or found["value"] is None:
        return "–"
    return f"{100 * found['value']:.1f} [{100 * found['low']:.1f}, {100 * found['high']:.1f}]"


def differences(results: Path) -> list[str]:
    """Return the table of differences on the same pairs, in points."""
    lines = []
    for name, title in COMPARED.items():
        compared = read(results / f"{name}.json")
        if compared is None:
            continue
        comparison = compared["comparisons"][0]
        cells = [title, str(comparison["n"])]
        for measure in ("decisive", "consistency"):
            cells += points(comparison[measure])
        lines.append(f"| {' | '.join(cells)} |")
    if not lines:
        return []
    heading = "| on the same pairs | pairs | agreement, points | p | consistency, points | p |"
    return ["**Differences**", "", heading, "|---|---:|---|---:|---|---:|", *lines]


def points(measured: dict[str, Any] | None) -> tuple[str, str]:
    """Return a difference with its interval, in points, and its p-value."""
    if measured is None:
        return "–", "–"
    return rate(measured["difference"]), f"{measured['p']:.2f}"


if __name__ == "__main__":
    main()
