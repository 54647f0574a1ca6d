"""Every public data file of a known format: recognised by one reader, all rows read, labels right.

Row counts, label counts and bad rows are those of the data folder's README.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest

from magistrate.formats.base import Item, Row
from magistrate.formats.inspect import inspect_files
from magistrate.formats.notices import NoticeLog
from magistrate.formats.reading import ItemReader
from magistrate.formats.rows import Rows
from magistrate.formats.sniff import SNIFF_ROWS, known_readers
from magistrate.formats.source import Source

pytestmark = pytest.mark.data


class File(NamedTuple):
    path: str
    format: str
    rows: int
    gold: str = ""
    """Labels of the samples' first gold, as ``first/second/tie``; a class of its own otherwise."""
    verdicts: str = ""
    """Judgments that are ok, as ``first/second/tie/unparsed``."""
    bad: int = 0
    questions: str | None = None


ALPACA_1 = {
    "alpaca-7b/alpaca_eval_gpt4/annotations.json": "584/205/16",
    "text_davinci_001/alpaca_eval_gpt4/annotations.json": "672/112/20",
    "vicuna-13b/alpaca_eval_gpt4/annotations.json": "237/566/2",
    "gpt4/alpaca_eval_gpt4/annotations.json": "32/761/12",
    "claude/alpaca_eval_gpt4/annotations.json.gz": "68/737/0",
    "wizardlm-13b/alpaca_eval_gpt4/annotations.json.gz": "194/601/9",
    "guanaco-65b/alpaca_eval_gpt4/annotations.json.gz": "227/578/0",
    "oasst-rlhf-llama-33b/alpaca_eval_gpt4/annotations.json.gz": "268/534/3",
    "llama-2-7b-chat-hf/alpaca_eval_gpt4/annotations.json.gz": "230/574/1",
    "zephyr-7b-beta/alpaca_eval_gpt4/annotations.json.gz": "75/727/1",
    "alpaca-farm-ppo-human/alpaca_eval_gpt4/annotations.json.gz": "469/328/8",
    "phi-2/alpaca_eval_gpt4/annotations.json.gz": "543/234/22",
    "phi-2-sft/alpaca_eval_gpt4/annotations.json.gz": "253/551/0",
    "minichat-3b/alpaca_eval_gpt4/annotations.json.gz": "409/390/5",
    "alpaca-7b-neft/alpaca_eval_gpt4/annotations.json.gz": "308/495/0",
    "falcon-7b-instruct/alpaca_eval_gpt4/annotations.json.gz": "435/366/4",
}
JUDGEBENCH = "dataset=judgebench,response_model=gpt-4o-2024-05-13"
TABLE = "fastchat/eval_table"
CLEAN = f"{TABLE}/review/vicuna-13b_20230322-clean-lang"
LLMBAR = "llmbar/LLMBar"
MT_QUESTIONS = "fastchat/llm_judge/mt_bench/question.jsonl"
VICUNA_QUESTIONS = "fastchat/llm_judge/vicuna_bench/question.jsonl"
TABLE_QUESTIONS = f"{TABLE}/question.jsonl"

