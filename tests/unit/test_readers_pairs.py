"""LLMBar, JudgeBench, Auto-J, AlpacaEval and CritiqueLLM: codings and rows that are not there."""

from __future__ import annotations

from typing import Any

import pytest
from readers_help import judgments, read, sample, sniffed

from magistrate.formats.base import RowError

LLMBAR = {"input": "Say hi.", "output_1": "hi", "output_2": "bye", "label": 1}
BENCH: dict[str, Any] = {
    "pair_id": "p1",
    "original_id": 4,
    "source": "mmlu-pro-law",
    "question": "Which?",
    "response_model": "gpt-4o",
    "response_A": "A it is",
    "response_B": "B it is",
    "label": "A>B",
}


def game(decision: str | None, **more: Any) -> dict[str, Any]:
    return {
        "judgment": {"judge_model": "m", "prompt": "", "response": "text", **more},
        "decision": decision,
    }


# --- LLMBar ---


@pytest.mark.parametrize("label", [2, 2.0, "2", "2.0"])
def test_label_of_any_type(label: object) -> None:
    assert sample("llmbar", {**LLMBAR, "label": label}).gold[0].preference == "second"


@pytest.mark.parametrize("label", [0, 3, True, "first", [1]])
def test_label_outside_the_coding(label: object) -> None:
    with pytest.raises(RowError, match=r"'label' is .*; needed: 1, 2"):
        read("llmbar", {**LLMBAR, "label": label})


def test_null_label_is_no_label() -> None:
    assert sample("llmbar", {**LLMBAR, "label": None}).gold == ()


def test_llmbar_result_takes_the_last_round_and_keeps_null() -> None:
    first = {"swap = False": {"winner": "2"}, "swap = True": {"winner": "2"}}
    last = {
        "swap = False": {"completion": ["Output (a)", "stop"], "winner": "1"},
        "swap = True": {"completion": ["neither", "stop"], "winner": None},
    }
    row = {**LLMBAR, "results": [first, last]}
    assert sniffed(row) == ["llmbar-result"]
    one, two = judgments(
        "llmbar-result", row, file="LLMBar/Natural/evaluators/GPT-4/CoT/result.json"
    )
    assert (one.judge, one.order, one.preference) == ("GPT-4/CoT", (0, 1), "first")
    assert (two.order, two.status, two.preference) == ((1, 0), "unparsed", None)
    assert (two.raw, two.finish_reason) == ("neither", "stop")


def test_llmbar_ratings_become_scores() -> None:
    last = {
        "score_1": ["5", "stop"],
        "score_2": ["9", "stop"],
        "swap = False": {"winner": "2"},
        "swap = True": {"winner": "2"},
    }
    one, two = judgments("llmbar-result", {**LLMBAR, "results": [last]})
    assert one.scores == two.scores == (5.0, 9.0)


@pytest.mark.parametrize("rounds", [None, [], "x", [None], [{}]])
def test_llmbar_result_without_rounds(rounds: object) -> None:
    with pytest.raises(RowError, match="results"):
        read("llmbar-result", {**LLMBAR, "results": rounds})


@pytest.mark.parametrize(
    ("file", "subset"),
    [
        ("Dataset/LLMBar/Adversarial/Neighbor/dataset.json", "Neighbor"),
        ("Neighbor/evaluators/GPT-4/Swap/result.json", "Neighbor"),
        ("mine.json", None),
        ("dataset.json", None),
    ],
)
def test_llmbar_subset_comes_from_the_folder(file: str, subset: str | None) -> None:
    assert sample("llmbar", LLMBAR, file=file).category == subset


# --- JudgeBench ---


def test_judgebench_second_order_is_mapped_back() -> None:
    row = {
        **BENCH,
        "judge_name": "reward_model",
        "judgments": [game("B>A", scores=[1, 2]), game("A>B", scores=[2, 1])],
    }
    assert sniffed(row) == ["judgebench-output"]
    one, two = judgments("judgebench-output", row)
    assert (one.order, one.preference, one.scores) == ((0, 1), "second", (1.0, 2.0))
    assert (two.order, two.preference, two.scores) == ((1, 0), "second", (1.0, 2.0))
    assert one.judge == "reward_model:m"
    assert one.key != two.key


def test_judgebench_nulls_keep_their_reasons() -> None:
    row = {**BENCH, "judge_name": "j", "judgments": [None, game(None)]}
    one, two = judgments("judgebench-output", row)
    assert (one.status, two.status) == ("error", "unparsed")
    assert one.judge == two.judge == "j:m"
    assert one.error
    assert two.raw == "text"


def test_judgebench_tie() -> None:
    row = {**BENCH, "judgments": [game("A=B"), game("A=B")]}
    assert [j.preference for j in judgments("judgebench-output", row)] == ["tie", "tie"]


def test_judgebench_data() -> None:
    found = sample("judgebench", BENCH)
    assert (found.category, found.source_id) == ("mmlu-pro-law", "p1")
    assert found.gold[0].preference == "first"
    assert {answer.model for answer in found.answers} == {"gpt-4o"}


# --- Auto-J ---


