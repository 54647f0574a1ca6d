"""Read the labelled training sources, each with its licence, into groups.

A group is one question with some of its answers and labelled pairs among them. Scoring a group
reads every answer once, however many pairs it holds. Every reader yields raw groups; ``build.py``
drops leaks, splits and writes.
"""

from __future__ import annotations

import math
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leaks import read_rows


@dataclass
class Group:
    """One question, its answers, and what is known of pairs of them.

    Attributes:
        source: Short name of the data set; the length covariate is fitted per source.
        question: Shown to the judge.
        answers: Shown to the judge, one reading each.
        pairs: ``(i, j, p, weight, kind)``: answer i beats answer j with probability p.
        family: What must stay on one side of the split; the question itself when empty.
        asked: Where answers belong to several questions: the question of each answer.
    """

    source: str
    question: str
    answers: list[str]
    pairs: list[tuple[int, int, float, float, str]] = field(default_factory=list)
    family: str = ""
    asked: list[str] = field(default_factory=list)

    def add(self, answer: str) -> int:
        """Append an answer unless it is there already; return its index."""
        if answer in self.answers:
            return self.answers.index(answer)
        self.answers.append(answer)
        return len(self.answers) - 1

    def better(self, i: int, j: int, p: float, weight: float, kind: str) -> None:
        """Say that answer i beats answer j with probability p."""
        if i != j:
            self.pairs.append((i, j, p, weight, kind))

    def contest(self, question: str, right: str, wrong: str, p: float, kind: str) -> None:
        """Add two readings of a question of their own: the right answer beats the wrong one."""
        self.asked += [question, question]
        self.answers += [right, wrong]
        self.better(len(self.answers) - 2, len(self.answers) - 1, p, 1.0, kind)


def sigmoid(x: float) -> float:
    """The logistic function."""
    return 1.0 / (1.0 + math.exp(-x))


def ukp(data: Path) -> Iterator[Group]:
    """UKPConvArg1 (CC-BY 4.0): which of two arguments convinces more, by crowd workers.

    One group a debate side: about 35 arguments and 370 pairs.
    """
    for path in sorted((data / "ukpconvarg1/UKPConvArg1Strict-CSV").glob("*.csv")):
        topic, _, side = path.stem.partition("_")
        words = [re.sub(r"\s+", " ", part.replace("-", " ")).strip() for part in (topic, side)]
        question = f"Write a convincing argument. Topic: {words[0]}? Position to defend: {words[1]}"
        group = Group("ukp", question, [], family=topic)
        for line in path.read_text(encoding="utf-8").split("\n")[1:]:
            if not line.strip():
                continue
            _, label, first, second = line.split("\t")
            i, j = (group.add(re.sub(r"\s*<br/>\s*", "\n", t).strip()) for t in (first, second))
            group.better(i, j, 0.95 if label == "a1" else 0.05, 1.0, "human")
        yield group


def fastchat(data: Path) -> Iterator[Group]:
    """Vicuna-bench answers with GPT-4 score pairs (Apache-2.0), one group a question.

    Ties keep p = 0.5: they say that two answers are near each other.
    """
    table = data / "fastchat/eval_table"
    questions = {r["question_id"]: r["text"] for r in read_rows(table / "question.jsonl")}
    answers = {
        r["answer_id"]: r["text"].strip()
        for path in sorted((table / "answer").glob("*.jsonl"))
        for r in read_rows(path)
    }
    groups = {q: Group("fastchat", text, []) for q, text in questions.items()}
    for path in sorted((table / "review").rglob("*.jsonl")):
        for row in read_rows(path):
            if row["answer1_id"] not in answers or row["answer2_id"] not in answers:
                continue
            group = groups[row["question_id"]]
            i, j = group.add(answers[row["answer1_id"]]), group.add(answers[row["answer2_id"]])
            first, second = row["score"]
            group.better(i, j, sigmoid(1.2 * (float(first) - float(second))), 1.0, "gpt-4")
    yield from groups.values()


