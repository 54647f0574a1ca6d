"""One good row for every reader, to start damaging from."""

from __future__ import annotations

from typing import Any

HUMAN = "\n\nHuman: Hi\n\nAssistant: Yes?\n\nHuman: Well?\n\nAssistant: "
TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
OTHER = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [{"text": "No"}]}]
RUBRIC = (
    "###The instruction to evaluate:\nSay hi.\n\n###Response to evaluate:\nHi\n\n"
    "###Score Rubrics:\n[Polite?]\n\n###Feedback: "
)
PAIR_PROMPT = (
    "[User Question]\nQ?\n\n[The Start of Assistant A's Answer]\nA\n"
    "[The End of Assistant A's Answer]\n\n[The Start of Assistant B's Answer]\nB\n"
    "[The End of Assistant B's Answer]"
)
SINGLE_PROMPT = (
    "[Question]\nQ?\n\n[The Start of Assistant's Answer]\nA\n[The End of Assistant's Answer]"
)
AUTO_J_PROMPT = "[BEGIN DATA]\n***\n[Query]: Q\n***\n[Response]: R\n***\n[END DATA]"

_JUDGELM = {"question_id": 1, "question_body": "Q", "answer1_body": "A", "answer2_body": "B"}
_BENCH = {"pair_id": "p", "question": "Q", "response_A": "A", "response_B": "B", "label": "A>B"}
_LLMBAR = {"input": "Q", "output_1": "A", "output_2": "B", "label": 1}
_REVIEW = {"review_id": "r", "question_id": 1, "text": "8 9\nB.", "score": [8.0, 9.0]}

