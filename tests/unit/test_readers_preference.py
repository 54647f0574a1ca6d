"""Chosen and rejected in text, messages and lists; dialogues; Chatbot-Arena battles."""

from __future__ import annotations

import json
from typing import Any

import pytest
from readers_help import read, sample, sniffed

from magistrate.formats.base import RowError

USER = {"role": "user", "content": "Hi"}
GOOD = {"role": "assistant", "content": "Hello!"}
BAD = {"role": "assistant", "content": "What?"}


def test_reward_bench_row() -> None:
    row = {
        "prompt": "Hi",
        "chosen": "Hello!",
        "chosen_model": "a",
        "rejected": "",
        "rejected_model": "b",
        "subset": "alpacaeval-easy",
        "id": 0,
    }
    assert sniffed(row) == ["preference"]
    found = sample("preference", row)
    assert [(a.text, a.model) for a in found.answers] == [("Hello!", "a"), ("", "b")]
    assert (found.question, found.category, found.source_id) == ("Hi", "alpacaeval-easy", "0")
    assert found.gold[0].preference == "first"


@pytest.mark.parametrize("prompt", [None, "Hi", [USER]])
def test_messages_that_repeat_the_prompt(prompt: object) -> None:
    row: dict[str, Any] = {"prompt": prompt, "chosen": [USER, GOOD], "rejected": [USER, BAD]}
    assert sniffed(row) == ["preference"]
    found = sample("preference", row)
    assert found.question == "Hi"
    assert [answer.text for answer in found.answers] == ["Hello!", "What?"]


def test_messages_that_are_answers_alone() -> None:
    found = sample("preference", {"prompt": [USER], "chosen": [GOOD], "rejected": [BAD]})
    assert found.question == "Hi"
    system = {"role": "system", "content": "Be nice."}
    found = sample("preference", {"prompt": [system, USER], "chosen": [GOOD], "rejected": [BAD]})
    assert not isinstance(found.question, str)
    assert [turn.role for turn in found.question] == ["system", "user"]


def test_dialogue_that_parts_late() -> None:
    again = {"role": "user", "content": "And?"}
    row = {"chosen": [USER, GOOD, again, BAD], "rejected": [USER, GOOD, again, GOOD]}
    found = sample("preference", row)
    assert len(found.question) == 3
    assert [answer.text for answer in found.answers] == ["What?", "Hello!"]


def test_dialogue_that_parts_early_keeps_its_turns() -> None:
    again = {"role": "user", "content": "And?"}
    row = {"chosen": [USER, GOOD, again, BAD], "rejected": [USER, BAD]}
    first, second = sample("preference", row).answers
    assert [turn.role for turn in first.turns] == ["assistant", "user", "assistant"]
    assert second.turns == ()


def test_sharegpt_roles_and_content_in_parts() -> None:
    row = {
        "chosen": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello!"}],
        "rejected": [USER, {"role": "assistant", "content": [{"type": "text", "text": "What?"}]}],
    }
    found = sample("preference", row)
    assert [answer.text for answer in found.answers] == ["Hello!", "What?"]


@pytest.mark.parametrize(
    "row",
    [
        {"chosen": "a", "rejected": "b"},
        {"prompt": "p", "chosen": "a", "rejected": None},
        {"chosen": [GOOD], "rejected": [BAD]},
        {"chosen": [USER, GOOD], "rejected": "text"},
        {"chosen": [USER], "rejected": [USER]},
        {"chosen": [{"role": "tool", "content": "x"}], "rejected": [USER, GOOD]},
        {"chosen": [{"role": None, "content": "x"}], "rejected": [USER, GOOD]},
    ],
)
def test_rows_that_cannot_be_used(row: dict[str, Any]) -> None:
    with pytest.raises(RowError):
        read("preference", row)


def test_rm_bench_is_ranked() -> None:
    row = {"id": 8, "subset": "chat", "prompt": "p", "chosen": ["a", "b"], "rejected": ["c", "d"]}
    assert sniffed(row) == ["rm-bench"]
    found = sample("rm-bench", row)
    assert [answer.text for answer in found.answers] == ["a", "b", "c", "d"]
    assert found.gold[0].ranking == (1, 1, 2, 2)


