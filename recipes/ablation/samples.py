"""Labelled samples for the ablation, out of public files; nothing here is drawn by chance.

PandaLM: the 999 pairs of its test set, with PandaLM-7B's stored verdicts and reasons to learn from
(``pandalm-teacher.jsonl``) and three people's labels to measure by (``pandalm-people.jsonl``).
Vicuna-bench: 400 pairs with GPT-4's scores and reasons (``vicuna.jsonl``), of which Vicuna stands
in the second place nearly always, and wins mostly: what a judge learns from the place alone.

Run it: ``python samples.py --data DATA --out build/ablation/samples``
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import magistrate as mg
from magistrate.records import Answer, Gold, Preference, Sample

TEACHER = "pandalm-7b"
OUTCOMES: dict[int, Preference] = {0: "tie", 1: "first", 2: "second"}


def main() -> None:
    """Write the three files; those that are there are replaced."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the public files")
    parser.add_argument("--out", type=Path, required=True)
    for name in ("pandalm", "vicuna"):
        parser.add_argument(
            f"--{name}-letters",
            type=int,
            metavar="N",
            help=f"of {name} only pairs whose question and answers have at most so many letters",
        )
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    people = list(mg.read_samples(given.data / "pandalm/testset-v1.json"))
    for name, everything in (
        ("pandalm-people", people),
        ("pandalm-teacher", taught(people, given.data / "pandalm/pandalm-7b-testset-v1.json")),
        ("vicuna", list(reviewed(given.data / "fastchat/eval_table"))),
    ):
        longest = given.vicuna_letters if name == "vicuna" else given.pandalm_letters
        samples = [one for one in everything if longest is None or letters(one) <= longest]
        mg.write_samples(sorted(samples, key=mixed), given.out / f"{name}.jsonl")
        print(f"{name}: {len(samples)} pairs, {len({each.question for each in samples})} questions")


def letters(sample: Sample) -> int:
    """Return how long a question and its answers are together."""
    return len(sample.question) + sum(len(answer.text) for answer in sample.answers)


def mixed(sample: Sample) -> str:
    """Return what to sort by, so that the first so many samples are of many questions."""
    return sha256(str(sample.source_id).encode()).hexdigest()


def taught(samples: list[Sample], verdicts: Path) -> list[Sample]:
    """Return the samples with what PandaLM-7B said of them instead of what people said."""
    said = {str(row["idx"]): row for row in json.loads(verdicts.read_text("utf-8"))}
    labelled = []
    for sample in samples:
        row = said[str(sample.source_id)]
        gold = Gold(
            annotator=TEACHER,
            preference=OUTCOMES[row["pandalm_result"]],
            reasons=str(row["pandalm_reason"]),
        )
        labelled.append(sample.model_copy(update={"gold": (gold,)}))
    return labelled


def reviewed(folder: Path) -> Iterator[Sample]:
    """Yield the pairs of Vicuna-bench that GPT-4 scored.

    A review that does not begin with the two scores (three in every file) keeps its scores alone.
    """
    questions = {row["question_id"]: row for row in rows(folder / "question.jsonl")}
    answers = {row["answer_id"]: row for path in answer_files(folder) for row in rows(path)}
    for path in sorted((folder / "review").rglob("review_*.jsonl")):
        for row in rows(path):
            first_line, _, reasons = row["text"].partition("\n")
            scores = tuple(float(score) for score in row["score"])
            starts_with_scores = first_line.split() == [f"{score:g}" for score in scores]
            pair = (answers[row["answer1_id"]], answers[row["answer2_id"]])
            yield Sample(
                question=questions[row["question_id"]]["text"],
                answers=tuple(Answer(text=one["text"], model=one["model_id"]) for one in pair),
                gold=(
                    Gold(
                        annotator="gpt-4",
                        scores=scores,
                        reasons=reasons.strip() or None if starts_with_scores else None,
                    ),
                ),
                category=questions[row["question_id"]].get("category"),
                source_id=row["review_id"],
            )


def answer_files(folder: Path) -> list[Path]:
    """Return the files of answers, in one sequence everywhere."""
    return sorted((folder / "answer").glob("answer_*.jsonl"))


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON lines."""
    for line in path.read_text("utf-8").splitlines():
        if line.strip():
            yield json.loads(line)


if __name__ == "__main__":
    main()
