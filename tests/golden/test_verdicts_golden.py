"""Real judges' replies with the scores that their authors stored beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from magistrate.prompts.parse import parse
from magistrate.prompts.rules import ScoreRules

pytestmark = pytest.mark.data

PAIR = ScoreRules(count=2, low=0, high=10)
SINGLE_AT_THE_END = ScoreRules(count=1, low=1, high=10, place="last")


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def test_gpt4_score_pair_reviews(data_folder: Path) -> None:
    """400 reviews. In every file the judge solves questions 68 to 70 before it scores."""
    read = not_first = 0
    for path in sorted((data_folder / "fastchat" / "eval_table" / "review").rglob("*.jsonl")):
        for row in rows(path):
            verdict = parse(row["text"], PAIR)
            if row["question_id"] in (68, 69, 70):
                assert verdict.status == "unparsed"
                not_first += 1
            else:
                assert verdict.scores == tuple(map(float, row["score"])), row["review_id"]
                read += 1
    assert (read, not_first) == (385, 15)


def test_autoj_critiques_that_end_in_a_rating(data_folder: Path) -> None:
    count = 0
    for row in rows(data_folder / "auto-j" / "training" / "single_traindata.jsonl"):
        verdict = parse(row["target_output"], SINGLE_AT_THE_END)
        assert verdict.scores == (float(row["pred_score"]),)
        count += 1
    assert count == 960


def test_mt_bench_single_judgments(data_folder: Path) -> None:
    count = 0
    for row in rows(data_folder / "routellm" / "evals" / "mt_bench" / "judgements.jsonl"):
        verdict = parse(row["judgment"], SINGLE_AT_THE_END)
        assert verdict.scores == (float(row["score"]),)
        count += 1
    assert count == 320


def test_gpt35_predictions_cut_at_a_few_tokens(data_folder: Path) -> None:
    """Two replies are blank, one gives 50 on a scale that ends at 10."""
    path = data_folder / "unlimitedjudge" / "judgelm-gpt-3.5-turbo-0613-icl.jsonl"
    statuses: dict[str, int] = {}
    for row in rows(path):
        verdict = parse(row["prediction"], PAIR, "length")
        statuses[verdict.status] = statuses.get(verdict.status, 0) + 1
        if verdict.status == "ok":
            assert verdict.scores == tuple(row["score"])
    assert statuses == {"ok": 4846, "truncated": 2, "unparsed": 1}