def test_hh_dialogue() -> None:
    start = "\n\nHuman: Hi\n\nAssistant: Yes?\n\nHuman: Well?\n\nAssistant: "
    row = {"chosen": start + "Good.", "rejected": start + "Bad. Human: no turn"}
    assert sniffed(row) == ["hh-rlhf"]
    found = sample("hh-rlhf", row)
    assert not isinstance(found.question, str)
    assert [turn.role for turn in found.question] == ["user", "assistant", "user"]
    assert [answer.text for answer in found.answers] == ["Good.", "Bad. Human: no turn"]


def test_hh_without_an_answer_at_the_end() -> None:
    row = {
        "chosen": "\n\nHuman: Hi\n\nAssistant: Yes?\n\nHuman: Bye",
        "rejected": "\n\nHuman: Hi\n\nAssistant: No?",
    }
    with pytest.raises(RowError, match="must end with the assistant"):
        read("hh-rlhf", row)


def test_hhh_answers_keep_the_order_of_their_letters() -> None:
    row = {
        "prompt": "...",
        "corrects": [" (B)"],
        "incorrects": [" (A)"],
        "text_correct": "\n\nHuman: Hi\n\nAssistant: Right.",
        "text_incorrect": "\n\nHuman: Hi\n\nAssistant: Wrong.",
    }
    assert sniffed(row) == ["hhh-constitutional"]
    found = sample("hhh-constitutional", row)
    assert [answer.text for answer in found.answers] == ["Wrong.", "Right."]
    assert found.gold[0].preference == "second"
    with pytest.raises(RowError, match="'corrects' is"):
        read("hhh-constitutional", {**row, "corrects": [" (C)"]})


# --- Chatbot-Arena ---

BATTLE: dict[str, Any] = {
    "question_id": "q",
    "model_a": "alpha",
    "model_b": "beta",
    "winner": "model_b",
    "judge": "arena_user_1",
    "conversation_a": [USER, GOOD],
    "conversation_b": [USER, BAD],
    "turn": 1,
    "language": "English",
}


@pytest.mark.parametrize(
    ("winner", "preference"),
    [("model_a", "first"), ("model_b", "second"), ("tie", "tie"), ("tie (bothbad)", "tie")],
)
def test_battle(winner: str, preference: str) -> None:
    assert sniffed(BATTLE) == ["arena"]
    found = sample("arena", {**BATTLE, "winner": winner})
    assert found.question == "Hi"
    assert [(a.text, a.model) for a in found.answers] == [("Hello!", "alpha"), ("What?", "beta")]
    assert found.gold[0].preference == preference
    assert found.gold[0].annotator == "arena_user_1"
    assert found.meta["winner"] == winner


def test_battle_of_several_turns() -> None:
    more = [{"role": "user", "content": "And?"}, GOOD]
    row = {**BATTLE, "conversation_a": [USER, GOOD, *more], "conversation_b": [USER, BAD, *more]}
    found = sample("arena", row)
    assert found.question == "Hi"
    assert [len(answer.turns) for answer in found.answers] == [3, 3]


def test_battle_with_winner_flags_and_texts_as_json() -> None:
    row = {
        "id": 30192,
        "model_a": "alpha",
        "model_b": "beta",
        "prompt": json.dumps(["Hi", "And?"]),
        "response_a": json.dumps(["a1", "a2"]),
        "response_b": json.dumps(["b1", None]),
        "winner_model_a": 0,
        "winner_model_b": 0,
        "winner_tie": 1,
    }
    assert sniffed(row) == ["arena"]
    found = sample("arena", row)
    assert found.gold[0].preference == "tie"
    assert [answer.text for answer in found.answers] == ["a2", ""]


def test_battle_without_texts_is_told() -> None:
    row = {"model_a": "alpha", "model_b": "beta", "winner": "tie"}
    item = read("arena", row)
    assert [notice.kind for notice in item.notices] == ["no-text"]
    assert item.sample is not None
    assert [answer.model for answer in item.sample.answers] == ["alpha", "beta"]


@pytest.mark.parametrize(
    "change",
    [
        {"winner": "model_c"},
        {"conversation_a": [{"role": "user", "content": "Other"}, GOOD]},
        {"conversation_a": [USER]},
        {"conversation_a": "text"},
    ],
)
def test_battles_that_cannot_be_used(change: dict[str, Any]) -> None:
    with pytest.raises(RowError):
        read("arena", {**BATTLE, **change})
