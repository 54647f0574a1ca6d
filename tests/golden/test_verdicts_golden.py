"""Real judges' replies, read by the families, with the decisions that their authors stored.

No reading that is ``ok`` may differ from a stored decision; every reply that is not read, and every
decision that differs, is counted here and explained.
"""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from magistrate.prompts.catalog import load_family
from magistrate.prompts.parse import parse
from magistrate.prompts.rules import ChoiceRules, RankingRules, Rules, ScoreRules

pytestmark = pytest.mark.data


def rows(path: Path) -> Iterator[dict[str, Any]]:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


@cache
def rules(family: str, count: int) -> Rules:
    return load_family(family).file.verdict.rules(count)


def reason(error: str | None) -> str:
    return (error or "").partition(":")[0]


def test_gpt4_score_pair_reviews(data_folder: Path) -> None:
    """400 reviews. In every file the judge solves questions 68 to 70 before it scores; twice it
    gives 0 to an answer that is not there, on a scale that begins at 1."""
    read: Counter[str] = Counter()
    for path in sorted((data_folder / "fastchat" / "eval_table" / "review").rglob("*.jsonl")):
        for row in rows(path):
            verdict = parse(row["text"], rules("judgelm", 2))
            read[verdict.status, reason(verdict.error)] += 1
            if verdict.status == "ok":
                assert verdict.scores == tuple(map(float, row["score"])), row["review_id"]
            elif row["question_id"] in (68, 69, 70):
                assert reason(verdict.error) == "no_verdict"
            else:
                assert 0 in row["score"]
    assert read == {
        ("ok", ""): 383,
        ("unparsed", "no_verdict"): 15,
        ("unparsed", "out_of_scale"): 2,
    }


@pytest.mark.parametrize(
    ("file", "read"),
    [
        ("vanilla", {("ok", ""): 500}),
        # Two replies are blank; six give 0 and one 50, on a scale from 1 to 10.
        (
            "icl",
            {("ok", ""): 4840, ("unparsed", "out_of_scale"): 7, ("truncated", "cut"): 2},
        ),
    ],
)
def test_gpt35_predictions_cut_at_a_few_tokens(
    data_folder: Path, file: str, read: dict[tuple[str, str], int]
) -> None:
    path = data_folder / "unlimitedjudge" / f"judgelm-gpt-3.5-turbo-0613-{file}.jsonl"
    found: Counter[tuple[str, str]] = Counter()
    for row in rows(path):
        verdict = parse(row["prediction"], rules("judgelm", 2), "length")
        found[verdict.status, reason(verdict.error)] += 1
        if verdict.status == "ok":
            assert verdict.scores == tuple(row["score"])
        else:
            assert not row["prediction"] or not all(1 <= score <= 10 for score in row["score"])
    assert found == read


def test_judgebench_decisions(data_folder: Path) -> None:
    """350 pairs in both orders, five labels in double brackets: all 700 as stored."""
    labels = (
        ("A>>B", "first"),
        ("A>B", "first"),
        ("A=B", "tie"),
        ("B>A", "second"),
        ("B>>A", "second"),
    )
    five = ChoiceRules(labels, "last", ("[[{verdict}]]",))  # type: ignore[arg-type]
    meaning = {"A>B": "first", "B>A": "second", "A=B": "tie"}
    (path,) = (data_folder / "judgebench" / "outputs").glob("*arena_hard*")
    count = 0
    for row in rows(path):
        for judged in row["judgments"]:
            verdict = parse(judged["judgment"]["response"], five)
            assert verdict.preference == meaning[judged["decision"]], row["pair_id"]
            count += 1
    assert count == 700


def test_autoj_critiques_that_end_in_a_rating(data_folder: Path) -> None:
    count = 0
    for row in rows(data_folder / "auto-j" / "training" / "single_traindata.jsonl"):
        verdict = parse(row["target_output"], rules("auto-j-single", 1))
        assert verdict.scores == (float(row["pred_score"]),)
        count += 1
    assert count == 960


@pytest.mark.parametrize(
    ("file", "read"),
    [
        # One critique of Auto-J never ends.
        ("testdata_critique", {("ok", True): 231, ("unparsed", False): 1}),
        # ChatGPT forgets the brackets 13 times: "Rating: 7" is read all the same.
        ("reference_chatgpt_critique", {("ok", True): 219, ("ok", False): 13}),
    ],
)
def test_autoj_critiques_of_the_test_set(
    data_folder: Path, file: str, read: dict[tuple[str, bool], int]
) -> None:
    found: Counter[tuple[str, bool]] = Counter()
    for row in rows(data_folder / "auto-j" / "test" / f"{file}.jsonl"):
        text = row["critiques"]["autoj"] if "critiques" in row else row["output"]
        verdict = parse(text, rules("auto-j-single", 1))
        bracketed = re.findall(r"Rating: \[\[([\d.]+)\]\]", text)
        found[verdict.status, bool(bracketed)] += 1
        if bracketed:
            assert verdict.scores == (float(bracketed[-1]),)
        elif verdict.status == "ok":
            assert text.rstrip().endswith(f"Rating: {verdict.scores[0]:g}")  # type: ignore[index]
    assert found == read


