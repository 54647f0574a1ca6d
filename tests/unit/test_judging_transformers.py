"""Whole judging with the transformers engine: exact distributions, resumed, kept, asked about."""

from __future__ import annotations

from pathlib import Path

import pytest
from hf_help import tiny_engine

import magistrate as mg
from magistrate.judging.judge import Judge, make_judge
from magistrate.judging.stream import judge_samples
from magistrate.prompts.catalog import load_family
from magistrate.records import Answer, Judgment, Sample, Usage


def tiny_judge(mode: str = "score") -> Judge:
    from hf_help import byte_tokenizer, tiny_model

    tokenizer = byte_tokenizer()
    model = tiny_model(vocab=len(tokenizer), max_position_embeddings=4096)
    family = load_family("pair", mode=mode)  # type: ignore[arg-type]
    return make_judge("tiny", family, tiny_engine(model, tokenizer))


def samples(count: int) -> list[Sample]:
    return [
        Sample(
            question=f"Question {i}?",
            answers=(Answer(text="one " * (1 + i % 5)), Answer(text="two <|im_end|>")),
        )
        for i in range(count)
    ]


@pytest.fixture(autouse=True)
def _any_mass(monkeypatch: pytest.MonkeyPatch) -> None:
    """A random model hardly ever means a verdict; here its digits matter, not its sense."""
    monkeypatch.setattr("magistrate.prompts.distribution.LEAST_MASS", 0.0)


PLAIN = {"seconds": 0.0, "usage": Usage(), "cost": 0.0}


def plain(judgments: list[Judgment]) -> list[Judgment]:
    return [judgment.model_copy(update=PLAIN) for judgment in judgments]


def test_score_mode_gives_exact_probabilities_and_writes_nothing() -> None:
    judgments = [j for batch in judge_samples(tiny_judge(), samples(4)) for j in batch]
    assert [j.status for j in judgments] == ["ok"] * 8
    for judgment in judgments:
        shares = judgment.probabilities
        assert shares is not None
        assert shares.first + shares.tie + shares.second == pytest.approx(1)
        assert judgment.raw is None
        assert not judgment.approximate
        assert judgment.usage.completion_tokens == 0


def test_a_run_that_was_cut_off_goes_on_to_the_same_digits(tmp_path: Path) -> None:
    judge = tiny_judge()
    whole = mg.judge(samples(40), judge, tmp_path / "whole", cache=False)
    out = tmp_path / "run"
    mg.judge(samples(40), judge, out, cache=False)
    journal = out / "judgments.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:37]))
    run = mg.judge(samples(40), judge, out, cache=False)
    assert plain(list(run.judgments())) == plain(list(whole.judgments()))


def test_answers_from_the_cache_have_the_same_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAGISTRATE_HOME", str(tmp_path / "home"))
    judge = tiny_judge()
    first = mg.judge(samples(6), judge, tmp_path / "a")
    seen: list[mg.Progress] = []
    second = mg.judge(samples(6), judge, tmp_path / "b", on_progress=seen.append)
    assert seen[-1].from_cache == 12
    assert plain(list(second.judgments())) == plain(list(first.judgments()))
    assert mg.verify_run(second.path).ok


def test_a_long_prompt_is_cut_here_and_not_by_the_engine_again() -> None:
    long = Sample(
        question="Why?", answers=(Answer(text="fox dog " * 3000), Answer(text="lazy " * 3000))
    )
    judgments = [j for batch in judge_samples(tiny_judge(), [long]) for j in batch]
    for judgment in judgments:
        assert judgment.status == "ok"
        assert min(judgment.truncated_tokens) > 1000
        assert judgment.truncated_question_tokens == 0
        assert judgment.usage.prompt_tokens <= 4096


def test_the_judge_is_asked_after_exact_scores(tmp_path: Path) -> None:
    judge = tiny_judge()
    run = mg.judge(samples(1), judge, tmp_path / "run", cache=False)
    (reply,) = mg.ask(run, 1, "Why?", judge=judge)
    assert reply.usage.completion_tokens > 0
