"""Keep the questions of the measuring sets out of the training data."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

WORD = re.compile(r"\w+")
SHORTEST = 12  # characters; shorter strings are contained in half of all prompts by accident
RUN = 5  # words of one run
SHARED = 0.5  # share of a question's runs that one measuring prompt may hold at most


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Rows of a JSON array or JSON Lines file, gzipped or not, whatever its name says."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    if text.lstrip().startswith("["):
        yield from json.loads(text)
    else:
        # Not splitlines: answers may hold line separators other than a newline.
        yield from (json.loads(line) for line in text.split("\n") if line.strip())


def normal(text: str) -> str:
    """Lower-case words joined by single blanks: punctuation and layout do not hide a leak."""
    return " ".join(WORD.findall(text.lower()))


def measuring_prompts(data: Path) -> dict[str, set[str]]:
    """Normalised prompts of every measuring set, by set."""
    found: dict[str, list[str]] = {"pandalm": [], "llmbar": [], "auto-j": [], "judgebench": []}
    for row in read_rows(data / "pandalm/testset-v1.json"):
        found["pandalm"] += [f"{row['instruction']} {row['input']}", str(row["instruction"])]
    for row in read_rows(data / "pandalm/testset-inference-v1.json"):
        found["pandalm"].append(f"{row['instruction']} {row['input']}")
    for path in sorted((data / "llmbar").rglob("dataset.json")):
        found["llmbar"] += [row["input"] for row in read_rows(path)]
    for name in ("testdata_pairwise.jsonl", "testdata_critique.jsonl"):
        found["auto-j"] += [row["prompt"] for row in read_rows(data / "auto-j/test" / name)]
    for path in sorted((data / "judgebench/data").glob("*.jsonl")):
        found["judgebench"] += [row["question"] for row in read_rows(path)]
    turns = read_rows(data / "fastchat/llm_judge/mt_bench/question.jsonl")
    found["mt-bench"] = [turn for row in turns for turn in row["turns"]]
    return {name: {normal(text) for text in texts} - {""} for name, texts in found.items()}


def runs(text: str) -> set[str]:
    """Every run of ``RUN`` words of a normalised text."""
    words = text.split()
    return {" ".join(words[k : k + RUN]) for k in range(len(words) - RUN + 1)}


class LeakCheck:
    """Says which measuring set, if any, a training question leaks from."""

    def __init__(self, data: Path) -> None:
        self.sets = measuring_prompts(data)
        self.dropped: dict[str, dict[str, int]] = {}
        self.holders: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for name, prompts in self.sets.items():
            for prompt in sorted(prompts):
                for run in runs(prompt):
                    self.holders[run].append((name, prompt))

    def where(self, question: str) -> str | None:
        """The first measuring set that holds, contains or is contained in the question."""
        text = normal(question)
        for name, prompts in self.sets.items():
            if text in prompts:
                return name
            long = len(text) >= SHORTEST
            if any((len(p) >= SHORTEST and p in text) or (long and text in p) for p in prompts):
                return name
        return self.reworded(text)

    def reworded(self, text: str) -> str | None:
        """The measuring set of a prompt that holds at least half of the question's runs of words.

        Catches a question with another sentence before it or a word changed. Questions of fewer
        than ``RUN`` + 2 words share a run by accident.
        """
        own = runs(text)
        if len(own) < 3:
            return None
        count = Counter(holder for run in own for holder in self.holders.get(run, ()))
        if not count:
            return None
        (name, _), most = count.most_common(1)[0]
        return name if most >= SHARED * len(own) else None

    def clean(self, source: str, questions: Iterable[str]) -> set[str]:
        """The distinct questions that leak from nowhere; what was dropped is counted."""
        kept = set()
        counts = self.dropped.setdefault(source, {})
        for question in sorted(set(questions)):
            name = self.where(question)
            if name is None:
                kept.add(question)
            else:
                counts[name] = counts.get(name, 0) + 1
        counts["kept"] = counts.get("kept", 0) + len(kept)
        return kept
