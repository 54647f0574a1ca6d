"""A real model answers MT-bench's questions, and its answers are judged."""

from __future__ import annotations

import json
from pathlib import Path

import hf_real
import pytest

import magistrate as mg
from magistrate.data.answers import Decoding, answer_questions
from magistrate.data.embedding import vectorise
from magistrate.messages import Sampling

pytestmark = [pytest.mark.slow, pytest.mark.data]


def test_a_real_model_answers_in_two_turns_and_two_decodings(
    tmp_path: Path, data_folder: Path
) -> None:
    file = data_folder / "fastchat" / "llm_judge" / "mt_bench" / "question.jsonl"
    engine = f"smollm2=hf:{hf_real.model_folder()}"
    chosen = [
        Decoding("greedy", Sampling(max_tokens=24)),
        Decoding("warm", Sampling(max_tokens=24, temperature=1.0, top_p=0.95, seed=1)),
    ]
    out = tmp_path / "answers"
    made = answer_questions(
        file, engines=[engine], out=out, decodings=chosen, limit=2, options={"device": "cpu"}
    )
    assert [(one.model, one.answers) for one in made.files] == [
        ("smollm2@greedy", 2),
        ("smollm2@warm", 2),
    ]
    samples = list(mg.read_samples(*(one.path for one in made.files)))
    assert [len(answer.turns) for answer in samples[0].answers] == [3, 3]
    assert samples[0].answers[0].text != samples[0].answers[1].text
    replies = (out / "asked" / "replies.jsonl").read_bytes()
    again = answer_questions(
        file, engines=[engine], out=out, decodings=chosen, limit=2, options={"device": "cpu"}
    )
    assert again.resumed == 8
    assert (out / "asked" / "replies.jsonl").read_bytes() == replies
    run = mg.judge(samples, "mini", tmp_path / "run")
    assert sum(mg.summarise(run).decisions.values()) == 2
    rows = [json.loads(line) for line in Path(made.files[0].path).read_text("utf-8").splitlines()]
    assert {row["status"] for row in rows} <= {"ok", "cut"}


def test_a_real_model_as_a_sentence_encoder() -> None:
    texts = ["The cat sat on the mat.", "A cat is sitting on a mat.", "Stocks fell by 3 % today."]
    (vectors,) = vectorise(texts, encoder=str(hf_real.model_folder()))
    likeness = vectors @ vectors.T
    assert likeness[0, 1] > likeness[0, 2]
    assert likeness[0, 0] == pytest.approx(1)
