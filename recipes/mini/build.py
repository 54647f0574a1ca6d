"""Build the training groups: read the sources, drop leaks, make bad answers, split, write.

Run it: ``python build.py --data ../shared/data --sampled s.jsonl --out build/groups``

Writes ``permissive.jsonl`` and ``alpaca.jsonl`` (the non-commercial part, kept apart), and
``counts.json`` with what each source gave and what each leak check dropped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import sources
from leaks import LeakCheck, read_rows
from negatives import Neighbours, bad_answer, sentences, to_sentence_end
from sources import Group

LONGEST = 20_000  # characters of one answer
DEV_SHARE = {"ukp": 16, "fastchat": 25, "prometheus": 25, "alpaca": 14}
OTHER_DEV_SHARE = 7  # per cent


def is_dev(group: Group) -> bool:
    """Whether a group belongs to the development split; the same question always does."""
    # Vicuna-bench questions stand in two sources: split them by question, alike.
    key = group.family or group.question
    digest = int(hashlib.sha256(key.encode("utf-8", "replace")).hexdigest(), 16)
    return digest % 100 < DEV_SHARE.get(group.source, OTHER_DEV_SHARE)


def own_answers(path: Path) -> dict[str, list[dict[str, Any]]]:
    """Answers of the base model by question, coolest first."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in read_rows(path):
        text = row["answer"].strip()
        if not row["ended"]:
            text = to_sentence_end(text)
        if row.get("prefix"):
            text = f"{row['prefix']} {text}"
        if len(text.split()) > 2:
            found[row["question"]].append({**row, "answer": text})
    for rows in found.values():
        rows.sort(key=lambda row: ("prefix" in row, row["temperature"]))
    return found


def graded(
    question: str,
    good: str,
    own: list[dict[str, Any]],
    answers: dict[str, str],
    near: Neighbours,
    rng: random.Random,
    source: str,
) -> Group:
    """A good answer, the base model's own, and two rule-made bad ones, paired in steps."""
    group = Group(source, question, [good])
    cool: list[int] = []
    for row in own:
        i = group.add(row["answer"])
        hot = row["temperature"] > 0.65 and "prefix" not in row
        kind = "continued" if "prefix" in row else "hot" if hot else "cool"
        group.better(0, i, {"continued": 0.88, "hot": 0.97, "cool": 0.92}[kind], 1.0, kind)
        if hot:
            for j in cool:
                group.better(j, i, 0.85, 1.0, "cool against hot")
        elif kind == "cool":
            cool.append(i)
    brief = None
    pieces = sentences(good)
    if len(pieces) >= 3 and len(pieces[0].split()) >= 6 and rng.random() < 0.5:
        # A short answer that is on the point: better than any long one that is not.
        brief = group.add(" ".join(pieces[: rng.randint(1, 2)]))
        group.better(0, brief, 0.65, 0.5, "brief")
    for _ in range(2):
        bad, p, kind = bad_answer(question, good, answers, near, rng)
        i = group.add(bad)
        group.better(0, i, p, 1.0, kind)
        on_topic = [*cool, *([brief] if brief is not None else [])]
        if kind in ("neighbour", "random", "empty", "echo"):
            for j in on_topic:
                group.better(j, i, p - 0.1, 0.7, f"on topic against {kind}")
    return group


def made_groups(
    data: Path, sampled: Path, check: LeakCheck, rng: random.Random, plain: float
) -> list[Group]:
    """Groups around HaluEval's and the seed tasks' good answers.

    Questions that the base model answered are all used, of the others the share ``plain``.
    """
    answers = sources.halueval(data)
    kept = check.clean("halueval", answers)
    seeds = sources.seed_tasks(data)
    kept_seeds = check.clean("seed_tasks", seeds)
    answers = {q: answers[q] for q in sorted(kept)}
    answers.update({q: seeds[q] for q in sorted(kept_seeds) if seeds[q].strip()})
    near = Neighbours(list(answers))
    own = own_answers(sampled)
    groups = []
    for question, good in answers.items():
        source = "seed_tasks" if question in seeds else "halueval"
        if question not in own and rng.random() > plain:
            continue
        groups.append(graded(question, good, own.get(question, []), answers, near, rng, source))
    return groups


def write(groups: list[Group], path: Path) -> dict[str, dict[str, int]]:
    """Write groups with their split; return counts by source and split."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    with path.open("w", encoding="utf-8") as sink:
        for group in groups:
            if not group.pairs:
                continue
            split = "dev" if is_dev(group) else "train"
            record = {
                "source": group.source,
                "split": split,
                "question": group.question,
                "answers": [answer[:LONGEST] for answer in group.answers],
                "pairs": group.pairs,
            }
            sink.write(json.dumps(record, ensure_ascii=False) + "\n")
            count = counts[group.source]
            count[f"{split} groups"] += 1
            count[f"{split} answers"] += len(group.answers)
            count[f"{split} pairs"] += len(group.pairs)
    return {name: dict(count) for name, count in counts.items()}


def main() -> None:
    """Build everything, deterministic under the seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sampled", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--t0", type=int, default=1200, help="T0 instances")
    parser.add_argument("--plain", type=float, default=0.5, help="share of HaluEval without own")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    check = LeakCheck(args.data)
    read = [
        *sources.ukp(args.data),
        *sources.fastchat(args.data),
        *sources.prometheus(args.data),
        *sources.errors(args.data),
        *sources.t0(args.data, rng, args.t0),
    ]
    by_source: dict[str, list[Group]] = defaultdict(list)
    for group in read:
        by_source[group.source].append(group)
    groups = []
    for name, members in by_source.items():
        clean = check.clean(name, (group.question for group in members))
        groups += [group for group in members if group.question in clean]
    groups += made_groups(args.data, args.sampled, check, rng, args.plain)
    alpaca = list(sources.alpaca_eval(args.data))
    clean = check.clean("alpaca", (group.question for group in alpaca))
    args.out.mkdir(parents=True, exist_ok=True)
    counts = {
        "permissive": write(groups, args.out / "permissive.jsonl"),
        "non-commercial": write(
            [group for group in alpaca if group.question in clean], args.out / "alpaca.jsonl"
        ),
        "leaks": check.dropped,
    }
    (args.out / "counts.json").write_text(json.dumps(counts, indent=1), encoding="utf-8")
    print(json.dumps(counts, indent=1))


if __name__ == "__main__":
    main()