@pytest.mark.parametrize(
    ("label", "preference"), [(0, "first"), ("1", "second"), (2.0, "tie"), (0.0, "first")]
)
def test_auto_j_label(label: object, preference: str) -> None:
    row = {"scenario": "code", "label": label, "prompt": "p", "response 1": "a", "response 2": "b"}
    assert sniffed(row) == ["auto-j-pairwise"]
    assert sample("auto-j-pairwise", row).gold[0].preference == preference


def test_auto_j_output_of_the_exchanged_order() -> None:
    (plain,) = judgments("auto-j-pairwise-output", {"output": 0}, file="x/pairwise_out.jsonl")
    (other,) = judgments(
        "auto-j-pairwise-output", {"output": 0}, file="x/pairwise_exchange_out.jsonl"
    )
    assert (plain.order, plain.preference) == ((0, 1), "first")
    assert (other.order, other.preference) == ((1, 0), "second")
    assert plain.judge == other.judge == "pairwise_out"
    assert plain.sample_id == other.sample_id == "row:1"


def test_auto_j_unresolved_output() -> None:
    (found,) = judgments("auto-j-pairwise-output", {"output": -1})
    assert (found.status, found.preference) == ("unparsed", None)


def test_auto_j_critique_rating_is_the_last() -> None:
    row = {"prompt": "p", "response": "r", "critiques": {"autoj": "[[3]] no. Rating: [[6.5]]"}}
    (found,) = judgments("auto-j-critique", row)
    assert (found.judge, found.scores, found.order) == ("autoj", (6.5,), (0,))


def test_auto_j_training_prompt_is_cut() -> None:
    message = (
        "Write critiques ...\n[BEGIN DATA]\n***\n[Query]: What?\n***\n"
        "[Response]: This.\n***\nand that\n***\n[END DATA]\n\nWrite ..."
    )
    row = {"usrmsg": message, "target_output": "Fine. Rating: [[7]]", "pred_score": "7.0"}
    found = sample("auto-j-training", row)
    assert (found.question, found.answers[0].text) == ("What?", "This.\n***\nand that")
    assert (found.gold[0].scores, found.gold[0].reasons) == ((7.0,), "Fine. Rating: [[7]]")
    with pytest.raises(RowError, match="'usrmsg' is 'no data'"):
        read("auto-j-training", {**row, "usrmsg": "no data"})


# --- AlpacaEval ---


def annotation(preference: object, annotator: str = "alpaca_eval_gpt4") -> dict[str, Any]:
    return {
        "instruction": "Go.",
        "output_1": "a",
        "output_2": "b",
        "generator_1": "base",
        "generator_2": "new",
        "dataset": "koala",
        "annotator": annotator,
        "preference": preference,
    }


@pytest.mark.parametrize(
    ("code", "preference", "soft"),
    [
        (1, "first", None),
        (2.0, "second", None),
        ("2", "second", None),
        (0, "tie", None),
        (1.5, "tie", None),
        (1.25, "first", 0.25),
        (1.9999, "second", 0.9999),
        (None, None, None),
    ],
)
def test_alpaca_eval_codes(code: object, preference: str | None, soft: float | None) -> None:
    gold = sample("alpaca-eval-annotations", annotation(code)).gold[0]
    assert gold.preference == preference
    assert gold.probability_second == (None if soft is None else pytest.approx(soft))


@pytest.mark.parametrize(("code", "soft"), [(1, 0.0), (2, 1.0), (1.5, 0.5)])
def test_alpaca_eval_whole_codes_of_a_weighted_annotator_are_soft(code: float, soft: float) -> None:
    row = annotation(code, "weighted_alpaca_eval_gpt4_turbo")
    assert sample("alpaca-eval-annotations", row).gold[0].probability_second == soft


@pytest.mark.parametrize("code", [3, -1, 0.5, "both", float("nan"), True, []])
def test_alpaca_eval_code_outside(code: object) -> None:
    with pytest.raises(RowError, match="'preference' is"):
        read("alpaca-eval-annotations", annotation(code))


def test_alpaca_eval_models() -> None:
    found = sample("alpaca-eval-annotations", annotation(1))
    assert [answer.model for answer in found.answers] == ["base", "new"]
    row = {"instruction": "Go.", "output": "", "generator": "m", "dataset": "koala"}
    assert sniffed(row) == ["alpaca-eval-outputs"]
    single = sample("alpaca-eval-outputs", row)
    assert (single.answers[0].text, single.answers[0].model) == ("", "m")


# --- CritiqueLLM ---


def test_critiquellm_labels_count_from_zero() -> None:
    row = {
        "id": 0,
        "category": "c",
        "question": "你好",
        "response_1": "a",
        "response_2": "b",
        "human_score_1": 2,
        "human_score_2": 5,
        "label": 1,
    }
    found = sample("critiquellm-pairwise", row)
    assert (found.gold[0].preference, found.gold[0].scores) == ("second", (2.0, 5.0))
    assert found.language == "zh"


def test_other_tables_with_such_columns_are_left_to_others() -> None:
    """There a label of 1 means the first answer, and here the second."""
    row = {"question": "q", "response_1": "a", "response_2": "b", "label": 1}
    assert sniffed(row) == []
