"""``--dry-run``: what would be sent is shown and counted, and nothing is sent or written."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging_help import count_words, pair, word_judge, words

import magistrate as mg
from magistrate.engines.scripted import ScriptedEngine
from magistrate.errors import InputError
from magistrate.judging import preview as preview_module
from magistrate.judging.window import MESSAGE_TOKENS, PROMPT_TOKENS
from magistrate.records import Answer, Sample
from magistrate.store.dry import dry_run


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "run"


def test_it_shows_the_prompts_that_judging_sends(out: Path) -> None:
    judge, engine = word_judge(price=(2.0, 10.0))
    samples = [pair(f"q{i}", first=words(10 + i)) for i in range(5)]
    found = dry_run(samples, judge, out)
    assert engine.seen == []
    assert not out.exists()
    mg.judge(samples, judge, out, cache=False)
    sent = [request.messages[0].text for request in engine.seen]
    assert [p.messages[0].text for p in found.preview.prompts] == [sent[0], sent[2], sent[4]]
    tokens = [count_words(r) + MESSAGE_TOKENS + PROMPT_TOKENS for r in engine.seen]
    counts = found.preview.tokens
    assert counts is not None
    assert (counts.min, counts.max, counts.total) == (min(tokens), max(tokens), sum(tokens))
    assert (found.preview.readings, found.preview.to_judge) == (10, 10)
    assert found.preview.reply_tokens == 10 * 20
    assert found.preview.cost == pytest.approx(
        (sum(tokens) * 2e-6, sum(tokens) * 2e-6 + 200 * 10e-6)
    )


def test_it_counts_cuts_and_what_cannot_be_asked() -> None:
    judge, _ = word_judge(context_tokens=400)
    lone = Sample(question="q", answers=(Answer(text="one"),))
    samples = [pair(first=words(1000)), pair("other"), lone]
    seen = dry_run(samples, judge).preview
    assert (seen.cut_readings, seen.cut_tokens > 1300) == (2, True)
    assert seen.prompts[0].cut.keys() == {"answer_1"}
    assert list(seen.not_asked.values()) == [1]
    assert "needs 2" in next(iter(seen.not_asked))
    skipped = dry_run(samples, judge, on_overflow="skip").preview
    assert skipped.cut_readings == 0
    assert sum(number for why, number in skipped.not_asked.items() if "too_long" in why) == 2


def test_cuts_of_an_engine_that_cuts_itself_are_known_too() -> None:
    seen = dry_run([pair(first=words(900))], "mini").preview
    assert seen.cut_readings == 1
    assert [(p.answer, bool(p.cut)) for p in seen.prompts] == [(0, True), (1, False)]


def test_of_a_run_that_is_there_only_the_rest_is_counted(out: Path) -> None:
    samples = [pair(f"q{i}") for i in range(10)]
    mg.judge(samples[:4], "scripted:longer", out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    found = dry_run(samples, "scripted:longer", out)
    assert (found.preview.readings, found.preview.to_judge) == (20, 12)
    assert found.run == str(out)
    assert found.seconds is not None
    assert found.seconds > 0
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_a_run_of_another_judge_is_said(out: Path) -> None:
    mg.judge([pair()], "scripted:longer", out)
    found = dry_run([pair()], "scripted:shorter", out)
    assert found.preview.to_judge == 2
    assert ["judging would stop" in notice.message for notice in found.notices] == [True]


def test_counting_is_bounded_and_estimates_hold_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview_module, "COUNTED_SAMPLES", 50)
    judge, _ = word_judge()
    samples = [pair(f"q{i}", first=words(5 + i % 40)) for i in range(1000)]
    seen = dry_run(samples, judge).preview
    assert seen.counted_samples == 50
    assert seen.tokens is not None
    assert seen.tokens.prompts == 100
    whole = 1000 * 2 * (24.5 + 9 + MESSAGE_TOKENS + PROMPT_TOKENS)
    assert seen.prompt_tokens == pytest.approx(whole, rel=0.1)


def test_equal_texts_are_counted_once() -> None:
    assert dry_run([pair()] * 4, "scripted:longer").preview.to_judge == 2


def test_nothing_to_judge_is_an_error() -> None:
    with pytest.raises(InputError, match="no samples"):
        dry_run([], "scripted:longer")


def test_the_scripted_engine_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(self: object, requests: object) -> None:
        raise AssertionError("something was sent")

    monkeypatch.setattr(ScriptedEngine, "complete", never)
    assert dry_run([pair()], "scripted:longer").preview.readings == 2