FILES = [
    File("pandalm/testset-v1.json", "pandalm", 999, "427/475/97"),
    File("pandalm/gpt-3.5-turbo-testset-v1.json", "pandalm-result", 999, "", "460/476/38/25"),
    File("pandalm/pandalm-7b-testset-v1.json", "pandalm-result", 999, "", "433/459/107/0"),
    File("pandalm/testset-inference-v1.json", "instructions", 170),
    File("pandalm/pipeline-sanity-check.json", "instructions", 10),
    File("auto-j/test/testdata_pairwise.jsonl", "auto-j-pairwise", 1392, "520/499/373"),
    File("auto-j/test/testdata_critique.jsonl", "auto-j-critique", 232),
    File("auto-j/test/reference_chatgpt_critique.jsonl", "auto-j-critique-output", 232),
    File("auto-j/training/single_traindata.jsonl", "auto-j-training", 960),
    File("auto-j/training/single_independent/noscenario.jsonl.gz", "auto-j-independent", 960),
    File("auto-j/training/single_independent/usescenario.jsonl.gz", "auto-j-independent", 960),
    File(
        "auto-j/outputs/pairwise_example_output.jsonl",
        *("auto-j-pairwise-output", 1392, "", "622/713/57/0"),
    ),
    File(
        "auto-j/outputs/pairwise_exchange_example_output.jsonl",
        *("auto-j-pairwise-output", 1392, "", "694/640/58/0"),
    ),
    File(f"{LLMBAR}/Natural/dataset.json", "llmbar", 100, "42/58/0"),
    File(f"{LLMBAR}/Adversarial/Neighbor/dataset.json", "llmbar", 134, "75/59/0"),
    File(f"{LLMBAR}/Adversarial/GPTInst/dataset.json", "llmbar", 92, "45/47/0"),
    File(f"{LLMBAR}/Adversarial/GPTOut/dataset.json", "llmbar", 47, "22/25/0"),
    File(f"{LLMBAR}/Adversarial/Manual/dataset.json", "llmbar", 46, "22/24/0"),
    File("llmbar/Processed/MT-Bench/dataset.json", "llmbar", 200, "101/99/0"),
    File("llmbar/Processed/LLMEval^2/dataset.json", "llmbar", 200, "92/108/0"),
    *(
        File(f"{LLMBAR}/{subset}/evaluators/{judge}/result.json", "llmbar-result", rows, gold)
        for subset, rows, gold in (
            ("Natural", 100, "42/58/0"),
            ("Adversarial/Neighbor", 134, "75/59/0"),
        )
        for judge in (
            *("GPT-4/Vanilla", "GPT-4/Swap", "GPT-4/Rating", "ChatGPT/Vanilla", "LLaMA2/Vanilla"),
        )
    ),
    File(f"judgebench/data/{JUDGEBENCH}.jsonl", "judgebench", 350, "193/157/0"),
    File(
        f"judgebench/outputs/{JUDGEBENCH},judge_name=reward_model,"
        "judge_model=Skywork_Skywork-Reward-Llama-3.1-8B.jsonl",
        *("judgebench-output", 350, "193/157/0", "335/365/0/0"),
    ),
    File(
        f"judgebench/outputs/{JUDGEBENCH},judge_name=arena_hard,"
        "judge_model=o1-mini-2024-09-12.jsonl.gz",
        *("judgebench-output", 350, "193/157/0", "332/324/44/0"),
    ),
    *(
        File(f"alpaca_eval/results/{name}/model_outputs.json", "alpaca-eval-outputs", 805)
        for name in ("text_davinci_003", "alpaca-7b", "vicuna-13b", "gpt4")
    ),
    *(
        File(f"alpaca_eval/results/{path}", "alpaca-eval-annotations", 805, gold)
        for path, gold in ALPACA_1.items()
    ),
    File(
        "alpaca_eval/results/alpaca-7b/weighted_alpaca_eval_gpt4_turbo/annotations.json.gz",
        *("alpaca-eval-annotations", 805, "785/17/3"),
    ),
    File(
        "alpaca_eval/results/text_davinci_001/weighted_alpaca_eval_gpt4_turbo/annotations.json.gz",
        *("alpaca-eval-annotations", 803, "777/23/3"),
    ),
    File(MT_QUESTIONS, "mt-bench-questions", 80),
    File(VICUNA_QUESTIONS, "mt-bench-questions", 80),
    File(
        "fastchat/llm_judge/mt_bench/reference_answer/gpt-4.jsonl",
        *("mt-bench-answers", 30),
        questions=MT_QUESTIONS,
    ),
    File(
        "fastchat/llm_judge/vicuna_bench/reference_answer/gpt-4.jsonl",
        *("mt-bench-answers", 10),
        questions=VICUNA_QUESTIONS,
    ),
    File("routellm/evals/mt_bench/judgements.jsonl", "mt-bench-single", 320),
    File(TABLE_QUESTIONS, "vicuna-questions", 80),
    *(
        File(
            f"{TABLE}/answer/answer_{name}.jsonl",
            *("vicuna-answers", 80),
            questions=TABLE_QUESTIONS,
        )
        for name in (
            *("alpaca-13b", "bard", "gpt35", "llama-13b", "vicuna-13b"),
            *("vicuna-13b-20230322-new-hp-fp16", "vicuna-7b-20230322-fp16"),
        )
    ),
    File(f"{CLEAN}/review_llama-13b_vicuna-13b.jsonl", "vicuna-reviews", 80, "", "3/77/0/0"),
    File(f"{CLEAN}/review_alpaca-13b_vicuna-13b.jsonl", "vicuna-reviews", 80, "", "3/76/1/0"),
    File(f"{CLEAN}/review_bard_vicuna-13b.jsonl", "vicuna-reviews", 80, "", "30/40/10/0"),
    File(f"{CLEAN}/review_gpt35_vicuna-13b.jsonl", "vicuna-reviews", 80, "", "44/14/22/0"),
    File(f"{TABLE}/review/others/review_llama_alpaca-13b.jsonl", "vicuna-reviews", 80),
    File("hh-rlhf/harmless-base/test.jsonl.gz", "hh-rlhf", 2312, "2312/0/0"),
    File(
        "constitutional-ai/evals/438HHHEvaluations.jsonl",
        *("hhh-constitutional", 438, "228/210/0"),
    ),
    File(
        "ukpconvarg1/UKPConvArg1-full-XML/ban-plastic-water-bottles_no-bad-for-the-economy.xml.gz",
        "ukpconvarg1-votes",
        378,
        "152/148/78",
    ),
    File("halueval/general_data.json", "halueval", 4507, "yes 815, no 3692"),
    File("prometheus/vicuna_eval.json", "prometheus", 320),
    File("prometheus/hhh_alignment_eval.json", "prometheus-hhh", 221, "221/0/0"),
    File("rm-bench/chat_filtered.json", "rm-bench", 129),
    File("rm-bench/safety-response_filtered.json", "rm-bench", 157),
    *(
        File(f"llmzoo/reviews/review_en_13b/en/{aspect}/review.jsonl", "llmzoo-reviews", rows)
        for aspect, rows in (
            *(("coherence", 70), ("diversity", 70), ("general", 70), ("immersion", 10)),
            ("relevance", 70),
        )
    ),
    *(
        File(f"critiquellm/evaluation/{kind}/alignbench_{mode}_sample.jsonl", form, 100, gold)
        for kind, form, mode, gold in (
            ("pairwise", "critiquellm-pairwise", "reference_based", "50/50/0"),
            ("pairwise", "critiquellm-pairwise", "reference_free", "60/40/0"),
            ("pointwise", "critiquellm-pointwise", "reference_based", ""),
            ("pointwise", "critiquellm-pointwise", "reference_free", ""),
        )
    ),
    File("critiquellm/train/train_data_sample.jsonl", "critiquellm-pairwise", 48),
    *(
        File(f"judgement-bias/{name}.json", "judgement-bias", 142)
        for name in ("raw", "factual_error", "reference")
    ),
    File("self-instruct/seed_tasks.jsonl", "seed-tasks", 175, "correct 175"),
    File("self-instruct/t0_gold_instances.jsonl.gz", "t0-instances", 10743, "correct 10743"),
    File(
        "unlimitedjudge/CrossEvalGpt/pandalm-gpt4.jsonl",
        *("unlimitedjudge-scores", 999, "", "406/484/103/6"),
    ),
    File(
        "unlimitedjudge/CrossEvalGpt/judgelm-gpt4.jsonl",
        *("unlimitedjudge-scores", 5000, "", "2303/2524/169/3", 1),
    ),
    File("unlimitedjudge/CrossEvalGpt/scores_list.jsonl", "unlimitedjudge-aspects", 1000),
    File("unlimitedjudge/CrossEvalGpt/prometheus-ind-gpt4.json", "unlimitedjudge-ratings", 1000),
    File(
        "unlimitedjudge/judgelm-gpt-3.5-turbo-0613-icl.jsonl",
        *("unlimitedjudge-predictions", 4849, "", "2811/1876/160/2"),
    ),
    File(
        "unlimitedjudge/judgelm-gpt-3.5-turbo-0613-vanilla.jsonl",
        *("unlimitedjudge-predictions", 500, "", "227/273/0/0"),
    ),
]


