"""``mg.ask``: the judge reads its own prompt and reply again, then the question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from judging_help import PairFamily, WordEngine, pair, say, word_judge, words

import magistrate as mg
from magistrate.errors import CostLimitError, EngineError, InputError, RunMismatchError
from magistrate.judging.followup import with_reply
from magistrate.judging.judge import Judge, make_judge
from magistrate.messages import Completion, Message, Part, Request
from magistrate.prompts.catalog import load_family
from magistrate.records import Answer, Sample
from magistrate.store.asking import ask, find_sample
from magistrate.store.conversations import Asked, asked_of

SAMPLES = [
    pair("zero").model_copy(update={"source_id": "seven"}),
    pair("one").model_copy(update={"source_id": "0"}),
    pair("two").model_copy(update={"source_id": "twice"}),
    pair("three").model_copy(update={"source_id": "twice"}),
    pair("four"),
]


def talking(request: Request) -> Completion:
    """Give a verdict, and then say how many messages were read."""
    if len(request.messages) == 1:
        return say("8 5\nThe first is better.")(request)
    return say(f"reply {len(request.messages)}")(request)


def run_with(judge: Judge, out: Path) -> mg.Run:
    return mg.judge(SAMPLES, judge, out, cache=False)


@pytest.fixture
def talk(tmp_path: Path) -> tuple[mg.Run, Judge, WordEngine]:
    judge, engine = word_judge(talking)
    run = run_with(judge, tmp_path / "run")
    engine.seen.clear()
    return run, judge, engine


def texts(request: Request) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in request.messages]


def test_the_judge_sees_its_prompt_its_reply_and_the_question(
    talk: tuple[mg.Run, Judge, WordEngine],
) -> None:
    run, judge, engine = talk
    replies = ask(run, "seven", "why?", "are you sure?", judge=judge)
    assert [each.reply for each in replies] == ["reply 3", "reply 5"]
    first = texts(engine.seen[0])
    assert first[0][1].startswith("Judge these. zero Answer 1: a long answer")
    assert first[1:] == [("assistant", "8 5\nThe first is better."), ("user", "why?")]
    assert texts(engine.seen[1])[3:] == [("assistant", "reply 3"), ("user", "are you sure?")]
    # What the judge wrote may quote an answer: it is data too, and so is the question.
    assert [m.parts[0].slot for m in engine.seen[0].messages[1:]] == ["reply", "follow_up"]


def test_the_other_order_can_be_asked_about(talk: tuple[mg.Run, Judge, WordEngine]) -> None:
    run, judge, engine = talk
    (reply,) = ask(run, "seven", "why?", judge=judge, reversed=True)
    assert reply.order == (1, 0)
    assert "Answer 1: short" in engine.seen[0].messages[0].text


def test_conversations_are_kept_in_the_run(talk: tuple[mg.Run, Judge, WordEngine]) -> None:
    run, judge, _ = talk
    ask(run, "seven", "why?", "sure?", judge=judge)
    ask(run.path, "row:2", "why \ud800?", judge=judge)
    lines = (run.path / "conversations.jsonl").read_bytes().splitlines()
    kept = [json.loads(line) for line in lines]
    assert [(line["row"], line["turn"]) for line in kept] == [(1, 0), (1, 1), (2, 0)]
    assert kept[0]["question"] == "why?"
    assert kept[0]["reply"] == "reply 3"
    assert kept[0]["usage"]["requests"] == 1
    assert mg.verify_run(run.path).ok
    again = run_with(judge, run.path)
    assert again.manifest.judged == 10  # a folder with conversations is still a run's


@pytest.mark.parametrize(
    ("name", "row"),
    [("seven", 1), ("0", 2), (1, 1), ("row:1", 1), ("3", 3), (5, 5), ("seve", 1)],
)
def test_samples_are_found_by_id_row_and_prefix(
    talk: tuple[mg.Run, Judge, WordEngine], name: str | int, row: int
) -> None:
    assert find_sample(talk[0], name) == (row, SAMPLES[row - 1])


def test_content_ids_and_their_beginnings_name_samples(
    talk: tuple[mg.Run, Judge, WordEngine],
) -> None:
    for name in (SAMPLES[4].id, SAMPLES[4].id[:8], SAMPLES[4].text_id[:8]):
        assert find_sample(talk[0], name)[0] == 5


@pytest.mark.parametrize(
    ("name", "words_"),
    [
        ("twice", "'twice' is 2 samples .*: row:3, row:4"),
        ("nowhere", "no sample 'nowhere' .* row from 1 to 5"),
        ("row:9", "no sample 'row:9'"),
        (9, "no sample '9'"),
        ("sev", "no sample 'sev'"),
    ],
)
def test_what_names_no_sample_or_several_is_said(
    talk: tuple[mg.Run, Judge, WordEngine], name: str | int, words_: str
) -> None:
    with pytest.raises(InputError, match=words_):
        find_sample(talk[0], name)


def test_a_judge_that_only_scores_cannot_be_asked(tmp_path: Path) -> None:
    run = mg.judge(SAMPLES[:1], "mini", tmp_path / "run")
    with pytest.raises(EngineError, match="has a scoring head: it writes no text"):
        ask(run, 1, "why?", answer=1)


def test_the_judge_must_be_the_one_of_the_run(talk: tuple[mg.Run, Judge, WordEngine]) -> None:
    with pytest.raises(RunMismatchError, match=r"not the one of .* any more:\n  judge.engine"):
        ask(talk[0], 1, "why?", judge="scripted:longer")


def test_a_run_knows_how_to_load_its_judge(tmp_path: Path) -> None:
    run = mg.judge(SAMPLES[:1], "scripted:longer", tmp_path / "run", mode="score")
    (reply,) = ask(run, 1, "why?")
    assert reply.reply.startswith("8 5")


def test_what_has_no_reply_cannot_be_asked_about(tmp_path: Path) -> None:
    run = mg.judge(SAMPLES[:1], "scripted:fail", tmp_path / "run")
    with pytest.raises(InputError, match="no reply to ask about: the scripted engine"):
        ask(run, 1, "why?")
    with pytest.raises(InputError, match="no such reading"):
        ask(run, 1, "why?", repeat=1)
    with pytest.raises(InputError, match="leave out --answer"):
        ask(run, 1, "why?", answer=1)
    with pytest.raises(InputError, match="no question"):
        ask(run, 1)


def test_where_nothing_was_written_the_likeliest_verdict_stands_for_the_reply(
    tmp_path: Path,
) -> None:
    def reply(request: Request) -> Completion:
        if request.choices is None:
            return say("because")(request)
        return Completion(request.key, choices=(-3.0, -1.0, -2.0, -4.0))

    judge, engine = word_judge(reply, mode="score", exact_choices=True)
    run = run_with(judge, tmp_path / "run")
    (answer,) = ask(run, 1, "why?", judge=judge)
    assert answer.reply == "because"
    assert texts(engine.seen[-1])[1] == ("assistant", "1 2")


class AloneFamily(PairFamily):
    """Reads each answer alone, in a completion-style prompt."""

    name = "alone"
    reads_alone = True

    def prompts(self, sample: Sample, order: Sequence[int]) -> tuple[tuple[Message, ...], ...]:
        return tuple(
            (Message("text", (Part("Grade: "), Part(sample.answers[place].text, "answer"))),)
            for place in order
        )

    def read(self, completions, sample, order):  # type: ignore[no-untyped-def]
        merged = " ".join(completion.text for completion in completions)
        return super().read([replace(completions[0], text=merged)], sample, order)


def test_an_answer_read_alone_is_asked_about_alone(tmp_path: Path) -> None:
    engine = WordEngine(say("7"))
    judge = make_judge("alone", AloneFamily(), engine)  # type: ignore[arg-type]
    run = run_with(judge, tmp_path / "run")
    with pytest.raises(InputError, match="say which with --answer 1 to 2"):
        ask(run, 1, "why?", judge=judge)
    with pytest.raises(InputError, match="no answer 3"):
        ask(run, 1, "why?", judge=judge, answer=3)
    (reply,) = ask(run, 1, "why?", judge=judge, answer=2)
    assert reply.answer == 1
    ((role, text),) = texts(engine.seen[-1])
    assert role == "text"
    assert text == "Grade: short7\n\n### Question\nwhy?\n\n### Answer\n"
    assert engine.seen[-1].sampling.stop == ("\n\n### Question",)


def test_a_reply_goes_on_from_its_fixed_start() -> None:
    messages = (Message("user", (Part("judge"),)), Message("assistant", (Part("Scores: "),)))
    assert with_reply(messages, "8 5")[1].text == "Scores: 8 5"
    assert len(with_reply(messages, "8 5")) == 2


def test_a_long_conversation_cuts_answers_and_at_last_says_so(tmp_path: Path) -> None:
    judge, engine = word_judge(talking, context_tokens=600)
    sample = Sample(question="q", answers=(Answer(text=words(700)), Answer(text=words(9, "s"))))
    run = mg.judge([sample], judge, tmp_path / "run", cache=False)
    ask(run, 1, words(150), judge=judge)
    assert engine.seen[-1].messages[-1].text == words(150)
    with pytest.raises(EngineError, match="the conversation is too long"):
        ask(run, 1, words(300), words(300), judge=judge)


def priced(reply: Any = talking, **values: Any) -> tuple[Judge, WordEngine]:
    """A judge whose every request costs a dollar."""

    def costs(request: Request) -> Completion:
        return replace(reply(request), cost=1.0)

    return word_judge(costs, price=(0.0, 1e6 / 600), **values)


def test_what_questions_cost_is_recorded_and_counts_under_the_limit(tmp_path: Path) -> None:
    judge, engine = priced()
    run = mg.judge(SAMPLES[:1], judge, tmp_path / "run", cache=False, max_cost=20)
    assert run.manifest.cost == 2
    ask(run, "seven", "why?", "sure?", judge=judge)
    assert asked_of(run.folder.conversations) == Asked(questions=2, cost=2.0)
    engine.seen.clear()
    with pytest.raises(CostLimitError, match=r"asking stops for the cost limit of \$4.5: \$4.0000"):
        ask(run, "seven", "why?", judge=judge, max_cost=4.5)
    assert not engine.seen, "nothing was asked"
    assert ask(run, "seven", "why?", judge=judge, max_cost=5)[0].cost == 1.0
    with pytest.raises(CostLimitError, match=r"judging stops .* \$5.0000 are spent"):
        mg.judge(SAMPLES[:2], judge, run.path, cache=False, max_cost=5)
    again = mg.judge(SAMPLES[:2], judge, run.path, cache=False, max_cost=7)
    assert again.manifest.cost == 4, "questions are not part of what the judgments cost"


def test_the_limit_of_the_run_holds_for_questions(tmp_path: Path) -> None:
    judge, _ = priced()
    run = mg.judge(SAMPLES[:1], judge, tmp_path / "run", cache=False, max_cost=3)
    with pytest.raises(CostLimitError):
        ask(run, "seven", "why?", "sure?", judge=judge)
    assert asked_of(run.folder.conversations).questions == 1, "the first reply is kept"


def test_a_limit_needs_a_price(tmp_path: Path) -> None:
    judge, engine = word_judge(talking, price_unknown=True)
    run = run_with(judge, tmp_path / "run")
    engine.seen.clear()
    with pytest.raises(EngineError, match="the price of 'w' is not known"):
        ask(run, "seven", "why?", judge=judge, max_cost=1)
    assert not engine.seen


def test_a_reply_that_is_asked_for_anew_is_paid_with_the_first_question(tmp_path: Path) -> None:
    def single(request: Request) -> Completion:
        return replace(say("8\nGood." if len(request.messages) < 3 else "Yes.")(request), cost=1.0)

    engine = WordEngine(single, {"price": (0.0, 1.0)})
    judge = make_judge("w", load_family("single"), engine)
    run = run_with(judge, tmp_path / "run")
    first, second = ask(run, "seven", "why?", "sure?", answer=1, judge=judge)
    assert (first.cost, second.cost) == (2.0, 1.0)
    assert first.usage.requests == 2


def test_a_scoring_head_is_refused_before_anything_else(tmp_path: Path) -> None:
    run = mg.judge(SAMPLES[:1], "mini", tmp_path / "run")
    with pytest.raises(EngineError, match="has a scoring head"):
        ask(run, "no such sample", "why?")
    with pytest.raises(EngineError, match="has a scoring head"):
        ask(run, 1, "why?", answer=7)
