"""Judgments of other tools and of runs, joined with labels from other files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import magistrate as mg
from magistrate.errors import InputError
from magistrate.metrics.columns import NOTHING
from magistrate.records import Answer, Gold, Sample
from magistrate.report.judged import Judged, judged_run, read_judged

PANDALM_SET = [
    {
        "idx": k,
        "instruction": f"do {k}",
        "input": "",
        "response1": "one",
        "response2": "two two",
        "cmp_key": "m1_m2",
        "motivation_app": "app",
        **{f"annotator{j}": vote for j, vote in enumerate(votes, 1)},
    }
    for k, votes in enumerate([(1, 1, 2), (0, 0, 0), (2, 1, 0), (2, 2, 2)])
]
PANDALM_RESULT = [
    {"idx": 3, "m_result": 2, "m_reason": ""},
    {"idx": 0, "m_result": "1", "m_reason": "because"},
    {"idx": 1, "m_result": "garbage", "m_reason": ""},
    {"idx": 9, "m_result": 1, "m_reason": ""},
]


def write(path: Path, rows: list[Any]) -> Path:
    text = json.dumps(rows) if path.suffix == ".json" else "\n".join(map(json.dumps, rows))
    path.write_text(text, encoding="utf-8")
    return path


def by_id(tmp_path: Path) -> Judged:
    return read_judged(
        write(tmp_path / "m-testset-v1.json", PANDALM_RESULT),
        labels=write(tmp_path / "set.json", PANDALM_SET),
    )


def test_labels_are_found_by_id_and_what_does_not_match_is_counted(tmp_path: Path) -> None:
    judged = by_id(tmp_path)
    assert (judged.judge, judged.format) == ("m", "pandalm-result")
    assert judged.join is not None
    assert judged.join.matched == {"id": 3}
    assert judged.join.unmatched == {"the labels have neither its text nor its id": 1}
    assert (judged.join.labels, judged.join.unused) == (4, 1)
    pairs = judged.pairs
    assert pairs.gold.tolist() == [-1, 1, 0, NOTHING]
    assert pairs.said.tolist() == [-1, 1, NOTHING, 1]
    assert pairs.votes[1].tolist() == [1, 1, -1]
    assert pairs.lengths[0].tolist() == [3, 7]
    assert pairs.first_model.names[pairs.first_model.codes[0]] == "m1"
    assert judged.has_texts


def test_bad_rows_of_the_labels_are_told_and_only_labelled_samples_can_be_unused(
    run: mg.Run, repo: Path
) -> None:
    """Of 13 rows of that file 8 can be read, one of which has no label."""
    judged = judged_run(run, labels=repo / "examples" / "broken.jsonl")
    assert judged.join is not None
    assert (judged.join.matched, judged.join.labels, judged.join.unused) == ({}, 7, 7)
    assert judged.bad_rows == 4
    assert {Path(row.file).name for row in judged.bad} == {"broken.jsonl"}
    (notice,) = (one for one in judged.notices if one.kind == "no-label-matched")
    assert "not one of its 7 labelled samples" in notice.message
    again = judged_run(run, labels=repo / "examples" / "pairs.jsonl")
    assert not [one for one in again.notices if one.kind == "no-label-matched"]
    assert again.bad_rows == 0


def test_judgments_with_nothing_else_are_joined_by_their_row(tmp_path: Path) -> None:
    labels = write(tmp_path / "set.json", PANDALM_SET)
    scores = [[8, 5], [-1, -1], [3, 3], [1, 9], [5, 5]]
    judged = read_judged(write(tmp_path / "gpt.jsonl", scores), labels=labels)
    assert judged.join is not None
    assert judged.join.matched == {"row": 4}
    assert judged.join.unmatched == {"the labels have no such row": 1}
    assert judged.pairs.said.tolist() == [1, NOTHING, 0, -1, 0]
    assert judged.pairs.gold.tolist() == [1, 0, 8, -1, NOTHING]
    assert judged.pairs.scores[0].tolist() == [8, 5]


def test_a_bad_row_keeps_the_others_in_their_places(tmp_path: Path) -> None:
    labels = write(tmp_path / "set.json", PANDALM_SET)
    path = tmp_path / "gpt.jsonl"
    path.write_text("[8, 5]\n5.0\n[3, 3]\n[1, 9]\n", encoding="utf-8")
    judged = read_judged(path, labels=labels)
    assert judged.bad_rows == 1
    assert judged.bad[0].row == 2
    assert judged.pairs.gold.tolist() == [1, 8, -1]


def test_two_files_of_one_judge_are_its_two_orders(tmp_path: Path) -> None:
    first = write(tmp_path / "pairwise_output.jsonl", [{"output": v} for v in (0, 1, 2)])
    other = write(tmp_path / "pairwise_exchange_output.jsonl", [{"output": v} for v in (1, 1, -1)])
    labels = write(
        tmp_path / "test.jsonl",
        [
            {"prompt": f"p{k}", "response 1": "a", "response 2": "b", "label": 0, "scenario": "s"}
            for k in range(3)
        ],
    )
    pairs = read_judged(first, other, labels=labels).pairs
    assert pairs.as_given.tolist() == [1, -1, 0]
    assert pairs.swapped.tolist() == [1, 1, NOTHING]
    assert pairs.gold.tolist() == [1, 1, 1]
    assert pairs.category.names == ("s",)


LLMBAR = {
    "input": "ask",
    "output_1": "x",
    "output_2": "yy",
    "label": 1,
    "results": [
        {
            "swap = False": {"winner": "1", "completion": ["1", "stop"]},
            "swap = True": {"winner": "2", "completion": ["1", "stop"]},
        }
    ],
}


def test_judgments_with_text_are_joined_by_content_also_in_the_other_order(tmp_path: Path) -> None:
    judged_file = write(tmp_path / "result.json", [LLMBAR, {**LLMBAR, "input": "other"}])
    rows = [{"input": "ask", "output_1": "yy", "output_2": "x", "label": 1}]
    judged = read_judged(judged_file, labels=write(tmp_path / "dataset.json", rows))
    assert judged.join is not None
    assert judged.join.matched == {"content": 1}
    # The label says that 'yy' is better, which is the second answer of the judged pair.
    assert judged.pairs.gold.tolist() == [-1, NOTHING]
    own = read_judged(judged_file)
    assert own.pairs.gold.tolist() == [1, 1]
    assert own.join is None


def test_one_text_labelled_twice_is_joined_in_sequence(tmp_path: Path) -> None:
    row = {"prompt": "p", "response 1": "a", "response 2": "b", "scenario": "s"}
    labels = write(tmp_path / "test.jsonl", [{**row, "label": 0}, {**row, "label": 1}])
    samples = [
        Sample(
            question="p",
            answers=(Answer(text="a"), Answer(text="b")),
            source_id=str(k),
        )
        for k in range(2)
    ]
    run = mg.judge(samples, "scripted:longer", tmp_path / "run")
    assert judged_run(run, labels=labels).pairs.gold.tolist() == [1, -1]


def test_an_id_of_another_question_is_no_match(tmp_path: Path) -> None:
    result = write(
        tmp_path / "judgements.jsonl",
        [
            {
                "question_id": 1,
                "question_body": "mine",
                "answer1_body": "a",
                "answer2_body": "b",
                "pred_text": "8 7\nwhy",
                "pred_model_id": "j",
            }
        ],
    )
    labels = write(
        tmp_path / "labels.jsonl",
        [
            {
                "question_id": 1,
                "question_body": "another",
                "answer1_body": "a",
                "answer2_body": "b",
                "text": "9 2\n",
                "score": [9, 2],
            }
        ],
    )
    join = read_judged(result, labels=labels).join
    assert join is not None
    assert join.unmatched == {"the label with its id is of another question": 1}


def test_a_teachers_judgments_can_be_the_labels(tmp_path: Path) -> None:
    """JudgeLM's own case: GPT-4's reviews are the truth, and unusable ones are none."""
    row = {"question_body": "q", "answer1_body": "a", "answer2_body": "b", "pred_model_id": "j"}
    predictions = [
        {**row, "question_id": k, "question_body": f"q{k}", "pred_text": text}
        for k, text in enumerate(["8 7\nwhy", "no scores", "5 5\n"])
    ]
    teacher = [
        {"review_id": f"r{k}", "question_id": k, "text": text, "score": score}
        for k, (text, score) in enumerate(
            [("9 4\nx", [9, 4]), ("2 6\nx", [2, 6]), ("no", [-1, -1])]
        )
    ]
    judged = read_judged(
        write(tmp_path / "pred.jsonl", predictions), labels=write(tmp_path / "gpt4.jsonl", teacher)
    )
    assert judged.join is not None
    assert judged.join.matched == {"id": 3}
    assert judged.pairs.gold.tolist() == [1, -1, NOTHING]
    assert judged.pairs.said.tolist() == [1, NOTHING, 0]
    assert judged.pairs.annotators == ("gpt4",)


def battle(question: int, models: tuple[str, str], winner: str, judge: str) -> dict[str, Any]:
    return {
        "question_id": question,
        "model_a": models[0],
        "model_b": models[1],
        "winner": winner,
        "judge": judge,
        "turn": 1,
        "conversation_a": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "a"},
        ],
        "conversation_b": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "b"},
        ],
    }


def test_votes_on_one_battle_of_mt_bench_are_one_sample_in_either_order(tmp_path: Path) -> None:
    judgments = write(
        tmp_path / "pair.jsonl",
        [
            {
                "question_id": 81,
                "model_1": "m1",
                "model_2": "m2",
                "g1_winner": "model_1",
                "g2_winner": "tie",
                "judge": ["gpt-4", prompt],
                "turn": 1,
            }
            for prompt in ("pair-v2",)
        ]
        + [
            {
                "question_id": 111,
                "model_1": "m1",
                "model_2": "m2",
                "g1_winner": "model_2",
                "g2_winner": "model_2",
                "judge": ["gpt-4", "pair-math-v1"],
                "turn": 1,
            }
        ],
    )
    votes = write(
        tmp_path / "human.jsonl",
        [
            battle(81, ("m1", "m2"), "model_a", "expert_0"),
            battle(81, ("m2", "m1"), "model_a", "expert_1"),
            battle(111, ("m2", "m1"), "model_a", "expert_0"),
        ],
    )
    judged = read_judged(judgments, labels=votes)
    assert judged.judge == "gpt-4"
    assert judged.join is not None
    assert judged.join.matched == {"id": 2}
    assert dict(zip(judged.pairs.annotators, judged.pairs.votes[0].tolist(), strict=True)) == {
        "expert_0": 1,
        "expert_1": -1,
    }
    assert judged.pairs.gold.tolist() == [8, -1]
    assert judged.pairs.as_given.tolist() == [1, -1]


ANNOTATION = {
    "instruction": "do",
    "output_1": "base",
    "output_2": "model",
    "generator_1": "b",
    "generator_2": "m",
    "annotator": "gpt",
}


def test_annotations_of_alpaca_eval_are_judgments_and_not_their_own_truth(tmp_path: Path) -> None:
    rows = [
        {**ANNOTATION, "instruction": f"do {k}", "preference": code}
        for k, code in enumerate([1, 2, 1.5, 0, None])
    ]
    judged = read_judged(write(tmp_path / "annotations.json", rows))
    assert judged.pairs.said.tolist() == [1, -1, 0, 0, NOTHING]
    assert (judged.pairs.gold == NOTHING).all()
    weighted = {**ANNOTATION, "annotator": "weighted_gpt", "preference": 1.25}
    soft = read_judged(write(tmp_path / "weighted.json", [weighted])).pairs
    assert soft.probability[0].tolist() == [0.75, 0, 0.25]
    assert soft.confidence[0] == 0.75


def test_a_file_of_labels_alone_is_no_judge_unless_asked(tmp_path: Path) -> None:
    path = write(tmp_path / "set.json", PANDALM_SET)
    with pytest.raises(InputError, match=r"holds no judgments.*--labels"):
        read_judged(path)
    judged = read_judged(path, labels_as_judge=True)
    assert judged.pairs.said.tolist()[:2] == [1, 0]
    assert (judged.pairs.gold == NOTHING).all()


def test_labels_without_labels_are_refused(tmp_path: Path) -> None:
    bare = [{k: v for k, v in row.items() if "annotator" not in k} for row in PANDALM_SET]
    with pytest.raises(InputError, match="holds no labels"):
        read_judged(
            write(tmp_path / "m-testset-v1.json", PANDALM_RESULT),
            labels=write(tmp_path / "set.json", bare),
        )


def test_several_judges_in_one_file_are_told_and_one_can_be_chosen(tmp_path: Path) -> None:
    rows = [
        {
            "question_id": 1,
            "model": "m",
            "judge": [judge, "single-v1"],
            "judgment": "[[5]]",
            "score": score,
            "turn": 1,
        }
        for judge, score in (("gpt-4", 5), ("claude", 7))
    ]
    path = write(tmp_path / "single.jsonl", rows)
    with pytest.raises(InputError, match=r"2 judges.*gpt-4, claude"):
        read_judged(path)
    assert read_judged(path, judge="claude").singles.score.tolist() == [7]
    with pytest.raises(InputError, match="no judge 'other'"):
        read_judged(path, judge="other")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, repo: Path) -> mg.Run:
    folder = tmp_path_factory.mktemp("run") / "run"
    samples = list(mg.read_samples(repo / "examples" / "pairs.jsonl"))
    return mg.judge(samples, "scripted:longer,nonsense=0.2", folder)


def test_a_run_its_judgments_and_a_copy_of_these_say_the_same(run: mg.Run, tmp_path: Path) -> None:
    of_folder = read_judged(run.path)
    assert of_folder.format == "run"
    of_file = read_judged(run.path / "judgments.jsonl")
    assert of_file.format == "run"
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((run.path / "judgments.jsonl").read_bytes())
    alone = read_judged(copy, labels=run.path / "samples.jsonl")
    assert alone.format == "magistrate-judgments"
    assert alone.join is not None
    assert alone.join.matched == {"content": len(of_folder.pairs)}
    assert sorted(alone.pairs.gold.tolist()) == sorted(of_folder.pairs.gold.tolist())
    assert (alone.pairs.said == NOTHING).sum() == (of_folder.pairs.said == NOTHING).sum() > 0
    assert np.array_equal(of_folder.pairs.said, judged_run(run).pairs.said)


def test_labels_of_another_file_replace_those_of_the_run(run: mg.Run, tmp_path: Path) -> None:
    first = next(iter(run.samples()))
    other = first.model_copy(update={"gold": (Gold(annotator="new", preference="tie"),)})
    path = tmp_path / "labels.jsonl"
    mg.write_samples([other], path, to="samples")
    judged = read_judged(run.path, labels=path)
    assert judged.pairs.annotators == ("new",)
    assert judged.pairs.gold[0] == 0
    assert (judged.pairs.gold[1:] == NOTHING).all()


def test_samples_are_kept_only_when_asked_for(run: mg.Run) -> None:
    assert read_judged(run.path).samples == ()
    kept = read_judged(run.path, keep_samples=True, question_types=True)
    assert len(kept.samples) == len(kept.pairs)
    assert kept.question_types is not None
    assert len(kept.question_types.codes) == len(kept.pairs)


def test_several_runs_are_not_one_judge(run: mg.Run) -> None:
    with pytest.raises(InputError, match="one run at a time"):
        read_judged(run.path, run.path)
