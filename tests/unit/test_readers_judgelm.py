"""JudgeLM's files, on rows written by its field lists, and MM-Vet."""

from __future__ import annotations

from typing import Any

import pytest
from readers_help import judgments, read, sample, sniffed

from magistrate.formats.base import RowError

SAMPLE: dict[str, Any] = {
    "question_id": 7,
    "score": [{"logprobs": -7.1}, {"logprobs": -3.9}],
    "question_body": "Why is the sky blue?",
    "answer1_body": "Because of scattering.",
    "answer2_body": "It is not.",
    "answer1_model_id": "alpha",
    "answer2_model_id": "beta",
    "answer1_metadata": {"decoding_method": "top_p_sampling"},
    "answer2_metadata": {"decoding_method": "top_p_sampling"},
}
JUDGEMENT = {
    **SAMPLE,
    "pred_id": "x",
    "pred_text": "8 3\nThe first is right.",
    "pred_model_id": "judgelm-7b",
    "tstamp": 1.0,
}
TRAINING = {
    **SAMPLE,
    "review_id": "r1",
    "answer1_id": "",
    "answer2_id": "",
    "reviewer_id": 1,
    "metadata": {},
    "text": "1 10\nThe second is better.",
    "score": [1.0, 10.0],
    "reference": {"text": "Rayleigh scattering.", "model": "text-davinci-003"},
    "text_w_reference": "1 5\nCloser to the reference.",
    "score_w_reference": [1.0, 5.0],
}
TRUTH = {
    "review_id": "r1",
    "question_id": 7,
    "answer1_id": "",
    "answer2_id": "",
    "reviewer_id": 1,
    "metadata": {},
    "text": "8 7\nThe first is a little better.",
    "score": [8.0, 7.0],
}
ANSWER = {
    "question_id": 7,
    "question_body": "Why is the sky blue?",
    "text": "Because of scattering.",
    "model": "alpha",
    "decoding_method": "top_p_sampling",
    "scores": {"logprobs": -7.1},
}


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (SAMPLE, "judgelm"),
        (JUDGEMENT, "judgelm-judgements"),
        (TRAINING, "judgelm-training"),
        (TRUTH, "judgelm-ground-truth"),
        (ANSWER, "judgelm-answers"),
        ({**TRUTH, "answer1_id": "a", "answer2_id": "b"}, "vicuna-reviews"),
        ({"imagename": "v1_0.png", "question": "q", "answer": "1<OR>one"}, "mm-vet"),
        ({"_key": "v1_0", "_value": "one"}, "mm-vet-predictions"),
    ],
)
def test_sniffing_names_one_reader(row: dict[str, Any], name: str) -> None:
    assert sniffed(row) == [name]


def test_sample_keeps_text_models_and_id() -> None:
    found = sample("judgelm", SAMPLE)
    assert found.question == "Why is the sky blue?"
    assert [(a.text, a.model) for a in found.answers] == [
        ("Because of scattering.", "alpha"),
        ("It is not.", "beta"),
    ]
    assert found.source_id == "7"
    assert found.gold == ()


def test_logprobs_of_the_answers_are_no_scores() -> None:
    assert sample("judgelm", {**SAMPLE, "score": [{"logprobs": 1}]}).gold == ()


def test_more_answers_are_read_in_their_numbers_order() -> None:
    extra = {f"answer{n}_body": f"a{n}" for n in range(3, 12)}
    found = sample("judgelm", {**SAMPLE, **extra})
    assert [answer.text for answer in found.answers][2:] == [f"a{n}" for n in range(3, 12)]


def test_judgement_in_the_given_order() -> None:
    (found,) = judgments("judgelm-judgements", JUDGEMENT, file="out/judgelm-7b.jsonl")
    assert (found.order, found.status, found.preference) == ((0, 1), "ok", "first")
    assert found.scores == (8.0, 3.0)
    assert found.reasons == "The first is right."
    assert found.judge == "judgelm-7b"
    assert found.sample_id == sample("judgelm", SAMPLE).text_id


def test_judgement_of_reversed_bodies_is_put_back() -> None:
    """Upstream stores the bodies swapped and the models' names not."""
    row = {
        **JUDGEMENT,
        "answer1_body": SAMPLE["answer2_body"],
        "answer2_body": SAMPLE["answer1_body"],
        "pred_text": "2 9\nThe second is right.",
    }
    item = read("judgelm-judgements", row, file="out/judgelm-7b-reverse.jsonl")
    assert item.sample == sample("judgelm", SAMPLE)
    (found,) = item.judgments
    assert (found.order, found.preference, found.scores) == ((1, 0), "first", (9.0, 2.0))


def test_reversal_of_three_swaps_the_first_two_only() -> None:
    row = {**JUDGEMENT, "answer3_body": "Third.", "pred_text": "1 2 3"}
    (found,) = judgments("judgelm-judgements", row, file="reversed.jsonl")
    assert found.order == (1, 0, 2)
    assert found.scores == (2.0, 1.0, 3.0)
    assert found.ranking == (2, 3, 1)
    assert found.preference is None


@pytest.mark.parametrize("text", ["8, 3\nx", "8,3", "  8  3 \nx", "8.0 3.0"])
def test_score_lines_that_upstream_rejects_are_read(text: str) -> None:
    (found,) = judgments("judgelm-judgements", {**JUDGEMENT, "pred_text": text})
    assert found.scores == (8.0, 3.0)