def open_file(data_folder: Path, file: File) -> ItemReader:
    questions = data_folder / file.questions if file.questions else None
    return ItemReader(data_folder / file.path, questions=questions)


def items_of(data_folder: Path, path: str) -> list[Item]:
    return list(ItemReader(data_folder / path).items())


def matching_readers(path: Path) -> list[str]:
    """Return the peer readers that match; the general table reader always comes last."""
    rows = islice(Rows(Source(str(path))).read(NoticeLog()), SNIFF_ROWS)
    values = [row.value for row in rows if isinstance(row, Row)]
    matching = [reader.name for reader in known_readers() if reader.matches(values, str(path))]
    return [name for name in matching if name != "table"]


def labels(items: list[Item]) -> str:
    golds = [item.sample.gold[0] for item in items if item.sample and item.sample.gold]
    classes = Counter(gold.label for gold in golds if gold.label)
    if classes:
        return ", ".join(f"{name} {classes[name]}" for name in sorted(classes, reverse=True))
    found = Counter(gold.preference for gold in golds if gold.preference)
    return "/".join(str(found[side]) for side in ("first", "second", "tie")) if found else ""


def verdicts(items: list[Item]) -> str:
    judgments = [judgment for item in items for judgment in item.judgments]
    found = Counter(j.preference if j.status == "ok" else j.status for j in judgments)
    return "/".join(str(found[side]) for side in ("first", "second", "tie", "unparsed"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path)
def test_file_is_recognised_and_read(data_folder: Path, file: File) -> None:
    assert matching_readers(data_folder / file.path) == [file.format]
    reader = open_file(data_folder, file)
    items = list(reader.items())
    assert (reader.format, reader.rows, reader.bad_count) == (file.format, file.rows, file.bad)
    assert len(items) == file.rows - file.bad
    assert labels(items) == file.gold
    if file.verdicts:
        assert verdicts(items) == file.verdicts
    keys = [judgment.key for item in items for judgment in item.judgments]
    assert len(set(keys)) == len(keys)


def test_every_listed_file_is_covered(data_folder: Path) -> None:
    """Only files that hold neither samples nor judgments have no format."""
    known = {file.path for file in FILES}
    paths = {str(p.relative_to(data_folder)) for p in data_folder.rglob("*") if p.is_file()}
    left = {path for path in paths - known if not path.startswith("ukpconvarg1/UKPConvArg1Strict")}
    others = ("README.md", "statistics.json", "metric.json", "ordering.txt", "model.txt")
    others += ("model.jsonl", "prompt.jsonl", "reviewer.jsonl", "judge_prompts.jsonl")
    assert [path for path in sorted(left) if not path.endswith(others)] == []


def test_ukpconvarg1(data_folder: Path) -> None:
    total: Counter[str | None] = Counter()
    debates = set()
    for path in sorted((data_folder / "ukpconvarg1" / "UKPConvArg1Strict-CSV").glob("*.csv")):
        assert matching_readers(path) == ["ukpconvarg1"]
        for item in ItemReader(path).items():
            assert item.sample is not None
            debates.add(item.sample.category)
            total[item.sample.gold[0].preference] += 1
            assert all("<br" not in answer.text for answer in item.sample.answers)
    assert total == {"first": 4823, "second": 4730}
    assert len(debates) == 26


def test_ukpconvarg1_votes_are_those_behind_the_strict_labels(data_folder: Path) -> None:
    folder = data_folder / "ukpconvarg1"
    debate = "ban-plastic-water-bottles_no-bad-for-the-economy"
    votes = {
        item.sample.source_id: item.sample
        for item in ItemReader(folder / "UKPConvArg1-full-XML" / f"{debate}.xml.gz").items()
        if item.sample is not None
    }
    assert len(votes) == 378
    assert sum(len(sample.gold) for sample in votes.values()) == 1889
    ballot = Counter(gold.preference for sample in votes.values() for gold in sample.gold)
    assert ballot == {"first": 745, "second": 778, "tie": 366}
    strict = 0
    for item in ItemReader(folder / "UKPConvArg1Strict-CSV" / f"{debate}.csv").items():
        assert item.sample is not None
        known = votes[item.sample.source_id]
        label = {"first": "a1", "second": "a2"}[str(item.sample.gold[0].preference)]
        assert (known.meta["goldLabel"], known.category) == (label, item.sample.category)
        strict += 1
    assert strict > 200


def test_pandalm_majority_and_models(data_folder: Path) -> None:
    samples = [item.sample for item in items_of(data_folder, "pandalm/testset-v1.json")]
    majority: Counter[str] = Counter()
    for sample in samples:
        assert sample is not None
        assert len(sample.gold) == 3
        votes = Counter(gold.preference for gold in sample.gold)
        label, count = votes.most_common(1)[0]
        assert count >= 2
        majority[str(label)] += 1
        assert all(answer.model for answer in sample.answers)
    assert majority == {"tie": 105, "first": 422, "second": 472}
    empty = [s for s in samples if s and any(answer.text == "" for answer in s.answers)]
    assert len(empty) == 54
    booleans = {s.source_id for s in samples if s and "true" in {a.text for a in s.answers}}
    assert {"157", "158", "159", "164", "161", "162"} <= booleans


def test_pandalm_booleans_are_told(data_folder: Path) -> None:
    found: Counter[str] = Counter()
    for item in items_of(data_folder, "pandalm/testset-v1.json"):
        found.update(notice.kind for notice in item.notices)
    assert found == {"not-text": 6}


def test_auto_j_agreement_and_consistency(data_folder: Path) -> None:
    """Verdicts of the exchanged order are mapped back: the published 54.96 and 83.41 come out."""
    folder = "auto-j/outputs/pairwise"
    gold = [
        item.sample.gold[0].preference
        for item in items_of(data_folder, "auto-j/test/testdata_pairwise.jsonl")
        if item.sample
    ]
    one = [i.judgments[0] for i in items_of(data_folder, f"{folder}_example_output.jsonl")]
    two = [i.judgments[0] for i in items_of(data_folder, f"{folder}_exchange_example_output.jsonl")]
    assert {j.judge for j in one} == {j.judge for j in two}
    assert {j.order for j in two} == {(1, 0)}
    same = [a.preference == b.preference for a, b in zip(one, two, strict=True)]
    right = [s and a.preference == g for s, a, g in zip(same, one, gold, strict=True)]
    assert round(100 * sum(same) / 1392, 2) == 83.41
    assert round(100 * sum(right) / 1392, 2) == 54.96


def test_judgebench_rule(data_folder: Path) -> None:
    """One point per order that agrees with the label, minus one per opposite: 62.29 and 65.71."""
    for method, expected in (("reward_model", 62.29), ("arena_hard", 65.71)):
        path = next(f.path for f in FILES if f"judge_name={method}" in f.path)
        correct = 0
        for item in items_of(data_folder, path):
            assert item.sample is not None
            label = item.sample.gold[0].preference
            points = [
                0 if j.preference in ("tie", None) else 1 if j.preference == label else -1
                for j in item.judgments
            ]
            assert [j.order for j in item.judgments] == [(0, 1), (1, 0)]
            correct += sum(points) > 0
        assert round(100 * correct / 350, 2) == expected


def test_judgebench_scores_follow_the_answers(data_folder: Path) -> None:
    path = next(f.path for f in FILES if "judge_name=reward_model" in f.path)
    for item in items_of(data_folder, path):
        first, second = item.judgments
        assert first.scores == second.scores


def test_llmbar_statistics(data_folder: Path) -> None:
    """Natural: GPT-4/Vanilla is right in 95 and 96 of 100; ChatGPT/Vanilla in 81.5 on average."""
    for judge, expected in (("GPT-4", [95, 96]), ("ChatGPT", [80, 83])):
        items = items_of(data_folder, f"{LLMBAR}/Natural/evaluators/{judge}/Vanilla/result.json")
        right = [
            sum(i.judgments[k].preference == i.sample.gold[0].preference for i in items if i.sample)
            for k in (0, 1)
        ]
        assert right == expected
        assert {j.judge for i in items for j in i.judgments} == {f"{judge}/Vanilla"}
        assert {i.sample.category for i in items if i.sample} == {"Natural"}


def test_alpaca_eval_win_rates(data_folder: Path) -> None:
    """Weighted: 2.591451; 1.0: 26.459627 from wins and half the draws."""
    folder = "alpaca_eval/results/alpaca-7b"
    path = f"{folder}/weighted_alpaca_eval_gpt4_turbo/annotations.json.gz"
    soft = [i.sample.gold[0].probability_second for i in items_of(data_folder, path) if i.sample]
    assert all(p is not None for p in soft)
    assert round(100 * sum(p for p in soft if p is not None) / len(soft), 6) == 2.591451
    items = items_of(data_folder, f"{folder}/alpaca_eval_gpt4/annotations.json")
    golds = [item.sample.gold[0] for item in items if item.sample]
    assert all(gold.probability_second is None for gold in golds)
    points = {"second": 1.0, "tie": 0.5, "first": 0.0}
    rate = 100 * sum(points[str(gold.preference)] for gold in golds) / len(golds)
    assert round(rate, 6) == 26.459627


def test_vicuna_score_totals(data_folder: Path) -> None:
    """The published totals of LLaMA-13B against Vicuna: 513 and 694."""
    items = items_of(data_folder, f"{CLEAN}/review_llama-13b_vicuna-13b.jsonl")
    scores = [item.judgments[0].scores for item in items]
    assert [sum(s[k] for s in scores if s) for k in (0, 1)] == [513.0, 694.0]


def test_mt_bench_means_and_texts(data_folder: Path) -> None:
    """All prompts are read back, and the mean scores come out."""
    scores: dict[str | None, list[float]] = {}
    for item in items_of(data_folder, "routellm/evals/mt_bench/judgements.jsonl"):
        assert item.sample is not None
        judgment = item.judgments[0]
        assert judgment.sample_id == item.sample.text_id
        assert judgment.scores is not None
        scores.setdefault(item.sample.answers[0].model, []).append(judgment.scores[0])
        turns = 1 if isinstance(item.sample.question, str) else len(item.sample.question)
        assert turns == (1 if item.sample.meta["turn"] == 1 else 3)
    means = {model: sum(found) / len(found) for model, found in scores.items()}
    assert sorted(means.values()) == [8.340625, 9.228125]


def test_mt_bench_reference_answers_have_two_turns(data_folder: Path) -> None:
    file = next(f for f in FILES if f.path.endswith("mt_bench/reference_answer/gpt-4.jsonl"))
    for item in open_file(data_folder, file).items():
        assert item.sample is not None
        answer = item.sample.answers[0]
        assert [turn.role for turn in answer.turns] == ["assistant", "user", "assistant"]
        assert answer.text == answer.turns[-1].text


def test_llmzoo_mean_rank(data_folder: Path) -> None:
    """The published mean ranks of the aspect 'general'."""
    items = items_of(data_folder, "llmzoo/reviews/review_en_13b/en/general/review.jsonl")
    ranks = [item.judgments[0].ranking for item in items]
    means = [sum(r[k] for r in ranks if r) / len(ranks) for k in (0, 1)]
    assert means == [1.4857142857142858, 1.3142857142857143]


def test_bare_number_is_the_bad_row(data_folder: Path) -> None:
    reader = ItemReader(data_folder / "unlimitedjudge/CrossEvalGpt/judgelm-gpt4.jsonl")
    list(reader.items())
    assert [(bad.row, bad.reason) for bad in reader.bad] == [
        (364, "the row is 5.0; a list of 2 numbers is needed")
    ]


def test_two_objects_on_one_line_are_told(data_folder: Path) -> None:
    reader = ItemReader(data_folder / "unlimitedjudge/CrossEvalGpt/scores_list.jsonl")
    assert len(list(reader.items())) == 1000
    assert [notice.kind for notice in reader.notices] == ["several-on-a-line"]


def test_hh_questions_end_with_the_user(data_folder: Path) -> None:
    for item in items_of(data_folder, "hh-rlhf/harmless-base/test.jsonl.gz"):
        assert item.sample is not None
        question = item.sample.question
        assert isinstance(question, str) or question[-1].role == "user"


def test_answers_without_questions_are_counted_and_told(data_folder: Path) -> None:
    path = data_folder / "fastchat/llm_judge/mt_bench/reference_answer/gpt-4.jsonl"
    reader = ItemReader(path)
    assert [item.sample for item in reader.items()] == [None] * 30
    assert [notice.kind for notice in reader.notices] == ["no-question"]


def test_inspect_counts_what_stored_verdicts_say(data_folder: Path) -> None:
    """GPT-3.5's verdicts on PandaLM's test set: 25 unreadable ones are no ties."""
    found = inspect_files(data_folder / "pandalm/gpt-3.5-turbo-testset-v1.json")
    assert found.statuses == {"ok": 974, "unparsed": 25}
    assert found.verdicts == {"first": 460, "second": 476, "tie": 38}
