"""Choose the questions that the base model is asked to answer (see ``sample.py``).

Each question gets one answer at a low and one at a high temperature; some also get an answer that
begins with the reference's own first words, so that style and opening give nothing away.

Run it: ``python questions.py --data ../shared/data --out q.jsonl``
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from leaks import LeakCheck, read_rows

LOW, HIGH = (0.0, 0.0, 0.3, 0.6), (0.9, 1.1, 1.3)


def seed_task(row: dict[str, object]) -> tuple[str, str]:
    """Question and gold answer of a self-instruct seed task (its first instance)."""
    first = row["instances"][0]  # type: ignore[index]
    question = str(row["instruction"])
    if first["input"]:
        question += "\n\n" + first["input"]
    return question, str(first["output"])


def main() -> None:
    """Write the question file, deterministic under its seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=1500, help="HaluEval questions")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    check = LeakCheck(args.data)
    halueval = {
        row["user_query"].strip(): row["chatgpt_response"].strip()
        for row in read_rows(args.data / "halueval/general_data.json")
        if len(row["user_query"]) < 600 and len(row["chatgpt_response"].split()) > 3
    }
    seeds = dict(seed_task(r) for r in read_rows(args.data / "self-instruct/seed_tasks.jsonl"))
    vicuna = [r["text"] for r in read_rows(args.data / "fastchat/eval_table/question.jsonl")]
    chosen = rng.sample(sorted(check.clean("halueval", halueval)), args.count)
    chosen += sorted(q for q in check.clean("seed_tasks", seeds) if len(q) < 1500)
    chosen += sorted(check.clean("vicuna", vicuna))
    with args.out.open("w", encoding="utf-8") as sink:
        for question in chosen:
            rows: list[dict[str, object]] = [
                {"question": question, "temperature": rng.choice(heats)} for heats in (LOW, HIGH)
            ]
            words = halueval.get(question, "").split(" ")
            if len(words) >= 40 and rng.random() < 0.4:
                prefix = " ".join(words[: int(len(words) * rng.uniform(0.15, 0.5))])
                rows.append({"question": question, "temperature": 0.7, "prefix": prefix})
            for row in rows:
                sink.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(json.dumps(check.dropped))


if __name__ == "__main__":
    main()
