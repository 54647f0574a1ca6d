"""Build the training groups: read the sources, drop leaks, make bad answers, split, write.

Run it: ``python build.py --data ../shared/data --out build/groups``

Writes ``permissive.jsonl`` and ``alpaca.jsonl`` (the non-commercial part, kept apart), and
``counts.json`` with what each source gave and what each leak check dropped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import alpaca
import sources
from leaks import LeakCheck
from negatives import TEXT_RULES, Neighbours, bad_answer
from sentences import sentences
from sources import Group

LONGEST = 20_000  # characters of one answer
DEV_SHARE = {"ukp": 16, "fastchat": 25, "prometheus": 25, "alpaca": 14}
OTHER_DEV_SHARE = 7  # per cent
SHORTENED = 0.45  # share of exchanges in which right answers are cut to their first sentences
NOT_SAID = "by strength"
"""Kind of pairs that no annotator compared: good enough to learn from, not to measure on."""


def is_dev(group: Group) -> bool:
    """Whether a group belongs to the development split; the same question always does."""
    # Vicuna-bench questions stand in two sources: split them by question, alike.
    key = group.family or group.question
    return digest(key) < DEV_SHARE.get(group.source.split(" ")[0], OTHER_DEV_SHARE)


def digest(key: str) -> int:
    """A number from 0 to 99 that depends on the key alone."""
    return int(hashlib.sha256(key.encode("utf-8", "replace")).hexdigest(), 16) % 100


def split_by_share(questions: Iterable[str], share: int) -> tuple[list[str], list[str]]:
    """Training and development questions, so that nothing is exchanged between the two."""
    sides: tuple[list[str], list[str]] = ([], [])
    for question in sorted(questions):
        sides[digest(question) < share].append(question)
    return sides


def brief(answer: str, rng: random.Random) -> str:
    """The first sentence or two where there are more of them, else the whole answer."""
    pieces = sentences(answer)
    if len(pieces) < 3 or len(pieces[0].split()) < 6:
        return answer
    return " ".join(pieces[: rng.randint(1, 2)])


def exchanges(
    answers: dict[str, str], near: Neighbours, rng: random.Random, rounds: int
) -> Iterator[Group]:
    """Two near questions and the good answers of both: each answer is right under its own.

    Whatever an answer looks like by itself, its length too, stands once on the better and once on
    the worse side. Only how it fits the question is left to learn.
    """
    done: set[frozenset[str]] = set()
    for _ in range(rounds):
        for question in sorted(answers):
            other = near.pick(question, rng)
            pair = frozenset((question, other))
            if pair in done or answers[question].lower() == answers[other].lower():
                continue
            done.add(pair)
            group = Group("exchange", question, [])
            # Shortened right answers against whole wrong ones: length now speaks for the wrong.
            short = rng.random() < SHORTENED
            for asked, foreign in ((question, other), (other, question)):
                right = brief(answers[asked], rng) if short else answers[asked]
                kind = "exchanged" if right == answers[asked] else "brief against exchanged"
                group.contest(asked, right, answers[foreign], 0.93 if short else 0.96, kind)
            yield group


def graded(
    question: str,
    good: str,
    answers: dict[str, str],
    near: Neighbours,
    rng: random.Random,
    source: str,
) -> Group:
    """A good answer, often its first sentences, and two rule-made bad ones, paired in steps."""
    group = Group(source, question, [good])
    short = group.add(brief(good, rng)) if rng.random() < 0.5 else 0
    if short:
        # A short answer that is on the point: better than any long one that is not.
        group.better(0, short, 0.65, 0.5, "brief")
    for _ in range(2):
        bad, p, kind = bad_answer(question, good, answers, near, rng)
        i = group.add(bad)
        group.better(0, i, p, 1.0, kind)
        if short and kind in TEXT_RULES and kind != "runs on":
            group.better(short, i, p - 0.05, 1.0, f"brief against {kind}")
    return group


def made_groups(data: Path, check: LeakCheck, rng: random.Random, plain: float) -> list[Group]:
    """Groups around HaluEval's and the seed tasks' good answers.

    All questions are exchanged with a near one; made bad answers get the share ``plain`` of them.
    """
    answers = sources.halueval(data)
    kept = check.clean("halueval", answers)
    seeds = sources.seed_tasks(data)
    kept_seeds = check.clean("seed_tasks", seeds)
    answers = {q: answers[q] for q in sorted(kept)}
    answers.update({q: seeds[q] for q in sorted(kept_seeds) if seeds[q].strip()})
    near = Neighbours(list(answers))
    groups = []
    for side in split_by_share(answers, OTHER_DEV_SHARE):
        groups += exchanges(
            {q: answers[q] for q in side}, Neighbours(side, near=4, most=0.85), rng, rounds=1
        )
    for question, good in answers.items():
        source = "seed_tasks" if question in seeds else "halueval"
        if rng.random() > plain:
            continue
        groups.append(graded(question, good, answers, near, rng, source))
    return groups


def alpaca_groups(data: Path, check: LeakCheck, rng: random.Random) -> list[Group]:
    """AlpacaEval's preferences and off-topic contests, of clean instructions.

    Instructions that stand in Vicuna-bench too and are on its development side there are left out:
    the sources have different shares.
    """
    answers = alpaca.read_answers(data)
    clean = check.clean("alpaca", answers)
    vicuna = {group.question.strip() for group in sources.fastchat(data)}
    held = {q for q in clean if q.strip() in vicuna and digest(q.strip()) < DEV_SHARE["fastchat"]}
    answers = {q: answers[q] for q in sorted(clean - held)}
    groups = list(alpaca.preferences(answers))
    for side in split_by_share(answers, DEV_SHARE["alpaca"]):
        mine = {q: answers[q] for q in side}
        groups += alpaca.off_topic(mine, Neighbours(side, near=5), rng, rounds=3)
    return groups


def write(groups: list[Group], path: Path) -> dict[str, dict[str, int]]:
    """Write groups with their split; return counts by source and split."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    with path.open("w", encoding="utf-8") as sink:
        for group in groups:
            if not group.pairs:
                continue
            split = "dev" if is_dev(group) else "train"
            record: dict[str, Any] = {
                "source": group.source,
                "split": split,
                "question": group.question,
                "answers": [answer[:LONGEST] for answer in group.answers],
                "pairs": [pair for pair in group.pairs if split == "train" or pair[4] != NOT_SAID],
            }
            if group.asked:
                record["asked"] = group.asked
            sink.write(json.dumps(record, ensure_ascii=False) + "\n")
            count = counts[group.source]
            count[f"{split} groups"] += 1
            count[f"{split} answers"] += len(group.answers)
            count[f"{split} pairs"] += len(record["pairs"])
    return {name: dict(count) for name, count in counts.items()}


def main() -> None:
    """Build everything, deterministic under the seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--t0", type=int, default=800, help="T0 instances")
    parser.add_argument("--plain", type=float, default=0.6, help="share with made answers")
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
    groups += made_groups(args.data, check, rng, args.plain)
    args.out.mkdir(parents=True, exist_ok=True)
    counts = {
        "permissive": write(groups, args.out / "permissive.jsonl"),
        "non-commercial": write(alpaca_groups(args.data, check, rng), args.out / "alpaca.jsonl"),
        "leaks": check.dropped,
    }
    (args.out / "counts.json").write_text(json.dumps(counts, indent=1), encoding="utf-8")
    print(json.dumps(counts, indent=1))


if __name__ == "__main__":
    main()