def prometheus(data: Path) -> Iterator[Group]:
    """Vicuna-bench answers of four models graded 1 to 5 by GPT-4, three times (Apache-2.0)."""
    part = re.compile(
        r"###The instruction to evaluate:\n(.*?)\n\n"
        r"###Response to evaluate:\n(.*?)\n\n###Reference",
        re.DOTALL,
    )
    grouped: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for row in read_rows(data / "prometheus/vicuna_eval.json"):
        found = part.search(row["instruction"])
        if found:
            marks = [float(s) for s in row["gpt4_score"]]
            grouped[found[1].strip()].append((found[2].strip(), sum(marks) / len(marks)))
    for question, graded in sorted(grouped.items()):
        group = Group("prometheus", question, [answer for answer, _ in graded])
        for i, (_, a) in enumerate(graded):
            for j, (_, b) in enumerate(graded[:i]):
                group.better(i, j, sigmoid(1.8 * (a - b)), 1.0, "gpt-4")
        yield group


def errors(data: Path) -> Iterator[Group]:
    """GPT-4 answers and the same with factual errors put in (Apache-2.0): equal in length."""
    raw = {r["question_id"]: r for r in read_rows(data / "judgement-bias/raw.json")}
    for row in read_rows(data / "judgement-bias/factual_error.json"):
        clean = raw.get(row["question_id"].removesuffix("-factual_error"))
        if clean is None:
            continue
        good = [a["answer"].strip() for a in clean["answers"].values()]
        bad = [a["answer"].strip() for a in row["answers"].values() if a.get("perturb")]
        group = Group("errors", clean["question"], good)
        for answer in bad:
            j = group.add(answer)
            for i in range(len(good)):
                group.better(i, j, 0.9, 0.5, "factual error")
        yield group


def t0(data: Path, rng: random.Random, count: int) -> Iterator[Group]:
    """T0 instances (Apache-2.0 repository): the gold completion against a wrong one.

    The wrong one is another option named in the prompt where there is one, else the gold of
    another instance of the same template: its length says nothing.
    """
    rows = [
        (r["template"], r["prompt"].strip(), r["completion"].removesuffix("<|endoftext|>").strip())
        for r in read_rows(data / "self-instruct/t0_gold_instances.jsonl.gz")
    ]
    rows = [row for row in rows if row[2]]
    golds: dict[str, list[str]] = defaultdict(list)
    for template, _, gold in rows:
        golds[template].append(gold)
    for template, prompt, gold in rng.sample(rows, count):
        others = sorted({g for g in golds[template] if g.lower() != gold.lower()})
        named = [g for g in others if g.lower() in prompt.lower()]
        lines = [x.strip(" -*\t") for x in prompt.split("\n") if x.lstrip().startswith(("-", "*"))]
        options = [x for x in lines if x and x.lower() != gold.lower()]
        pool = options if gold in lines and options else named or others
        if not pool:
            continue
        group = Group("t0", prompt, [gold, rng.choice(pool)], family=template)
        group.better(0, 1, 0.95, 0.5, "gold against wrong")
        yield group


def halueval(data: Path) -> dict[str, str]:
    """HaluEval general (MIT): questions and ChatGPT answers that annotators found sound."""
    return {
        row["user_query"].strip(): row["chatgpt_response"].strip()
        for row in read_rows(data / "halueval/general_data.json")
        if row["hallucination"] == "no" and row["chatgpt_response"].strip()
    }


def seed_task(row: dict[str, Any]) -> tuple[str, str]:
    """Question and gold answer of a seed task (its first instance)."""
    first = row["instances"][0]
    question = str(row["instruction"])
    if first["input"]:
        question += "\n\n" + first["input"]
    return question, str(first["output"])


def seed_tasks(data: Path) -> dict[str, str]:
    """Self-instruct seed tasks (Apache-2.0): questions and human answers."""
    return dict(seed_task(row) for row in read_rows(data / "self-instruct/seed_tasks.jsonl"))
