"""Write ``CARD.md`` from the measured numbers and the words in ``card.md.in``.

Run it: ``python card.py --folder judge --build build --words card.md.in``
"""

from __future__ import annotations

import argparse
import csv
import json
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

from measuring import markdown

SOURCES = {
    "ukp": ("UKPConvArg1, which of two arguments convinces more", "CC BY 4.0", "crowd workers"),
    "fastchat": ("FastChat Vicuna-bench reviews", "Apache-2.0", "GPT-4"),
    "prometheus": ("Prometheus grades of Vicuna-bench answers", "Apache-2.0", "GPT-4"),
    "errors": ("Judgement-bias answers with factual errors put in", "Apache-2.0", "made"),
    "t0": ("Self-instruct T0 instances, gold against wrong", "Apache-2.0", "objective"),
    "exchange": ("HaluEval and seed tasks, answers of near questions exchanged", "MIT", "made"),
    "halueval": ("HaluEval general, against made bad answers", "MIT", "made"),
    "seed_tasks": ("Self-instruct seed tasks, against the same", "Apache-2.0", "made"),
    "alpaca": ("AlpacaEval annotations", "CC BY-NC 4.0", "GPT-4"),
    "alpaca off topic": ("AlpacaEval, weak answers against strong ones", "CC BY-NC 4.0", "made"),
}
BEFORE = 1_617_869
"""Tokens that the versions before this one were trained on."""


def shown(value: object) -> str:
    """Whole numbers with separators, everything else as it is."""
    return f"{value:,}" if isinstance(value, int) and value > 9999 else str(value)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object."""
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


def data_table(counts: dict[str, Any], parts: list[str]) -> str:
    """What the judge was trained on, with licences and counts."""
    lines = [
        "| source | licence | labels by | questions | answers | pairs | development pairs |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for part in parts:
        for name, count in counts[part].items():
            what, licence, by = SOURCES[name]
            cells = [count.get(f"train {k}", 0) for k in ("groups", "answers", "pairs")]
            cells.append(count.get("dev pairs", 0))
            numbers = " | ".join(f"{n:,}" for n in cells)
            lines.append(f"| {what} | {licence} | {by} | {numbers} |")
    return "\n".join(lines)


def leak_table(leaks: dict[str, dict[str, int]], names: list[str]) -> str:
    """How many questions each leak check dropped."""
    sets = ("pandalm", "llmbar", "auto-j", "judgebench", "mt-bench")
    lines = ["| source | " + " | ".join(sets) + " | kept |", "|---|" + "---:|" * (len(sets) + 1)]
    for name in names:
        row = leaks[name]
        lines.append(
            f"| {name} | " + " | ".join(str(row.get(k, 0)) for k in (*sets, "kept")) + " |"
        )
    return "\n".join(lines)


def beside_table(table: dict[str, dict[str, dict[str, float]]]) -> str:
    """This version beside the one before it, and the difference of each from its baseline."""
    lines = [
        "| set | this version | version 2 | difference | 95 % interval | from longer wins |",
        "|---|---:|---:|---:|---|---|",
    ]
    names = {"adversarial": "LLMBar adversarial, average", "mean": "mean of the five"}
    for name, row in table["new - old"].items():
        new, old = (100 * table[k][name]["value"] for k in ("new", "old"))
        gain, low, high = (100 * row[k] for k in ("value", "low", "high"))
        more, least, most = (100 * table["new - longer"][name][k] for k in ("value", "low", "high"))
        lines.append(
            f"| {names.get(name, name)} | {new:.1f} | {old:.1f} | {gain:+.1f} "
            f"| {low:+.1f} to {high:+.1f} | {more:+.1f} ({least:+.1f} to {most:+.1f}) |"
        )
    return "\n".join(lines)


def curve_table(path: Path) -> str:
    """The learning curve: accuracy on part of the development split against tokens."""
    with path.open(newline="", encoding="utf-8") as source:
        rows = list(csv.DictReader(source))
    names = list(dict.fromkeys(row["source"] for row in rows))
    by_tokens: dict[int, dict[str, dict[str, str]]] = defaultdict(dict)
    for row in rows:
        by_tokens[int(row["tokens"])][row["source"]] = row
    pairs = next(iter(by_tokens.values()))
    heads = [f"{name} ({pairs[name]['pairs']})" for name in names]
    lines = [
        "| tokens | length coefficient | " + " | ".join(heads) + " |",
        "|---:|---:|" + "---:|" * len(names),
    ]
    for tokens, found in by_tokens.items():
        cells = [
            f"{float(found[n]['accuracy']):.1f} ({float(found[n]['loss']):.2f})" for n in names
        ]
        slope = float(found[names[0]]["length_coefficient"])
        lines.append(f"| {tokens:,} | {slope:.2f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def development_table(table: dict[str, dict[str, float]]) -> str:
    """Accuracy on the development split, in per cent."""
    lines = [
        "| part | pairs | mini | without length term | longer wins |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, row in table.items():
        cells = " | ".join(f"{100 * row[k]:.1f}" for k in ("shipped", "raw", "longer"))
        lines.append(f"| {name} | {row['pairs']:.0f} | {cells} |")
    return "\n".join(lines)


def main() -> None:
    """Fill in the words and write the card into the judge folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--name", required=True, help="the variant, as its JSON files are named")
    parser.add_argument("--words", type=Path, required=True)
    args = parser.parse_args()
    file = tomllib.loads((args.folder / "judge.toml").read_text(encoding="utf-8"))
    counts = read_json(args.build / "groups" / "counts.json")
    commercial = file["made"]["variant"] != "alpaca"
    parts = ["permissive"] if commercial else ["permissive", "non-commercial"]
    names = [name for part in parts for name in counts[part] if name in counts["leaks"]]
    calibration = read_json(args.build / f"{args.name}.calibration.json")
    megabytes = sum(path.stat().st_size for path in args.folder.iterdir()) / 1e6
    values = {
        "MEASURED": markdown(read_json(args.build / f"{args.name}.measured.json")),
        "DATA": data_table(counts, parts),
        "LEAKS": leak_table(counts["leaks"], names),
        "DEVELOPMENT": development_table(calibration["development"]),
        "MEGABYTES": f"{megabytes:.0f}",
        "BESIDE": beside_table(read_json(args.build / f"{args.name}.compared.json")),
        "CURVE": curve_table(args.build / f"{args.name}-trained" / "curve.csv"),
        "STAGE": f"{file['made']['tokens'] - BEFORE:,}",
        **{key.upper(): shown(value) for key, value in (file["made"] | file["verdict"]).items()},
    }
    text = args.words.read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace("{{" + key + "}}", value)
    (args.folder / "CARD.md").write_text(text, encoding="utf-8")
    print(f"{args.folder / 'CARD.md'}: {len(text)} characters")


if __name__ == "__main__":
    main()