@pytest.mark.parametrize("text", ["", "Both are good.", "8\nx", "8 3 4\nx", "nan nan", "-1 -1"])
def test_unreadable_judgement_is_unparsed_not_a_tie(text: str) -> None:
    (found,) = judgments("judgelm-judgements", {**JUDGEMENT, "pred_text": text})
    assert (found.status, found.preference, found.scores) == ("unparsed", None, None)
    assert found.raw == text
    assert found.error


def test_single_answer_has_one_score() -> None:
    row = {k: v for k, v in JUDGEMENT.items() if not k.startswith("answer2")}
    (found,) = judgments("judgelm-judgements", {**row, "pred_text": "7\nFine."})
    assert (found.order, found.scores, found.preference) == ((0,), (7.0,), None)


def test_training_has_a_gold_with_and_one_without_reference() -> None:
    found = sample("judgelm-training", TRAINING)
    assert found.reference == "Rayleigh scattering."
    assert [(g.annotator, g.preference, g.scores, g.reasons) for g in found.gold] == [
        ("gpt-4", "second", (1.0, 10.0), "The second is better."),
        ("gpt-4 with reference", "second", (1.0, 5.0), "Closer to the reference."),
    ]


def test_unusable_scores_are_no_label() -> None:
    found = sample("judgelm-training", {**TRAINING, "score": [-1, -1], "text": "error"})
    assert (found.gold[0].preference, found.gold[0].scores) == (None, None)
    assert found.gold[1].preference == "second"


def test_reference_may_be_plain_text_as_in_judgements() -> None:
    assert sample("judgelm-judgements", {**JUDGEMENT, "reference": "R"}).reference == "R"


def test_ground_truth_goes_by_its_text_then_its_score() -> None:
    (found,) = judgments("judgelm-ground-truth", {**TRUTH, "score": [1, 2]})
    assert (found.preference, found.sample_id) == ("first", "7")
    (found,) = judgments("judgelm-ground-truth", {**TRUTH, "text": "none"})
    assert found.scores == (8.0, 7.0)
    (found,) = judgments("judgelm-ground-truth", {**TRUTH, "text": "x", "score": [-1, -1]})
    assert found.status == "unparsed"


def test_bare_number_where_a_pair_is_due() -> None:
    with pytest.raises(RowError, match=r"'score' is 5.0; a list of 2 numbers is needed"):
        read("judgelm-training", {**TRAINING, "score": 5.0})


def test_answers_file() -> None:
    found = sample("judgelm-answers", ANSWER)
    assert (found.answers[0].model, found.source_id) == ("alpha", "7")


def test_missing_body_is_named() -> None:
    row = {k: v for k, v in SAMPLE.items() if k != "question_body"}
    with pytest.raises(RowError, match="'question_body' is missing; text is needed"):
        read("judgelm", row)


def test_empty_answer_stays_empty_and_null_is_refused() -> None:
    assert sample("judgelm", {**SAMPLE, "answer2_body": ""}).answers[1].text == ""
    with pytest.raises(RowError, match="'answer2_body' is null; text is needed"):
        read("judgelm", {**SAMPLE, "answer2_body": None})


def test_mm_vet_question_has_nothing_to_judge_yet() -> None:
    item = read(
        "mm-vet", {"_key": "v1_0", "imagename": "v1_0.png", "question": "x?", "answer": "1"}
    )
    assert (item.sample, item.judgments) == (None, ())


def test_mm_vet_judge_sample() -> None:
    row = {
        "question_id": "v1_0",
        "imagename": "v1_0.png",
        "question": "x?",
        "answer": "1<OR>one",
        "answer1_body": "It is one.",
    }
    found = sample("mm-vet", row)
    assert (found.images, found.reference) == (("v1_0.png",), "1<OR>one")


def test_mm_vet_prediction_takes_its_question_from_the_questions_file() -> None:
    questions = {"v1_0": {"imagename": "v1_0.png", "question": "x?", "answer": "1"}}
    row = {"_key": "v1_0", "_value": "one"}
    found = sample("mm-vet-predictions", row, file="gpt-4v.json", questions=questions)
    assert (found.question, found.answers[0].model, found.source_id) == ("x?", "gpt-4v", "v1_0")


def test_labels_that_our_writer_noted_are_read() -> None:
    noted = [{"preference": "second", "annotator": "n"}, {"preference": "tie"}]
    found = sample("judgelm", {**SAMPLE, "gold": noted})
    assert [(g.annotator, g.preference) for g in found.gold] == [("n", "second"), (None, "tie")]
    assert sample("judgelm", SAMPLE).gold == ()


def test_a_gold_field_of_somebody_else_is_told_and_left_out() -> None:
    item = read("judgelm", {**SAMPLE, "gold": "model_a"})
    assert item.sample is not None
    assert item.sample.gold == ()
    assert [notice.kind for notice in item.notices] == ["unknown-label"]


def test_a_noted_label_outside_the_coding_makes_the_row_bad() -> None:
    with pytest.raises(RowError, match=r"'gold': preference: .*found 'third'"):
        read("judgelm", {**SAMPLE, "gold": [{"preference": "third"}]})