def test_mt_bench_single_judgments(data_folder: Path) -> None:
    count = 0
    for row in rows(data_folder / "routellm" / "evals" / "mt_bench" / "judgements.jsonl"):
        for family in ("mt-bench-single", "mt-bench-single-reference", "mt-bench-single-two-turns"):
            verdict = parse(row["judgment"], rules(family, 1))
            assert verdict.scores == (float(row["score"]),)
        count += 1
    assert count == 320


def test_llmbar_choices(data_folder: Path) -> None:
    """``Output (a)`` alone, or at the end of reasons: 1914 replies, all as stored."""
    either = ChoiceRules(
        (("Output (a)", "first"), ("Output (b)", "second")),
        "last",
        ("Therefore, {verdict} is better", "{verdict}"),
    )
    count = 0
    for path in sorted((data_folder / "llmbar").rglob("result.json")):
        for row in json.loads(path.read_text("utf-8")):
            for result in row["results"]:
                for swap in ("swap = False", "swap = True"):
                    if "completion" not in result[swap]:
                        continue
                    verdict = parse(result[swap]["completion"][0], either)
                    first, second = ("1", "2") if swap == "swap = False" else ("2", "1")
                    winner = {"first": first, "second": second, None: None}[verdict.preference]  # type: ignore[index]
                    assert winner == result[swap]["winner"], path
                    count += 1
    assert count == 1914


def test_llmbar_ratings(data_folder: Path) -> None:
    """234 pairs rated apart, from 0 to 10. The authors give equal ratings to the second (38), and
    one pair whose first answer got no rating at all to the first."""
    scale = ScoreRules(count=1, low=0, high=10)
    found: Counter[str] = Counter()
    for path in sorted((data_folder / "llmbar").rglob("GPT-4/Rating/result.json")):
        for row in json.loads(path.read_text("utf-8")):
            last = row["results"][-1]
            winner = last["swap = False"]["winner"]
            one, two = (parse(last[name][0], scale) for name in ("score_1", "score_2"))
            if one.scores is None or two.scores is None:
                assert (one.status, last["score_1"][0], winner) == ("error", "", "1")
                found["blank"] += 1
            elif one.scores == two.scores:
                assert winner == "2"
                found["equal"] += 1
            else:
                assert winner == ("1" if one.scores > two.scores else "2")
                found["same"] += 1
    assert found == {"same": 195, "equal": 38, "blank": 1}


def test_alpaca_eval_rankings(data_folder: Path) -> None:
    """803 lists of two names. Which output stood first was drawn at random and is not stored, so
    the stored preference tells only that each list is read one way or the other."""
    path = data_folder / "alpaca_eval/results/alpaca-7b-neft/alpaca_eval_gpt4/annotations.json.gz"
    found: Counter[str | None] = Counter()
    for row in json.loads(gzip.decompress(path.read_bytes())):
        text = row["raw_completion"]
        if text is None:
            found[None] += 1
            continue
        verdict = parse(text, rules("alpaca-eval-ranking", 2))
        best = re.search(r"'model': '(model_[12])', 'rank': 1", text)
        assert best is not None
        assert verdict.preference == {"model_1": "first", "model_2": "second"}[best[1]]
        found[verdict.preference] += 1
    assert found == {"first": 362, "second": 441, None: 2}


def test_llmzoo_orders(data_folder: Path) -> None:
    """290 orders of two assistants in free words.

    Not read are 44 with other words in the place of the order (``=<`` means better to one reader
    and worse to the next; ``Therefore, they have equivalent diversity``) and three with none. One
    stored order says the opposite of its text, which ends in ``Assistant 1 = Assistant 2``.
    """
    names = ("Assistant 1", "Assistant 2")
    order = RankingRules(names, "last", ("{verdict}", "Therefore, {verdict}"))
    found: Counter[tuple[str, str]] = Counter()
    for path in sorted((data_folder / "llmzoo").rglob("review.jsonl")):
        for row in rows(path):
            verdict = parse(row["text"], order)
            one, two = row["order"]
            stored = "tie" if one == two else "first" if one < two else "second"
            found[verdict.status, reason(verdict.error)] += 1
            if verdict.preference != stored and verdict.status == "ok":
                found["ok", "differs"] += 1
                assert row["text"].endswith("the final order is Assistant 1 = Assistant 2.")
    assert found == {
        ("ok", ""): 243,
        ("ok", "differs"): 1,
        ("unparsed", "unknown_label"): 44,
        ("unparsed", "no_verdict"): 3,
    }