ROWS: dict[str, Any] = {
    "judgelm": {**_JUDGELM, "score": [{"logprobs": -1.0}], "answer1_model_id": "a"},
    "judgelm-judgements": {**_JUDGELM, "pred_text": "8 9\nB.", "pred_model_id": "j"},
    "judgelm-training": {
        **_JUDGELM,
        "text": "8 9\nB.",
        "score": [8, 9],
        "reference": {"text": "R"},
        "text_w_reference": "7 9",
        "score_w_reference": [7, 9],
    },
    "judgelm-answers": {"question_id": 1, "question_body": "Q", "text": "A", "model": "a"},
    "judgelm-ground-truth": {**_REVIEW, "answer1_id": "", "answer2_id": "", "reviewer_id": 1},
    "mm-vet": {"imagename": "v.png", "question": "Q", "answer": "R", "answer1_body": "A"},
    "mm-vet-predictions": {"_key": "v1_0", "_value": "A"},
    "vicuna-reviews": {**_REVIEW, "answer1_id": "a", "answer2_id": "b", "reviewer_id": "gpt-4"},
    "vicuna-answers": {"question_id": 1, "text": "A", "answer_id": "a", "model_id": "m"},
    "vicuna-questions": {"question_id": 1, "text": "Q", "category": "generic"},
    "mt-bench-questions": {"question_id": 1, "category": "math", "turns": ["Q1", "Q2"]},
    "mt-bench-answers": {
        "question_id": 1,
        "answer_id": "a",
        "model_id": "m",
        "choices": [{"index": 0, "turns": ["A1", "A2"]}],
    },
    "mt-bench-single": {
        "question_id": 1,
        "model": "m",
        "judge": ["gpt-4", "single-v1"],
        "user_prompt": SINGLE_PROMPT,
        "judgment": "Rating: [[8]]",
        "score": 8,
        "turn": 1,
    },
    "mt-bench-pair": {
        "question_id": 1,
        "model_1": "a",
        "model_2": "b",
        "g1_winner": "model_1",
        "g2_winner": "tie",
        "judge": ["gpt-4", "pair-v2"],
        "g1_user_prompt": PAIR_PROMPT,
        "g1_judgment": "[[A]]",
        "g2_judgment": "[[C]]",
        "turn": 1,
    },
    "judgebench": {**_BENCH, "source": "mmlu-pro-law", "response_model": "m"},
    "judgebench-output": {
        **_BENCH,
        "judge_name": "arena_hard",
        "judgments": [
            {
                "judgment": {"judge_model": "j", "response": "r", "scores": [1, 2]},
                "decision": "B>A",
            },
            None,
        ],
    },
    "prometheus": {
        "idx": 1,
        "response_source": "m",
        "instruction": RUBRIC,
        "gpt4_score": [5, 4],
        "gpt4_feedback": ["x", "y"],
    },
    "prometheus-hhh": {"chosen_instruction": RUBRIC, "rejected_instruction": RUBRIC},
    "arena": {
        "question_id": "q",
        "model_a": "a",
        "model_b": "b",
        "winner": "tie (bothbad)",
        "conversation_a": TALK,
        "conversation_b": OTHER,
        "language": "English",
    },
    "llmzoo-reviews": {
        "review_id": 1,
        "reviewer_id": "j",
        "question_id": 1,
        "metadata": {"question": "Q", "answers": ["A", "B", "C"], "model_ids": ["a", "b", "c"]},
        "text": "x",
        "order": [2, 1, 2],
    },
    "judgement-bias": {
        "question_id": "x",
        "question": "Q",
        "answers": {"answer1": {"answer": "A", "perturb": "x"}, "answer2": {"answer": "B"}},
    },
    "llmbar": _LLMBAR,
    "llmbar-result": {
        **_LLMBAR,
        "results": [
            {
                "score_1": ["5", "stop"],
                "score_2": ["9", "stop"],
                "swap = False": {"completion": ["x", "stop"], "winner": "2"},
                "swap = True": {"winner": None},
            }
        ],
    },
    "pandalm": {
        "idx": 1,
        "cmp_key": "a_b",
        "instruction": "Q",
        "input": "I",
        "response1": True,
        "response2": "",
        "annotator1": 1,
        "annotator2": 0,
    },
    "pandalm-result": {"idx": 1, "gpt_result": "garbage", "gpt_reason": "x"},
    "auto-j-pairwise": {"label": 2, "prompt": "Q", "response 1": "A", "response 2": "B"},
    "auto-j-critique": {"prompt": "Q", "response": "A", "critiques": {"j": "Rating: [[5]]"}},
    "auto-j-training": {"usrmsg": AUTO_J_PROMPT, "target_output": "x", "pred_score": 3.0},
    "auto-j-independent": {"output": "x", "meta": {"prompt": "Q", "response": "A"}},
    "auto-j-pairwise-output": {"output": 1},
    "auto-j-critique-output": {"output": "Rating: [[5]]"},
    "ukpconvarg1": {"#id": "a_b", "label": "a1", "a1": "A<br/>", "a2": "B"},
    "ukpconvarg1-votes": {
        "id": "a_b",
        "arg1": {"text": "A", "stance": "s"},
        "arg2": {"text": "B", "stance": "s"},
        "debateMetaData": {"title": "T"},
        "mTurkAssignments": {
            "mTurkAssignment": [
                {"turkID": "w1", "value": "a1", "reason": "r"},
                {"turkID": "w2", "value": "equal", "reason": ""},
            ]
        },
        "goldLabel": "a1",
    },
    "alpaca-eval-annotations": {
        "instruction": "Q",
        "output_1": "A",
        "output_2": "B",
        "generator_1": "a",
        "generator_2": "b",
        "annotator": "weighted_x",
        "preference": 1.2,
    },
    "alpaca-eval-outputs": {"instruction": "Q", "output": "A", "generator": "a", "dataset": "d"},
    "critiquellm-pairwise": {
        "question": "Q",
        "response_1": "A",
        "response_2": "B",
        "human_score_1": 1,
        "human_score_2": 2,
        "label": 1,
    },
    "critiquellm-pointwise": {"question": "Q", "response": "A", "human_score": 2, "model": "m"},
    "unlimitedjudge-aspects": {"question": "Q", "answer": "A", "Detailedness": 2, "Relevence": 1},
    "unlimitedjudge-predictions": {"score": [1.0, 1.0], "prediction": "1 1"},
    "unlimitedjudge-scores": [7.0, 8.0],
    "unlimitedjudge-ratings": 4,
    "selective-evaluation": {
        "instruction": "Q",
        "outputs": ["A", "B"],
        "preferences": {"human": 1, "other": 2},
        "probs": [0.75, 0.25],
    },
    "hhh-constitutional": {
        "corrects": [" (B)"],
        "text_correct": HUMAN + "Good.",
        "text_incorrect": HUMAN + "Bad.",
    },
    "hh-rlhf": {"chosen": HUMAN + "Good.", "rejected": HUMAN + "Bad."},
    "rm-bench": {
        "prompt": "Q",
        "chosen": ["A", "B"],
        "rejected": ["C"],
        "chosen_model": ["a", "b"],
    },
    "preference": {"prompt": "Hi", "chosen": TALK, "rejected": OTHER, "subset": "chat"},
    "halueval": {"ID": "1", "user_query": "Q", "chatgpt_response": "A", "hallucination": "no"},
    "halueval-qa": {
        "knowledge": "K",
        "question": "Q",
        "right_answer": "A",
        "hallucinated_answer": "B",
    },
    "halueval-qa-single": {
        "knowledge": "K",
        "question": "Q",
        "answer": "A",
        "hallucination": "no",
    },
    "halueval-dialogue": {
        "knowledge": "K",
        "dialogue_history": "[Human]: Hi [Assistant]: Yes? [Human]: Well?",
        "right_response": "A",
        "hallucinated_response": "B",
    },
    "halueval-dialogue-single": {
        "knowledge": "K",
        "dialogue_history": "[Human]: Hi",
        "response": "A",
        "hallucination": "yes",
    },
    "halueval-summarization": {
        "document": "D",
        "right_summary": "A",
        "hallucinated_summary": "B",
    },
    "halueval-summarization-single": {"document": "D", "summary": "A", "hallucination": "no"},
    "t0-instances": {"prompt": "Q", "completion": "A<|endoftext|>", "template": "t"},
    "seed-tasks": {"id": "s", "instruction": "Q", "instances": [{"input": "I", "output": "A"}]},
    "instructions": {"instruction": "Q", "input": "I"},
}

QUESTIONS: dict[str, Any] = {
    "1": {"question_id": 1, "category": "math", "turns": ["Q1", "Q2"], "reference": ["R1", "R2"]},
    "v1_0": {"imagename": "v.png", "question": "Q", "answer": "R"},
}
